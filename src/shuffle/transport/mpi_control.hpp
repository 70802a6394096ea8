// The control plane over MPI: non-blocking collectives that are tested until a deadline.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "shuffle/transport/transport.hpp"

namespace routepack::shuffle {

class MpiControl : public Control {
 public:
  // Collective. Duplicates the communicator.
  explicit MpiControl(MPI_Comm parent) : comm_(parent) {}
  ~MpiControl() override;

  [[nodiscard]] int rank() const override { return comm_.mpi_rank(); }
  [[nodiscard]] int num_ranks() const override { return comm_.num_mpi_ranks(); }
  [[nodiscard]] bool all_reduce_min(std::span<std::int64_t> words, const base::Deadline& deadline)
      override;
  [[nodiscard]] std::vector<std::vector<std::byte>> all_gather(
      std::span<const std::byte> mine, const base::Deadline& deadline
  ) override;
  void announce_failure(std::uint64_t serial) override;
  [[nodiscard]] bool failure_announced(std::uint64_t serial) override;
  [[noreturn]] void lose_contact(const std::string& reason) override;

  [[nodiscard]] const comm::Communicator& comm() const { return comm_; }

 private:
  struct Notice {
    std::uint64_t serial = 0;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void drop_sent_notices();

  comm::Communicator comm_;
  std::vector<std::unique_ptr<Notice>> notices_;  // addresses must stay while they are sent
  std::uint64_t last_announced_ = 0;
};

// Tests until complete; false when the deadline comes first, the request is then still active.
[[nodiscard]] bool wait_until(MPI_Request& request, const base::Deadline& deadline);

}  // namespace routepack::shuffle
