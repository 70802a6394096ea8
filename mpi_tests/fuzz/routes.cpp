// A window whose files are well-formed, decoded from the bytes: its shape, then faults to put among
// good routes. Random bytes would seldom get past the headers of five files that must agree.
#include <algorithm>
#include <array>
#include <filesystem>

#include "fuzz/count_both_ways.hpp"
#include "fuzz/targets.hpp"
#include "support/test_window.hpp"

namespace routepack::fuzz {
namespace {

// Byte after byte; zeros after the last.
class Feed {
 public:
  explicit Feed(Bytes bytes) : bytes_(bytes) {}
  [[nodiscard]] bool is_empty() const { return bytes_.empty(); }
  std::int64_t next() {
    if (bytes_.empty()) {
      return 0;
    }
    const auto byte = static_cast<std::int64_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  std::int64_t next_of(std::int64_t bound) { return (next() << 8 | next()) % bound; }

 private:
  Bytes bytes_;
};

testing::TestWindow draw_shape(Feed& feed) {
  constexpr std::array kExperts = {1, 2, 3, 4, 8, 64, 128, 255, 256, 257, 300, 4096};
  constexpr std::array kDtypes = {"|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8"};
  testing::TestWindow window;
  window.num_experts = kExperts[static_cast<std::size_t>(feed.next_of(kExperts.size()))];
  window.top_k = static_cast<int>(1 + feed.next_of(std::min(window.num_experts, 80)));
  window.dtype = kDtypes[static_cast<std::size_t>(feed.next_of(kDtypes.size()))];
  window.num_layers = static_cast<int>(1 + feed.next_of(5));
  const std::int64_t mask = feed.next();
  window.moe_layers.clear();
  for (int layer = 0; layer < window.num_layers; ++layer) {
    if ((mask >> layer & 1) != 0) {
      window.moe_layers.push_back(layer);
    }
  }
  if (window.moe_layers.empty()) {
    window.moe_layers = {0};
  }
  const bool all_layers = (mask >> 7 & 1) != 0;
  window.axis = all_layers ? window.num_layers : static_cast<int>(window.moe_layers.size());
  const std::int64_t num_samples = 1 + feed.next_of(5);
  for (std::int64_t sample = 0; sample < num_samples; ++sample) {
    constexpr std::int64_t kFewTokens = 200;  // above it, samples of several tiles
    const std::int64_t draw = feed.next();
    const std::int64_t length = draw < kFewTokens ? 1 + draw % 20 : (draw - kFewTokens) * 37;
    window.lengths.push_back(std::max<std::int64_t>(length, 1));
    window.row_counts.push_back(window.lengths.back() - feed.next() % 2);
  }
  return window;
}

// Ids of a line are distinct and in range.
void fill_with_good_routes(testing::TestWindow& window, std::int64_t step) {
  std::int64_t rows = 0;
  for (const std::int64_t count : window.row_counts) {
    rows += count;
  }
  const std::int64_t lines = rows * window.axis;
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t choice = 0; choice < window.top_k; ++choice) {
      window.ids.push_back((line * step + choice) % window.num_experts);
    }
  }
}

// `window` has ids. Changes one, a line (one layer of a token) or a whole row of it.
void put_fault(testing::TestWindow& window, Feed& feed) {
  const std::int64_t kind = feed.next();
  const auto size = static_cast<std::int64_t>(window.ids.size());
  const std::int64_t position =
      (kind >> 6 & 1) != 0 ? size - 1 - feed.next_of(size) : feed.next_of(size);
  const std::int64_t spans[] = {1, window.top_k, std::int64_t{window.axis} * window.top_k};
  const std::int64_t span = spans[kind % 3];
  const std::int64_t values[] = {
      -1, 0, window.num_experts - 1, window.num_experts, feed.next(), -2, 1 << 16, 65'535};
  const std::int64_t value = values[kind / 3 % 8];
  const auto begin = window.ids.begin() + position / span * span;
  std::fill(begin, begin + span, value);
}

}  // namespace

void fuzz_routes(Bytes bytes) {
  Feed feed(bytes);
  testing::TestWindow window = draw_shape(feed);
  fill_with_good_routes(window, feed.next());
  constexpr std::size_t kMaxIds = 1 << 15;
  if (window.ids.size() > kMaxIds) {
    return;
  }
  while (!feed.is_empty() && !window.ids.empty()) {
    put_fault(window, feed);
  }
  const std::string folder = scratch("routes");
  std::filesystem::create_directory(folder);
  window.write(folder);
  count_both_ways(folder);
}

}  // namespace routepack::fuzz
