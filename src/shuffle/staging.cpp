#include "shuffle/staging.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace routepack::shuffle {
namespace {

constexpr std::int64_t kBufferAlignment = 64;

// A slice of the stream's largest round with its trailer, aligned.
std::int64_t slice_room(const PairStream& stream, std::int64_t round_bytes) {
  return base::round_up(std::min(stream.bytes, round_bytes) + kTrailerBytes, kBufferAlignment);
}

// Two buffers, or one where the stream is over after one round.
std::int64_t send_room(const PairStream& stream, std::int64_t round_bytes) {
  return slice_room(stream, round_bytes) *
         std::min<std::int64_t>(2, stream.num_rounds(round_bytes));
}

std::int64_t shadow_room(const PairStream& stream, std::int64_t round_bytes) {
  return base::round_up(
      stream.bytes + stream.num_rounds(round_bytes) * kTrailerBytes, kBufferAlignment
  );
}

SliceStamp make_stamp(
    const RoundId& id,
    std::uint64_t plan,
    std::int32_t source,
    std::int32_t target,
    std::int64_t payload_bytes
) {
  return SliceStamp{
      plan,
      id.serial,
      static_cast<std::uint64_t>(id.round),
      static_cast<std::uint64_t>(source),
      static_cast<std::uint64_t>(target),
      static_cast<std::uint64_t>(payload_bytes)};
}

// A part of a move that falls into a round: bytes `from` to `to` of the move.
struct MovePart {
  std::int64_t from = 0;
  std::int64_t to = 0;
};
MovePart part_of(const StreamMove& item, std::int64_t begin, std::int64_t end) {
  return MovePart{
      std::max<std::int64_t>(begin - item.offset, 0), std::min(end - item.offset, item.move.bytes)};
}

}  // namespace

LocalTensors::LocalTensors(const ExpertRegistry& registry, const StateLayout& layout)
    : layout_(layout), tensor_of_number_(layout.first_range.size() - 1, nullptr) {
  const std::vector<std::string>& kinds = layout.kinds.values();
  for (const SlotTensor& tensor : registry.tensors()) {
    const auto at = std::lower_bound(kinds.begin(), kinds.end(), tensor.kind);
    const KindId kind{static_cast<std::size_t>(at - kinds.begin())};
    tensor_of_number_[layout.tensor(tensor.layer, kind, tensor.slot)] = &tensor;
  }
}

std::byte* LocalTensors::address(MoeLayer layer, KindId kind, SlotId slot, std::int64_t begin)
    const {
  const SlotTensor* tensor = tensor_of_number_[layout_.tensor(layer, kind, slot)];
  RP_ASSERT(light, tensor != nullptr, "slot {} is not here", slot.value());
  const auto after = std::partition_point(
      tensor->ranges.begin(), tensor->ranges.end(),
      [begin](const TensorRange& range) { return range.begin <= begin; }
  );
  RP_ASSERT(light, after != tensor->ranges.begin(), "byte {} is not here", begin);
  const TensorRange& range = *(after - 1);
  RP_ASSERT(light, begin < range.begin + range.bytes, "byte {} is not here", begin);
  return range.address + (begin - range.begin);
}

std::int64_t memory_bound_bytes(const RankStreams& streams) {
  std::int64_t bound = streams.here.bytes + kBufferAlignment;
  const auto num_sends = static_cast<std::int64_t>(streams.sends.size());
  bound += num_sends * 2 * (streams.round_bytes + kTrailerBytes + kBufferAlignment);
  for (const PairStream& stream : streams.receives) {
    bound += stream.bytes + stream.num_rounds(streams.round_bytes) * kTrailerBytes;
    bound += kBufferAlignment;
  }
  return bound;
}

Staging::Staging(const RankStreams& streams, const LocalTensors& tensors, CopyEngine& engine)
    : streams_(streams), tensors_(tensors), engine_(engine) {
  for (const PairStream& stream : streams.sends) {
    send_offset_.push_back(staging_bytes_);
    staging_bytes_ += send_room(stream, streams.round_bytes);
  }
  for (const PairStream& stream : streams.receives) {
    shadow_offset_.push_back(shadow_bytes_);
    shadow_bytes_ += shadow_room(stream, streams.round_bytes);
  }
  shadow_offset_.push_back(shadow_bytes_);
  shadow_bytes_ += base::round_up(streams.here.bytes, kBufferAlignment);
  send_buffer_ = engine.allocate(staging_bytes_);
  shadow_ = engine.allocate(shadow_bytes_);
}

std::byte* Staging::shadow_of(std::size_t stream, std::int64_t round) const {
  return shadow_.get() + shadow_offset_[stream] + round * (streams_.round_bytes + kTrailerBytes);
}

