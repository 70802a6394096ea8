#include "packing/karmarkar_karp.hpp"

#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

namespace routepack::packing {
namespace {

// Samples of a part are chained through `next`, so that joining two parts is O(1).
struct Part {
  std::int64_t work = 0;
  SampleId head;
  SampleId tail;
};

// Parts by work descending; those beyond `size()` are empty, so a partial split of a few samples
// into thousands of cells stays short.
using Split = std::vector<Part>;

struct Ranked {
  std::int64_t spread = 0;  // largest minus smallest of all parts, the empty ones included
  std::size_t split = 0;    // ties: the split made first
  bool operator<(const Ranked& other) const {
    return spread != other.spread ? spread < other.spread : split > other.split;
  }
};

bool heavier(const Part& a, const Part& b) {
  return a.work != b.work ? a.work > b.work : a.head < b.head;
}

class Differencing {
 public:
  Differencing(const IndexVector<SampleId, std::int64_t>& work, std::size_t num_parts)
      : num_parts_(num_parts), next_(work.size()) {
    for (const SampleId sample : ids<SampleId>(work.size())) {
      next_[sample] = sample;  // the end of a chain points at itself
      push({Part{work[sample], sample, sample}});
    }
  }

  Split run() {
    while (queue_.size() > 1) {
      Split a = pop();
      Split b = pop();
      push(combine(std::move(a), std::move(b)));
    }
    return queue_.empty() ? Split{} : pop();
  }

  [[nodiscard]] SampleId next(SampleId sample) const { return next_[sample]; }

 private:
  void push(Split split) {
    const std::int64_t smallest = split.size() < num_parts_ ? 0 : split.back().work;
    queue_.push({split.front().work - smallest, splits_.size()});
    splits_.push_back(std::move(split));
  }

  Split pop() {
    const Ranked top = queue_.top();
    queue_.pop();
    return std::move(splits_[top.split]);
  }

  // The largest part of one joins the smallest of the other, and so on inwards. Parts that meet an
  // empty one stay as they are; the lists overlap only where they hold more than num_parts_.
  Split combine(Split a, Split b) {
    if (a.size() < b.size()) {
      std::swap(a, b);
    }
    const std::size_t total = a.size() + b.size();
    const std::size_t overlap = total > num_parts_ ? total - num_parts_ : 0;
    for (std::size_t n = 0; n < overlap; ++n) {
      Part& lighter = a[a.size() - 1 - n];
      Part& joined = b[b.size() - overlap + n];
      lighter.work += joined.work;
      next_[lighter.tail] = joined.head;
      lighter.tail = joined.tail;
    }
    // The parts of `a` that nothing joined are still in order.
    const auto num_kept = static_cast<std::ptrdiff_t>(a.size() - overlap);
    a.insert(a.end(), b.begin(), b.end() - static_cast<std::ptrdiff_t>(overlap));
    const auto tail = a.begin() + num_kept;
    std::sort(tail, a.end(), heavier);
    std::inplace_merge(a.begin(), tail, a.end(), heavier);
    return a;
  }

  std::size_t num_parts_;
  IndexVector<SampleId, SampleId> next_;
  std::vector<Split> splits_;
  std::priority_queue<Ranked> queue_;
};

}  // namespace

IndexVector<SampleId, CellId> partition_karmarkar_karp(
    const IndexVector<SampleId, std::int64_t>& work, int num_cells
) {
  IndexVector<SampleId, CellId> cell_of_sample{work.size()};
  Differencing differencing{work, static_cast<std::size_t>(num_cells)};
  const Split split = differencing.run();
  for (std::size_t part = 0; part < split.size(); ++part) {
    SampleId sample = split[part].head;
    cell_of_sample[sample] = CellId{part};
    while (differencing.next(sample) != sample) {
      sample = differencing.next(sample);
      cell_of_sample[sample] = CellId{part};
    }
  }
  return cell_of_sample;
}

}  // namespace routepack::packing
