#include "demand/load_window.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/node_memory.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "demand/count_routes.hpp"
#include "demand/read_counts.hpp"
#include "demand/slices.hpp"
#include "io/window_reader.hpp"

namespace routepack {
namespace {

// The result of `read`, which reads `source`. That the source changed explains any other fault.
template <class Source, class Read>
CountedDemand read_unchanged(const Source& source, Read&& read) {
  try {
    CountedDemand counted = read();
    source.check_unchanged();
    return counted;
  } catch (const Error&) {
    source.check_unchanged();
    throw;
  }
}

CountedDemand count_demand(const WindowHeader& header, SampleRange range) {
  switch (header.form) {
    case DemandForm::kRoutes: {
      const RouteFile routes(header);
      routes.advise(range.begin, range.end);
      return read_unchanged(routes, [&] { return count_routes(routes.view(), range); });
    }
    case DemandForm::kCounts: {
      const CountFile counts(header);
      counts.advise(range.begin, range.end);
      return read_unchanged(counts, [&] { return read_counts(header, counts.array(), range); });
    }
    case DemandForm::kNone:
      break;
  }
  return {};
}

// Before anything of that size is allocated: a few kilobytes of metadata can ask for any amount,
// and where memory is overcommitted nothing fails until the kernel ends a process.
void check_demand_fits(const WindowHeader& header, SampleRange mine, const Communicator& comm) {
  const Communicator node = comm.split_by_node();
  const std::int64_t node_samples = all_reduce_sum(mine.size(), node);
  const WindowShape& shape = header.shape;
  // Far from overflow: 2^31 samples of 2^22 counters.
  const std::int64_t per_sample = std::int64_t{shape.num_moe_layers()} * shape.num_experts *
                                  static_cast<std::int64_t>(sizeof(std::uint32_t));
  const std::int64_t memory = node_memory_bytes();
  agree_on(
      [&] {
        RP_CHECK(
            node_samples * per_sample <= memory, ErrorCode::kNumberOutOfRange,
            "{}: the demand of {} samples ('lengths.npy') at {} layers ('moe_layers') of {} "
            "experts ('num_experts') takes {} bytes on a node, which has {} bytes of memory",
            header.folder, node_samples, shape.num_moe_layers(), shape.num_experts,
            node_samples * per_sample, memory
        );
      },
      comm
  );
}

// Tokens without a route, of this rank's samples. Counts need not be multiples of top_k in each
// sample, so the division is of running totals: the ranks' shares add up to the window's.
std::int64_t count_unrouted(
    const WindowSlice& slice, std::int64_t routed_pairs, const Communicator& comm
) {
  const std::vector<std::int64_t> pairs = all_gather_value(routed_pairs, comm);
  if (slice.shape.num_moe_layers() == 0) {
    return 0;  // a dense model routes nothing, and nothing is missing
  }
  const std::int64_t before =
      std::accumulate(pairs.begin(), pairs.begin() + comm.mpi_rank(), std::int64_t{0});
  const std::int64_t tokens =
      std::accumulate(slice.lengths.begin(), slice.lengths.end(), std::int64_t{0});
  return tokens - ((before + routed_pairs) / slice.shape.top_k - before / slice.shape.top_k);
}

}  // namespace

WindowSlice load_window(const std::string& folder, const Communicator& comm) {
  WindowHeader header = agree_on([&] { return open_window(folder); }, comm);
  const SampleRange mine =
      slice_samples(header, comm.num_mpi_ranks())[static_cast<std::size_t>(comm.mpi_rank())];
  check_demand_fits(header, mine, comm);
  CountedDemand counted = agree_on(
      [&] { return read_unchanged(header, [&] { return count_demand(header, mine); }); }, comm
  );
  WindowSlice slice;
  slice.shape = std::move(header.shape);
  slice.first_sample = mine.begin;
  slice.lengths.assign(header.lengths.begin() + mine.begin, header.lengths.begin() + mine.end);
  slice.demand = std::move(counted.demand);
  slice.unrouted_tokens = count_unrouted(slice, counted.routed_pairs, comm);
  return slice;
}

}  // namespace routepack
