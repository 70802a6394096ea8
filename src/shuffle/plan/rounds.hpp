// The moves of one rank as byte streams, one a peer and direction, cut into rounds of at most B
// payload bytes. Pure; both ends of a stream derive the same cuts from the same list of moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shuffle/plan/byte_moves.hpp"

namespace routepack::shuffle {

// A move's place in its stream: [offset, offset + bytes), offset a multiple of 16.
struct StreamMove {
  ByteMove move;
  std::int64_t offset = 0;
};

// All bytes from one rank to another, padded to a multiple of 16.
struct PairStream {
  std::int32_t peer = 0;
  std::int64_t bytes = 0;
  std::vector<StreamMove> moves;

  [[nodiscard]] std::int64_t num_rounds(std::int64_t round_bytes) const {
    return (bytes + round_bytes - 1) / round_bytes;
  }
  // Payload of a round; 0 after the stream's end.
  [[nodiscard]] std::int64_t payload_of(std::int64_t round, std::int64_t round_bytes) const;
};

struct RankStreams {
  std::int64_t round_bytes = 0;   // B, a multiple of 16
  std::int64_t num_rounds = 0;    // of the longest stream of any pair: the same on all ranks
  std::vector<PairStream> sends;  // by peer, none empty
  std::vector<PairStream> receives;
  PairStream here;  // between slots of this rank: needs no rounds
};

// `moves` as from make_moves; round_bytes is rounded up to a multiple of 16.
[[nodiscard]] RankStreams make_streams(
    std::span<const ByteMove> moves, std::int32_t rank, std::int64_t round_bytes
);

// The moves that overlap bytes [begin, end) of a stream.
[[nodiscard]] std::span<const StreamMove> moves_between(
    const PairStream& stream, std::int64_t begin, std::int64_t end
);

}  // namespace routepack::shuffle
