#include "annealing/population.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/parallel.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"

namespace routepack::annealing {
namespace {

struct ChainRecord {
  std::int32_t chain;
  std::int64_t energy;
};

struct ArchiveRecord {
  objective::SearchScore score;
  std::int32_t chain;
  std::int32_t mpi_rank;
};

bool precedes(const ArchiveRecord& x, const ArchiveRecord& y) {
  return x.score != y.score ? x.score < y.score : x.chain < y.chain;
}

}  // namespace

std::int64_t moves_per_sweep(
    const objective::SearchProblem& problem, const domain::Tuning::Population& tuning
) {
  return tuning.moves_per_sample * std::max(problem.num_samples(), tuning.fewest_samples);
}

// What the root decides between two stages.
struct Population::Decision {
  std::int64_t temperature;
  std::int64_t num_sweeps;
  double step;
  bool stop;
};

Population::Population(
    const objective::SearchProblem& problem,
    const MakeStart& make_start,
    const PopulationOptions& options,
    const domain::Tuning& tuning,
    const comm::Communicator& comm
)
    : problem_(&problem),
      options_(options),
      moves_(tuning.moves),
      tuning_(tuning.population),
      comm_(&comm),
      proposer_(std::make_unique<MoveProposer>(problem, moves_)),
      acceptance_(comm::broadcast_value(random::Acceptance::make_table(), 0, comm)),
      owners_(deal_chains(options.num_chains, comm.num_mpi_ranks())),
      family_{static_cast<std::size_t>(options.num_chains), 0},
      best_score_{INT64_MAX, INT64_MAX} {
  for (const ChainId chain : ids<ChainId>(options.num_chains)) {
    family_[chain] = chain.value();
    if (owners_[chain] == comm.mpi_rank()) {
      chains_.push_back(nullptr);
    }
  }
  const auto first = std::find(owners_.begin(), owners_.end(), comm.mpi_rank());
  const auto first_id = static_cast<std::int32_t>(first - owners_.begin());
  comm::agree_on([&] { start_chains(ChainId{first_id}, make_start); }, comm);
  ArchiveRecord best{best_score_, options.num_chains, comm.mpi_rank()};
  for (const auto& chain : chains_) {
    const ArchiveRecord mine{chain->state().score(), chain->id().value(), comm.mpi_rank()};
    if (precedes(mine, best)) {
      best = mine;
      best_layout_ = chain->state().layout();
    }
  }
  const std::vector<ArchiveRecord> all = comm::all_gather_value(best, comm);
  best = *std::min_element(all.begin(), all.end(), precedes);
  best_score_ = best.score;
  best_holder_ = best.mpi_rank;
}

void Population::start_chains(ChainId first, const MakeStart& make_start) {
  base::parallel_for(
      chains_.size(), options_.num_threads,
      [&](std::size_t at) {
        const ChainId chain{first.value() + static_cast<std::int32_t>(at)};
        chains_[at] = std::make_unique<Chain>(
            chain, options_.seed, *problem_, make_start(chain), options_.simd
        );
      },
      base::ParallelDeal::kFixed
  );
}

std::int64_t Population::mean_change() {
  std::int64_t change = 0;
  const std::int32_t holder = owners_[ChainId{0}];
  for (const auto& chain : chains_) {
    if (chain->id() == ChainId{0}) {
      change = chain->mean_change(tuning_.scale_moves, *proposer_);
    }
  }
  return comm::broadcast_value(change, holder, *comm_);
}

std::vector<StageResult> Population::run_local(const Stage& stage) {
  std::vector<StageResult> results(chains_.size());
  base::parallel_for(
      chains_.size(), options_.num_threads,
      [&](std::size_t at) { results[at] = chains_[at]->run_stage(stage, *proposer_, acceptance_); },
      base::ParallelDeal::kFixed
  );
  return results;
}

// Keeps the best improvement of the stage, ties to the lowest chain, on the rank that has it.
void Population::archive(const std::vector<StageResult>& results) {
  ArchiveRecord best{best_score_, options_.num_chains, comm_->mpi_rank()};
  const CellLayout* layout = nullptr;
  for (std::size_t n = 0; n < results.size(); ++n) {
    if (!results[n].improvement) {
      continue;
    }
    const ArchiveRecord mine{
        results[n].improvement->score, chains_[n]->id().value(), comm_->mpi_rank()};
    if (precedes(mine, best)) {
      best = mine;
      layout = &results[n].improvement->layout;
    }
  }
  const std::vector<ArchiveRecord> all = comm::all_gather_value(best, *comm_);
  const ArchiveRecord& winner = *std::min_element(all.begin(), all.end(), precedes);
  if (winner.score < best_score_) {
    best_score_ = winner.score;
    best_holder_ = winner.mpi_rank;
    if (best_holder_ == comm_->mpi_rank()) {
      best_layout_ = *layout;
    }
  }
}

Energies Population::gather_energies() const {
  std::vector<ChainRecord> mine;
  for (const auto& chain : chains_) {
    mine.push_back({chain->id().value(), chain->energy()});
  }
  Energies energies{static_cast<std::size_t>(options_.num_chains), 0};
  for (const ChainRecord& record : comm::all_gather(mine, *comm_)) {
    energies[ChainId{record.chain}] = record.energy;
  }
  return energies;
}

void Population::resample_chains(const Energies& energies, double step) {
  const random::Stream random{options_.seed, random::Purpose::kResampling, 0};
  IndexVector<ChainId, std::int32_t> copies{energies.size(), 1};
  if (comm_->is_root()) {
    copies = resample(energies, step, random.at(next_stage_, 0).word(0));
  }
  copies = IndexVector<ChainId, std::int32_t>{comm::broadcast(copies.values(), 0, *comm_)};
  const IndexVector<ChainId, ChainId> parents = parents_of(copies);
  const ChainOwners after = level_owners(parents, owners_, comm_->num_mpi_ranks());
  std::map<ChainId, const Chain*> held;
  std::map<ChainId, const CellLayout*> layouts;
  for (const auto& chain : chains_) {
    held.emplace(chain->id(), chain.get());
    layouts.emplace(chain->id(), &chain->state().layout());
  }
  const std::map<ChainId, CellLayout> taken =
      exchange_layouts(parents, owners_, after, layouts, *problem_, *comm_);
  std::vector<std::unique_ptr<Chain>> next;
  IndexVector<ChainId, std::int32_t> family{family_.size()};
  for (const ChainId chain : ids<ChainId>(parents.size())) {
    family[chain] = family_[parents[chain]];
    if (after[chain] != comm_->mpi_rank()) {
      continue;
    }
    const auto arrived = taken.find(chain);
    next.push_back(
        arrived == taken.end() ? std::make_unique<Chain>(chain, *held.at(parents[chain]))
                               : std::make_unique<Chain>(
                                     chain, options_.seed, *problem_, arrived->second, options_.simd
                                 )
    );
  }
  chains_ = std::move(next);
  owners_ = after;
  family_ = std::move(family);
}

void Population::anneal(const Round& round, const base::Stopwatch& clock, const Report& report) {
  const bool timed = round.deadline_seconds > 0.0;
  Decision decision{round.first_temperature, 0, 0.0, false};
  double seconds_per_sweep = 0.0;
  for (int stage = 0; stage < round.num_stages; ++stage) {
    if (best_score_.max_shard <= round.enough) {  // the same on every rank
      return;
    }
    const double started = clock.seconds();
    decision.num_sweeps =
        timed ? tuning_.first_sweeps : sweeps_of_stage(round.num_sweeps, round.num_stages, stage);
    if (timed) {
      const double left = round.deadline_seconds - started;
      if (seconds_per_sweep > 0.0) {
        decision.num_sweeps = std::max<std::int64_t>(
            1, static_cast<std::int64_t>(left / (round.num_stages - stage) / seconds_per_sweep)
        );
      }
      decision.stop = left <= 0.0;
      decision = comm::broadcast_value(decision, 0, *comm_);  // the root's clock decides for all
    }
    if (decision.stop) {
      return;
    }
    const std::int64_t num_moves = decision.num_sweeps * moves_per_sweep(*problem_, tuning_);
    const Stage next{next_stage_, decision.temperature, num_moves, best_score_};
    archive(comm::agree_on([&] { return run_local(next); }, *comm_));
    const Energies energies = gather_energies();
    ++next_stage_;
    sweeps_done_ += decision.num_sweeps;
    total_moves_ += num_moves * options_.num_chains;
    const double seconds = clock.seconds() - started;
    seconds_per_sweep =
        seconds / static_cast<double>(std::max<std::int64_t>(1, decision.num_sweeps));
    report_stage(round, stage, decision.temperature, num_moves, seconds, report);
    const int stages_left = round.num_stages - stage - 1;
    if (stages_left > 0) {
      decision.temperature =
          cool_chains(energies, decision.temperature, round.last_temperature, stages_left);
    }
  }
}

// Between two stages: the next temperature, and the population that goes on at it.
std::int64_t Population::cool_chains(
    const Energies& energies, std::int64_t temperature, std::int64_t last, int stages_left
) {
  const bool resamples = tuning_.resample && options_.num_chains > 1;
  const bool hold = resamples && is_collapsed(family_, tuning_) && !held_temperature_;
  const Cooling cooling = comm::broadcast_value(
      cool(resamples ? energies : Energies{}, temperature, last, stages_left, hold, tuning_), 0,
      *comm_
  );
  held_temperature_ = hold;
  if (hold) {
    restart_families();
  } else if (resamples) {
    resample_chains(energies, cooling.step);
  }
  return cooling.temperature;
}

void Population::report_stage(
    const Round& round,
    int stage,
    std::int64_t temperature,
    std::int64_t num_moves,
    double seconds,
    const Report& report
) const {
  if (!comm_->is_root() || !report) {
    return;
  }
  const FamilyStatistics families = family_statistics(family_);
  report(StageReport{
      stage + 1, round.num_stages, static_cast<double>(temperature) / problem_->units_per_cost,
      static_cast<double>(best_score_.max_shard) / problem_->units_per_cost,
      static_cast<double>(num_moves * options_.num_chains) / std::max(seconds, 1e-9),
      families.num_families, families.rho_t});
}

void Population::restart_families() {
  for (const ChainId chain : ids<ChainId>(family_.size())) {
    family_[chain] = chain.value();
  }
}

CellLayout Population::best_layout() const {
  std::vector<CellId> cells = best_layout_.cell_of_sample.values();
  cells = comm::broadcast(std::move(cells), best_holder_, *comm_);
  return CellLayout{
      problem_->num_rows, problem_->topology.dp, IndexVector<SampleId, CellId>{std::move(cells)}};
}

void Population::rebase(const objective::SearchProblem& problem) {
  best_layout_ = best_layout();
  problem_ = &problem;
  proposer_ = std::make_unique<MoveProposer>(problem, moves_);
  for (auto& chain : chains_) {
    chain = std::make_unique<Chain>(
        chain->id(), options_.seed, problem, chain->state().layout(), options_.simd
    );
  }
  best_score_ = objective::SearchState(problem, best_layout_, options_.simd).score();
}

void Population::restart_from(const CellLayout& layout) {
  for (auto& chain : chains_) {
    chain->restart_from(layout);
  }
  restart_families();
}

void Population::start_over(const CellLayout& layout) {
  restart_from(layout);
  best_layout_ = layout;
  best_score_ = objective::SearchState(*problem_, layout, options_.simd).score();
}

}  // namespace routepack::annealing
