// How far the search ends from a plan that is known to be near the bound: is a gap the bound's or
// the plan's? One rank; attention stage "full" with alpha 100, beta 50.
//   usage: planted_bench WINDOW DP EP CAPACITY SWEEPS
// Plans the window, then changes its demand slightly so that in that plan every block loads its EP
// ranks as evenly as the placement allows, shuffles the samples, and plans what came out.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "bench/mpi_bench.hpp"
#include "demand/load_window.hpp"
#include "objective/evaluate.hpp"
#include "packing/lengths.hpp"
#include "placement/aggregate/bounds.hpp"
#include "random/stream.hpp"
#include "routepack/planner.hpp"

namespace routepack {
namespace {

constexpr int kRounds = 60;     // of the fit
constexpr double kHot = 1.001;  // of the mean load: a peak that no placement avoids

// One layer of the window, planted for the blocks and EP ranks of a plan.
class LayerPlanter {
 public:
  LayerPlanter(const WindowSlice& window, const Plan& plan, MoeLayer layer)
      : window_(window), layer_(layer), ep_(static_cast<std::size_t>(plan.topology.ep)) {
    const int slots = plan.window.num_experts / plan.topology.ep;
    for (const SlotId slot : plan.placement.layers[layer]) {
      rank_of_.push_back(static_cast<std::size_t>(slot.value() / slots));
    }
    for (const CellId cell : plan.layout.cell_of_sample) {
      block_of_.push_back(static_cast<std::size_t>(cell.value() / plan.topology.dp_per_shard()));
    }
    num_blocks_ = static_cast<std::size_t>(plan.layout.num_cells() / plan.topology.dp_per_shard());
  }

  // Writes the layer of every sample.
  void plant(WindowSlice& planted) const {
    const std::vector<double> before = rank_loads();
    const std::vector<double> after = fit(before);
    std::vector<double> missed(num_blocks_ * ep_, 0.0);
    for (std::size_t sample = 0; sample < block_of_.size(); ++sample) {
      const std::size_t first = sample * ep_;
      round_into(planted, sample, &before[first], &after[first], &missed[block_of_[sample] * ep_]);
    }
  }

 private:
  [[nodiscard]] std::size_t offset_of(std::size_t sample) const {
    const auto layers = static_cast<std::size_t>(window_.shape.num_moe_layers());
    return (sample * layers + layer_.offset()) * rank_of_.size();
  }

  [[nodiscard]] std::vector<double> rank_loads() const {  // [N, ep]
    std::vector<double> loads(block_of_.size() * ep_, 0.0);
    for (std::size_t sample = 0; sample < block_of_.size(); ++sample) {
      for (std::size_t expert = 0; expert < rank_of_.size(); ++expert) {
        loads[sample * ep_ + rank_of_[expert]] += window_.demand[offset_of(sample) + expert];
      }
    }
    return loads;
  }

  // Of every block's pairs: equal, or as in the whole window where hot experts forbid that.
  [[nodiscard]] std::vector<double> shares(const std::vector<double>& loads) const {
    std::vector<std::int64_t> experts(rank_of_.size(), 0);
    for (std::size_t sample = 0; sample < block_of_.size(); ++sample) {
      for (std::size_t expert = 0; expert < experts.size(); ++expert) {
        experts[expert] += window_.demand[offset_of(sample) + expert];
      }
    }
    const auto total =
        static_cast<double>(std::accumulate(experts.begin(), experts.end(), std::int64_t{0}));
    const auto ranks = static_cast<double>(ep_);
    const auto bound =
        static_cast<double>(placement::peak_lower_bound(experts, static_cast<int>(ep_)));
    std::vector<double> shares(ep_, 1.0 / ranks);
    if (bound * ranks > kHot * total) {
      std::fill(shares.begin(), shares.end(), 0.0);
      for (std::size_t at = 0; at < loads.size(); ++at) {
        shares[at % ep_] += loads[at] / total;
      }
    }
    return shares;
  }

  // Scales in turn to the shares of every block and to the pairs of every sample.
  [[nodiscard]] std::vector<double> fit(const std::vector<double>& before) const {
    const std::vector<double> share = shares(before);
    std::vector<double> loads = before;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> blocks(num_blocks_ * ep_, 0.0);
      std::vector<double> totals(num_blocks_, 0.0);
      for (std::size_t at = 0; at < loads.size(); ++at) {
        blocks[block_of_[at / ep_] * ep_ + at % ep_] += loads[at];
        totals[block_of_[at / ep_]] += loads[at];
      }
      for (std::size_t at = 0; at < loads.size(); ++at) {
        const std::size_t block = block_of_[at / ep_];
        const double load = blocks[block * ep_ + at % ep_];
        loads[at] *= load > 0.0 ? totals[block] * share[at % ep_] / load : 1.0;
      }
      for (std::size_t sample = 0; sample < block_of_.size(); ++sample) {
        const auto first = static_cast<std::ptrdiff_t>(sample * ep_);
        const auto sum = [&](const std::vector<double>& all) {
          return std::accumulate(
              all.begin() + first, all.begin() + first + static_cast<std::ptrdiff_t>(ep_), 0.0
          );
        };
        const double scale = sum(loads) > 0.0 ? sum(before) / sum(loads) : 1.0;
        for (std::size_t rank = 0; rank < ep_; ++rank) {
          loads[sample * ep_ + rank] *= scale;
        }
      }
    }
    return loads;
  }

