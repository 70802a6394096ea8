// Rates of the expert shuffle beside what they are measured against; run under mpirun.
//   planning   moves of 61 layers x 256 experts over EP 64 x EDP 8 (rank 0 alone)
//   pack       gather with checksum against memcpy of the same bytes (rank 0 alone)
//   transport  slices over MPI against MPI_Alltoallv of the same bytes on the same ranks
//   shuffle    the whole transaction: pack, send, check, agree, commit
// Medians; the two sides of a ratio alternate, so that noise meets both.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "base/simd.hpp"
#include "comm/communicator.hpp"
#include "shuffle/check/closed_form_state.hpp"
#include "shuffle/engine/gather.hpp"
#include "shuffle/plan/byte_moves.hpp"
#include "shuffle/transport/mpi_transport.hpp"

namespace routepack {
namespace {

constexpr int kRepetitions = 15;
constexpr int kShortRepetitions = 101;  // of what takes a millisecond or less
constexpr double kGigabyte = 1e9;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Pair {
  double ours = 0.0;
  double other = 0.0;
};

// Seconds of both, the slowest rank's, alternating.
Pair compare(
    const std::function<void()>& ours,
    const std::function<void()>& other,
    MPI_Comm comm,
    int repetitions = kRepetitions
) {
  const auto time = [comm](const std::function<void()>& work) {
    MPI_Barrier(comm);
    const double start = MPI_Wtime();
    work();
    const double mine = MPI_Wtime() - start;
    double slowest = 0.0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
    return slowest;
  };
  std::vector<double> times;
  std::vector<double> other_times;
  time(ours);  // touches every page
  time(other);
  for (int n = 0; n < repetitions; ++n) {
    times.push_back(time(ours));
    other_times.push_back(time(other));
  }
  return Pair{median(times), median(other_times)};
}

// As of a model with 5 tensors an expert: two replicated weights, three states cut over EDP.
StateLayout large_layout(int layers, int experts, int ep, int edp) {
  constexpr std::int64_t kWeightBytes = 29360128;
  StateLayout layout;
  layout.num_layers = layers;
  layout.num_experts = experts;
  for (int rank = 0; rank < ep * edp; ++rank) {
    layout.shard_of_rank.push_back(EdpShard{rank / ep});
  }
  layout.kinds = IndexVector<KindId, std::string>{
      std::vector<std::string>{"exp_avg", "exp_avg_sq", "fc1", "fc2", "master"}};
  layout.first_range.push_back(0);
  const int per_rank = experts / ep;
  for (int layer = 0; layer < layers; ++layer) {
    for (int kind = 0; kind < 5; ++kind) {
      const bool is_weight = kind == 2 || kind == 3;
      const std::int64_t bytes = is_weight ? kWeightBytes : 3 * kWeightBytes;
      layout.tensor_bytes.push_back(bytes);
      for (int slot = 0; slot < experts; ++slot) {
        const int ep_rank = slot / per_rank;
        if (is_weight) {
          for (int shard = 0; shard < edp; ++shard) {
            layout.ranges.push_back(OwnedRange{shard * ep + ep_rank, 0, bytes});
          }
        } else {  // flat buffer of the EP rank: a tensor lies on one shard or straddles two
          const std::int64_t total = bytes * layers * per_rank;
          const std::int64_t begin = bytes * (layer * per_rank + slot % per_rank);
          for (int shard = 0; shard < edp; ++shard) {
            const std::int64_t low = std::max(begin, total * shard / edp + shard);
            const std::int64_t high = std::min(
                begin + bytes, shard + 1 == edp ? total : total * (shard + 1) / edp + shard + 1
            );
            if (low < high) {
              layout.ranges.push_back(OwnedRange{shard * ep + ep_rank, low - begin, high - begin});
            }
          }
        }
        layout.first_range.push_back(layout.ranges.size());
      }
    }
  }
  return layout;
}

void bench_planning() {
  const StateLayout layout = large_layout(61, 256, 64, 8);
  const Placement before = identity_placement(61, 256, 64);
  const Placement after = make_moved_placement(before, 1.0, 3);
  std::vector<double> times;
  std::size_t num_moves = 0;
  for (int n = 0; n < 5; ++n) {
    const double start = MPI_Wtime();
    num_moves = make_moves(layout, before, after).size();
    times.push_back(MPI_Wtime() - start);
  }
  fmt::print(
      "planning   61 x 256 experts, EP 64 x EDP 8, all moved: {} moves in {:.3f} s\n", num_moves,
      median(times)
  );
}

void bench_pack() {
  for (const std::size_t bytes :
       {std::size_t{1} << 20U, std::size_t{16} << 20U, std::size_t{256} << 20U}) {
    const std::vector<std::byte> source(bytes, std::byte{1});
    std::vector<std::byte> target(bytes);
    const std::vector<CopySegment> segments = {
        CopySegment{source.data(), target.data(), static_cast<std::int64_t>(bytes)}};
    const SimdLevel level = best_simd_level();
    std::uint64_t checksum = 0;
    const Pair pair = compare(
        [&] { checksum ^= gather_segments(target, segments, level); },
        [&] { std::memcpy(target.data(), source.data(), bytes); }, MPI_COMM_SELF,
        bytes < (std::size_t{64} << 20U) ? kShortRepetitions : kRepetitions
    );
    fmt::print(
        "pack       {:4} MiB: {:6.2f} GB/s, memcpy {:6.2f} GB/s, ratio {:.2f} (checksum {:x})\n",
        bytes >> 20U, static_cast<double>(bytes) / pair.ours / kGigabyte,
        static_cast<double>(bytes) / pair.other / kGigabyte, pair.other / pair.ours, checksum & 0xfU
    );
  }
}

void bench_transport(std::int64_t slice_bytes, const Communicator& comm) {
  MpiTransport transport{comm.get()};
  const int ranks = comm.num_mpi_ranks();
  const auto total = static_cast<std::size_t>(slice_bytes * ranks);
  std::vector<std::byte> send(total, std::byte{1});
  std::vector<std::byte> receive(total);
  std::vector<SendSlice> sends;
  std::vector<RecvSlice> receives;
  std::vector<int> counts(static_cast<std::size_t>(ranks), 0);
  std::vector<int> starts(static_cast<std::size_t>(ranks), 0);
  for (int peer = 0; peer < ranks; ++peer) {
    starts[static_cast<std::size_t>(peer)] = static_cast<int>(slice_bytes * peer);
    if (peer != comm.mpi_rank()) {
      counts[static_cast<std::size_t>(peer)] = static_cast<int>(slice_bytes);
      sends.push_back(SendSlice{peer, send.data() + slice_bytes * peer, slice_bytes});
      receives.push_back(RecvSlice{peer, receive.data() + slice_bytes * peer, slice_bytes});
    }
  }
  const std::uint64_t serial = transport.control().next_serial();
  std::int64_t round = 0;
  const Pair pair = compare(
      [&] {
        transport.begin(RoundId{serial, round++}, sends, receives);
        if (transport.finish(Deadline::after(60.0))) {
          MPI_Abort(comm.get(), 1);
        }
      },
      [&] {
        MPI_Alltoallv(
            send.data(), counts.data(), starts.data(), MPI_BYTE, receive.data(), counts.data(),
            starts.data(), MPI_BYTE, comm.get()
        );
      },
      comm.get(), slice_bytes < (std::int64_t{1} << 20U) ? kShortRepetitions : kRepetitions
  );
  if (comm.is_root()) {
    const double bytes = static_cast<double>(slice_bytes) * ranks * (ranks - 1);
    fmt::print(
        "transport  {:6} KiB a peer: {:6.2f} GB/s, MPI_Alltoallv {:6.2f} GB/s, ratio {:.2f}\n",
        slice_bytes >> 10U, bytes / pair.ours / kGigabyte, bytes / pair.other / kGigabyte,
        pair.other / pair.ours
    );
  }
}

void bench_shuffle(const Communicator& comm) {
  const int ranks = comm.num_mpi_ranks();
  const StateShape shape{4, ranks * 4, 512, 384, ranks, 1, 1};
  const Placement first = identity_placement(4, shape.num_experts, ranks);
  const Placement second = make_moved_placement(first, 0.5, 2);
  ClosedFormState state{shape, comm.mpi_rank(), first};
  MpiTransport transport{comm.get()};
  PlacementTable table = make_placement_table(first);
  ShuffleReport report;
  const auto move = [&](const Placement& target) {
    report = apply_placement(table, target, state.registry(), transport, ShuffleOptions{});
  };
  const Pair pair = compare([&] { move(second); }, [&] { move(first); }, comm.get());
  if (comm.is_root()) {
    const auto bytes = static_cast<double>(report.planned_bytes + report.planned_here_bytes);
    fmt::print(
        "shuffle    {:.0f} MB, all steps: there {:.2f} GB/s, back {:.2f} GB/s\n", bytes / 1e6,
        bytes / pair.ours / kGigabyte, bytes / pair.other / kGigabyte
    );
  }
}

}  // namespace
}  // namespace routepack

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const routepack::Communicator comm{MPI_COMM_WORLD};
    if (comm.is_root()) {
      fmt::print("{} MPI ranks\n", comm.num_mpi_ranks());
      routepack::bench_planning();
      routepack::bench_pack();
    }
    MPI_Barrier(comm.get());
    for (const std::int64_t kib : {16, 256, 4096, 16384}) {
      routepack::bench_transport(kib << 10U, comm);
    }
    routepack::bench_shuffle(comm);
  }
  MPI_Finalize();
  return 0;
}
