#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/check.hpp"

namespace routepack {
namespace {

std::string reason() { return std::generic_category().message(errno); }

// The file that a symbolic link stands for, there or not, so that renaming keeps the link.
std::string resolve(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as in the kernel
  std::filesystem::path resolved = path;
  std::error_code ignored;
  for (int links = 0; std::filesystem::is_symlink(resolved, ignored); ++links) {
    RP_CHECK(
        links < kMaxLinks, ErrorCode::kUsage, "cannot write {}: {}", path,
        std::generic_category().message(ELOOP)
    );
    const std::filesystem::path target = std::filesystem::read_symlink(resolved, ignored);
    resolved = resolved.parent_path() / target;  // an absolute target replaces the folder
  }
  return resolved.string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(resolve(path)) {
  RP_CHECK(!path.empty(), ErrorCode::kUsage, "the output path is empty");
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  RP_CHECK(
      !exists || !S_ISDIR(status.st_mode), ErrorCode::kUsage, "cannot write {}: it is a folder",
      path
  );
  if (exists && !S_ISREG(status.st_mode)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = fmt::format("{}.{}.tmp", path_, ::getpid());
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  }
  RP_CHECK(fd_ >= 0, ErrorCode::kUsage, "cannot write {}: {}", path, reason());
}

AtomicFile::~AtomicFile() {
  close_quietly();
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::close_quietly() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    RP_CHECK(written > 0, ErrorCode::kFileMalformed, "cannot write {}: {}", path_, reason());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  if (temporary_.empty()) {
    close_quietly();
    return;
  }
  RP_CHECK(
      ::fsync(fd_) == 0, ErrorCode::kFileMalformed, "cannot write {} to disk: {}", path_, reason()
  );
  close_quietly();
  RP_CHECK(
      ::rename(temporary_.c_str(), path_.c_str()) == 0, ErrorCode::kFileMalformed,
      "cannot rename {} to {}: {}", temporary_, path_, reason()
  );
  temporary_.clear();
  // The name itself is durable once the folder is; a file system that cannot do this loses nothing
  // that was promised while the machine runs.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)::fsync(folder);
    ::close(folder);
  }
}

void check_output_path(const std::string& path) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    // A pipe is opened once only: the reader takes the first close for the end.
    RP_CHECK(
        ::access(path.c_str(), W_OK) == 0, ErrorCode::kUsage, "cannot write {}: {}", path, reason()
    );
    return;
  }
  const AtomicFile probe(path);
}

}  // namespace routepack
