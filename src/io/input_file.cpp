#include "io/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace routepack::io {
namespace {

using FileStatus = struct ::stat;

std::string system_error_text() { return std::generic_category().message(errno); }

FileStamp stamp_of(const std::string& path, const FileStatus& status) {
  return {path,           status.st_dev,         status.st_ino,
          status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

[[noreturn]] void fail_changed(const std::string& path, const std::string& how) {
  base::fail(ErrorCode::kFileMalformed, "{} changed while it was read: {}", path, how);
}

// Throws unless `now` is the file that `then` describes.
void compare_stamps(const FileStamp& then, const FileStamp& now) {
  if (now == then) {
    return;
  }
  if (now.device != then.device || now.inode != then.inode) {
    fail_changed(then.path, "another file has taken its place");
  }
  if (now.size != then.size) {
    fail_changed(then.path, fmt::format("it had {} bytes and has {}", then.size, now.size));
  }
  fail_changed(then.path, "it was written to");
}

constexpr std::int64_t kBlockBytes = std::int64_t{16} << 10U;
constexpr std::int64_t kNumBlocks = 64;

}  // namespace

void FileStamp::check_unchanged() const {
  FileStatus status{};
  if (::stat(path.c_str(), &status) != 0) {
    fail_changed(path, system_error_text());
  }
  compare_stamps(*this, stamp_of(path, status));
}

InputFile::Descriptor::Descriptor(const std::string& path)
    // Without O_NONBLOCK a pipe would wait here for its writer, before it can be refused.
    : value_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  RP_CHECK(value_ >= 0, ErrorCode::kFileMalformed, "cannot open {}: {}", path, system_error_text());
}

InputFile::Descriptor::~Descriptor() {
  if (value_ >= 0) {
    ::close(value_);
  }
}

InputFile::Descriptor::Descriptor(Descriptor&& other) noexcept
    : value_(std::exchange(other.value_, -1)) {}

InputFile::InputFile(const std::string& path) : descriptor_(path) {
  FileStatus status{};
  RP_CHECK(
      ::fstat(descriptor_.get(), &status) == 0, ErrorCode::kFileMalformed, "cannot inspect {}: {}",
      path, system_error_text()
  );
  RP_CHECK(!S_ISDIR(status.st_mode), ErrorCode::kFileMalformed, "{} is a folder, not a file", path);
  RP_CHECK(S_ISREG(status.st_mode), ErrorCode::kFileMalformed, "{} is no regular file", path);
  RP_CHECK(status.st_size > 0, ErrorCode::kFileMalformed, "{} is empty", path);
  stamp_ = stamp_of(path, status);
}

void InputFile::read(std::int64_t offset, std::span<std::byte> into) const {
  RP_ASSERT(
      light, offset >= 0 && std::cmp_less_equal(into.size(), size() - offset),
      "{} bytes from byte {} of {}, which has {}", into.size(), offset, path(), size()
  );
  while (!into.empty()) {
    const ::ssize_t count = ::pread(descriptor_.get(), into.data(), into.size(), offset);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    RP_CHECK(
        count >= 0, ErrorCode::kFileMalformed, "cannot read {} at byte {}: {}", path(), offset,
        system_error_text()
    );
    if (count == 0) {
      fail_changed(path(), fmt::format("it had {} bytes and ends at byte {}", size(), offset));
    }
    into = into.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

void InputFile::advise_sequential(std::int64_t offset, std::int64_t num_bytes) const {
  if (num_bytes == 0) {  // which would mean: to the end of the file
    return;
  }
  // Only hints: a kernel without them reads the same bytes, later.
  (void)::posix_fadvise(descriptor_.get(), offset, num_bytes, POSIX_FADV_SEQUENTIAL);
  (void)::posix_fadvise(descriptor_.get(), offset, num_bytes, POSIX_FADV_WILLNEED);
}

void InputFile::check_unchanged() const {
  FileStatus status{};
  if (::fstat(descriptor_.get(), &status) != 0) {
    fail_changed(path(), system_error_text());
  }
  compare_stamps(stamp_, stamp_of(path(), status));
  stamp_.check_unchanged();
}

FileCopy::FileCopy(const std::string& path) {
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30U;
  const InputFile file(path);
  RP_CHECK(
      file.size() <= kMaxBytes, ErrorCode::kFileMalformed, "{} has {} bytes, the limit is {}", path,
      file.size(), kMaxBytes
  );
  stamp_ = file.stamp();
  bytes_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(file.size()));
  file.read(0, {bytes_.get(), static_cast<std::size_t>(file.size())});
  file.check_unchanged();
}

FileSample sample_file(const InputFile& file) {
  FileSample sample;
  sample.bytes = file.size();
  if (sample.bytes <= kNumBlocks * kBlockBytes) {
    std::vector<std::byte> whole(static_cast<std::size_t>(sample.bytes));
    file.read(0, whole);
    sample.digest = base::digest_of(whole);
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
  sample.digest = base::digest_of(blocks);
  return sample;
}

}  // namespace routepack::io
