#include "annealing/exchange.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace routepack::annealing {
namespace {

std::vector<std::int32_t> pack_layout(const CellLayout& layout) {
  std::vector<std::int32_t> cells;
  cells.reserve(layout.cell_of_sample.size());
  for (const CellId cell : layout.cell_of_sample) {
    cells.push_back(cell.value());
  }
  return cells;
}

CellLayout unpack_layout(
    const std::vector<std::int32_t>& cells, const objective::SearchProblem& problem
) {
  CellLayout layout{
      problem.num_rows, problem.topology.dp, IndexVector<SampleId, CellId>{cells.size()}};
  for (const SampleId sample : ids<SampleId>(cells.size())) {
    layout.cell_of_sample[sample] = CellId{cells[sample.offset()]};
  }
  return layout;
}

}  // namespace

ChainOwners deal_chains(int num_chains, int num_mpi_ranks) {
  ChainOwners owners{static_cast<std::size_t>(num_chains), 0};
  for (int rank = 0; rank < num_mpi_ranks; ++rank) {
    const comm::Share share = comm::share_of(num_chains, rank, num_mpi_ranks);
    for (std::int64_t chain = share.begin; chain < share.end; ++chain) {
      owners[ChainId{static_cast<std::int32_t>(chain)}] = rank;
    }
  }
  return owners;
}

ChainOwners level_owners(
    const IndexVector<ChainId, ChainId>& parents, const ChainOwners& owners, int num_mpi_ranks
) {
  ChainOwners after{parents.size(), 0};
  std::vector<std::int64_t> held(static_cast<std::size_t>(num_mpi_ranks), 0);
  for (const ChainId chain : ids<ChainId>(parents.size())) {
    after[chain] = owners[parents[chain]];
    ++held[static_cast<std::size_t>(after[chain])];
  }
  const auto num_chains = static_cast<std::int64_t>(parents.size());
  const std::int64_t floor = num_chains / num_mpi_ranks;
  std::int64_t may_hold_one_more = num_chains % num_mpi_ranks;
  // Ranks above the floor keep one extra chain while there are extras to keep.
  std::vector<std::int64_t> target(held.size(), floor);
  for (std::size_t rank = 0; rank < held.size() && may_hold_one_more > 0; ++rank) {
    if (held[rank] > floor) {
      ++target[rank];
      --may_hold_one_more;
    }
  }
  for (std::size_t rank = 0; rank < held.size() && may_hold_one_more > 0; ++rank) {
    if (target[rank] == floor) {
      ++target[rank];
      --may_hold_one_more;
    }
  }
  std::size_t needy = 0;
  for (std::size_t n = parents.size(); n > 0; --n) {  // highest ids move first
    const ChainId chain{n - 1};
    const auto rank = static_cast<std::size_t>(after[chain]);
    if (held[rank] <= target[rank]) {
      continue;
    }
    while (held[needy] >= target[needy]) {
      ++needy;
    }
    after[chain] = static_cast<std::int32_t>(needy);
    --held[rank];
    ++held[needy];
  }
  return after;
}

std::map<ChainId, CellLayout> exchange_layouts(
    const IndexVector<ChainId, ChainId>& parents,
    const ChainOwners& before,
    const ChainOwners& after,
    const std::map<ChainId, const CellLayout*>& layouts,
    const objective::SearchProblem& problem,
    const comm::Communicator& comm
) {
  const auto me = static_cast<std::int32_t>(comm.mpi_rank());
  const int num_samples = problem.num_samples();
  std::map<ChainId, std::vector<std::int32_t>> arriving;
  std::vector<std::vector<std::int32_t>> leaving;
  std::vector<MPI_Request> requests;
  for (const ChainId chain : ids<ChainId>(parents.size())) {
    const std::int32_t source = before[parents[chain]];
    if (source == after[chain]) {
      continue;
    }
    if (after[chain] == me) {
      std::vector<std::int32_t>& cells = arriving[chain];
      cells.resize(static_cast<std::size_t>(num_samples));
      RP_MPI(MPI_Irecv(
          cells.data(), num_samples, MPI_INT32_T, source, chain.value(), comm.get(),
          &requests.emplace_back()
      ));
    } else if (source == me) {
      leaving.push_back(pack_layout(*layouts.at(parents[chain])));
      RP_MPI(MPI_Isend(
          leaving.back().data(), num_samples, MPI_INT32_T, after[chain], chain.value(), comm.get(),
          &requests.emplace_back()
      ));
    }
  }
  RP_MPI(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  std::map<ChainId, CellLayout> taken;
  for (const auto& [chain, cells] : arriving) {
    taken.emplace(chain, unpack_layout(cells, problem));
  }
  return taken;
}

}  // namespace routepack::annealing
