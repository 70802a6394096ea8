// What a training run has learnt, by logical expert: independent of where experts live.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "training/shape.hpp"

namespace routepack::training {

// A kind of tensor -> [layer][expert][element]. Kinds that every EDP shard holds whole appear once
// a shard, as KIND@SHARD.
using LogicalState = std::map<std::string, std::vector<double>>;

struct LogicalValue {
  std::int64_t position = 0;
  double value = 0.0;
};

// Collective. The values of one kind from all ranks, each position from one of them; positions
// that nobody holds are NaN.
[[nodiscard]] inline std::vector<double> gather_kind(
    const std::vector<LogicalValue>& mine, std::size_t size, const comm::Communicator& comm
) {
  std::vector<double> values(size, std::numeric_limits<double>::quiet_NaN());
  for (const LogicalValue& held : comm::all_gather(mine, comm)) {
    values[static_cast<std::size_t>(held.position)] = held.value;
  }
  return values;
}

// Kinds whose bits differ anywhere (NaN equals itself).
[[nodiscard]] inline std::vector<std::string> find_differing_kinds(
    const LogicalState& a, const LogicalState& b
) {
  std::vector<std::string> differing;
  for (const auto& [kind, values] : a) {
    const auto found = b.find(kind);
    bool same = found != b.end() && found->second.size() == values.size();
    for (std::size_t at = 0; same && at < values.size(); ++at) {
      same = std::bit_cast<std::uint64_t>(values[at]) ==
             std::bit_cast<std::uint64_t>(found->second[at]);
    }
    if (!same) {
      differing.push_back(kind);
    }
  }
  return differing;
}

}  // namespace routepack::training
