#include "shuffle/engine/engine_checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "random/stream.hpp"
#include "shuffle/engine/copy_tiles.hpp"

namespace routepack::testing {
namespace {

std::vector<std::byte> random_bytes(std::int64_t count, std::uint32_t owner) {
  const random::Stream stream{11, random::Purpose::kTests, owner};
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    bytes[n] = static_cast<std::byte>(stream.at(0, n / 4).word(n % 4) & 0xffU);
  }
  return bytes;
}

// Memory of the engine with known content.
class Buffer {
 public:
  Buffer(shuffle::CopyEngine& engine, const std::vector<std::byte>& content)
      : engine_(engine),
        bytes_(static_cast<std::int64_t>(content.size())),
        memory_(engine.allocate(bytes_)) {
    engine.from_host(memory_.get(), content.data(), bytes_);
  }
  [[nodiscard]] std::byte* at(std::int64_t offset) const { return memory_.get() + offset; }
  [[nodiscard]] std::vector<std::byte> read() const {
    std::vector<std::byte> content(static_cast<std::size_t>(bytes_));
    engine_.to_host(content.data(), memory_.get(), bytes_);
    return content;
  }

 private:
  shuffle::CopyEngine& engine_;
  std::int64_t bytes_;
  std::shared_ptr<std::byte> memory_;
};

std::uint64_t checksum_of(
    const std::vector<std::byte>& content, std::int64_t at, std::int64_t bytes
) {
  std::uint64_t sum = 0;
  for (std::int64_t n = 0; n < bytes / 8; ++n) {
    std::uint64_t word = 0;
    std::memcpy(&word, content.data() + at + 8 * n, sizeof(word));
    sum += shuffle::checksum_term(word, static_cast<std::uint64_t>(n));
  }
  return sum;
}

void put_trailer(
    std::vector<std::byte>& expected, std::int64_t at, const shuffle::SliceStamp& stamp
) {
  shuffle::SliceTrailer trailer;
  trailer.stamp = stamp;
  const auto payload = static_cast<std::int64_t>(stamp.payload_bytes);
  trailer.checksum = checksum_of(expected, at, payload);
  std::memcpy(expected.data() + at + payload, &trailer, sizeof(trailer));
}

shuffle::SliceStamp stamp_of(std::uint64_t number, std::int64_t payload) {
  return shuffle::SliceStamp{7, number, 2, 3, 4, static_cast<std::uint64_t>(payload)};
}

}  // namespace

void check_packing(shuffle::CopyEngine& engine) {
  const std::vector<std::byte> content = random_bytes(400000, 1);
  const Buffer source{engine, content};
  const std::vector<std::int64_t> lengths = {1,  2,   3,    7,     8,     15,    16,    17,    31,
                                             64, 255, 4096, 65521, 65535, 65536, 65537, 131073};
  for (std::int64_t alignment = 0; alignment < 16; ++alignment) {
    std::vector<std::byte> expected(600000, std::byte{0xee});
    const Buffer target{engine, expected};
    const std::int64_t slice = 64;
    std::vector<shuffle::CopySegment> segments;
    std::int64_t at = 16;  // what is before the first segment becomes 0
    std::fill_n(expected.begin() + slice, at, std::byte{0});
    for (const std::int64_t length : lengths) {
      const std::int64_t from = 16 * (length % 3) + alignment;
      segments.push_back(shuffle::CopySegment{source.at(from), target.at(slice + at), length});
      std::copy_n(content.begin() + from, length, expected.begin() + slice + at);
      const std::int64_t next =
          base::round_up(at + length, shuffle::kSliceAlignment) + 16 * (length % 2);
      std::fill_n(expected.begin() + slice + at + length, next - at - length, std::byte{0});
      at = next;
    }
    const std::int64_t payload =
        base::round_up(at + 69990, shuffle::kSliceAlignment);  // ends in a long gap
    std::fill_n(expected.begin() + slice + at, payload - at, std::byte{0});
    const shuffle::PackJob job{target.at(slice), stamp_of(5, payload), segments};
    put_trailer(expected, slice, job.stamp);
    engine.pack({&job, 1});
    EXPECT_TRUE(target.read() == expected) << "alignment " << alignment;
    const shuffle::CheckJob check{target.at(slice), payload};
    const shuffle::CheckResult result = engine.check({&check, 1}).at(0);
    EXPECT_EQ(result.trailer.stamp, job.stamp);
    EXPECT_EQ(result.trailer.magic, shuffle::SliceTrailer::kMagic);
    EXPECT_EQ(result.trailer.checksum, result.checksum);
    EXPECT_EQ(result.checksum, checksum_of(expected, slice, payload));
  }
}

