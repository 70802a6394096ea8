#include "io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/check.hpp"

namespace routepack {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    RP_CHECK(
        fd_ >= 0, ErrorCode::kFileMalformed, "cannot open {}: {}", path,
        std::generic_category().message(errno)
    );
  }
  ~FileDescriptor() { ::close(fd_); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const FileDescriptor file(path);
  struct stat status {};
  RP_CHECK(
      ::fstat(file.get(), &status) == 0, ErrorCode::kFileMalformed, "cannot inspect {}: {}", path,
      std::generic_category().message(errno)
  );
  RP_CHECK(!S_ISDIR(status.st_mode), ErrorCode::kFileMalformed, "{} is a folder, not a file", path);
  RP_CHECK(S_ISREG(status.st_mode), ErrorCode::kFileMalformed, "{} is no regular file", path);
  RP_CHECK(status.st_size > 0, ErrorCode::kFileMalformed, "{} is empty", path);
  size_ = static_cast<std::size_t>(status.st_size);
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  RP_CHECK(
      mapped != MAP_FAILED, ErrorCode::kFileMalformed, "cannot map {}: {}", path,
      std::generic_category().message(errno)
  );
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

void MappedFile::advise_sequential(std::span<const std::byte> part) const {
  if (part.empty()) {
    return;
  }
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data()) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size());
  // Only hints: a kernel without them reads the same bytes, later.
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_SEQUENTIAL);
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_WILLNEED);
}

}  // namespace routepack
