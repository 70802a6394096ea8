// A transport with one fault, for tests and `shuffle-check --fault`: passes everything on to
// another transport and damages, drops, delays or ends one thing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shuffle/transport/transport.hpp"

namespace routepack::shuffle {

enum class FaultKind {
  kFlip,   // one bit of a slice that arrives
  kDrop,   // a slice is not sent
  kDelay,  // the rank enters the round late
  kDie,    // the process is killed
};

struct Fault {
  FaultKind kind = FaultKind::kFlip;
  int rank = 0;                   // where it strikes
  std::int64_t round = 0;         // the first round from here on that has a slice to strike
  std::uint64_t transaction = 0;  // not before this one, counted from the first one seen
  double delay_seconds = 0.0;     // kDelay
  std::uint64_t choice = 0;       // which slice, and which of its bits
};

class FaultTransport : public Transport {
 public:
  FaultTransport(Transport& inner, const Fault& fault) : inner_(inner), fault_(fault) {}

  [[nodiscard]] std::string_view name() const override { return inner_.name(); }
  [[nodiscard]] Control& control() override { return inner_.control(); }
  [[nodiscard]] CopyEngine& engine() override { return inner_.engine(); }
  void begin(
      const RoundId& id, std::span<const SendSlice> sends, std::span<const RecvSlice> receives
  ) override;
  [[nodiscard]] std::optional<ExchangeFault> finish(const base::Deadline& deadline) override;
  [[nodiscard]] bool recover(
      std::vector<std::shared_ptr<std::byte>> buffers, const base::Deadline& deadline
  ) override;

  // Has it happened on this rank? It strikes once.
  [[nodiscard]] bool has_struck() const { return has_struck_; }

 private:
  [[nodiscard]] bool is_due(const RoundId& id, std::size_t num_slices);
  void flip(const RecvSlice& slice);

  Transport& inner_;
  Fault fault_;
  bool has_struck_ = false;
  std::optional<std::uint64_t> first_serial_;
  std::optional<RecvSlice> to_flip_;
};

}  // namespace routepack::shuffle
