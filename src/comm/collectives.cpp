#include "comm/collectives.hpp"

#include <algorithm>
#include <limits>

namespace routepack::comm {
namespace detail {
namespace {

constexpr std::size_t kMaxPiece = std::size_t{1} << 30U;

}  // namespace

void all_reduce_in_place(
    void* values, std::size_t count, MPI_Datatype type, MPI_Op op, const Communicator& comm
) {
  int element_bytes = 0;
  RP_MPI(MPI_Type_size(type, &element_bytes));
  auto* bytes = static_cast<std::byte*>(values);
  for (std::size_t begin = 0; begin < count; begin += kMaxPiece) {
    const std::size_t piece = std::min(kMaxPiece, count - begin);
    RP_MPI(MPI_Allreduce(
        MPI_IN_PLACE, bytes + begin * static_cast<std::size_t>(element_bytes),
        static_cast<int>(piece), type, op, comm.get()
    ));
  }
}

void reduce_in_place(
    void* values,
    std::size_t count,
    MPI_Datatype type,
    MPI_Op op,
    int root,
    const Communicator& comm
) {
  int element_bytes = 0;
  RP_MPI(MPI_Type_size(type, &element_bytes));
  auto* bytes = static_cast<std::byte*>(values);
  for (std::size_t begin = 0; begin < count; begin += kMaxPiece) {
    const auto piece = static_cast<int>(std::min(kMaxPiece, count - begin));
    std::byte* at = bytes + begin * static_cast<std::size_t>(element_bytes);
    RP_MPI(MPI_Reduce(
        comm.mpi_rank() == root ? MPI_IN_PLACE : at, at, piece, type, op, root, comm.get()
    ));
  }
}

void broadcast_in_place(
    void* values, std::size_t count, MPI_Datatype type, int root, const Communicator& comm
) {
  int element_bytes = 0;
  RP_MPI(MPI_Type_size(type, &element_bytes));
  auto* bytes = static_cast<std::byte*>(values);
  for (std::size_t begin = 0; begin < count; begin += kMaxPiece) {
    const std::size_t piece = std::min(kMaxPiece, count - begin);
    RP_MPI(MPI_Bcast(
        bytes + begin * static_cast<std::size_t>(element_bytes), static_cast<int>(piece), type,
        root, comm.get()
    ));
  }
}

void all_gather_into(
    const void* mine,
    void* all,
    const std::vector<std::int64_t>& counts,
    std::size_t element_bytes,
    const Communicator& comm
) {
  // A broadcast a rank keeps every count within int, whatever the total; Allgatherv where it fits.
  const auto ranks = static_cast<std::size_t>(comm.num_mpi_ranks());
  std::vector<std::size_t> offsets(ranks + 1, 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    offsets[rank + 1] = offsets[rank] + static_cast<std::size_t>(counts[rank]) * element_bytes;
  }
  auto* bytes = static_cast<std::byte*>(all);
  if (offsets[ranks] <= static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    std::vector<int> sizes(ranks);
    std::vector<int> starts(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      sizes[rank] = static_cast<int>(offsets[rank + 1] - offsets[rank]);
      starts[rank] = static_cast<int>(offsets[rank]);
    }
    RP_MPI(MPI_Allgatherv(
        mine, sizes[static_cast<std::size_t>(comm.mpi_rank())], MPI_BYTE, bytes, sizes.data(),
        starts.data(), MPI_BYTE, comm.get()
    ));
    return;
  }
  const auto me = static_cast<std::size_t>(comm.mpi_rank());
  std::copy_n(
      static_cast<const std::byte*>(mine), offsets[me + 1] - offsets[me], bytes + offsets[me]
  );
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    broadcast_in_place(
        bytes + offsets[rank], offsets[rank + 1] - offsets[rank], MPI_BYTE, static_cast<int>(rank),
        comm
    );
  }
}

}  // namespace detail

void barrier(const Communicator& comm) { RP_MPI(MPI_Barrier(comm.get())); }

int count_nodes(const Communicator& comm) {
  return all_reduce_sum(comm.split_by_node().is_root() ? 1 : 0, comm);
}

}  // namespace routepack::comm
