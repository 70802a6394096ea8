#include "shuffle/transport/fake_schedule.hpp"

#include <deque>

namespace routepack::testing {

std::vector<int> round_distances(int num_ranks) {
  int power = 1;
  while (power < num_ranks) {
    power *= 2;
  }
  std::vector<int> distances;
  for (int n = 0; n < power; ++n) {
    const int distance = n * (n + 1) / 2 % power;
    if (distance < num_ranks) {
      distances.push_back(distance);
    }
  }
  return distances;
}

std::vector<std::vector<std::size_t>> cut_into_kernels(
    int rank, int num_ranks, std::span<const GroupOp> ops, std::size_t max_ops
) {
  std::vector<std::deque<std::size_t>> sends(static_cast<std::size_t>(num_ranks));
  std::vector<std::deque<std::size_t>> receives(sends.size());
  for (std::size_t n = 0; n < ops.size(); ++n) {
    const auto peer = static_cast<std::size_t>(ops[n].peer);
    (ops[n].is_send ? sends : receives)[peer].push_back(n);
  }
  const std::vector<int> distances = round_distances(num_ranks);
  std::vector<std::vector<std::size_t>> kernels;
  std::vector<std::size_t> kernel;
  std::size_t left = ops.size();
  std::size_t round = 0;
  while (left > 0) {
    const int distance = distances[round];
    auto& outgoing = sends[static_cast<std::size_t>((rank + distance) % num_ranks)];
    auto& incoming = receives[static_cast<std::size_t>((rank - distance + num_ranks) % num_ranks)];
    const std::size_t needed = (outgoing.empty() ? 0U : 1U) + (incoming.empty() ? 0U : 1U);
    if (!kernel.empty() && kernel.size() + needed > max_ops) {
      kernels.push_back(std::move(kernel));
      kernel.clear();
      round = 0;
      continue;
    }
    for (auto* queue : {&outgoing, &incoming}) {
      if (!queue->empty()) {
        kernel.push_back(queue->front());
        queue->pop_front();
      }
    }
    left -= needed;
    round = (round + 1) % distances.size();
  }
  if (!kernel.empty()) {
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace routepack::testing
