// Ranks that were given different things (options, files) must notice before any work: each tells
// what it has, as names and values, and all throw the same error that says what differs and where.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "comm/communicator.hpp"

namespace routepack {

struct NamedEvidence {
  std::string name;   // e.g. "option sweeps", "demand.npy"
  std::string value;  // compared as text, and printed
};

// Collective. Throws INPUT_DISAGREEMENT on every rank unless all pass the same list; names the
// first entry that differs between rank 0 and the lowest rank that has another list. Lists may
// differ in length: an entry that a rank lacks is "not given" there. Costs 16 bytes a rank where
// all agree.
void agree_on_inputs(const std::vector<NamedEvidence>& mine, const Communicator& comm);

// Collective. The same for numbers that are too many to print: "lengths.npy: sample 3 is 7 on rank
// 0 and 9 on rank 1", where `name` is "lengths.npy" and `element` "sample".
void agree_on_numbers(
    const std::string& name,
    const std::string& element,
    std::span<const std::int64_t> mine,
    const Communicator& comm
);

// Collective. The lowest rank whose digest is not rank 0's; empty where all are equal.
[[nodiscard]] std::optional<int> find_other_rank(const Digest& mine, const Communicator& comm);

}  // namespace routepack
