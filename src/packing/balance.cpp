#include "packing/balance.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

namespace routepack::packing {
namespace {

// One sample of `from` for none, one or two samples of `to`.
struct Exchange {
  SampleId given;
  std::vector<SampleId> taken;
};

void apply(CellContents& contents, const Exchange& exchange, CellId from, CellId to) {
  for (const SampleId sample : exchange.taken) {
    contents.move(sample, from);
  }
  contents.move(exchange.given, to);
}

struct Repair {
  std::int64_t reduction = 0;  // of the tokens above the capacity, over both cells
  std::int64_t imbalance = 0;  // |difference of the two cells' work| afterwards
  Exchange exchange;
  CellId to;
};

class CapacityRepair {
 public:
  CapacityRepair(CellContents& contents, std::int64_t capacity, std::int64_t max_exchanges)
      : contents_(contents), capacity_(capacity), exchanges_left_(max_exchanges) {}

  bool run() {
    while (const std::optional<CellId> cell = first_overfull_cell()) {
      const std::optional<Repair> best = best_repair(*cell);
      if (!best) {
        return false;
      }
      apply(contents_, best->exchange, *cell, best->to);
    }
    return true;
  }

 private:
  [[nodiscard]] std::optional<CellId> first_overfull_cell() const {
    for (const CellId cell : ids<CellId>(contents_.num_cells())) {
      if (contents_.tokens(cell) > capacity_) {
        return cell;
      }
    }
    return std::nullopt;
  }

  std::optional<Repair> best_repair(CellId from) {
    std::optional<Repair> best;
    const std::int64_t excess = contents_.tokens(from) - capacity_;
    const bool may_give = contents_.samples(from).size() >= 2;
    for (const CellId to : ids<CellId>(contents_.num_cells())) {
      const std::int64_t room = capacity_ - contents_.tokens(to);
      if (to == from || room <= 0) {
        continue;
      }
      for (const SampleId given : contents_.samples(from)) {
        if (may_give) {
          consider({given, {}}, from, to, excess, room, contents_.length_of(given), best);
        }
        for (const SampleId taken : contents_.samples(to)) {
          const std::int64_t shift = contents_.length_of(given) - contents_.length_of(taken);
          if (shift > 0) {
            consider({given, {taken}}, from, to, excess, room, shift, best);
          }
        }
        exchanges_left_ -= static_cast<std::int64_t>(contents_.samples(to).size()) + 1;
      }
      if (exchanges_left_ < 0) {
        return std::nullopt;
      }
    }
    return best;
  }

  void consider(
      const Exchange& exchange,
      CellId from,
      CellId to,
      std::int64_t excess,
      std::int64_t room,
      std::int64_t shift,
      std::optional<Repair>& best
  ) const {
    const std::int64_t reduction =
        std::min(excess, shift) - std::max(std::int64_t{0}, shift - room);
    if (reduction <= 0 || (best && reduction < best->reduction)) {
      return;
    }
    std::int64_t shifted = contents_.work_of(exchange.given);
    for (const SampleId sample : exchange.taken) {
      shifted -= contents_.work_of(sample);
    }
    const std::int64_t imbalance =
        std::abs(contents_.work(from) - contents_.work(to) - 2 * shifted);
    if (!best || reduction > best->reduction || imbalance < best->imbalance) {
      best = Repair{reduction, imbalance, exchange, to};
    }
  }

  CellContents& contents_;
  std::int64_t capacity_;
  std::int64_t exchanges_left_;
};

class WorkLeveling {
 public:
  WorkLeveling(
      CellContents& contents,
      std::int64_t capacity,
      const LevelingGoal& goal,
      const domain::Tuning::Starts& tuning
  )
      : contents_(contents),
        capacity_(capacity),
        goal_(goal),
        max_partners_(tuning.partners),
        exchanges_left_(tuning.max_exchanges) {}

