#include "shuffle/engine/gather.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wundef"
#include <xxhash.h>
#pragma GCC diagnostic pop

#include "base/simd.hpp"
#include "random/stream.hpp"
#include "shuffle/engine/copy_engine.hpp"

namespace routepack::shuffle {
namespace {

std::vector<std::byte> random_bytes(std::size_t count, std::uint32_t owner) {
  const random::Stream stream{11, random::Purpose::kTests, owner};
  std::vector<std::byte> bytes(count);
  for (std::size_t n = 0; n < count; ++n) {
    bytes[n] = static_cast<std::byte>(stream.at(0, n).word(0) & 0xffU);
  }
  return bytes;
}

// Those that this CPU runs.
std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> found;
  for (const SimdLevel level : {SimdLevel::kPortable, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (level <= base::best_simd_level()) {
      found.push_back(level);
    }
  }
  return found;
}

// Segments at every alignment, with gaps, against a copy byte by byte.
TEST(Gather, CopiesSegmentsOfAnyLengthAndZeroesTheGaps) {
  const std::vector<std::byte> source = random_bytes(300000, 1);
  const std::vector<std::size_t> lengths = {1,  2,   3,    15,    16,    17,     31,
                                            64, 255, 4096, 65535, 65536, 131073, 7};
  for (const SimdLevel level : levels()) {
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
    const std::uint64_t checksum = gather_segments({target.data(), payload}, segments, level);
    EXPECT_EQ(target, expected);
    EXPECT_EQ(checksum, XXH3_64bits(target.data(), payload));
  }
}

// Around the ends of stripes (64 bytes), blocks (1 KiB) and pieces that are hashed at once.
TEST(Gather, ChecksumIsThatOfXxHashAtEveryLengthAndLevel) {
  const std::vector<std::byte> source = random_bytes(200000, 4);
  std::vector<std::size_t> lengths(2200);
  std::iota(lengths.begin(), lengths.end(), std::size_t{0});
  for (const std::size_t kib : {63U, 64U, 65U, 127U, 128U, 192U}) {
    for (const int more : {-65, -64, -63, -1, 0, 1, 63, 64, 65, 512}) {
      lengths.push_back(std::size_t{kib} * 1024 + static_cast<std::size_t>(more));
    }
  }
  std::vector<std::byte> target(source.size());
  for (const SimdLevel level : levels()) {
    for (const std::size_t length : lengths) {
      const std::byte* from = source.data() + length % 7;
      const std::uint64_t expected = XXH3_64bits(from, length);
      EXPECT_EQ(payload_checksum({from, length}, level), expected) << length << " bytes";
      const CopySegment segment{from, target.data(), static_cast<std::int64_t>(length)};
      EXPECT_EQ(gather_segments({target.data(), length}, {&segment, 1}, level), expected)
          << length << " bytes";
    }
  }
}

TEST(Gather, ChecksumSeesEveryBitAndTheLength) {
  for (const std::size_t length : {1U, 16U, 240U, 241U, 1025U}) {
    std::vector<std::byte> data = random_bytes(length, 2);
    const SimdLevel level = base::best_simd_level();
    const std::uint64_t original = payload_checksum(data, level);
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      data[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(payload_checksum(data, level), original) << "bit " << bit;
      data[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_NE(payload_checksum({data.data(), length - 1}, level), original);
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
}  // namespace routepack::shuffle
