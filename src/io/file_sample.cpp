#include "io/file_sample.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>
#include <vector>

#include "base/check.hpp"

namespace routepack {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{16} << 10U;
constexpr std::int64_t kNumBlocks = 64;

class OpenFile {
 public:
  // Without O_NONBLOCK a FIFO would wait for its writer here, before it can be refused.
  explicit OpenFile(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    RP_CHECK(
        fd_ >= 0, ErrorCode::kFileMalformed, "cannot open {}: {}", path,
        std::generic_category().message(errno)
    );
  }
  ~OpenFile() { ::close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] std::int64_t bytes() const {
    struct stat status {};
    RP_CHECK(
        ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode), ErrorCode::kFileMalformed,
        "{} is no regular file", path_
    );
    return status.st_size;
  }

  void read(std::int64_t offset, std::span<std::byte> into) const {
    while (!into.empty()) {
      const ::ssize_t count = ::pread(fd_, into.data(), into.size(), offset);
      if (count < 0 && errno == EINTR) {
        continue;
      }
      RP_CHECK(
          count >= 0, ErrorCode::kFileMalformed, "cannot read {}: {}", path_,
          std::generic_category().message(errno)
      );
      RP_CHECK(
          count > 0, ErrorCode::kFileMalformed, "{} changed while it was read: it ends at byte {}",
          path_, offset
      );
      into = into.subspan(static_cast<std::size_t>(count));
      offset += count;
    }
  }

 private:
  const std::string& path_;
  int fd_;
};

}  // namespace

FileSample sample_file(const std::string& path) {
  const OpenFile file(path);
  FileSample sample;
  sample.bytes = file.bytes();
  if (sample.bytes <= kNumBlocks * kBlockBytes) {
    std::vector<std::byte> whole(static_cast<std::size_t>(sample.bytes));
    file.read(0, whole);
    sample.digest = digest_of(whole);
    return sample;
  }
  std::vector<std::byte> blocks(static_cast<std::size_t>(kNumBlocks * kBlockBytes));
  const std::int64_t last = sample.bytes - kBlockBytes;
  for (std::int64_t block = 0; block < kNumBlocks; ++block) {
    const std::int64_t offset = block + 1 == kNumBlocks ? last : last / (kNumBlocks - 1) * block;
    file.read(
        offset,
        std::span(blocks).subspan(
            static_cast<std::size_t>(block * kBlockBytes), static_cast<std::size_t>(kBlockBytes)
        )
    );
  }
  sample.digest = digest_of(blocks);
  return sample;
}

}  // namespace routepack
