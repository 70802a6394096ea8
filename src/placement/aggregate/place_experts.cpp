#include "placement/aggregate/place_experts.hpp"

#include <omp.h>

#include <utility>

#include "base/check.hpp"
#include "comm/dealt.hpp"

namespace routepack::placement {
namespace {

constexpr int kMaxExperts = 65536;  // slots travel as u16

std::span<const std::int64_t> demand_of(const PlacementProblem& problem, MoeLayer layer) {
  const auto num_experts = static_cast<std::size_t>(problem.num_experts);
  return problem.demand.subspan(layer.offset() * num_experts, num_experts);
}

void check_sizes(const PlacementProblem& problem) {
  RP_CHECK(
      problem.num_layers >= 0, ErrorCode::kNumberOutOfRange,
      "num_layers is {}, it cannot be negative", problem.num_layers
  );
  RP_CHECK(
      problem.num_experts >= 1 && problem.num_experts <= kMaxExperts, ErrorCode::kNumberOutOfRange,
      "num_experts is {}, allowed are 1 to {}", problem.num_experts, kMaxExperts
  );
  RP_CHECK(
      problem.ep >= 1, ErrorCode::kNumberOutOfRange, "ep is {}, it must be at least 1", problem.ep
  );
  RP_CHECK(
      problem.num_experts % problem.ep == 0, ErrorCode::kExpertsNotDivisible,
      "{} experts are no multiple of ep = {}", problem.num_experts, problem.ep
  );
  const std::size_t entries =
      static_cast<std::size_t>(problem.num_layers) * static_cast<std::size_t>(problem.num_experts);
  RP_CHECK(
      problem.demand.size() == entries, ErrorCode::kFileMalformed,
      "the demand has {} entries, {} layers of {} experts need {}", problem.demand.size(),
      problem.num_layers, problem.num_experts, entries
  );
}

void check_demand(std::span<const std::int64_t> demand, MoeLayer layer) {
  std::int64_t total = 0;
  for (const ExpertId expert : ids<ExpertId>(demand.size())) {
    const std::int64_t pairs = demand[expert.offset()];
    RP_CHECK(
        pairs >= 0, ErrorCode::kNumberOutOfRange,
        "demand of expert {} at layer {} is {}, it cannot be negative", expert.value(),
        layer.value(), pairs
    );
    RP_CHECK(
        !__builtin_add_overflow(total, pairs, &total), ErrorCode::kNumberOutOfRange,
        "demand of layer {} exceeds 64 bits at expert {}", layer.value(), expert.value()
    );
  }
}

// A layer's result as numbers, for the other ranks: peak, lower bound, then the slots.
std::vector<std::int64_t> to_words(const LayerResult& layer) {
  std::vector<std::int64_t> words = {layer.peak, layer.lower_bound};
  for (const SlotId slot : layer.slots) {
    words.push_back(slot.value());
  }
  return words;
}

LayerResult from_words(const std::vector<std::int64_t>& words) {
  LayerResult layer;
  layer.peak = words[0];
  layer.lower_bound = words[1];
  for (std::size_t at = 2; at < words.size(); ++at) {
    layer.slots.push_back(SlotId{static_cast<std::int32_t>(words[at])});
  }
  return layer;
}

// The results of all layers together.
PlacementResult collect_layers(const PlacementProblem& problem, std::vector<LayerResult> layers) {
  PlacementResult all;
  all.placement.num_experts = problem.num_experts;
  all.placement.ep = problem.ep;
  for (LayerResult& layer : layers) {
    all.placement.layers.push_back(std::move(layer.slots));
    all.peak.push_back(layer.peak);
    all.lower_bound.push_back(layer.lower_bound);
  }
  Placement before = problem.current != nullptr
                         ? *problem.current
                         : identity_placement(problem.num_layers, problem.num_experts, problem.ep);
  before.ep = problem.ep;
  all.moved_experts = count_moved_experts(before, all.placement);
  return all;
}

}  // namespace

void validate_problem(const PlacementProblem& problem) {
  if (problem.num_layers == 0) {
    return;  // a dense model: nothing to place, whatever the other sizes say
  }
  check_sizes(problem);
  for (const MoeLayer layer : ids<MoeLayer>(problem.num_layers)) {
    check_demand(demand_of(problem, layer), layer);
  }
  if (problem.current != nullptr) {
    validate_placement(*problem.current, problem.num_layers, problem.num_experts);
  }
}

PlacementResult place_experts(
    const PlacementProblem& problem,
    const PlaceEffort& effort,
    std::uint64_t seed,
    const comm::Communicator& comm
) {
  comm::agree_on([&] { validate_problem(problem); }, comm);
  const auto num_layers = static_cast<std::size_t>(problem.num_layers);
  std::vector<std::vector<std::int64_t>> mine(comm::dealt_items(num_layers, comm).size());
  const int threads = effort.num_threads > 0 ? effort.num_threads : omp_get_max_threads();
  comm::for_each_dealt(
      num_layers, threads,
      [&](std::size_t position, std::size_t item) {
        const MoeLayer layer{item};
        mine[position] = to_words(place_layer(
            demand_of(problem, layer), problem.ep,
            problem.current != nullptr ? &problem.current->layers[layer] : nullptr, effort,
            random::Stream{
                seed, random::Purpose::kPlacement, static_cast<std::uint32_t>(layer.value())}
        ));
      },
      comm
  );
  std::vector<LayerResult> layers;
  for (const std::vector<std::int64_t>& words : comm::gather_dealt(num_layers, mine, comm)) {
    layers.push_back(from_words(words));
  }
  return collect_layers(problem, std::move(layers));
}

}  // namespace routepack::placement
