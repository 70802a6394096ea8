#include "packing/lengths.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.hpp"

namespace routepack::packing {
namespace {

constexpr std::size_t kMaxNamedSamples = 8;

// "sample 3" or "samples 3, 7, 9 and 12 more", ids ascending.
std::string name_samples(const std::vector<std::size_t>& samples) {
  const std::size_t num_named = std::min(samples.size(), kMaxNamedSamples);
  const auto end = samples.begin() + static_cast<std::ptrdiff_t>(num_named);
  std::string names = fmt::format("{}", fmt::join(samples.begin(), end, ", "));
  if (samples.size() > num_named) {
    names += fmt::format(" and {} more", samples.size() - num_named);
  }
  return fmt::format("sample{} {}", samples.size() == 1 ? "" : "s", names);
}

}  // namespace

PaddedLengths pad_lengths(
    const std::vector<std::int64_t>& lengths,
    std::int64_t pad_multiple,
    std::int64_t capacity_tokens,
    Oversize oversize
) {
  RP_CHECK(
      pad_multiple >= 1, ErrorCode::kNumberOutOfRange, "pad multiple is {}, at least 1 is needed",
      pad_multiple
  );
  RP_CHECK(
      capacity_tokens >= 1, ErrorCode::kNumberOutOfRange, "capacity is {}, at least 1 is needed",
      capacity_tokens
  );
  // No more cells than samples are ever filled, so every sum of tokens stays below this product.
  (void)base::checked_multiply(
      capacity_tokens, static_cast<std::int64_t>(lengths.size()), "capacity times samples"
  );
  PaddedLengths padded{lengths.size()};
  std::vector<std::size_t> empty;
  std::vector<std::size_t> too_long;
  for (std::size_t sample = 0; sample < lengths.size(); ++sample) {
    const std::int64_t length = lengths[sample];
    if (length <= 0) {
      empty.push_back(sample);
      continue;
    }
    const std::int64_t missing = (pad_multiple - length % pad_multiple) % pad_multiple;
    const bool fits = length <= capacity_tokens && missing <= capacity_tokens - length;
    if (!fits && oversize == Oversize::kError) {
      too_long.push_back(sample);
      continue;
    }
    padded[SampleId{sample}] = base::checked_add(length, missing, "padded length");
    (void)base::checked_multiply(
        padded[SampleId{sample}], static_cast<std::int64_t>(lengths.size()),
        "longest sample times samples"
    );
  }
  RP_CHECK(
      empty.empty(), ErrorCode::kZeroLengthSample,
      "{} of {} samples have no tokens (length {}, at least 1 is needed): {}", empty.size(),
      lengths.size(), lengths[empty.front()], name_samples(empty)
  );
  RP_CHECK(
      too_long.empty(), ErrorCode::kSampleExceedsCap,
      "{} of {} samples are longer than the capacity of {} tokens once padded to a multiple of {} "
      "(the first has {}; --oversize own-row gives each a cell of its own): {}",
      too_long.size(), lengths.size(), capacity_tokens, pad_multiple, lengths[too_long.front()],
      name_samples(too_long)
  );
  return padded;
}

std::vector<SampleId> find_oversized(const PaddedLengths& padded, std::int64_t capacity_tokens) {
  std::vector<SampleId> oversized;
  for (const SampleId sample : ids<SampleId>(padded.size())) {
    if (padded[sample] > capacity_tokens) {
      oversized.push_back(sample);
    }
  }
  return oversized;
}

PaddedLengths lengths_in_cells(PaddedLengths padded, std::int64_t capacity_tokens) {
  for (std::int64_t& length : padded) {
    length = std::min(length, capacity_tokens);
  }
  return padded;
}

std::vector<SampleId> longest_first(const PaddedLengths& padded) {
  std::vector<SampleId> order;
  order.reserve(padded.size());
  for (const SampleId sample : ids<SampleId>(padded.size())) {
    order.push_back(sample);
  }
  std::sort(order.begin(), order.end(), [&](SampleId a, SampleId b) {
    return padded[a] != padded[b] ? padded[a] > padded[b] : a < b;
  });
  return order;
}

std::vector<LengthCount> count_lengths(const PaddedLengths& padded) {
  std::vector<std::int64_t> sorted = padded.values();
  std::sort(sorted.begin(), sorted.end());
  std::vector<LengthCount> counted;
  for (const std::int64_t length : sorted) {
    if (counted.empty() || counted.back().length != length) {
      counted.push_back({length, 0});
    }
    ++counted.back().count;
  }
  return counted;
}

}  // namespace routepack::packing
