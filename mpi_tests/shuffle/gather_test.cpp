#include "shuffle/gather.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "random/stream.hpp"
#include "shuffle/copy_engine.hpp"

namespace routepack {
namespace {

std::vector<std::byte> random_bytes(std::size_t count, std::uint32_t owner) {
  const Stream stream{11, Purpose::kTests, owner};
  std::vector<std::byte> bytes(count);
  for (std::size_t n = 0; n < count; ++n) {
    bytes[n] = static_cast<std::byte>(stream.at(0, n).word(0) & 0xffU);
  }
  return bytes;
}

std::vector<detail::GatherKernel> kernels() {
  return {detail::gather_kernel_portable(), detail::gather_kernel()};
}

// Segments at every alignment, with gaps, against a copy byte by byte.
TEST(Gather, CopiesSegmentsOfAnyLengthAndZeroesTheGaps) {
  const std::vector<std::byte> source = random_bytes(300000, 1);
  const std::vector<std::size_t> lengths = {1,  2,   3,    15,    16,    17,     31,
                                            64, 255, 4096, 65535, 65536, 131073, 7};
  std::vector<std::uint64_t> checksums;
  for (const detail::GatherKernel& kernel : kernels()) {
    std::vector<std::byte> target(400000, std::byte{0xee});
    std::vector<std::byte> expected(target.size(), std::byte{0xee});
    std::vector<CopySegment> segments;
    std::size_t at = 5;
    std::size_t from = 1;
    for (const std::size_t length : lengths) {
      segments.push_back(CopySegment{
          source.data() + from, target.data() + at, static_cast<std::int64_t>(length)});
      std::copy_n(source.data() + from, length, expected.data() + at);
      from = (from + 3) % 16;
      at += length + from;  // gaps of 0 to 15 bytes
    }
    const std::size_t payload = at + 9;
    std::vector<bool> covered(payload, false);
    for (const CopySegment& segment : segments) {
      const auto begin = static_cast<std::size_t>(segment.target - target.data());
      std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(begin), segment.bytes, true);
    }
    for (std::size_t n = 0; n < payload; ++n) {
      expected[n] = covered[n] ? expected[n] : std::byte{0};
    }
    checksums.push_back(kernel.gather(target.data(), payload, segments.data(), segments.size()));
    EXPECT_EQ(target, expected);
    EXPECT_EQ(checksums.back(), kernel.checksum(target.data(), payload));
  }
  EXPECT_EQ(checksums[0], checksums[1]) << "the same checksum for every instruction set";
}

TEST(Gather, ChecksumSeesEveryBitAndTheLength) {
  for (const std::size_t length : {1U, 16U, 240U, 241U, 1025U}) {
    std::vector<std::byte> data = random_bytes(length, 2);
    const detail::GatherKernel kernel = detail::gather_kernel();
    const std::uint64_t original = kernel.checksum(data.data(), length);
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      data[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(kernel.checksum(data.data(), length), original) << "bit " << bit;
      data[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_NE(kernel.checksum(data.data(), length - 1), original);
  }
}

TEST(HostEngine, WritesTheTrailerBehindThePayloadAndChecksIt) {
  const std::shared_ptr<CopyEngine> engine = make_host_engine();
  const std::vector<std::byte> source = random_bytes(100, 3);
  const std::shared_ptr<std::byte> slice = engine->allocate(112 + kTrailerBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slice.get()) % 64, 0U);
  const std::vector<CopySegment> segments = {
      CopySegment{source.data(), slice.get(), 33},
      CopySegment{source.data() + 33, slice.get() + 48, 60}};
  const PackJob job{slice.get(), SliceStamp{7, 1, 2, 3, 4, 112}, segments};
  engine->pack({&job, 1});
  const CheckJob check{slice.get(), 112};
  CheckResult result = engine->check({&check, 1}).at(0);
  EXPECT_EQ(result.trailer.magic, SliceTrailer::kMagic);
  EXPECT_EQ(result.trailer.stamp, job.stamp);
  EXPECT_EQ(result.trailer.checksum, result.checksum);
  *(slice.get() + 40) ^= std::byte{1};  // padding counts too
  result = engine->check({&check, 1}).at(0);
  EXPECT_NE(result.trailer.checksum, result.checksum);
}

}  // namespace
}  // namespace routepack