void check_many_slices(shuffle::CopyEngine& engine) {
  constexpr std::size_t kSlices = 600;
  constexpr std::int64_t kSegments = 40;  // of 32 bytes: 24000 tiles
  constexpr std::int64_t kPayload = kSegments * 32;
  constexpr std::int64_t kStride = kPayload + shuffle::kTrailerBytes;
  const std::vector<std::byte> content = random_bytes(100000, 2);
  const Buffer source{engine, content};
  std::vector<std::byte> expected(kSlices * kStride);
  const Buffer target{engine, expected};
  std::vector<shuffle::CopySegment> segments;
  std::vector<shuffle::PackJob> jobs;
  std::vector<shuffle::CheckJob> checks;
  segments.reserve(kSlices * kSegments);
  for (std::size_t n = 0; n < kSlices; ++n) {
    const std::int64_t slice = static_cast<std::int64_t>(n) * kStride;
    for (std::int64_t segment = 0; segment < kSegments; ++segment) {
      const std::int64_t from = (static_cast<std::int64_t>(n) * 131 + segment * 977) % 99000;
      segments.push_back(shuffle::CopySegment{source.at(from), target.at(slice + 32 * segment), 32}
      );
      std::copy_n(content.begin() + from, 32, expected.begin() + slice + 32 * segment);
    }
    jobs.push_back(shuffle::PackJob{
        target.at(slice), stamp_of(n, kPayload),
        std::span{segments}.last(static_cast<std::size_t>(kSegments))});
    put_trailer(expected, slice, jobs.back().stamp);
    checks.push_back(shuffle::CheckJob{target.at(slice), kPayload});
  }
  engine.pack(jobs);
  EXPECT_TRUE(target.read() == expected);
  const std::vector<shuffle::CheckResult> results = engine.check(checks);
  ASSERT_EQ(results.size(), kSlices);
  for (std::size_t n = 0; n < kSlices; ++n) {
    EXPECT_EQ(results[n].trailer.stamp, jobs[n].stamp);
    EXPECT_EQ(results[n].trailer.checksum, results[n].checksum) << "slice " << n;
  }
}

void check_unpacking(shuffle::CopyEngine& engine) {
  const std::vector<std::byte> content = random_bytes(300000, 3);
  const Buffer source{engine, content};
  std::vector<std::byte> expected(16 * 16 * 400 + 300000, std::byte{0xee});
  const Buffer target{engine, expected};
  std::vector<shuffle::CopySegment> segments;
  const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
    segments.push_back(shuffle::CopySegment{source.at(from), target.at(to), bytes});
    std::copy_n(content.begin() + from, bytes, expected.begin() + to);
  };
  for (std::int64_t from = 0; from < 16; ++from) {
    for (std::int64_t to = 0; to < 16; ++to) {
      add(from, (from * 16 + to) * 400 + to, (from * 37 + to * 11) % 300 + 1);
    }
  }
  add(5, 16 * 16 * 400 + 3, 200001);  // several tiles
  engine.copy(segments);
  EXPECT_TRUE(target.read() == expected);
}

void check_damage_is_seen(shuffle::CopyEngine& engine) {
  std::vector<std::byte> content = random_bytes(96 + shuffle::kTrailerBytes, 4);
  const Buffer slice{engine, content};
  const auto checksum = [&](std::int64_t payload) {
    const shuffle::CheckJob job{slice.at(0), payload};
    return engine.check({&job, 1}).at(0).checksum;
  };
  const std::uint64_t original = checksum(96);
  EXPECT_NE(checksum(80), original);
  for (std::size_t bit = 0; bit < std::size_t{8} * 96; ++bit) {
    const std::byte damaged = content[bit / 8] ^ (std::byte{1} << (bit % 8));
    engine.from_host(slice.at(static_cast<std::int64_t>(bit / 8)), &damaged, 1);
    EXPECT_NE(checksum(96), original) << "bit " << bit;
    engine.from_host(slice.at(static_cast<std::int64_t>(bit / 8)), &content[bit / 8], 1);
  }
  std::swap_ranges(content.begin(), content.begin() + 8, content.begin() + 8);  // two words
  engine.from_host(slice.at(0), content.data(), 16);
  EXPECT_NE(checksum(96), original) << "words that change places";
}

}  // namespace routepack::testing
