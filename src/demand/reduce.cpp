#include "demand/reduce.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"

namespace routepack::demand {
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

void check_conserved(const domain::WindowDemand& window, const WindowShape& shape) {
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

domain::WindowDemand reduce_demand(const WindowSlice& slice, const comm::Communicator& comm) {
  // One message: the demand, then the totals that it is checked against.
  std::vector<std::int64_t> sums = sum_over_samples(slice);
  const std::size_t sample_size = sums.size();
  sums.push_back(slice.num_local());
  sums.push_back(std::accumulate(slice.lengths.begin(), slice.lengths.end(), std::int64_t{0}));
  sums.push_back(slice.unrouted_tokens);
  sums = comm::all_reduce_sum(std::move(sums), comm);
  domain::WindowDemand window;
  window.num_samples = sums[sample_size];
  window.total_tokens = sums[sample_size + 1];
  window.unrouted_tokens = sums[sample_size + 2];
  sums.resize(sample_size);
  window.demand = {slice.shape.num_moe_layers(), slice.shape.num_experts, std::move(sums)};
  check_conserved(window, slice.shape);
  return window;
}

IndexVector<SampleId, std::int64_t> gather_routed_pairs(
    const WindowSlice& slice, const comm::Communicator& comm
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
  return IndexVector<SampleId, std::int64_t>{comm::all_gather(pairs, comm)};
}

std::vector<std::int64_t> pairs_of_layers(const domain::Demand& demand) {
  std::vector<std::int64_t> pairs;
  for (const MoeLayer layer : ids<MoeLayer>(demand.num_layers)) {
    const std::span<const std::int64_t> experts = demand.of(layer);
    pairs.push_back(std::accumulate(experts.begin(), experts.end(), std::int64_t{0}));
  }
  return pairs;
}

namespace {

// Elements of consecutive samples that the ranks of one node hold.
struct NodeBlock {
  int leader = 0;  // rank among the nodes' first ranks
  std::size_t begin = 0;
  std::size_t size = 0;
};

struct Owner {
  int leader;
  std::int64_t num_samples;
};

// Blocks in sample order: neighbouring ranks of one node make one block.
std::vector<NodeBlock> find_blocks(const std::vector<Owner>& owners, std::size_t sample_size) {
  std::vector<NodeBlock> blocks;
  std::size_t begin = 0;
  for (const Owner& owner : owners) {
    const std::size_t size = static_cast<std::size_t>(owner.num_samples) * sample_size;
    if (!blocks.empty() && blocks.back().leader == owner.leader) {
      blocks.back().size += size;
    } else {
      blocks.push_back({owner.leader, begin, size});
    }
    begin += size;
  }
  return blocks;
}

// Writes the local samples into this node's array, then exchanges whole nodes' blocks, so that
// every byte crosses the network once per node. Where a node's ranks have no memory in common, each
// of them counts as a node.
template <class T>
comm::NodeSharedArray<T> gather_on_nodes(
    const std::vector<std::uint32_t>& mine,
    std::int64_t num_local,
    std::size_t sample_size,
    const comm::Communicator& node,
    const comm::Communicator& comm
) {
  const std::size_t total =
      static_cast<std::size_t>(comm::all_reduce_sum(num_local, comm)) * sample_size;
  comm::NodeSharedArray<T> shared = comm::agree_on(
      [&] { return comm::NodeSharedArray<T>(total, node); }, comm
  );  // one node may lack memory
  const comm::Communicator sharers = node.split(shared.is_shared() ? 0 : node.mpi_rank());
  const comm::Communicator leaders = comm.split(sharers.is_root() ? 0 : 1);
  const int leader = comm::broadcast_value(leaders.mpi_rank(), 0, sharers);
  const std::vector<Owner> owners = comm::all_gather_value(Owner{leader, num_local}, comm);
  std::size_t begin = 0;
  for (std::size_t rank = 0; std::cmp_less(rank, comm.mpi_rank()); ++rank) {
    begin += static_cast<std::size_t>(owners[rank].num_samples) * sample_size;
  }
  std::ranges::transform(
      mine, shared.span().begin() + static_cast<std::ptrdiff_t>(begin),
      [](std::uint32_t pairs) { return static_cast<T>(pairs); }
  );
  comm::NodeSharedBytes::synchronize(sharers);
  if (sharers.is_root()) {
    for (const NodeBlock& block : find_blocks(owners, sample_size)) {
      comm::broadcast_into(shared.span().subspan(block.begin, block.size), block.leader, leaders);
    }
  }
  comm::NodeSharedBytes::synchronize(sharers);
  return shared;
}

}  // namespace

ProjectedDemand::ProjectedDemand(
    domain::ProjectedDemandView shape, comm::NodeSharedArray<std::uint16_t> narrow
)
    : view_(shape), values_(std::move(narrow)) {
  view_.narrow = std::get<0>(values_).span();
}

ProjectedDemand::ProjectedDemand(
    domain::ProjectedDemandView shape, comm::NodeSharedArray<std::uint32_t> wide
)
    : view_(shape), values_(std::move(wide)) {
  view_.wide = std::get<1>(values_).span();
}

std::vector<std::uint32_t> project_slice(const WindowSlice& slice, const Placement& placement) {
  const int layers = slice.shape.num_moe_layers();
  const int experts = slice.shape.num_experts;
  const auto padded = static_cast<std::size_t>(domain::padded_layer_count(layers));
  const auto ep = static_cast<std::size_t>(placement.ep);
  std::vector<std::size_t> target;  // [L, E]: where an expert's pairs go within a sample
  for (const MoeLayer layer : ids<MoeLayer>(layers)) {
    for (const ExpertId expert : ids<ExpertId>(experts)) {
      target.push_back(placement.ep_rank_of(layer, expert).offset() * padded + layer.offset());
    }
  }
  const std::size_t sample_size = ep * padded;
  std::vector<std::uint32_t> projected(static_cast<std::size_t>(slice.num_local()) * sample_size);
  std::uint32_t* sample = projected.data();
  for (std::size_t at = 0; at < slice.demand.size(); at += target.size(), sample += sample_size) {
    for (std::size_t entry = 0; entry < target.size(); ++entry) {
      sample[target[entry]] += slice.demand[at + entry];
    }
  }
  return projected;
}

ProjectedDemand project_demand(
    const WindowSlice& slice,
    const Placement& placement,
    const comm::Communicator& node,
    const comm::Communicator& comm
) {
  const int layers = slice.shape.num_moe_layers();
  const std::vector<std::uint32_t> mine = project_slice(slice, placement);
  const std::uint32_t largest =
      comm::all_reduce_max(mine.empty() ? 0U : *std::ranges::max_element(mine), comm);
  domain::ProjectedDemandView shape;
  shape.num_samples = static_cast<int>(slice.shape.num_samples);
  shape.ep = placement.ep;
  shape.num_layers = layers;
  shape.padded_layers = domain::padded_layer_count(layers);
  const std::size_t sample_size =
      static_cast<std::size_t>(placement.ep) * static_cast<std::size_t>(shape.padded_layers);
  if (largest <= std::numeric_limits<std::uint16_t>::max()) {
    return {
        shape, gather_on_nodes<std::uint16_t>(mine, slice.num_local(), sample_size, node, comm)};
  }
  return {shape, gather_on_nodes<std::uint32_t>(mine, slice.num_local(), sample_size, node, comm)};
}

}  // namespace routepack::demand
