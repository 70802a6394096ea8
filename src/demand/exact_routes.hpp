// The meaning of token routes, spelled out one id at a time: the oracle of count_routes, and the
// path that finds the words for a fault. What counts as a missing route is decided here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "demand/count.hpp"
#include "io/window_reader.hpp"

namespace routepack::demand {

// Token routes in private memory: what is checked there is what is counted, whatever happens to the
// file meanwhile.
class RouteReader {
 public:
  // Reads ahead, up to about `buffer_bytes` at once and never past token `end_token` of the window.
  // `routes` must outlive it.
  RouteReader(const io::RouteView& routes, std::int64_t end_token, std::int64_t buffer_bytes);

  // Has these tokens in memory; the calls of ids() within them read nothing more.
  void hold(std::int64_t first, std::int64_t count) { (void)tokens(first, count); }

  // The ids of `count` tokens from `first` on, both counted over the window; valid until the next
  // call. T is the file's own type. Throws as InputFile::read does.
  template <class T>
  [[nodiscard]] std::span<const T> ids(std::int64_t first, std::int64_t count) {
    const std::span<const std::byte> bytes = tokens(first, count);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  [[nodiscard]] std::span<const std::byte> tokens(std::int64_t first, std::int64_t count);
  void load(std::int64_t first, std::int64_t count);

  const io::NpyFile& file_;
  std::int64_t bytes_per_token_;
  std::int64_t end_token_;
  std::int64_t ahead_;  // tokens
  std::unique_ptr<std::byte[]> buffer_;
  std::int64_t capacity_ = 0;  // tokens
  std::int64_t begin_ = 0;     // tokens [begin_, end_) are in the buffer
  std::int64_t end_ = 0;
};

// The oracle of count_routes: the same contract, one id at a time.
[[nodiscard]] CountedDemand count_routes_exact(const io::RouteView& routes, SampleRange range);

// Tokens of a sample that have a route, less the fillers that some trainers append, to the last
// token or to the last turns: with `length` routes, the last ones that are zeros at every MoE
// layer. The first is none: a sample of zeros alone was not captured. With top_k = 1 a filler
// cannot be told from a route to expert 0, and is none.
[[nodiscard]] std::int64_t num_tokens_without_fillers(
    const io::RouteView& routes, std::int64_t sample
);

// Tokens of a sample, counted from its first.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Adds the routes of some tokens of a sample to `demand` [L, E] and returns how many of them have
// one: tokens of -1 at every MoE layer have none. `reader` holds what is counted.
[[nodiscard]] std::int64_t add_tokens_exact(
    const io::RouteView& routes,
    std::int64_t sample,
    TokenRange tokens,
    RouteReader& reader,
    std::span<std::uint32_t> demand
);

}  // namespace routepack::demand
