#include "demand/load_window.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/node_memory.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "io/input_file.hpp"

namespace routepack::demand {
namespace {

std::vector<comm::NamedEvidence> metadata_evidence(const io::WindowHeader& header) {
  const WindowShape& shape = header.shape;
  const auto entry = [](const char* key, const std::string& value) {
    return comm::NamedEvidence{fmt::format("'{}' of window.json", key), value};
  };
  const auto form = [&] {
    switch (header.form) {
      case io::DemandForm::kRoutes:
        return "routes";
      case io::DemandForm::kCounts:
        return "counts";
      case io::DemandForm::kNone:
        break;
    }
    return "none";
  };
  return {
      entry("ep_demand", form()),
      entry("num_experts", std::to_string(shape.num_experts)),
      entry("top_k", std::to_string(shape.top_k)),
      entry("num_layers", std::to_string(shape.num_layers)),
      entry("moe_layers", fmt::format("[{}]", fmt::join(shape.moe_layers, ", "))),
      entry("groups", header.groups.empty() ? "not given" : "given")};
}

// The array that no rank reads whole; none for lengths alone.
std::optional<io::InputFile> open_array(const io::WindowHeader& header) {
  if (header.form == io::DemandForm::kNone) {
    return std::nullopt;
  }
  const char* name = header.form == io::DemandForm::kRoutes ? "routed_experts.npy" : "demand.npy";
  return io::InputFile((std::filesystem::path(header.folder) / name).string());
}

std::vector<comm::NamedEvidence> array_evidence(const std::optional<io::InputFile>& array) {
  if (!array) {
    return {};
  }
  const io::FileSample sample = io::sample_file(*array);
  return {
      {std::filesystem::path(array->path()).filename().string(),
       fmt::format("{} bytes with digest {}", sample.bytes, base::to_hex(sample.digest))}};
}

// Collective. Throws INPUT_DISAGREEMENT on every rank, naming the file, both values and the two
// ranks, unless all have opened the same window: metadata (but for the name), lengths, groups and
// offsets whole, the large array by its size and blocks of its bytes. Ranks may see different
// folders under one name (stale caches, copies on each node), and paths may differ.
// FILE_MALFORMED instead where a file changes between the ranks' looks at it.
void agree_on_window(const io::WindowHeader& header, const comm::Communicator& comm) {
  const std::optional<io::InputFile> array =
      comm::agree_on([&] { return open_array(header); }, comm);
  try {
    comm::agree_on_inputs(metadata_evidence(header), comm);
    comm::agree_on_numbers("lengths.npy", "sample", header.lengths, comm);
    comm::agree_on_numbers("the file of groups", "sample", header.groups, comm);
    comm::agree_on_numbers("row_offsets.npy", "entry", header.route_offsets, comm);
    comm::agree_on_inputs(comm::agree_on([&] { return array_evidence(array); }, comm), comm);
  } catch (const Error&) {  // the same on every rank
    // Ranks that share a folder see different files where these change between their looks.
    comm::agree_on(
        [&] {
          header.check_unchanged();
          if (array) {
            array->check_unchanged();
          }
        },
        comm
    );
    throw;
  }
}

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

CountedDemand count_demand(const io::WindowHeader& header, SampleRange range) {
  switch (header.form) {
    case io::DemandForm::kRoutes: {
      const io::RouteFile routes(header);
      routes.advise(range.begin, range.end);
      return read_unchanged(routes, [&] { return count_routes(routes.view(), range); });
    }
    case io::DemandForm::kCounts: {
      const io::CountFile counts(header);
      counts.advise(range.begin, range.end);
      return read_unchanged(counts, [&] { return read_counts(header, counts.array(), range); });
    }
    case io::DemandForm::kNone:
      break;
  }
  return {};
}

// Before anything of that size is allocated: a few kilobytes of metadata can ask for any amount,
// and where memory is overcommitted nothing fails until the kernel ends a process.
void check_demand_fits(
    const io::WindowHeader& header, SampleRange mine, const comm::Communicator& comm
) {
  const comm::Communicator node = comm.split_by_node();
  const std::int64_t node_samples = comm::all_reduce_sum(mine.size(), node);
  const WindowShape& shape = header.shape;
  // Far from overflow: 2^31 samples of 2^22 counters.
  const std::int64_t per_sample = std::int64_t{shape.num_moe_layers()} * shape.num_experts *
                                  static_cast<std::int64_t>(sizeof(std::uint32_t));
  const std::int64_t memory = base::node_memory_bytes();
  comm::agree_on(
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
    const WindowSlice& slice, std::int64_t routed_pairs, const comm::Communicator& comm
) {
  const std::vector<std::int64_t> pairs = comm::all_gather_value(routed_pairs, comm);
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

std::vector<SampleRange> slice_samples(const io::WindowHeader& header, int num_parts) {
  const auto num_samples = static_cast<std::int64_t>(header.lengths.size());
  const WindowShape& shape = header.shape;
  // Ids of a token route against counters of a sample; their widths are close enough to 1.
  const std::int64_t per_route = std::int64_t{shape.num_moe_layers()} * shape.top_k;
  const std::int64_t per_sample = std::int64_t{shape.num_moe_layers()} * shape.num_experts + 1;
  const auto work_before = [&](std::int64_t sample) {
    const std::int64_t routes = header.form == io::DemandForm::kRoutes
                                    ? header.route_offsets[static_cast<std::size_t>(sample)]
                                    : 0;
    return static_cast<double>(routes) * static_cast<double>(per_route) +
           static_cast<double>(sample) * static_cast<double>(per_sample);
  };
  std::vector<SampleRange> slices;
  std::int64_t end = 0;
  for (int part = 0; part < num_parts; ++part) {
    const std::int64_t begin = end;
    const double target = work_before(num_samples) * (part + 1) / num_parts;
    while (end < num_samples && work_before(end + 1) <= target) {
      ++end;
    }
    if (part + 1 == num_parts) {
      end = num_samples;
    }
    slices.push_back({begin, end});
  }
  return slices;
}

WindowSlice load_window(
    const std::string& folder,
    const comm::Communicator& comm,
    const std::function<void(const WindowShape&)>& check_shape
) {
  io::WindowHeader header = comm::agree_on([&] { return io::open_window(folder); }, comm);
  agree_on_window(header, comm);
  if (check_shape) {
    comm::agree_on([&] { check_shape(header.shape); }, comm);
  }
  const SampleRange mine =
      slice_samples(header, comm.num_mpi_ranks())[static_cast<std::size_t>(comm.mpi_rank())];
  check_demand_fits(header, mine, comm);
  CountedDemand counted = comm::agree_on(
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

}  // namespace routepack::demand
