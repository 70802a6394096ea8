#include "planner/enumerate.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "packing/lengths.hpp"
#include "placement/aggregate/rank_state.hpp"

namespace routepack::planner {
namespace {

// All ways to give every EP rank E/ep experts, but for the numbering of ranks: an expert goes to a
// rank that has some, or to the first that has none. Empty where there are too many.
class PlacementLister {
 public:
  PlacementLister(int num_experts, int ep, std::size_t most)
      : ep_(ep),
        most_(most),
        rank_of_{static_cast<std::size_t>(num_experts)},
        held_{static_cast<std::size_t>(ep), 0} {}

  std::vector<placement::RankOfExpert> run() {
    add_expert(0, 0);
    return too_many_ ? std::vector<placement::RankOfExpert>{} : found_;
  }

 private:
  void add_expert(std::size_t expert, int num_used) {
    if (too_many_) {
      return;
    }
    if (expert == rank_of_.size()) {
      found_.push_back(rank_of_);
      too_many_ = found_.size() > most_;
      return;
    }
    const auto per_rank = rank_of_.size() / static_cast<std::size_t>(ep_);
    for (const EpRank rank : ids<EpRank>(std::min(num_used + 1, ep_))) {
      std::size_t& held = held_[rank];
      if (held == per_rank) {
        continue;
      }
      ++held;
      rank_of_[ExpertId{expert}] = rank;
      add_expert(expert + 1, std::max(num_used, rank.value() + 1));
      --held;
    }
  }

  int ep_;
  std::size_t most_;
  placement::RankOfExpert rank_of_;
  IndexVector<EpRank, std::size_t> held_;
  std::vector<placement::RankOfExpert> found_;
  bool too_many_ = false;
};

class Enumeration {
 public:
  explicit Enumeration(const EnumerationInput& input)
      : input_(input),
        problem_(input.problem),
        order_(packing::longest_first(problem_.lengths)),
        cells_(static_cast<std::size_t>(problem_.num_cells())),
        blocks_(static_cast<std::size_t>(problem_.num_blocks())),
        layout_{
            problem_.num_rows, problem_.topology.dp, IndexVector<SampleId, CellId>{order_.size()}} {
    for (CellState& cell : cells_) {
      cell.attention.assign(static_cast<std::size_t>(problem_.num_stages), 0);
    }
    const auto ep = static_cast<std::size_t>(problem_.demand.ep);
    for (BlockState& block : blocks_) {
      block.fill_pairs.assign(ep, 0);
    }
    list_placements();
  }

  std::optional<Enumerated> run() {
    if (candidates_.empty() && num_layers() > 0) {
      return std::nullopt;
    }
    add_sample(0, static_cast<int>(cells_.size()));
    if (work_ > input_.tuning.max_work || !found_) {
      return std::nullopt;
    }
    return Enumerated{placement_of(best_choice_), best_layout_};
  }

 private:
  struct CellState {
    int held = 0;
    std::int64_t tokens = 0;
    std::vector<std::int64_t> attention;  // [stages]
  };
  struct BlockState {
    int held = 0;
    std::int64_t routed = 0;               // pairs of one layer
    std::vector<std::int64_t> fill_pairs;  // [ep] at every layer
  };

  [[nodiscard]] int num_layers() const { return problem_.demand.num_layers; }
  [[nodiscard]] std::size_t num_experts() const {
    return static_cast<std::size_t>(input_.placement.num_experts);
  }

  // Candidate 0 of every layer is the placement that is there.
  void list_placements() {
    std::vector<placement::RankOfExpert> all;
    if (input_.places_experts) {
      all = PlacementLister(
                input_.placement.num_experts, problem_.demand.ep, input_.tuning.max_placements
      )
                .run();
      if (all.empty()) {
        return;
      }
    }
    for (const MoeLayer layer : ids<MoeLayer>(num_layers())) {
      candidates_.emplace_back();
      candidates_.back().push_back(
          placement::ranks_of(input_.placement.layers[layer], input_.placement.ep)
      );
      candidates_.back().insert(candidates_.back().end(), all.begin(), all.end());
    }
  }

  // Cells of a block, blocks of a shard and shards are used in order, since their order does not
  // matter; with equal slots the cells of later rows are told apart.
  [[nodiscard]] bool opens_in_order(CellId cell) const {
    const BlockId block = problem_.block_of(cell);
    const int position = cell.value() % problem_.cells_per_block;
    const int row = block.value() / problem_.num_shards;
    const int shard = block.value() % problem_.num_shards;
    const bool first_of_block = position == 0 || (problem_.rules.equal_slots && row > 0);
    if (!first_of_block && cells_[cell.offset() - 1].held == 0) {
      return false;
    }
    const auto used = [&](int r, int s) {
      return blocks_[static_cast<std::size_t>(r * problem_.num_shards + s)].held > 0;
    };
    return (row == 0 || used(row - 1, shard)) && (row > 0 || shard == 0 || used(0, shard - 1));
  }

