#include "placement/gather.hpp"

#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/collectives.hpp"

namespace routepack {

PlacementResult place_experts(
    const PlacementProblem& problem,
    const PlaceEffort& effort,
    std::uint64_t seed,
    const Communicator& comm
) {
  const int num_ranks = comm.num_mpi_ranks();
  const std::vector<LayerResult> mine = agree_on(
      [&] {
        validate_problem(problem);
        return place_layers(problem, effort, seed, MoeLayer{comm.mpi_rank()}, num_ranks);
      },
      comm
  );
  std::vector<std::uint16_t> my_slots;   // [my layers, E]
  std::vector<std::int64_t> my_figures;  // [my layers, 2]: peak, lower bound
  for (const LayerResult& layer : mine) {
    for (const SlotId slot : layer.slots) {
      my_slots.push_back(static_cast<std::uint16_t>(slot.value()));
    }
    my_figures.push_back(layer.peak);
    my_figures.push_back(layer.lower_bound);
  }
  const std::vector<std::uint16_t> slots = all_gather(my_slots, comm);
  const std::vector<std::int64_t> figures = all_gather(my_figures, comm);
  // Gathered in rank order: rank 0's layers 0, n, 2n, …, then rank 1's.
  std::vector<LayerResult> layers(static_cast<std::size_t>(problem.num_layers));
  std::size_t next_slot = 0;
  std::size_t next_figure = 0;
  for (int rank = 0; rank < num_ranks; ++rank) {
    for (int layer = rank; layer < problem.num_layers; layer += num_ranks) {
      LayerResult& result = layers[static_cast<std::size_t>(layer)];
      for (int expert = 0; expert < problem.num_experts; ++expert) {
        result.slots.push_back(SlotId{std::int32_t{slots[next_slot++]}});
      }
      result.peak = figures[next_figure++];
      result.lower_bound = figures[next_figure++];
    }
  }
  return collect_layers(problem, std::move(layers));
}

}  // namespace routepack
