#include "synth/staged_window.hpp"

#include <filesystem>
#include <system_error>

#include "base/check.hpp"
#include "io/temporary_path.hpp"
#include "io/window_names.hpp"

namespace routepack {
namespace {

namespace fs = std::filesystem;

void check_target(const fs::path& path, bool force) {
  if (!fs::exists(fs::symlink_status(path))) {
    const fs::path parent = fs::absolute(path).parent_path();
    RP_CHECK(
        fs::is_directory(parent), ErrorCode::kUsage, "{} cannot be made: {} is no folder",
        path.string(), parent.string()
    );
    return;
  }
  RP_CHECK(fs::is_directory(path), ErrorCode::kUsage, "{} exists and is no folder", path.string());
  RP_CHECK(
      force || fs::is_empty(path) || fs::exists(path / "window.json"), ErrorCode::kUsage,
      "{} holds files but no window; --force writes into it", path.string()
  );
}

}  // namespace

StagedWindow::StagedWindow(const std::string& path, bool force) {
  try {
    // Links resolved: the temporary folder has to be beside the folder that a link leads to.
    fs::path clean = fs::weakly_canonical(fs::absolute(path));
    if (!clean.has_filename()) {
      clean = clean.parent_path();  // a slash at the end
    }
    check_target(clean, force);
    path_ = clean.string();
    const std::string temporary = temporary_path(folder_of(path_), "partial");
    leftover_.emplace(LeftoverKind::kWindow, temporary);
    RP_CHECK(
        fs::create_directory(temporary), ErrorCode::kUsage, "{} cannot be made: {} exists", path,
        temporary
    );
    temporary_ = temporary;
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::kUsage, "{} cannot be made: {}", path, error.code().message());
  }
}

StagedWindow::~StagedWindow() {
  std::error_code ignored;
  if (!temporary_.empty()) {
    fs::remove_all(temporary_, ignored);
  }
}

void StagedWindow::commit() {
  const SignalPause whole;  // an older window that is half replaced would be lost, and the new one
  try {
    if (!fs::exists(path_) || fs::is_empty(path_)) {
      fs::rename(temporary_, path_);
      temporary_.clear();
      return;
    }
    for (const char* file : kWindowFiles) {
      fs::remove(fs::path(path_) / file);
    }
    for (std::size_t file = kWindowFiles.size(); file > 0; --file) {
      const fs::path staged = fs::path(temporary_) / kWindowFiles[file - 1];
      if (fs::exists(staged)) {
        fs::rename(staged, fs::path(path_) / kWindowFiles[file - 1]);
      }
    }
    fs::remove(temporary_);
    temporary_.clear();
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::kFileMalformed, "cannot write {}: {}", path_, error.code().message());
  }
}

}  // namespace routepack