  void add_sample(std::size_t at, int num_empty) {
    work_ += static_cast<std::int64_t>(cells_.size());
    if (work_ > input_.tuning.max_work) {
      return;
    }
    if (at == order_.size()) {
      if (slots_are_equal()) {
        place_layout();
      }
      return;
    }
    const SampleId sample = order_[at];
    for (const CellId cell : ids<CellId>(cells_.size())) {
      CellState& state = cells_[cell.offset()];
      const int still_empty = num_empty - (state.held == 0 ? 1 : 0);
      if ((state.held == 0 && !opens_in_order(cell)) ||
          std::cmp_greater(still_empty, order_.size() - at - 1) ||
          !problem_.rules.may_hold(state.tokens + problem_.lengths[sample], state.held + 1)) {
        continue;
      }
      put(sample, cell, 1);
      if (may_improve()) {
        add_sample(at + 1, still_empty);
      }
      put(sample, cell, -1);
    }
  }

  void put(SampleId sample, CellId cell, int sign) {
    CellState& state = cells_[cell.offset()];
    state.held += sign;
    state.tokens += sign * problem_.lengths[sample];
    for (std::size_t stage = 0; stage < state.attention.size(); ++stage) {
      state.attention[stage] += sign * problem_.attention_of(sample)[stage];
    }
    BlockState& block = blocks_[problem_.block_of(cell).offset()];
    block.held += sign;
    block.routed += sign * problem_.routed_pairs[sample];
    layout_.cell_of_sample[sample] = cell;
  }

  [[nodiscard]] bool slots_are_equal() const {
    if (!problem_.rules.equal_slots) {
      return true;
    }
    std::vector<int> held(static_cast<std::size_t>(problem_.topology.dp), 0);
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      held[cell % held.size()] += cells_[cell].held;
    }
    return std::ranges::all_of(held, [&](int count) { return count == held[0]; });
  }

  [[nodiscard]] std::int64_t attention_of(std::size_t block, bool filled) const {
    const auto per_block = static_cast<std::size_t>(problem_.cells_per_block);
    std::int64_t sum = 0;
    for (std::size_t stage = 0; stage < cells_[0].attention.size(); ++stage) {
      std::int64_t slowest = 0;
      for (std::size_t cell = block * per_block; cell < (block + 1) * per_block; ++cell) {
        const std::int64_t fill = filled ? problem_.rules.fill_of(cells_[cell].tokens) : 0;
        slowest = std::max(
            slowest, cells_[cell].attention[stage] + fill * problem_.fill_attention[stage]
        );
      }
      sum += slowest;
    }
    return sum;
  }

  // Costs only grow as samples are added: no experts below their mean, no fill.
  [[nodiscard]] bool may_improve() const {
    const std::int64_t ep = problem_.demand.ep;
    std::vector<std::int64_t> shards(static_cast<std::size_t>(problem_.num_shards), 0);
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      const std::int64_t peaks = num_layers() * ((blocks_[block].routed + ep - 1) / ep);
      shards[block % shards.size()] += attention_of(block, false) + problem_.pair_cost * peaks;
    }
    return !found_ || score_of(shards) < best_;
  }

  [[nodiscard]] static objective::SearchScore score_of(const std::vector<std::int64_t>& shards) {
    return {
        *std::ranges::max_element(shards),
        std::accumulate(shards.begin(), shards.end(), std::int64_t{0})};
  }

