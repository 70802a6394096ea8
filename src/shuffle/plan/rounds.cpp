#include "shuffle/plan/rounds.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "shuffle/engine/copy_engine.hpp"

namespace routepack::shuffle {
namespace {

void append(PairStream& stream, const ByteMove& move) {
  stream.moves.push_back(StreamMove{move, stream.bytes});
  stream.bytes = base::checked_add(
      stream.bytes, base::round_up(move.bytes, kSliceAlignment),
      "bytes of a stream between two ranks"
  );
}

PairStream& stream_of(std::vector<PairStream>& streams, std::int32_t peer) {
  if (streams.empty() || streams.back().peer != peer) {
    streams.push_back(PairStream{peer, 0, {}});
  }
  return streams.back();
}

}  // namespace

std::int64_t PairStream::payload_of(std::int64_t round, std::int64_t round_bytes) const {
  return std::clamp<std::int64_t>(bytes - round * round_bytes, 0, round_bytes);
}

RankStreams make_streams(
    std::span<const ByteMove> moves, std::int32_t rank, std::int64_t round_bytes
) {
  RankStreams streams;
  streams.round_bytes = base::round_up(round_bytes, kSliceAlignment);
  streams.here.peer = rank;
  std::int64_t longest = 0;
  std::int64_t pair_bytes = 0;
  for (std::size_t n = 0; n < moves.size(); ++n) {
    const ByteMove& move = moves[n];
    const bool continues =
        n > 0 && moves[n - 1].source == move.source && moves[n - 1].target == move.target;
    pair_bytes = continues ? pair_bytes : 0;
    if (move.source != move.target) {
      pair_bytes += base::round_up(move.bytes, kSliceAlignment);
      longest = std::max(longest, pair_bytes);
    }
    if (move.source == rank && move.target == rank) {
      append(streams.here, move);
    } else if (move.source == rank) {
      append(stream_of(streams.sends, move.target), move);
    } else if (move.target == rank) {
      append(stream_of(streams.receives, move.source), move);
    }
  }
  streams.num_rounds = base::ceil_divide(longest, streams.round_bytes);
  return streams;
}

std::span<const StreamMove> moves_between(
    const PairStream& stream, std::int64_t begin, std::int64_t end
) {
  const auto first = std::partition_point(
      stream.moves.begin(), stream.moves.end(),
      [begin](const StreamMove& item) { return item.offset + item.move.bytes <= begin; }
  );
  const auto last = std::partition_point(first, stream.moves.end(), [end](const StreamMove& item) {
    return item.offset < end;
  });
  return {first, last};
}

}  // namespace routepack::shuffle
