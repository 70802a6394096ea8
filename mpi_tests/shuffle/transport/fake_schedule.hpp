// How NCCL cuts the sends and receives of a group into kernels. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace routepack::testing {

struct GroupOp {
  int peer = 0;
  bool is_send = false;
};

// Distances between the partners of rounds 0, 1, …: triangular numbers modulo a power of two.
[[nodiscard]] std::vector<int> round_distances(int num_ranks);

// Positions in `ops`, kernel by kernel. A sweep over the rounds takes at most one send and one
// receive a round, sweep after sweep; a kernel that holds `max_ops` is closed, and the next one
// starts again at round 0. That restart is what makes ranks with different queues wait in a cycle.
[[nodiscard]] std::vector<std::vector<std::size_t>> cut_into_kernels(
    int rank, int num_ranks, std::span<const GroupOp> ops, std::size_t max_ops
);

}  // namespace routepack::testing
