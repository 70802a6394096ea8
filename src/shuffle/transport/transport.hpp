// What a shuffle travels by: its control plane, and the transport of its packed slices.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "routepack/weights.hpp"
#include "shuffle/engine/copy_engine.hpp"

namespace routepack::shuffle {

// The control plane: small agreements and failure notices, apart from the data, so that they work
// while the data transport is broken. Every wait has a deadline.
class Control {
 public:
  Control() = default;
  virtual ~Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int num_ranks() const = 0;

  // The number of the next transaction; every rank asks equally often.
  [[nodiscard]] std::uint64_t next_serial() { return ++serial_; }

  // One shuffle at a time: false while another thread's, or the caller's own, is under way.
  [[nodiscard]] bool try_enter() { return !is_busy_.test_and_set(); }
  void leave() { is_busy_.clear(); }

  // Collective, element-wise minimum in place. False when the deadline came first: contact with a
  // rank is lost and only lose_contact() may follow.
  [[nodiscard]] virtual bool all_reduce_min(
      std::span<std::int64_t> words, const base::Deadline& deadline
  ) = 0;

  // Collective. Every rank's bytes, by rank; empty when the deadline came first.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> all_gather(
      std::span<const std::byte> mine, const base::Deadline& deadline
  ) = 0;

  // Not collective. Tells every other rank that transaction `serial` has failed here, so that
  // nobody goes on waiting for data. Never blocks.
  virtual void announce_failure(std::uint64_t serial) = 0;

  // Has any other rank announced the failure of `serial`? Notices of older ones are dropped.
  // Transports ask in their wait loops. Never blocks.
  [[nodiscard]] virtual bool failure_announced(std::uint64_t serial) = 0;

  // Ends the whole job with status 4.
  [[noreturn]] virtual void lose_contact(const std::string& reason) = 0;

 private:
  std::uint64_t serial_ = 0;
  std::atomic_flag is_busy_;
};

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

}  // namespace routepack::shuffle

namespace routepack {

// The type that routepack/weights.hpp hands out.
// At most one message a peer and direction a round. Every rank begins and finishes every round of a
// transaction, with empty lists where it has nothing to exchange.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] virtual std::string_view name() const = 0;  // takes part in the plan digest
  [[nodiscard]] virtual shuffle::Control& control() = 0;
  [[nodiscard]] virtual shuffle::CopyEngine& engine() = 0;

  // Starts a round; the buffers belong to the transport until finish(). One round at a time.
  // Posts both directions even when a failure has been announced, so that peers' sends complete.
  virtual void begin(
      const shuffle::RoundId& id,
      std::span<const shuffle::SendSlice> sends,
      std::span<const shuffle::RecvSlice> receives
  ) = 0;

  // Waits until all slices of the round have arrived and all sends are reusable. A fault when the
  // deadline comes first, when a peer has announced a failure, or when the library reports an
  // error: the round is then abandoned, its buffers may still be touched, and only recover() or
  // destruction may follow.
  [[nodiscard]] virtual std::optional<shuffle::ExchangeFault> finish(const base::Deadline& deadline
  ) = 0;

  // Collective, after all ranks have agreed that the transaction failed and at least one of them
  // has a fault from finish(). Ends what is in flight and makes the transport usable again.
  // `buffers` stay alive as long as something in flight may touch them. False when the deadline
  // came first.
  [[nodiscard]] virtual bool recover(
      std::vector<std::shared_ptr<std::byte>> buffers, const base::Deadline& deadline
  ) = 0;
};

}  // namespace routepack
