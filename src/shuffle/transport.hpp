// How packed slices travel: at most one message a peer and direction a round. Every rank begins
// and finishes every round of a transaction, with empty lists where it has nothing to exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "routepack/weights.hpp"
#include "shuffle/control.hpp"
#include "shuffle/copy_engine.hpp"
#include "shuffle/deadline.hpp"

namespace routepack {

// Memory of the transport's engine. No slice has 0 bytes, none goes to the own rank, and peers
// ascend: at most one slice a peer.
struct SendSlice {
  int peer = 0;
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
};
struct RecvSlice {
  int peer = 0;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

struct RoundId {
  std::uint64_t serial = 0;  // of the transaction; the same on all ranks, ascending
  std::int64_t round = 0;
};

// Why a round did not finish.
struct ExchangeFault {
  bool announced_by_peer = false;  // another rank gave up first
  int peer = -1;                   // whose slice is missing; -1: none, or it cannot be told
  std::string what;                // e.g. "no slice from rank 3 within 5 s"
  bool outgoing = false;           // it is the slice to `peer` that did not go
  bool from_library = false;       // reported by the library: this rank did not merely wait
};

class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] virtual std::string_view name() const = 0;  // takes part in the plan digest
  [[nodiscard]] virtual Control& control() = 0;
  [[nodiscard]] virtual CopyEngine& engine() = 0;

  // Starts a round; the buffers belong to the transport until finish(). One round at a time.
  // Posts both directions even when a failure has been announced, so that peers' sends complete.
  virtual void begin(
      const RoundId& id, std::span<const SendSlice> sends, std::span<const RecvSlice> receives
  ) = 0;

  // Waits until all slices of the round have arrived and all sends are reusable. A fault when the
  // deadline comes first, when a peer has announced a failure, or when the library reports an
  // error: the round is then abandoned, its buffers may still be touched, and only recover() or
  // destruction may follow.
  [[nodiscard]] virtual std::optional<ExchangeFault> finish(const Deadline& deadline) = 0;

  // Collective, after all ranks have agreed that the transaction failed and at least one of them
  // has a fault from finish(). Ends what is in flight and makes the transport usable again.
  // `buffers` stay alive as long as something in flight may touch them. False when the deadline
  // came first.
  [[nodiscard]] virtual bool recover(
      std::vector<std::shared_ptr<std::byte>> buffers, const Deadline& deadline
  ) = 0;
};

}  // namespace routepack
