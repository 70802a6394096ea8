#include "demand/reduce.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "comm/collectives.hpp"

namespace routepack {
namespace {

std::vector<std::int64_t> sum_over_samples(const WindowSlice& slice) {
  const std::size_t sample_size =
      slice.shape.moe_layers.size() * static_cast<std::size_t>(slice.shape.num_experts);
  std::vector<std::int64_t> sum(sample_size, 0);
  for (std::size_t at = 0; at < slice.demand.size(); at += sample_size) {
    for (std::size_t entry = 0; entry < sample_size; ++entry) {
      sum[entry] += slice.demand[at + entry];
    }
  }
  return sum;
}

void check_conserved(const WindowDemand& window, const WindowShape& shape) {
  const std::int64_t routed = window.total_tokens - window.unrouted_tokens;
  const std::vector<std::int64_t> totals = pairs_of_layers(window.demand);
  for (std::size_t layer = 0; layer < totals.size(); ++layer) {
    const std::int64_t total = totals[layer];
    RP_CHECK(
        total / shape.top_k == routed, ErrorCode::kDemandNotConserved,
        "layer {} has {} routed pairs, {} routed tokens at top {} make {}: tokens were counted "
        "twice or not at all",
        shape.moe_layers[layer], total, routed, shape.top_k, routed * shape.top_k
    );
  }
}

}  // namespace

WindowDemand reduce_demand(const WindowSlice& slice, const Communicator& comm) {
  // One message: the demand, then the totals that it is checked against.
  std::vector<std::int64_t> sums = sum_over_samples(slice);
  const std::size_t sample_size = sums.size();
  sums.push_back(slice.num_local());
  sums.push_back(std::accumulate(slice.lengths.begin(), slice.lengths.end(), std::int64_t{0}));
  sums.push_back(slice.unrouted_tokens);
  sums = all_reduce_sum(std::move(sums), comm);
  WindowDemand window;
  window.num_samples = sums[sample_size];
  window.total_tokens = sums[sample_size + 1];
  window.unrouted_tokens = sums[sample_size + 2];
  sums.resize(sample_size);
  window.demand = {slice.shape.num_moe_layers(), slice.shape.num_experts, std::move(sums)};
  check_conserved(window, slice.shape);
  return window;
}

IndexVector<SampleId, std::int64_t> gather_routed_pairs(
    const WindowSlice& slice, const Communicator& comm
) {
  const auto experts = static_cast<std::ptrdiff_t>(slice.shape.num_experts);
  std::vector<std::int64_t> pairs;
  auto layer_demand = slice.demand.begin();
  for (std::int64_t sample = 0; sample < slice.num_local(); ++sample) {
    std::int64_t fewest = slice.shape.moe_layers.empty() ? 0 : INT64_MAX;
    for (int layer = 0; layer < slice.shape.num_moe_layers(); ++layer, layer_demand += experts) {
      fewest =
          std::min(fewest, std::accumulate(layer_demand, layer_demand + experts, std::int64_t{0}));
    }
    pairs.push_back(fewest);
  }
  return IndexVector<SampleId, std::int64_t>{all_gather(pairs, comm)};
}

std::vector<std::int64_t> pairs_of_layers(const Demand& demand) {
  std::vector<std::int64_t> pairs;
  for (const MoeLayer layer : ids<MoeLayer>(demand.num_layers)) {
    const std::span<const std::int64_t> experts = demand.of(layer);
    pairs.push_back(std::accumulate(experts.begin(), experts.end(), std::int64_t{0}));
  }
  return pairs;
}

}  // namespace routepack
