// The population of chains over all MPI ranks and threads: stages at a fixed temperature, then
// resampling (arXiv 2608.12146; population annealing). The best layout ever seen is kept outside
// the resampling. What happens depends on the problem, the options and the seed alone.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "annealing/chain.hpp"
#include "annealing/cooling.hpp"
#include "annealing/exchange.hpp"
#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "random/stream.hpp"

namespace routepack::annealing {

struct PopulationOptions {
  std::uint64_t seed = 1;
  int num_chains = 1;
  int num_threads = 1;  // of this rank
  SimdLevel simd = SimdLevel::kPortable;
};

// What the root tells the user after every stage.
struct StageReport {
  int stage = 0;
  int num_stages = 0;
  double temperature = 0.0;  // in cost units
  double best = 0.0;         // max_shard of the archive, in cost units
  double moves_per_second = 0.0;
  int num_families = 0;
  double rho_t = 0.0;
};

// Proposals of a sweep: a fixed number a sample.
[[nodiscard]] std::int64_t moves_per_sweep(
    const objective::SearchProblem& problem, const domain::Tuning::Population& tuning
);

class Population {
 public:
  using Report = std::function<void(const StageReport&)>;
  using MakeStart = std::function<CellLayout(ChainId)>;

  // Collective. Every chain starts from `make_start` of its id, called on the rank that holds it.
  // `problem` must outlive the population or its next rebase.
  Population(
      const objective::SearchProblem& problem,
      const MakeStart& make_start,
      const PopulationOptions& options,
      const domain::Tuning& tuning,
      const comm::Communicator& comm
  );

  // Collective. One round; `clock` counts from where the round's deadline does. Ends early, between
  // stages, once the archive is good enough.
  void anneal(const Round& round, const base::Stopwatch& clock, const Report& report);

  // Collective. A scale for temperatures: mean |energy change| of random moves, of chain 0.
  [[nodiscard]] std::int64_t mean_change();

  // Collective. The archive on every rank.
  [[nodiscard]] CellLayout best_layout() const;
  [[nodiscard]] const objective::SearchScore& best_score() const { return best_score_; }

  // Collective. Another problem with the same samples and cells (a new placement): every chain and
  // the archive keep their layouts, their costs are new.
  void rebase(const objective::SearchProblem& problem);
  // All chains continue from one layout, each a family of its own; the archive stays.
  void restart_from(const CellLayout& layout);
  // The same, and the archive holds that layout alone.
  void start_over(const CellLayout& layout);

  [[nodiscard]] std::int64_t total_moves() const { return total_moves_; }
  [[nodiscard]] std::int64_t sweeps_done() const { return sweeps_done_; }

 private:
  struct Decision;
  void start_chains(ChainId first, const MakeStart& make_start);
  [[nodiscard]] std::vector<StageResult> run_local(const Stage& stage);
  void archive(const std::vector<StageResult>& results);
  [[nodiscard]] Energies gather_energies() const;
  void report_stage(
      const Round& round,
      int stage,
      std::int64_t temperature,
      std::int64_t num_moves,
      double seconds,
      const Report& report
  ) const;
  void restart_families();
  [[nodiscard]] std::int64_t cool_chains(
      const Energies& energies, std::int64_t temperature, std::int64_t last, int stages_left
  );
  void resample_chains(const Energies& energies, double step);

  const objective::SearchProblem* problem_;
  PopulationOptions options_;
  domain::Tuning::Moves moves_;
  domain::Tuning::Population tuning_;
  const comm::Communicator* comm_;
  std::unique_ptr<MoveProposer> proposer_;
  random::Acceptance acceptance_;
  ChainOwners owners_;
  IndexVector<ChainId, std::int32_t> family_;
  std::vector<std::unique_ptr<Chain>> chains_;  // of this rank, ascending ids
  objective::SearchScore best_score_;
  CellLayout best_layout_;  // on the rank `best_holder_`
  int best_holder_ = 0;
  std::uint32_t next_stage_ = 0;
  std::int64_t total_moves_ = 0;
  std::int64_t sweeps_done_ = 0;
  bool held_temperature_ = false;
};

}  // namespace routepack::annealing
