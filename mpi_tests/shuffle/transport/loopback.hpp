// Ranks as threads of one process: the transport and control plane over shared memory. For rank
// counts and faults that real processes make slow or deadly.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "shuffle/transport/transport.hpp"

namespace routepack::testing {

// What the ranks share.
class LoopbackHub {
 public:
  explicit LoopbackHub(int num_ranks) : num_ranks_(num_ranks) {}

 private:
  friend class LoopbackControl;
  friend class LoopbackTransport;
  struct Key {
    int source = 0;
    int target = 0;
    std::uint64_t serial = 0;
    std::int64_t round = 0;
    auto operator<=>(const Key&) const = default;
  };

  int num_ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::vector<std::byte>> in_flight_;
  std::uint64_t failed_serial_ = 0;
  std::map<std::uint64_t, std::vector<std::optional<std::vector<std::byte>>>> gathers_;
};

class LoopbackControl : public shuffle::Control {
 public:
  LoopbackControl(LoopbackHub& hub, int rank) : hub_(hub), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int num_ranks() const override { return hub_.num_ranks_; }
  [[nodiscard]] bool all_reduce_min(std::span<std::int64_t> words, const base::Deadline& deadline)
      override;
  [[nodiscard]] std::vector<std::vector<std::byte>> all_gather(
      std::span<const std::byte> mine, const base::Deadline& deadline
  ) override;
  void announce_failure(std::uint64_t serial) override;
  [[nodiscard]] bool failure_announced(std::uint64_t serial) override;
  // Throws TRANSFER_FAILED: there is no job to end.
  [[noreturn]] void lose_contact(const std::string& reason) override;

 private:
  LoopbackHub& hub_;
  int rank_;
  std::uint64_t num_gathers_ = 0;
};

class LoopbackTransport : public Transport {
 public:
  LoopbackTransport(LoopbackHub& hub, int rank) : hub_(hub), control_(hub, rank) {}
  [[nodiscard]] std::string_view name() const override { return "loopback"; }
  [[nodiscard]] shuffle::Control& control() override { return control_; }
  [[nodiscard]] shuffle::CopyEngine& engine() override { return *engine_; }
  void begin(
      const shuffle::RoundId& id,
      std::span<const shuffle::SendSlice> sends,
      std::span<const shuffle::RecvSlice> receives
  ) override;
  [[nodiscard]] std::optional<shuffle::ExchangeFault> finish(const base::Deadline& deadline
  ) override;
  [[nodiscard]] bool recover(
      std::vector<std::shared_ptr<std::byte>> buffers, const base::Deadline& deadline
  ) override;

 private:
  LoopbackHub& hub_;
  LoopbackControl control_;
  std::shared_ptr<shuffle::CopyEngine> engine_ = shuffle::make_host_engine();
  shuffle::RoundId id_;
  std::vector<shuffle::RecvSlice> awaited_;
};

// Runs `rank_main(transport)` on every rank, each in a thread of its own.
void run_ranks(int num_ranks, const std::function<void(LoopbackTransport&)>& rank_main);

}  // namespace routepack::testing