std::vector<SendSlice> Staging::pack(const RoundId& id, std::uint64_t plan, std::int32_t rank) {
  const std::int64_t begin = id.round * streams_.round_bytes;
  std::vector<SendSlice> slices;
  std::vector<CopySegment> segments;
  std::vector<PackJob> jobs;
  std::vector<std::size_t> first_segment;
  for (std::size_t n = 0; n < streams_.sends.size(); ++n) {
    const PairStream& stream = streams_.sends[n];
    const std::int64_t payload = stream.payload_of(id.round, streams_.round_bytes);
    if (payload == 0) {
      continue;
    }
    std::byte* slice = send_buffer_.get() + send_offset_[n] +
                       id.round % 2 * slice_room(stream, streams_.round_bytes);
    first_segment.push_back(segments.size());
    for (const StreamMove& item : moves_between(stream, begin, begin + payload)) {
      const MovePart part = part_of(item, begin, begin + payload);
      segments.push_back(CopySegment{
          tensors_.source_of(item.move) + part.from, slice + (item.offset + part.from - begin),
          part.to - part.from});
    }
    jobs.push_back(PackJob{slice, make_stamp(id, plan, rank, stream.peer, payload), {}});
    slices.push_back(SendSlice{stream.peer, slice, payload + kTrailerBytes});
  }
  first_segment.push_back(segments.size());
  for (std::size_t n = 0; n < jobs.size(); ++n) {
    jobs[n].segments =
        std::span{segments}.subspan(first_segment[n], first_segment[n + 1] - first_segment[n]);
  }
  engine_.pack(jobs);
  return slices;
}

std::vector<RecvSlice> Staging::receives(std::int64_t round) const {
  std::vector<RecvSlice> slices;
  for (std::size_t n = 0; n < streams_.receives.size(); ++n) {
    const PairStream& stream = streams_.receives[n];
    const std::int64_t payload = stream.payload_of(round, streams_.round_bytes);
    if (payload > 0) {
      slices.push_back(RecvSlice{stream.peer, shadow_of(n, round), payload + kTrailerBytes});
    }
  }
  return slices;
}

const PairStream* Staging::find_damaged(const RoundId& id, std::uint64_t plan, std::int32_t rank) {
  std::vector<CheckJob> jobs;
  std::vector<const PairStream*> stream_of_job;
  for (std::size_t n = 0; n < streams_.receives.size(); ++n) {
    const PairStream& stream = streams_.receives[n];
    const std::int64_t payload = stream.payload_of(id.round, streams_.round_bytes);
    if (payload > 0) {
      jobs.push_back(CheckJob{shadow_of(n, id.round), payload});
      stream_of_job.push_back(&stream);
    }
  }
  const std::vector<CheckResult> results = engine_.check(jobs);
  for (std::size_t n = 0; n < jobs.size(); ++n) {
    const PairStream& stream = *stream_of_job[n];
    SliceTrailer expected;
    expected.stamp = make_stamp(id, plan, stream.peer, rank, jobs[n].payload_bytes);
    expected.checksum = results[n].checksum;
    if (results[n].trailer != expected) {
      return &stream;
    }
  }
  return nullptr;
}

void Staging::pack_here() {
  std::byte* target = shadow_.get() + shadow_offset_.back();
  std::vector<CopySegment> segments;
  for (const StreamMove& item : streams_.here.moves) {
    segments.push_back(CopySegment{
        tensors_.source_of(item.move), target + item.offset, item.move.bytes});
  }
  engine_.copy(segments);
}

void Staging::commit() {
  std::vector<CopySegment> segments;
  for (std::size_t n = 0; n < streams_.receives.size(); ++n) {
    const PairStream& stream = streams_.receives[n];
    const std::int64_t num_rounds = stream.num_rounds(streams_.round_bytes);
    for (std::int64_t round = 0; round < num_rounds; ++round) {
      const std::int64_t begin = round * streams_.round_bytes;
      const std::int64_t end = begin + stream.payload_of(round, streams_.round_bytes);
      for (const StreamMove& item : moves_between(stream, begin, end)) {
        const MovePart part = part_of(item, begin, end);
        segments.push_back(CopySegment{
            shadow_of(n, round) + (item.offset + part.from - begin),
            tensors_.target_of(item.move) + part.from, part.to - part.from});
      }
    }
  }
  const std::byte* here = shadow_.get() + shadow_offset_.back();
  for (const StreamMove& item : streams_.here.moves) {
    segments.push_back(CopySegment{
        here + item.offset, tensors_.target_of(item.move), item.move.bytes});
  }
  engine_.copy(segments);
}

}  // namespace routepack::shuffle
