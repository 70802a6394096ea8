// Strong index types: an ExpertId never adds to an EpRank, and a vector says what indexes it.
// All ids are 0-based.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace routepack {

template <class Tag>
class Index {
 public:
  using Value = std::int32_t;
  constexpr Index() = default;
  constexpr explicit Index(Value value) : value_(value) {}
  constexpr explicit Index(std::size_t value) : value_(static_cast<Value>(value)) {}

  [[nodiscard]] constexpr Value value() const { return value_; }
  [[nodiscard]] constexpr std::size_t offset() const { return static_cast<std::size_t>(value_); }
  constexpr Index& operator++() {
    ++value_;
    return *this;
  }
  constexpr auto operator<=>(const Index&) const = default;

 private:
  Value value_ = 0;
};

using SampleId = Index<struct SampleTag>;    // sample of the window, i of N
using MoeLayer = Index<struct MoeLayerTag>;  // index into `moe_layers`, l of L
using ExpertId = Index<struct ExpertTag>;    // logical routed expert of a layer, e of E
using SlotId = Index<struct SlotTag>;        // physical place of an expert, s of E
using EpRank = Index<struct EpRankTag>;      // member of an expert-parallel group, p of ep
using DpSlot = Index<struct DpSlotTag>;      // data-parallel position of the dense part, d of dp
using EdpShard = Index<struct EdpShardTag>;  // DP slots that share an EP communicator, g of edp
using RowId = Index<struct RowTag>;          // microbatch, common to all DP slots, r of R
using CellId = Index<struct CellTag>;        // row * dp + DP slot
// The cells of one EDP shard in one row, which meet at the same EP ranks: row * edp + shard. Cells
// of a block are consecutive: block * dp_per_shard + position.
using BlockId = Index<struct BlockTag>;
using ChainId = Index<struct ChainTag>;  // member of the annealing population

// A std::vector that only its own id type indexes.
template <class Id, class T>
class IndexVector {
 public:
  IndexVector() = default;
  explicit IndexVector(std::size_t size, const T& value = T{}) : values_(size, value) {}
  explicit IndexVector(std::vector<T> values) : values_(std::move(values)) {}

  [[nodiscard]] decltype(auto) operator[](Id id) { return values_[id.offset()]; }
  [[nodiscard]] decltype(auto) operator[](Id id) const { return values_[id.offset()]; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] auto begin() { return values_.begin(); }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() { return values_.end(); }
  [[nodiscard]] auto end() const { return values_.end(); }
  [[nodiscard]] const std::vector<T>& values() const { return values_; }
  [[nodiscard]] std::vector<T>& values() { return values_; }
  void push_back(T value) { values_.push_back(std::move(value)); }
  bool operator==(const IndexVector&) const = default;

 private:
  std::vector<T> values_;
};

// Ids 0 … count-1, for range-for: `for (const ExpertId expert : ids<ExpertId>(num_experts))`.
template <class Id>
class IdRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(Id id) : id_(id) {}
    constexpr Id operator*() const { return id_; }
    constexpr Iterator& operator++() {
      ++id_;
      return *this;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    Id id_;
  };
  constexpr explicit IdRange(Id end) : end_(end) {}
  [[nodiscard]] constexpr Iterator begin() const { return Iterator{Id{}}; }
  [[nodiscard]] constexpr Iterator end() const { return Iterator{end_}; }

 private:
  Id end_;
};

template <class Id, class Count>
[[nodiscard]] constexpr IdRange<Id> ids(Count count) {
  return IdRange<Id>{Id{static_cast<typename Id::Value>(count)}};
}

}  // namespace routepack
