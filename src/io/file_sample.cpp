#include "io/file_sample.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace routepack {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{16} << 10U;
constexpr std::int64_t kNumBlocks = 64;

}  // namespace

FileSample sample_file(const InputFile& file) {
  FileSample sample;
  sample.bytes = file.size();
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
