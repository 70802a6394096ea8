#include "io/synth/staged_window.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/check.hpp"

namespace routepack {
namespace {

namespace fs = std::filesystem;

// An older window loses its files in this order, and gets the new ones in the opposite order.
constexpr const char* kWindowFiles[] = {"window.json",     "demand.npy", "routed_experts.npy",
                                        "row_offsets.npy", "groups.npy", "lengths.npy"};

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
    fs::path clean = fs::absolute(path).lexically_normal();
    if (!clean.has_filename()) {
      clean = clean.parent_path();  // a slash at the end
    }
    check_target(clean, force);
    path_ = clean.string();
    const std::string temporary = fmt::format("{}.partial-{}", path_, getpid());
    fs::create_directory(temporary);
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
  try {
    if (!fs::exists(path_) || fs::is_empty(path_)) {
      fs::rename(temporary_, path_);
      temporary_.clear();
      return;
    }
    for (const char* file : kWindowFiles) {
      fs::remove(fs::path(path_) / file);
    }
    for (std::size_t file = std::size(kWindowFiles); file > 0; --file) {
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
