#include "demand/read_counts.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.hpp"

namespace routepack {
namespace {

// Copies one layer of a sample and returns its total. Entries up to `length` keep the total far
// from overflow.
template <class T>
std::int64_t copy_layer(
    std::span<const T> counts, std::uint32_t* demand, std::int64_t length, auto&& where
) {
  std::int64_t total = 0;
  bool fits = true;
  for (std::size_t expert = 0; expert < counts.size(); ++expert) {
    fits = fits && std::cmp_greater_equal(counts[expert], 0) &&
           std::cmp_less_equal(counts[expert], length);
    demand[expert] = static_cast<std::uint32_t>(counts[expert]);
    total += static_cast<std::int64_t>(demand[expert]);
  }
  if (!fits) {
    const auto bad = std::ranges::find_if(counts, [&](T count) {
      return std::cmp_less(count, 0) || std::cmp_greater(count, length);
    });
    fail(
        ErrorCode::kNumberOutOfRange,
        "{}, expert {}: demand is {}, allowed are 0 to the {} tokens "
        "of the sample",
        where(), bad - counts.begin(), *bad, length
    );
  }
  return total;
}

}  // namespace

CountedDemand read_counts(const WindowHeader& header, const NpyView& counts, SampleRange range) {
  const WindowShape& shape = header.shape;
  const auto experts = static_cast<std::size_t>(shape.num_experts);
  const std::size_t row_size = shape.moe_layers.size() * experts;
  CountedDemand counted;
  counted.demand.resize(static_cast<std::size_t>(range.size()) * row_size);
  with_type_of(counts.dtype, [&](auto type) {
    const auto values = counts.as<decltype(type)>().subspan(
        static_cast<std::size_t>(range.begin) * row_size, counted.demand.size()
    );
    std::size_t at = 0;
    for (std::int64_t sample = range.begin; sample < range.end; ++sample) {
      const std::int64_t length = header.lengths[static_cast<std::size_t>(sample)];
      std::int64_t first_total = 0;
      for (std::size_t layer = 0; layer < shape.moe_layers.size(); ++layer, at += experts) {
        const auto where = [&] {
          return fmt::format("demand.npy: sample {}, layer {}", sample, shape.moe_layers[layer]);
        };
        const std::int64_t total =
            copy_layer(values.subspan(at, experts), counted.demand.data() + at, length, where);
        first_total = layer == 0 ? total : first_total;
        RP_CHECK(
            total == first_total, ErrorCode::kDemandNotConserved,
            "{} has {} routed pairs, layer {} of the sample has {}", where(), total,
            shape.moe_layers[0], first_total
        );
        RP_CHECK(
            total <= shape.top_k * length, ErrorCode::kDemandNotConserved,
            "{} has {} routed pairs, {} tokens at top {} have at most {}", where(), total, length,
            shape.top_k, shape.top_k * length
        );
      }
      counted.routed_pairs += first_total;
    }
  });
  return counted;
}

}  // namespace routepack
