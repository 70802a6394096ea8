#include "synth/npy_slices.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/checked.hpp"

namespace routepack {
namespace {

[[noreturn]] void fail_io(const std::string& path, const char* verb) {
  fail(ErrorCode::kFileMalformed, "cannot {} {}: {}", verb, path, std::strerror(errno));
}

void write_at(
    int fd, const std::string& path, std::span<const std::byte> bytes, std::int64_t offset
) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      fail_io(path, "write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
}

}  // namespace

void create_npy(const std::string& path, NpyDtype dtype, const std::vector<std::int64_t>& shape) {
  const std::string header = make_npy_header(dtype, shape);
  std::int64_t bytes = bytes_of(dtype);
  for (const std::int64_t extent : shape) {
    bytes = checked_multiply(bytes, extent, "array shape");
  }
  bytes = checked_add(bytes, static_cast<std::int64_t>(header.size()), "array shape");
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    fail_io(path, "create");
  }
  int code = ftruncate(fd, bytes);
  if (code == 0) {
    const ssize_t written = pwrite(fd, header.data(), header.size(), 0);
    code = std::cmp_equal(written, header.size()) ? 0 : -1;
  }
  if (close(fd) != 0 || code != 0) {
    fail_io(path, "write");
  }
}

NpySliceWriter::NpySliceWriter(
    const std::string& path, NpyDtype dtype, const std::vector<std::int64_t>& shape
)
    : path_(path),
      element_bytes_(bytes_of(dtype)),
      header_bytes_(static_cast<std::int64_t>(make_npy_header(dtype, shape).size())),
      fd_(open(path.c_str(), O_WRONLY | O_CLOEXEC)) {
  if (fd_ < 0) {
    fail_io(path_, "open");
  }
}

NpySliceWriter::~NpySliceWriter() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

void NpySliceWriter::write(std::int64_t first, std::span<const std::byte> elements) {
  write_at(fd_, path_, elements, header_bytes_ + first * element_bytes_);
}

void NpySliceWriter::close() {
  const int synced = fsync(fd_);
  const int closed = ::close(std::exchange(fd_, -1));
  if (synced != 0 || closed != 0) {
    fail_io(path_, "write");
  }
}

}  // namespace routepack
