// Vectors cut into parts, a part to every rank of a group: MPI_Alltoallv with values in and out.
#pragma once

#include <cstddef>
#include <cstring>
#include <numeric>
#include <vector>

#include "comm/communicator.hpp"

namespace routepack::training {

// Collective. Part p of `values` (sizes[p] elements, in order) goes to rank p; returns what came,
// a vector a source rank.
template <class T>
[[nodiscard]] std::vector<std::vector<T>> exchange_parts(
    const std::vector<T>& values,
    const std::vector<std::size_t>& sizes,
    const comm::Communicator& group
) {
  const auto num_ranks = static_cast<std::size_t>(group.num_mpi_ranks());
  std::vector<int> send_bytes(num_ranks);
  std::vector<int> receive_bytes(num_ranks);
  for (std::size_t peer = 0; peer < num_ranks; ++peer) {
    send_bytes[peer] = static_cast<int>(sizes[peer] * sizeof(T));
  }
  RP_MPI(MPI_Alltoall(send_bytes.data(), 1, MPI_INT, receive_bytes.data(), 1, MPI_INT, group.get())
  );
  std::vector<int> send_begin(num_ranks);
  std::vector<int> receive_begin(num_ranks);
  std::exclusive_scan(send_bytes.begin(), send_bytes.end(), send_begin.begin(), 0);
  std::exclusive_scan(receive_bytes.begin(), receive_bytes.end(), receive_begin.begin(), 0);
  std::vector<T> received(
      static_cast<std::size_t>(receive_begin.back() + receive_bytes.back()) / sizeof(T)
  );
  RP_MPI(MPI_Alltoallv(
      values.data(), send_bytes.data(), send_begin.data(), MPI_BYTE, received.data(),
      receive_bytes.data(), receive_begin.data(), MPI_BYTE, group.get()
  ));
  std::vector<std::vector<T>> parts;
  auto next = received.begin();
  for (const int bytes : receive_bytes) {
    const auto end =
        next + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(bytes) / sizeof(T));
    parts.emplace_back(next, end);
    next = end;
  }
  return parts;
}

}  // namespace routepack::training
