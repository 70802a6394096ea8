// The way of a cell's tokens to their experts and back, at one layer: all-to-all over the EP
// group. Tokens travel, and come back, in the order of slots, as in trainers: what a token's
// experts return is added in the order of the slots where they live.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "training/exchange.hpp"
#include "training/shape.hpp"

namespace routepack::training {

// One of a token's k experts.
struct Assignment {
  std::size_t token = 0;   // of the cell
  std::size_t choice = 0;  // of the token
  SlotId slot;
  [[nodiscard]] bool operator<(const Assignment& other) const {
    return slot != other.slot ? slot < other.slot : token < other.token;
  }
};

class Dispatch {
 public:
  // Collective.
  Dispatch(std::vector<Assignment> mine, const Shape& shape, const comm::Communicator& ep_group);

  // By slot, then token.
  [[nodiscard]] const std::vector<Assignment>& assignments() const { return mine_; }
  // Slots of the tokens that come to this rank: by source rank, then slot, then token. The tokens
  // of one slot are in an order that does not depend on which slot it is.
  [[nodiscard]] const std::vector<SlotId>& arriving_slots() const { return arriving_slots_; }

  // Collective. Vectors of `width`, one an assignment; returns one an arriving token.
  template <class Real>
  [[nodiscard]] std::vector<Real> to_experts(const std::vector<Real>& values, std::size_t width)
      const {
    return travel(values, sent_, width);
  }
  // Collective. The reverse.
  template <class Real>
  [[nodiscard]] std::vector<Real> to_tokens(const std::vector<Real>& values, std::size_t width)
      const {
    return travel(values, arrived_, width);
  }

 private:
  template <class Real>
  [[nodiscard]] std::vector<Real> travel(
      const std::vector<Real>& values, std::vector<std::size_t> sizes, std::size_t width
  ) const {
    for (std::size_t& size : sizes) {
      size *= width;
    }
    std::vector<Real> all;
    for (const std::vector<Real>& part : exchange_parts(values, sizes, *ep_group_)) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  const comm::Communicator* ep_group_;
  std::vector<Assignment> mine_;
  std::vector<SlotId> arriving_slots_;
  std::vector<std::size_t> sent_;     // tokens to every EP rank
  std::vector<std::size_t> arrived_;  // tokens from every EP rank
};

}  // namespace routepack::training
