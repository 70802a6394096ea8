#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "demand/count.hpp"

namespace routepack::demand {
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
    base::fail(
        ErrorCode::kNumberOutOfRange,
        "{}, expert {}: demand is {}, allowed are 0 to the {} tokens "
        "of the sample",
        where(), bad - counts.begin(), *bad, length
    );
  }
  return total;
}

// Checks and converts one sample, [L, E]; returns its routed pairs at one layer.
template <class T>
std::int64_t convert_sample(
    const io::WindowHeader& header,
    std::int64_t sample,
    std::span<const T> counts,
    std::uint32_t* demand
) {
  const WindowShape& shape = header.shape;
  const auto experts = static_cast<std::size_t>(shape.num_experts);
  const std::int64_t length = header.lengths[static_cast<std::size_t>(sample)];
  std::int64_t first_total = 0;
  for (std::size_t layer = 0; layer < shape.moe_layers.size(); ++layer) {
    const auto where = [&] {
      return fmt::format("demand.npy: sample {}, layer {}", sample, shape.moe_layers[layer]);
    };
    const std::size_t at = layer * experts;
    const std::int64_t total = copy_layer(counts.subspan(at, experts), demand + at, length, where);
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
  return first_total;
}

}  // namespace

CountedDemand read_counts(
    const io::WindowHeader& header, const io::NpyFile& counts, SampleRange range
) {
  constexpr std::size_t kBufferBytes = 1 << 20;
  const WindowShape& shape = header.shape;
  const std::size_t sample_size =
      shape.moe_layers.size() * static_cast<std::size_t>(shape.num_experts);
  CountedDemand counted;
  counted.demand.resize(static_cast<std::size_t>(range.size()) * sample_size);
  io::with_type_of(counts.dtype(), [&](auto type) {
    using T = decltype(type);
    const auto at_once =
        static_cast<std::int64_t>(std::max<std::size_t>(1, kBufferBytes / sizeof(T) / sample_size));
    std::vector<T> buffer;  // checked and copied from here: the file may change
    for (std::int64_t begin = range.begin; begin < range.end; begin += at_once) {
      const std::int64_t end = std::min(begin + at_once, range.end);
      buffer.resize(static_cast<std::size_t>(end - begin) * sample_size);
      counts.read(begin * static_cast<std::int64_t>(sample_size), std::span<T>(buffer));
      for (std::int64_t sample = begin; sample < end; ++sample) {
        const auto values = std::span<const T>(buffer).subspan(
            static_cast<std::size_t>(sample - begin) * sample_size, sample_size
        );
        std::uint32_t* demand =
            counted.demand.data() + static_cast<std::size_t>(sample - range.begin) * sample_size;
        counted.routed_pairs += convert_sample(header, sample, values, demand);
      }
    }
  });
  return counted;
}

}  // namespace routepack::demand
