#include "planner/budget.hpp"

#include <omp.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "annealing/population.hpp"
#include "base/simd.hpp"
#include "comm/collectives.hpp"

namespace routepack::planner {
namespace {

double seconds_per_move(
    const objective::SearchProblem& problem, const domain::Tuning::Effort& tuning
) {
  const double bytes = tuning.move_bytes * static_cast<double>(problem.demand.sample_stride());
  return (tuning.move_ns + bytes / tuning.bytes_per_ns) * 1e-9;
}

double moves_per_sample(
    const SearchOptions& search,
    const objective::SearchProblem& problem,
    const domain::Tuning& tuning,
    int num_workers
) {
  double moves = static_cast<double>(search.num_sweeps) *
                 static_cast<double>(annealing::moves_per_sweep(problem, tuning.population));
  if (search.time_limit_seconds > 0.0) {
    const double chains_per_worker =
        std::max(1.0, static_cast<double>(search.num_chains) / static_cast<double>(num_workers));
    moves =
        search.time_limit_seconds / seconds_per_move(problem, tuning.effort) / chains_per_worker;
  }
  return moves / static_cast<double>(std::max(1, problem.num_samples()));
}

}  // namespace

int choose_threads(int asked, const comm::Communicator& node) {
  constexpr int kMaxThreadsPerCore = 4;
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (asked > 0) {
    return std::min(asked, kMaxThreadsPerCore * cores);
  }
  const int share = std::max(1, cores / node.num_mpi_ranks());
  return std::max(1, std::min({share, omp_get_max_threads(), omp_get_num_procs()}));
}

SimdLevel choose_simd(const SearchOptions& asked) {
  return std::min(asked.max_simd, base::best_simd_level());
}

SearchOptions complete_options(
    SearchOptions asked,
    const objective::SearchProblem& problem,
    const domain::Tuning& tuning,
    int num_workers
) {
  const domain::Tuning::Effort& effort = tuning.effort;
  if (asked.num_chains == 0) {
    asked.num_chains = asked.time_limit_seconds > 0.0 ? num_workers : effort.num_chains;
  }
  if (asked.num_sweeps == 0 && asked.time_limit_seconds <= 0.0) {
    // Small windows are done sooner than in proportion: fewer samples, and fewer moves of each.
    const double size = std::min(1.0, problem.num_samples() / effort.full_samples);
    const double sweeps =
        effort.seconds_per_chain * size * size / seconds_per_move(problem, effort) /
        static_cast<double>(annealing::moves_per_sweep(problem, tuning.population));
    asked.num_sweeps =
        std::clamp(static_cast<std::int64_t>(sweeps), effort.min_sweeps, effort.max_sweeps);
  }
  return asked;
}

TemperatureRange choose_temperatures(
    const SearchOptions& search,
    const objective::SearchProblem& problem,
    const domain::Tuning& tuning,
    int num_workers
) {
  const domain::Tuning::Temperatures& range = tuning.temperatures;
  const double first = std::clamp(
      range.first_per_move * moves_per_sample(search, problem, tuning, num_workers),
      range.min_first, range.max_first
  );
  return TemperatureRange{first, std::min(range.last, range.last_share * first)};
}

Budget::Budget(
    const SearchOptions& search,
    double seconds_spent,
    const base::Stopwatch& clock,
    const domain::Tuning& tuning
)
    : search_(search),
      seconds_before_(seconds_spent),
      clock_(clock),
      share_after_(tuning.search.share_after_search),
      placing_share_(tuning.migration.share_of_rest),
      placing_(tuning.placing) {}

double Budget::seconds_of(double time_share) const {
  return is_timed() ? time_share * search_.time_limit_seconds
                    : std::numeric_limits<double>::infinity();
}

double Budget::usable_seconds() const {
  return search_.time_limit_seconds * (1.0 - share_after_) - seconds_before_;
}

annealing::Round Budget::spend(double share) {
  constexpr double kShortest = 1e-3;  // seconds: a round needs a deadline above 0
  const double begin = spent_;
  spent_ += share;
  const auto sweeps = static_cast<double>(search_.num_sweeps);
  annealing::Round round;
  round.num_sweeps =
      static_cast<std::int64_t>(spent_ * sweeps) - static_cast<std::int64_t>(begin * sweeps);
  if (is_timed()) {
    round.deadline_seconds = std::max(kShortest, (usable_seconds() - placing_seconds_) * spent_);
  }
  return round;
}

std::int64_t Budget::swaps_per_layer(
    const domain::Tuning::PlacementTurn& turn,
    std::int64_t chain_moves,
    int num_layers,
    const comm::Communicator& comm
) const {
  if (!is_timed()) {
    // A small budget of sweeps is to stay small: a fraction of a chain's moves for all layers.
    const std::int64_t affordable =
        chain_moves / placing_.chain_moves_per_swap / std::max(num_layers, 1);
    return std::min(turn.moves_per_layer, std::max(affordable, placing_.fewest_per_layer));
  }
  std::int64_t swaps = placing_.first_per_layer;
  if (seconds_per_swap_ > 0.0) {
    swaps = static_cast<std::int64_t>(std::min(
        seconds_of(turn.time_share) / seconds_per_swap_,
        static_cast<double>(placing_.most_per_layer)
    ));
  }
  return comm::broadcast_value(swaps, 0, comm);
}

void Budget::note_placement(double started) {
  placing_seconds_ = std::max(placing_seconds_, clock_.seconds() - started);
}

void Budget::note_swaps(double started, std::int64_t swaps_per_layer) {
  seconds_per_swap_ = (clock_.seconds() - started) /
                      static_cast<double>(std::max<std::int64_t>(swaps_per_layer, 1));
}

bool Budget::has_time_to_place(const comm::Communicator& comm) const {
  if (!is_timed()) {
    return true;
  }
  const double left = usable_seconds() - clock_.seconds();
  return comm::broadcast_value(placing_seconds_ < placing_share_ * left ? 1 : 0, 0, comm) != 0;
}

bool Budget::affords_another(double started, double time_share, const comm::Communicator& comm)
    const {
  if (!is_timed()) {
    return true;
  }
  const bool fits = clock_.seconds() - started < seconds_of(time_share);
  return comm::broadcast_value(fits ? 1 : 0, 0, comm) != 0;
}

}  // namespace routepack::planner
