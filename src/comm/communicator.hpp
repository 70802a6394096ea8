// An owned MPI communicator. Exactly the collective functions take one, last.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace routepack::comm {

// Throws TRANSFER_FAILED with the call and MPI's text unless the code is MPI_SUCCESS.
void check_mpi(int code, const char* call);

// Initialized and not finalized: only then may MPI be called.
[[nodiscard]] bool mpi_runs();

// Collective. A duplicate whose errors are returned, not fatal. Throws USAGE where MPI does not
// run, for MPI_COMM_NULL and for an inter-communicator.
[[nodiscard]] MPI_Comm duplicate(MPI_Comm parent);

class Communicator {
 public:
  // A duplicate, so that our messages never meet the caller's.
  explicit Communicator(MPI_Comm parent);
  ~Communicator();
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&&) = delete;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int mpi_rank() const { return rank_; }
  [[nodiscard]] int num_mpi_ranks() const { return size_; }
  [[nodiscard]] bool is_root() const { return rank_ == 0; }
  [[nodiscard]] MPI_Comm get() const { return comm_; }

  // Collective. The ranks that share this node's memory.
  [[nodiscard]] Communicator split_by_node() const;
  // Collective. Ranks of equal colour, in rank order.
  [[nodiscard]] Communicator split(int colour) const;

 private:
  struct Owned {
    MPI_Comm comm;
  };
  explicit Communicator(Owned owned);
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

// The part [begin, end) of `count` items that falls to `part` of `num_parts`; sizes differ by at
// most one, parts in order cover everything.
struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};
[[nodiscard]] Share share_of(std::int64_t count, int part, int num_parts);

}  // namespace routepack::comm

#define RP_MPI(call) ::routepack::comm::check_mpi((call), #call)
