#include "packing/cell_pool.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"

namespace routepack::packing {
namespace {

// How many samples a cell may hold after an exchange, compared with before.
enum class Exchange {
  kEqual,    // keeps the pool as rich as it is
  kOneMore,  // fills best, but uses up short samples
  kOneLess,  // gives short samples back, for as many tokens
};

class CellPool {
 public:
  CellPool(
      const std::vector<std::int64_t>& lengths,
      std::int64_t capacity,
      std::vector<FilledCell> cells,
      std::size_t num_cells,
      std::int64_t max_steps,
      const random::Stream& stream,
      const domain::Tuning::Pool& tuning
  )
      : capacity_(capacity),
        cells_(std::move(cells)),
        num_cells_(num_cells),
        steps_left_(max_steps),
        stream_(stream),
        tuning_(tuning),
        fill_(lengths) {
    // Cells without a long sample come last, the emptiest of them at the end.
    std::stable_sort(cells_.begin(), cells_.end(), [](const FilledCell& a, const FilledCell& b) {
      return a.long_tokens != b.long_tokens ? a.long_tokens > b.long_tokens : a.tokens > b.tokens;
    });
    while (cells_.size() > num_cells_) {
      open_last_cell();
    }
  }

  // True when all samples are in cells.
  bool run() {
    for (std::size_t round = 0; steps_left_ > 0; ++round, --steps_left_) {
      open_cells(tuning_.sizes[round % tuning_.sizes.size()]);
      for (int cycle = 0; cycle < tuning_.cycles_per_round && steps_left_ > 0; ++cycle) {
        for (const Exchange exchange : kCycle) {
          if (exchange == Exchange::kOneMore && spare_room() >= enough_spare()) {
            continue;
          }
          sweep(exchange);
          for (int attempt = 0; attempt < tuning_.closing_attempts; ++attempt) {
            if (close_cells(Closing::kAllOrNone)) {
              return true;
            }
          }
        }
      }
      if (close_cells(Closing::kAsManyAsFill)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::vector<FilledCell> take_cells() { return std::move(cells_); }

 private:
  enum class Closing { kAllOrNone, kAsManyAsFill };

  static constexpr Exchange kCycle[] = {
      Exchange::kEqual, Exchange::kEqual, Exchange::kOneMore, Exchange::kOneLess, Exchange::kEqual};
  void open_last_cell() {
    const FilledCell& cell = cells_.back();
    RP_ASSERT(
        normal, cell.long_sample.empty(), "a long sample of {} goes into the pool", cell.long_tokens
    );
    pool_ = merged(pool_, cell.samples);
    pool_tokens_ += cell.tokens;
    cells_.pop_back();
  }

  static std::vector<Position> merged(
      const std::vector<Position>& a, const std::vector<Position>& b
  ) {
    std::vector<Position> both;
    both.reserve(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
  }

  // Opens cells at random among those without a long sample.
  void open_cells(std::size_t pool_size) {
    const auto first_mixed =
        std::stable_partition(cells_.begin(), cells_.end(), [](const FilledCell& cell) {
          return !cell.long_sample.empty();
        });
    const auto num_fixed = static_cast<std::size_t>(first_mixed - cells_.begin());
    std::uint64_t draw = 0;
    while (pool_.size() < pool_size && num_fixed < cells_.size()) {
      const auto num_choices = static_cast<std::uint32_t>(cells_.size() - num_fixed);
      const std::uint32_t chosen = stream_.at(num_draws_, draw++).below(0, num_choices);
      std::swap(cells_[num_fixed + chosen], cells_.back());
      open_last_cell();
    }
    ++num_draws_;
  }

  // What the open cells could hold beyond the pool; negative while they cannot hold it.
  [[nodiscard]] std::int64_t spare_room() const {
    return static_cast<std::int64_t>(num_cells_ - cells_.size()) * capacity_ - pool_tokens_;
  }

  // Enough to close the open cells, and no more: sweeps for more would leave the pool without short
  // samples. A small share of each open cell does it.
  [[nodiscard]] std::int64_t enough_spare() const {
    return static_cast<std::int64_t>(num_cells_ - cells_.size()) * capacity_ / tuning_.spare_share;
  }

  // Every cell, in random order, takes the fullest set from its own samples and the pool's.
  void sweep(Exchange exchange) {
    const auto count = static_cast<std::int32_t>(cells_.size());
    for (const std::int32_t n : random::random_permutation(stream_, num_draws_++, count)) {
      exchange_with_pool(cells_[static_cast<std::size_t>(n)], exchange);
      if (steps_left_ < 0 || (exchange == Exchange::kOneMore && spare_room() >= enough_spare())) {
        return;
      }
    }
  }

  void exchange_with_pool(FilledCell& cell, Exchange exchange) {
    const bool full = cell.tokens == capacity_;
    const std::size_t held = cell.samples.size();
    if (exchange == Exchange::kOneLess ? held < 2 : full) {
      return;
    }
    SubsetFill::Limits limits;
    limits.capacity = capacity_ - cell.long_tokens;
    limits.at_least = cell.tokens - cell.long_tokens + (exchange == Exchange::kOneLess ? 0 : 1);
    limits.enough = limits.capacity;
    limits.max_samples = exchange == Exchange::kOneMore   ? held + 1
                         : exchange == Exchange::kOneLess ? held - 1
                                                          : held;
    limits.max_nodes = tuning_.max_nodes;
    const std::vector<Position> candidates = merged(cell.samples, pool_);
    const bool found = fill_.run(candidates, limits);
    steps_left_ -= fill_.num_nodes() + static_cast<std::int64_t>(candidates.size());
    if (found) {
      pool_tokens_ -= cell.long_tokens + fill_.tokens() - cell.tokens;
      pool_ = fill_.left_out();
      cell.samples = fill_.chosen();
      cell.tokens = cell.long_tokens + fill_.tokens();
    }
  }

  // Closes open cells, each with its share of the room that is left over in all of them. Without
  // any, only to the last token, and only until the pool is narrow. True when all are closed.
  bool close_cells(Closing closing) {
    std::vector<Position> pool = pool_;
    std::int64_t pool_tokens = pool_tokens_;
    std::vector<FilledCell> closed;
    while (!pool.empty()) {
      const auto num_open = static_cast<std::int64_t>(num_cells_ - cells_.size() - closed.size());
      const std::int64_t spare = num_open * capacity_ - pool_tokens;
      if (num_open == 0 ||
          (spare < 0 && (closing == Closing::kAllOrNone || pool.size() <= tuning_.narrow))) {
        break;
      }
      const std::int64_t share = std::max(spare, std::int64_t{0}) / num_open;
      if (!fill_open_cell(pool, std::min(capacity_ - share, pool_tokens))) {
        break;
      }
      closed.push_back({{}, fill_.chosen(), 0, fill_.tokens()});
      pool_tokens -= fill_.tokens();
      std::vector<Position> left;
      std::set_difference(
          pool.begin(), pool.end(), closed.back().samples.begin(), closed.back().samples.end(),
          std::back_inserter(left)
      );
      pool = std::move(left);
    }
    if (!pool.empty() && closing == Closing::kAllOrNone) {
      return false;
    }
    std::move(closed.begin(), closed.end(), std::back_inserter(cells_));
    pool_ = std::move(pool);
    pool_tokens_ = pool_tokens;
    return pool_.empty();
  }

  // From as few samples drawn at random as will do, which leaves the pool as mixed as it was: the
  // search takes long samples first, and what it would leave of all of them fills no cell.
  bool fill_open_cell(const std::vector<Position>& pool, std::int64_t enough) {
    const SubsetFill::Limits limits{
        capacity_, enough, enough, pool.size(), tuning_.max_closing_nodes};
    for (const std::size_t num_drawn : tuning_.drawn) {
      if (num_drawn < pool.size()) {
        const bool found = fill_.run(draw_from(pool, num_drawn), limits);
        steps_left_ -= fill_.num_nodes() + static_cast<std::int64_t>(num_drawn);
        if (found) {
          return true;
        }
      }
    }
    const bool found = fill_.run(pool, limits);
    steps_left_ -= fill_.num_nodes() + static_cast<std::int64_t>(pool.size());
    return found;
  }

  std::vector<Position> draw_from(const std::vector<Position>& pool, std::size_t num_drawn) {
    // With repetition, then without the repeated: mostly num_drawn samples, never more.
    std::vector<Position> drawn;
    const auto size = static_cast<std::uint32_t>(pool.size());
    for (std::size_t n = 0; n < num_drawn; ++n) {
      drawn.push_back(pool[stream_.at(num_draws_, n).below(0, size)]);
    }
    ++num_draws_;
    std::sort(drawn.begin(), drawn.end());
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
    return drawn;
  }

  std::int64_t capacity_;
  std::vector<FilledCell> cells_;
  std::size_t num_cells_;       // cells_ and the open ones
  std::vector<Position> pool_;  // samples of the open cells, ascending
  std::int64_t pool_tokens_ = 0;
  std::int64_t steps_left_;
  random::Stream stream_;
  const domain::Tuning::Pool& tuning_;
  std::uint32_t num_draws_ = 0;  // steps of the stream used
  SubsetFill fill_;
};

}  // namespace

std::optional<std::vector<FilledCell>> exchange_through_pool(
    const std::vector<std::int64_t>& lengths,
    std::int64_t capacity,
    std::vector<FilledCell> cells,
    std::size_t num_cells,
    std::int64_t max_steps,
    const random::Stream& stream,
    const domain::Tuning::Pool& tuning
) {
  CellPool pool{lengths, capacity, std::move(cells), num_cells, max_steps, stream, tuning};
  if (!pool.run()) {
    return std::nullopt;
  }
  return pool.take_cells();
}

bool SubsetFill::run(const std::vector<Position>& candidates, const Limits& limits) {
  limits_ = limits;
  candidates_ = candidates;
  tokens_from_.assign(candidates.size() + 1, 0);
  for (std::size_t n = candidates.size(); n-- > 0;) {
    tokens_from_[n] = tokens_from_[n + 1] + lengths_[candidates[n]];
  }
  chosen_.clear();
  best_.clear();
  best_tokens_ = limits.at_least - 1;
  nodes_ = 0;
  extend(0, 0);
  return best_tokens_ >= limits.at_least;
}

// True when the search is over: there is enough, or the nodes are spent.
bool SubsetFill::extend(std::size_t from, std::int64_t tokens) {
  if (tokens > best_tokens_) {
    best_tokens_ = tokens;
    best_ = chosen_;
    if (tokens >= limits_.enough) {
      return true;
    }
  }
  if (chosen_.size() == limits_.max_samples) {
    return false;
  }
  const auto begin = candidates_.begin();
  const auto more = static_cast<std::int64_t>(limits_.max_samples - chosen_.size());
  while (true) {
    const auto fitting = std::partition_point(
        begin + static_cast<std::ptrdiff_t>(from), candidates_.end(),
        [&](Position position) { return tokens + lengths_[position] > limits_.capacity; }
    );
    if (fitting == candidates_.end()) {
      return false;
    }
    const auto at = static_cast<std::size_t>(fitting - begin);
    const std::int64_t length = lengths_[*fitting];
    if (tokens + std::min(tokens_from_[at], more * length) <= best_tokens_) {
      return false;
    }
    if (++nodes_ > limits_.max_nodes) {
      return true;
    }
    chosen_.push_back(at);
    const bool over = extend(at + 1, tokens + length);
    chosen_.pop_back();
    if (over) {
      return true;
    }
    from = at + 1;
    while (from < candidates_.size() && lengths_[candidates_[from]] == length) {
      ++from;
    }
  }
}

std::vector<Position> SubsetFill::chosen() const {
  std::vector<Position> positions;
  for (const std::size_t n : best_) {
    positions.push_back(candidates_[n]);
  }
  return positions;
}

std::vector<Position> SubsetFill::left_out() const {
  std::vector<Position> positions;
  auto next = best_.begin();
  for (std::size_t n = 0; n < candidates_.size(); ++n) {
    if (next != best_.end() && *next == n) {
      ++next;
    } else {
      positions.push_back(candidates_[n]);
    }
  }
  return positions;
}

}  // namespace routepack::packing
