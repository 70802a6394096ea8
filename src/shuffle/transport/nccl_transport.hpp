// Slices over NCCL: a communicator of its own, one group a round with at most one send and one
// receive a peer, waits that poll. A round that does not end is aborted on all ranks, which then
// connect anew. Talks to the libraries through tables only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shuffle/transport/nccl_api.hpp"
#include "shuffle/transport/transport.hpp"

namespace routepack::shuffle {

struct NcclOptions {
  int device = 0;
  int max_ctas = 16;              // thread blocks of the exchange; the rest of the device is free
  double setup_seconds = 120.0;   // for connecting
  double close_seconds = 10.0;    // for closing what is healthy; then it is aborted
  double engine_seconds = 120.0;  // for a round's copies on the device
};

class NcclTransport : public Transport {
 public:
  // Collective over the control plane's ranks. Throws TRANSFER_FAILED on all ranks, with the text
  // of the lowest that failed. Tensors must be idle on the device whenever a shuffle begins.
  NcclTransport(
      std::unique_ptr<Control> control,
      std::shared_ptr<NcclApi> nccl,
      std::shared_ptr<DeviceApi> device,
      const NcclOptions& options
  );
  ~NcclTransport() override;

  [[nodiscard]] std::string_view name() const override { return "nccl"; }
  [[nodiscard]] Control& control() override { return *control_; }
  [[nodiscard]] CopyEngine& engine() override { return *engine_; }
  void begin(
      const RoundId& id, std::span<const SendSlice> sends, std::span<const RecvSlice> receives
  ) override;
  [[nodiscard]] std::optional<ExchangeFault> finish(const base::Deadline& deadline) override;
  [[nodiscard]] bool recover(
      std::vector<std::shared_ptr<std::byte>> buffers, const base::Deadline& deadline
  ) override;

 private:
  enum class Progress { kPending, kDone, kFailed };
  struct Connection {
    bool in_contact = false;  // with all ranks, over the control plane
    std::string error;        // the same on all ranks; empty: connected
  };

  struct Failure {  // of this rank; none with an empty text
    std::string text;
    bool only_waited = false;
  };

  void prepare_device();
  void demand(const Connection& connection);
  [[nodiscard]] Connection connect(double seconds);
  [[nodiscard]] NcclComm init_comm(
      std::span<const std::byte> id, const base::Deadline& deadline, Failure& failure
  );
  [[nodiscard]] Connection agree(const Failure& mine, const base::Deadline& deadline);
  void mark_unarrived();
  void post(std::span<const SendSlice> sends);
  [[nodiscard]] Progress poll(std::string& error);
  [[nodiscard]] int find_missing_peer();
  [[nodiscard]] ExchangeFault describe_fault(bool announced_by_peer, const std::string& error);
  [[nodiscard]] bool is_ready(NcclComm comm, const base::Deadline& deadline);
  [[nodiscard]] bool is_idle(const base::Deadline& deadline);
  void abort();
  void close();

  std::unique_ptr<Control> control_;
  std::shared_ptr<NcclApi> nccl_;
  std::shared_ptr<DeviceApi> device_;
  NcclOptions options_;
  std::shared_ptr<CopyEngine> engine_;
  std::shared_ptr<std::byte> mark_;
  std::shared_ptr<DeviceStreamTag> stream_;
  NcclComm comm_ = nullptr;
  RoundId id_;
  base::Deadline::Clock::time_point begun_;
  std::vector<RecvSlice> awaited_;  // of the round that travels
  bool in_flight_ = false;
  std::string post_error_;
  std::vector<std::shared_ptr<std::byte>> kept_;  // what an unfinished recovery may still touch
};

}  // namespace routepack::shuffle
