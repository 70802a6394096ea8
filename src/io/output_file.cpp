#include "io/output_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "base/check.hpp"

namespace routepack::io {
namespace {

// Letters, digits and dots of the host's name, the first 63.
std::string host_name() {
  std::array<char, 64> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) {
    return "host";
  }
  std::string text(name.data());
  for (char& letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '.') {
      letter = '_';
    }
  }
  return text;
}

// Containers may have equal names and process ids. Nothing of a result depends on these bits.
std::uint64_t unique_bits() {
  static std::atomic<std::uint64_t> count = 0;
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof bits)) {
    bits = 0;
  }
  return bits + ++count;
}

std::string reason() { return std::generic_category().message(errno); }

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// Where an output path leads.
struct Target {
  std::string path;         // of the file, symbolic links followed, so that renaming keeps them
  int own_descriptor = -1;  // the path names this open descriptor of ours
  struct stat status = {};
  bool exists = false;

  [[nodiscard]] bool is_direct() const {
    return own_descriptor >= 0 || (exists && !S_ISREG(status.st_mode));
  }
};

// N where the path is /proc/self/fd/N, however spelled, else -1. Such a link reads "pipe:[123]" or
// the name that a file had once, so following it as a link leads nowhere.
int own_descriptor_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(folder_of(path), error);
  if (error || folder != fmt::format("/proc/{}/fd", ::getpid())) {
    return -1;
  }
  const std::string name = path.filename();
  int number = -1;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == name.data() + name.size() ? number : -1;
}

Target find_target(const std::string& path) {
  RP_CHECK(!path.empty(), ErrorCode::kUsage, "the output path is empty");
  Target target;
  target.exists = ::stat(path.c_str(), &target.status) == 0;
  // Any other reason would meet the rename, after the work: a name too long, a loop of links.
  RP_CHECK(
      target.exists || errno == ENOENT, ErrorCode::kUsage, "cannot write {}: {}", path, reason()
  );
  RP_CHECK(
      !target.exists || !S_ISDIR(target.status.st_mode), ErrorCode::kUsage,
      "cannot write {}: it is a folder", path
  );
  std::filesystem::path resolved = path;
  std::error_code ignored;
  constexpr int kMaxLinks = 40;  // as in the kernel: more have been refused above
  for (int link = 0; link < kMaxLinks && std::filesystem::is_symlink(resolved, ignored); ++link) {
    target.own_descriptor = own_descriptor_of(resolved);
    if (target.own_descriptor >= 0) {
      break;
    }
    const std::filesystem::path next = std::filesystem::read_symlink(resolved, ignored);
    resolved = resolved.parent_path() / next;  // an absolute target replaces the folder
  }
  target.path = resolved.string();
  struct stat there {};
  RP_CHECK(
      target.is_direct() || !target.exists ||
          (::stat(target.path.c_str(), &there) == 0 && is_same_file(there, target.status)),
      ErrorCode::kUsage, "cannot write {}: its file has no name of its own", path
  );
  return target;
}

// May this open descriptor be written to?
bool is_writable(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
    errno = EBADF;
  }
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

// Gives the new file what the old one had. Only root gives files away; a member of the old group
// keeps that. Both may clear bits of the mode, which so comes last.
void keep_mode_and_owner(int fd, const struct stat& old) {
  if (::fchown(fd, old.st_uid, old.st_gid) != 0) {
    (void)!::fchown(fd, static_cast<uid_t>(-1), old.st_gid);
  }
  (void)::fchmod(fd, old.st_mode & 0777U);
}

}  // namespace

std::string temporary_path(const std::string& folder, std::string_view kind) {
  const std::string name =
      fmt::format(".routepack-{}-{}-{:016x}.{}", host_name(), ::getpid(), unique_bits(), kind);
  return (std::filesystem::path(folder) / name).string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

AtomicFile::AtomicFile(const std::string& path) {
  const Target target = find_target(path);
  path_ = target.path;
  if (target.own_descriptor >= 0) {
    // A duplicate writes where the descriptor stands; a second open would start at the beginning,
    // and none is possible for a socket.
    fd_ = is_writable(target.own_descriptor)
              ? ::fcntl(target.own_descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
              : -1;
  } else if (target.is_direct()) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    create_temporary();
    if (fd_ >= 0 && target.exists) {
      keep_mode_and_owner(fd_, target.status);
    }
  }
  RP_CHECK(fd_ >= 0, ErrorCode::kUsage, "cannot write {}: {}", path, reason());
}

// Leaves errno and no temporary name where there can be none.
void AtomicFile::create_temporary() {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    temporary_ = temporary_path(folder_of(path_), "tmp");
    leftover_.emplace(LeftoverKind::kFile, temporary_);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd_ >= 0) {
      return;
    }
    leftover_.reset();
    temporary_.clear();
    if (errno != EEXIST) {
      return;
    }
  }
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
  leftover_.reset();
  // The name itself is durable once the folder is; a file system that cannot do this loses nothing
  // that was promised while the machine runs.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)::fsync(folder);
    ::close(folder);
  }
}

void check_output_path(const std::string& path, const std::vector<std::string>& inputs) {
  const Target target = find_target(path);
  for (const std::string& input : inputs) {
    struct stat status {};
    RP_CHECK(
        !target.exists || ::stat(input.c_str(), &status) != 0 ||
            !is_same_file(status, target.status),
        ErrorCode::kUsage, "the output {} would overwrite the input {}", path, input
    );
  }
  if (target.is_direct()) {
    // A pipe is opened once only: the reader takes the first close for the end.
    const bool can_write = target.own_descriptor >= 0 ? is_writable(target.own_descriptor)
                                                      : ::access(path.c_str(), W_OK) == 0;
    RP_CHECK(can_write, ErrorCode::kUsage, "cannot write {}: {}", path, reason());
    return;
  }
  const AtomicFile probe(path);
}

}  // namespace routepack::io