  // The layout is complete: now its placement.
  void place_layout() {
    std::vector<std::int64_t> shards(static_cast<std::size_t>(problem_.num_shards), 0);
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      shards[block % shards.size()] += attention_of(block, true);
    }
    fill_blocks();
    peaks_.assign(static_cast<std::size_t>(num_layers()), {});
    for (const MoeLayer layer : ids<MoeLayer>(num_layers())) {
      find_peaks(layer);
    }
    std::vector<std::size_t> choice;
    choose_layer(choice, shards);
  }

  void fill_blocks() {
    for (BlockState& block : blocks_) {
      std::ranges::fill(block.fill_pairs, 0);
    }
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      const std::int64_t fill = problem_.rules.fill_of(cells_[cell].tokens);
      std::vector<std::int64_t>& pairs =
          blocks_[cell / static_cast<std::size_t>(problem_.cells_per_block)].fill_pairs;
      for (int rank = 0; rank < problem_.demand.ep; ++rank) {
        pairs[static_cast<std::size_t>(rank)] +=
            problem_.rules.fill_pairs(fill, rank, problem_.demand.ep);
      }
    }
  }

  // Cost of a layer by candidate and shard, [candidates][shards].
  void find_peaks(MoeLayer layer) {
    std::vector<std::vector<std::int64_t>> load(
        blocks_.size(), std::vector<std::int64_t>(num_experts(), 0)
    );
    for (const SampleId sample : ids<SampleId>(problem_.num_samples())) {
      const std::size_t block = problem_.block_of(layout_.cell_of_sample[sample]).offset();
      const std::size_t first =
          (sample.offset() * static_cast<std::size_t>(num_layers()) + layer.offset()) *
          num_experts();
      for (std::size_t expert = 0; expert < num_experts(); ++expert) {
        load[block][expert] += input_.demand[first + expert];
      }
    }
    const auto num_shards = static_cast<std::size_t>(problem_.num_shards);
    for (const placement::RankOfExpert& rank_of : candidates_[layer.offset()]) {
      std::vector<std::int64_t> cost(num_shards, 0);
      for (std::size_t block = 0; block < blocks_.size(); ++block) {
        std::vector<std::int64_t> ranks = blocks_[block].fill_pairs;
        for (const ExpertId expert : ids<ExpertId>(num_experts())) {
          ranks[rank_of[expert].offset()] += load[block][expert.offset()];
        }
        cost[block % num_shards] += problem_.pair_cost * *std::ranges::max_element(ranks);
      }
      peaks_[layer.offset()].push_back(std::move(cost));
    }
    work_ += static_cast<std::int64_t>(
        (candidates_[layer.offset()].size() + order_.size()) * blocks_.size() * num_experts()
    );
  }

  // Layer by layer; with one shard the layers do not depend on each other, and the cheapest of each
  // is enough.
  void choose_layer(std::vector<std::size_t>& choice, const std::vector<std::int64_t>& shards) {
    const std::size_t layer = choice.size();
    if (layer == peaks_.size()) {
      const objective::SearchScore score = score_of(shards);
      if (!found_ || score < best_) {
        found_ = true;
        best_ = score;
        best_layout_ = layout_;
        best_choice_ = choice;
      }
      return;
    }
    std::vector<std::size_t> order(peaks_[layer].size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t x, std::size_t y) {
      return score_of(peaks_[layer][x]) < score_of(peaks_[layer][y]);
    });
    if (shards.size() == 1) {
      order.resize(1);
    }
    for (const std::size_t candidate : order) {
      std::vector<std::int64_t> next = shards;
      for (std::size_t shard = 0; shard < next.size(); ++shard) {
        next[shard] += peaks_[layer][candidate][shard];
      }
      work_ += static_cast<std::int64_t>(next.size());
      if (work_ > input_.tuning.max_work || (found_ && !(score_of(next) < best_))) {
        continue;
      }
      choice.push_back(candidate);
      choose_layer(choice, next);
      choice.pop_back();
    }
  }

  [[nodiscard]] Placement placement_of(const std::vector<std::size_t>& choice) const {
    Placement placement = input_.placement;
    for (const MoeLayer layer : ids<MoeLayer>(choice.size())) {
      if (choice[layer.offset()] == 0) {
        continue;
      }
      const placement::RankOfExpert& rank_of = candidates_[layer.offset()][choice[layer.offset()]];
      placement.layers[layer] =
          placement::relabel_layer(rank_of, input_.before.layers[layer], placement.ep).slots;
    }
    return placement;
  }

  const EnumerationInput& input_;
  const objective::SearchProblem& problem_;
  std::vector<SampleId> order_;
  std::vector<CellState> cells_;
  std::vector<BlockState> blocks_;
  std::vector<std::vector<placement::RankOfExpert>> candidates_;  // [L][candidates]
  std::vector<std::vector<std::vector<std::int64_t>>> peaks_;     // [L][candidates][shards] units
  CellLayout layout_;
  std::int64_t work_ = 0;
  bool found_ = false;
  objective::SearchScore best_;
  CellLayout best_layout_;
  std::vector<std::size_t> best_choice_;
};

}  // namespace

std::optional<Enumerated> enumerate_plans(const EnumerationInput& input) {
  if (input.problem.num_samples() > input.tuning.max_samples) {
    return std::nullopt;
  }
  return Enumeration(input).run();
}

}  // namespace routepack::planner
