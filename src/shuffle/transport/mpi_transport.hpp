// Slices over MPI: non-blocking sends and receives of at most 64 MiB, tested until a deadline.
// Reference of every other transport.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shuffle/transport/mpi_control.hpp"
#include "shuffle/transport/transport.hpp"

namespace routepack::shuffle {

class MpiTransport : public Transport {
 public:
  // Collective. Duplicates the communicator. Slices in device memory go through host buffers.
  explicit MpiTransport(MPI_Comm parent, std::shared_ptr<CopyEngine> engine = make_host_engine());
  ~MpiTransport() override;

  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  [[nodiscard]] Control& control() override { return control_; }
  [[nodiscard]] CopyEngine& engine() override { return *engine_; }
  void begin(
      const RoundId& id, std::span<const SendSlice> sends, std::span<const RecvSlice> receives
  ) override;
  [[nodiscard]] std::optional<ExchangeFault> finish(const base::Deadline& deadline) override;
  [[nodiscard]] bool recover(
      std::vector<std::shared_ptr<std::byte>> buffers, const base::Deadline& deadline
  ) override;

 private:
  struct Posted {
    int peer = 0;
    bool is_send = false;
  };
  struct Bounced {
    RecvSlice slice;
    const std::byte* host = nullptr;
  };
  void post_send(const SendSlice& slice);
  void post_receive(const RecvSlice& slice);
  void bounce_all(std::vector<SendSlice>& sends, std::vector<RecvSlice>& receives);
  [[nodiscard]] bool test_posted(std::string& error);
  [[nodiscard]] ExchangeFault describe_missing(bool announced_by_peer) const;
  [[nodiscard]] bool sends_are_done() const;
  void drain_unexpected();
  [[nodiscard]] bool quiesce(const base::Deadline& deadline);
  [[nodiscard]] bool cancel_receives(const base::Deadline& deadline);

  MpiControl control_;
  std::shared_ptr<CopyEngine> engine_;
  MPI_Comm data_ = MPI_COMM_NULL;
  std::vector<MPI_Comm> retired_;  // late messages of abandoned rounds must not meet new ones
  RoundId id_;
  base::Deadline::Clock::time_point begun_;
  std::vector<MPI_Request> requests_;
  std::vector<Posted> posted_;  // of each request
  std::vector<int> finished_;   // scratch of MPI_Testsome
  std::vector<MPI_Status> statuses_;
  std::vector<Bounced> bounced_;
  std::shared_ptr<std::byte> bounce_buffer_;
  std::int64_t bounce_bytes_ = 0;
  std::vector<std::shared_ptr<std::byte>> kept_;  // what an unfinished recovery may still touch
};

}  // namespace routepack::shuffle