  // The experts of a rank change alike, none above the sample's tokens. What rounding down takes
  // goes pair by pair to the rank of which the block misses most, `missed`, there to the expert
  // with the largest remainder: a change far below a pair a sample still adds up.
  void round_into(
      WindowSlice& planted,
      std::size_t sample,
      const double* before,
      const double* after,
      double* missed
  ) const {
    const std::size_t offset = offset_of(sample);
    const auto most = static_cast<std::uint32_t>(window_.lengths[sample]);
    std::int64_t num_left = 0;
    std::vector<double> remainders;
    for (std::size_t expert = 0; expert < rank_of_.size(); ++expert) {
      const std::size_t rank = rank_of_[expert];
      const std::uint32_t pairs = window_.demand[offset + expert];
      const double exact = before[rank] > 0.0 ? pairs * after[rank] / before[rank] : 0.0;
      const auto whole = std::min(most, static_cast<std::uint32_t>(std::floor(exact)));
      planted.demand[offset + expert] = whole;
      num_left += std::int64_t{pairs} - std::int64_t{whole};
      remainders.push_back(exact - whole);
      missed[rank] += exact - whole;
    }
    for (; num_left > 0; --num_left) {
      std::size_t best = rank_of_.size();
      for (std::size_t expert = 0; expert < rank_of_.size(); ++expert) {
        if (planted.demand[offset + expert] >= most) {
          continue;
        }
        const double more =
            best == rank_of_.size() ? 1.0 : missed[rank_of_[expert]] - missed[rank_of_[best]];
        if (more > 0.0 || (more == 0.0 && remainders[expert] > remainders[best])) {
          best = expert;
        }
      }
      ++planted.demand[offset + best];
      remainders[best] -= 1.0;
      missed[rank_of_[best]] -= 1.0;
    }
  }

  const WindowSlice& window_;
  MoeLayer layer_;
  std::size_t ep_;
  std::size_t num_blocks_ = 0;
  std::vector<std::size_t> rank_of_;   // of every expert
  std::vector<std::size_t> block_of_;  // of every sample
};

WindowSlice shuffled(const WindowSlice& window) {
  const std::size_t row = window.demand.size() / window.lengths.size();
  const std::vector<std::int32_t> order = random::random_permutation(
      {1, random::Purpose::kTests, 0}, 0, static_cast<std::int32_t>(window.lengths.size())
  );
  WindowSlice result = window;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto sample = static_cast<std::size_t>(order[place]);
    result.lengths[place] = window.lengths[sample];
    std::copy_n(&window.demand[sample * row], row, &result.demand[place * row]);
  }
  return result;
}

double share_changed(const WindowSlice& before, const WindowSlice& after) {
  double changed = 0.0;
  double total = 0.0;
  for (std::size_t at = 0; at < before.demand.size(); ++at) {
    changed += std::abs(static_cast<double>(before.demand[at]) - after.demand[at]);
    total += before.demand[at];
  }
  return changed / total / 2.0;  // every pair that moved counts twice
}

void compare(
    const std::string& folder, const PlanOptions& options, const comm::Communicator& comm
) {
  const WindowSlice window = demand::load_window(folder, comm);
  const Plan plan = make_plan(window, options, comm.get());
  WindowSlice planted = window;
  for (const MoeLayer layer : ids<MoeLayer>(window.shape.num_moe_layers())) {
    LayerPlanter(window, plan, layer).plant(planted);
  }
  const packing::PaddedLengths padded =
      packing::pad_lengths(window.lengths, 1, options.cost.capacity_tokens);
  const double known =
      objective::compute_metrics(
          objective::sum_cells(plan.layout, padded),
          objective::sum_block_loads(planted, plan.layout, plan.placement, options.topology),
          window.shape.num_moe_layers(), options.topology, options.cost
      )
          .score.max_shard;
  const Plan found = make_plan(shuffled(planted), options, comm.get());
  fmt::print(
      "{}: {} sweeps, {:.2f} % of the pairs moved; gap of the window's plan {:.3f} %, of the "
      "planted "
      "plan {:.3f} %, of the plan found {:.3f} %\n",
      folder.substr(folder.find_last_of('/') + 1), plan.search.num_sweeps,
      100.0 * share_changed(window, planted), 100.0 * plan.gap(),
      100.0 * (known / found.lower_bound.max_shard - 1.0), 100.0 * found.gap()
  );
}

int run(int argc, char** argv, const comm::Communicator& comm) {
  if (argc != 6 || comm.num_mpi_ranks() > 1) {
    fmt::print(stderr, "usage: planted_bench WINDOW DP EP CAPACITY SWEEPS, on one rank\n");
    return 2;
  }
  PlanOptions options;
  options.topology = {.dp = std::stoi(argv[2]), .ep = std::stoi(argv[3])};
  options.cost = {std::stoll(argv[4]), {{"full", 100.0, 50.0}}, 1.0};
  options.search.num_chains = 1;
  options.search.num_sweeps = std::stoll(argv[5]);
  compare(argv[1], options, comm);
  return 0;
}

}  // namespace
}  // namespace routepack

int main(int argc, char** argv) {
  return routepack::testing::run_mpi_bench(argc, argv, routepack::run);
}
