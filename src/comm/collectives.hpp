// Typed collectives on vectors: values in, values out. Any size: above 2^30 elements they go in
// pieces, since MPI counts are int. Every rank must call, with lengths that agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "comm/communicator.hpp"

namespace routepack::comm {

namespace detail {

template <class T>
[[nodiscard]] MPI_Datatype mpi_type() {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return MPI_INT64_T;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return MPI_UINT64_T;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return MPI_INT32_T;
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return MPI_UINT32_T;
  } else if constexpr (std::is_same_v<T, std::uint16_t>) {
    return MPI_UINT16_T;
  } else if constexpr (std::is_same_v<T, double>) {
    return MPI_DOUBLE;
  } else {
    static_assert(sizeof(T) == 1, "no MPI type for this element");
    return MPI_BYTE;
  }
}

void all_reduce_in_place(
    void* values, std::size_t count, MPI_Datatype type, MPI_Op op, const Communicator& comm
);
void reduce_in_place(
    void* values,
    std::size_t count,
    MPI_Datatype type,
    MPI_Op op,
    int root,
    const Communicator& comm
);
void broadcast_in_place(
    void* values, std::size_t count, MPI_Datatype type, int root, const Communicator& comm
);
// `counts` in elements, one a rank; `all` holds their sum.
void all_gather_into(
    const void* mine,
    void* all,
    const std::vector<std::int64_t>& counts,
    std::size_t element_bytes,
    const Communicator& comm
);

}  // namespace detail

// Element-wise sum over ranks. Integers only: a sum of doubles would depend on the rank count.
template <class T>
[[nodiscard]] std::vector<T> all_reduce_sum(std::vector<T> mine, const Communicator& comm) {
  static_assert(std::is_integral_v<T>);
  detail::all_reduce_in_place(mine.data(), mine.size(), detail::mpi_type<T>(), MPI_SUM, comm);
  return mine;
}

template <class T>
[[nodiscard]] T all_reduce_sum(T mine, const Communicator& comm) {
  static_assert(std::is_integral_v<T>);
  detail::all_reduce_in_place(&mine, 1, detail::mpi_type<T>(), MPI_SUM, comm);
  return mine;
}

// Element-wise sum over ranks on `root`; the others' results are unspecified.
template <class T>
[[nodiscard]] std::vector<T> reduce_sum(std::vector<T> mine, int root, const Communicator& comm) {
  static_assert(std::is_integral_v<T>);
  detail::reduce_in_place(mine.data(), mine.size(), detail::mpi_type<T>(), MPI_SUM, root, comm);
  return mine;
}

template <class T>
[[nodiscard]] T all_reduce_min(T mine, const Communicator& comm) {
  detail::all_reduce_in_place(&mine, 1, detail::mpi_type<T>(), MPI_MIN, comm);
  return mine;
}

template <class T>
[[nodiscard]] T all_reduce_max(T mine, const Communicator& comm) {
  detail::all_reduce_in_place(&mine, 1, detail::mpi_type<T>(), MPI_MAX, comm);
  return mine;
}

template <class T>
[[nodiscard]] T broadcast_value(T value, int root, const Communicator& comm) {
  static_assert(std::is_trivially_copyable_v<T>);
  detail::broadcast_in_place(&value, sizeof(T), MPI_BYTE, root, comm);
  return value;
}

// The root's vector on every rank, whatever length the others pass.
template <class T>
[[nodiscard]] std::vector<T> broadcast(std::vector<T> values, int root, const Communicator& comm) {
  static_assert(std::is_trivially_copyable_v<T>);
  values.resize(broadcast_value(values.size(), root, comm));
  detail::broadcast_in_place(values.data(), values.size() * sizeof(T), MPI_BYTE, root, comm);
  return values;
}

// The root's elements, in place; all ranks pass spans of the same size.
template <class T>
void broadcast_into(std::span<T> values, int root, const Communicator& comm) {
  static_assert(std::is_trivially_copyable_v<T>);
  detail::broadcast_in_place(values.data(), values.size_bytes(), MPI_BYTE, root, comm);
}

// One value a rank, in rank order.
template <class T>
[[nodiscard]] std::vector<T> all_gather_value(const T& mine, const Communicator& comm) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(comm.num_mpi_ranks()));
  RP_MPI(MPI_Allgather(
      &mine, static_cast<int>(sizeof(T)), MPI_BYTE, all.data(), static_cast<int>(sizeof(T)),
      MPI_BYTE, comm.get()
  ));
  return all;
}

// The ranks' vectors one after another, in rank order; lengths may differ.
template <class T>
[[nodiscard]] std::vector<T> all_gather(const std::vector<T>& mine, const Communicator& comm) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::vector<std::int64_t> counts =
      all_gather_value(static_cast<std::int64_t>(mine.size()), comm);
  std::int64_t total = 0;
  for (const std::int64_t count : counts) {
    total += count;
  }
  std::vector<T> all(static_cast<std::size_t>(total));
  detail::all_gather_into(mine.data(), all.data(), counts, sizeof(T), comm);
  return all;
}

void barrier(const Communicator& comm);

// Machines that the ranks run on.
[[nodiscard]] int count_nodes(const Communicator& comm);

}  // namespace routepack::comm
