// Between the live tensors of a rank and the buffers of one transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "routepack/weights.hpp"
#include "shuffle/engine/copy_engine.hpp"
#include "shuffle/plan/byte_moves.hpp"
#include "shuffle/plan/rounds.hpp"
#include "shuffle/transport/transport.hpp"

namespace routepack::shuffle {

// Finds the address of a byte of an expert tensor on this rank.
// Refers to the registry, which must outlive it.
class LocalTensors {
 public:
  LocalTensors(const ExpertRegistry& registry, const StateLayout& layout);

  // Where bytes [begin, …) of the tensor lie; the caller's move lies within one range.
  [[nodiscard]] std::byte* address(MoeLayer layer, KindId kind, SlotId slot, std::int64_t begin)
      const;
  [[nodiscard]] const std::byte* source_of(const ByteMove& move) const {
    return address(move.layer, move.kind, move.from_slot, move.begin);
  }
  [[nodiscard]] std::byte* target_of(const ByteMove& move) const {
    return address(move.layer, move.kind, move.to_slot, move.begin);
  }

 private:
  const StateLayout& layout_;
  std::vector<const SlotTensor*> tensor_of_number_;  // null where this rank holds nothing
};

// What the buffers may take at most, by the streams' sizes:
// 2 send buffers of B + 64 for every peer sent to, all incoming bytes, and 64 a slice.
[[nodiscard]] std::int64_t memory_bound_bytes(const RankStreams& streams);

// Two send buffers a peer, used in turn, and the shadow, where arriving slices stay as they came
// until the commit scatters them over the live tensors.
class Staging {
 public:
  // Allocates. Throws std::bad_alloc. Refers to its arguments, which must outlive it.
  Staging(const RankStreams& streams, const LocalTensors& tensors, CopyEngine& engine);

  // Packs what leaves in `round`; stamps carry `plan` and `id`. The slices stay valid until the
  // round after next is packed.
  [[nodiscard]] std::vector<SendSlice> pack(
      const RoundId& id, std::uint64_t plan, std::int32_t rank
  );
  // Where the slices of `round` are to arrive.
  [[nodiscard]] std::vector<RecvSlice> receives(std::int64_t round) const;
  // The first receive stream whose slice of the round is not what its sender packed, or null.
  [[nodiscard]] const PairStream* find_damaged(
      const RoundId& id, std::uint64_t plan, std::int32_t rank
  );
  // Copies what moves within this rank into the shadow.
  void pack_here();
  // Shadow to live tensors, in place.
  void commit();

  [[nodiscard]] std::int64_t staging_bytes() const { return staging_bytes_; }
  [[nodiscard]] std::int64_t shadow_bytes() const { return shadow_bytes_; }
  [[nodiscard]] std::vector<std::shared_ptr<std::byte>> buffers() const {
    return {send_buffer_, shadow_};
  }

 private:
  [[nodiscard]] std::byte* shadow_of(std::size_t stream, std::int64_t round) const;

  const RankStreams& streams_;
  const LocalTensors& tensors_;
  CopyEngine& engine_;
  std::vector<std::int64_t> send_offset_;    // of a send stream's pair of buffers
  std::vector<std::int64_t> shadow_offset_;  // of a receive stream; then of `here`
  std::int64_t staging_bytes_ = 0;
  std::int64_t shadow_bytes_ = 0;
  std::shared_ptr<std::byte> send_buffer_;
  std::shared_ptr<std::byte> shadow_;
};

}  // namespace routepack::shuffle