  void run() {
    bool improved = true;
    while (improved && exchanges_left_ > 0) {
      improved = false;
      const std::vector<CellId> order = most_excess_first();
      for (std::size_t heavy = 0; heavy < order.size() && exchanges_left_ > 0; ++heavy) {
        improved = lighten(order[heavy], order) || improved;
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t excess(CellId cell) const {
    return contents_.work(cell) - goal_.target_work[cell];
  }

  [[nodiscard]] std::vector<CellId> most_excess_first() const {
    std::vector<CellId> order;
    for (const CellId cell : ids<CellId>(contents_.num_cells())) {
      order.push_back(cell);
    }
    std::sort(order.begin(), order.end(), [&](CellId a, CellId b) {
      return excess(a) != excess(b) ? excess(a) > excess(b) : a < b;
    });
    return order;
  }

  // One exchange with the first of the lightest cells that offers any.
  bool lighten(CellId heavy, const std::vector<CellId>& order) {
    const std::size_t partners = std::min(max_partners_, order.size());
    for (std::size_t n = 0; n < partners; ++n) {
      const CellId light = order[order.size() - 1 - n];
      if (excess(light) >= excess(heavy)) {
        continue;
      }
      if (const std::optional<Exchange> exchange = best_exchange(heavy, light)) {
        apply(contents_, *exchange, heavy, light);
        return true;
      }
    }
    return false;
  }

  // The exchange after which the two excesses differ least. Work that is shifted lies strictly
  // between 0 and the difference, so the larger of the two falls.
  std::optional<Exchange> best_exchange(CellId heavy, CellId light) {
    const std::int64_t difference = excess(heavy) - excess(light);
    const std::int64_t most_shifted = goal_.max_work - contents_.work(light);
    const std::int64_t room_heavy = capacity_ - contents_.tokens(heavy);
    const std::int64_t room_light = capacity_ - contents_.tokens(light);
    const std::vector<SampleId>& offered = contents_.samples(light);
    std::int64_t least = difference;
    std::optional<Exchange> best;
    const auto consider = [&](SampleId given, std::int64_t tokens, std::int64_t work, auto taken) {
      --exchanges_left_;
      const std::int64_t remaining = std::abs(difference - 2 * work);
      if (remaining < least && work <= most_shifted && tokens <= room_light &&
          -tokens <= room_heavy) {
        least = remaining;
        best = Exchange{given, taken()};
      }
    };
    for (const SampleId given : contents_.samples(heavy)) {
      const std::int64_t tokens = contents_.length_of(given);
      const std::int64_t work = contents_.work_of(given);
      if (contents_.samples(heavy).size() >= 2) {
        consider(given, tokens, work, [] { return std::vector<SampleId>{}; });
      }
      for (std::size_t first = 0; first < offered.size(); ++first) {
        const SampleId a = offered[first];
        const std::int64_t tokens_a = tokens - contents_.length_of(a);
        const std::int64_t work_a = work - contents_.work_of(a);
        consider(given, tokens_a, work_a, [&] { return std::vector<SampleId>{a}; });
        if (work_a <= 0 || tokens_a <= 0) {
          continue;
        }
        for (std::size_t second = first + 1; second < offered.size(); ++second) {
          const SampleId b = offered[second];
          consider(given, tokens_a - contents_.length_of(b), work_a - contents_.work_of(b), [&] {
            return std::vector<SampleId>{a, b};
          });
        }
      }
    }
    return best;
  }

  CellContents& contents_;
  std::int64_t capacity_;
  const LevelingGoal& goal_;
  std::size_t max_partners_;
  std::int64_t exchanges_left_;
};

}  // namespace

bool repair_capacity_in_place(
    CellContents& contents, std::int64_t capacity, std::int64_t max_exchanges
) {
  return CapacityRepair{contents, capacity, max_exchanges}.run();
}

void level_work_in_place(
    CellContents& contents,
    std::int64_t capacity,
    const LevelingGoal& goal,
    const domain::Tuning::Starts& tuning
) {
  WorkLeveling{contents, capacity, goal, tuning}.run();
}

}  // namespace routepack::packing
