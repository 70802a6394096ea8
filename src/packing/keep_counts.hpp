// Layouts under the rules on numbers of samples: at most so many in a cell, equally many in every
// DP slot.
#pragma once

#include <optional>

#include "domain/cell_rules.hpp"
#include "domain/tuning.hpp"
#include "packing/lengths.hpp"
#include "random/stream.hpp"
#include "routepack/layout.hpp"
#include "routepack/topology.hpp"

namespace routepack::packing {

// What is wrong with the numbers of samples of a layout; empty where the rules are kept.
[[nodiscard]] std::string find_count_fault(
    const CellLayout& layout, const domain::CellRules& rules
);

// A layout that keeps the rules, as near to `layout` as comes about: first cells of a block change
// their DP slots, which costs nothing, then samples move one by one or are exchanged two for one,
// and one for one at random where neither fits. `layout` keeps the capacity, has no empty cell and,
// for equal slots, a multiple of dp samples. Empty where the steps do not suffice.
[[nodiscard]] std::optional<CellLayout> keep_counts(
    const CellLayout& layout,
    const IndexVector<SampleId, std::int64_t>& lengths,
    const domain::CellRules& rules,
    const Topology& topology,
    const random::Stream& stream,
    const domain::Tuning::Counts& tuning = {}
);

}  // namespace routepack::packing
