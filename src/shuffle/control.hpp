// The control plane of a shuffle: small agreements and failure notices, apart from the data, so
// that they work while the data transport is broken. Every wait has a deadline.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shuffle/deadline.hpp"

namespace routepack {

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
      std::span<std::int64_t> words, const Deadline& deadline
  ) = 0;

  // Collective. Every rank's bytes, by rank; empty when the deadline came first.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> all_gather(
      std::span<const std::byte> mine, const Deadline& deadline
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

}  // namespace routepack
