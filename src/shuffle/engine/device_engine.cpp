#include "shuffle/engine/device_engine.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <thread>

#include "base/check.hpp"

namespace routepack::shuffle {
namespace {

constexpr std::int64_t kStampBytes = offsetof(SliceTrailer, checksum);

std::uint64_t words_in(std::int64_t bytes) { return static_cast<std::uint64_t>(bytes) / 8; }

std::byte* bytes_of(void* data) { return static_cast<std::byte*>(data); }

}  // namespace

DeviceEngine::DeviceEngine(std::shared_ptr<DeviceApi> api, int device, double max_wait_seconds)
    : api_(std::move(api)), device_(device), max_wait_seconds_(max_wait_seconds) {
  RP_CUDA(*api_, set_device(device_));
  reaches_host_ = RP_CUDA(*api_, reaches_host_memory(device_));
  scratch_memory_ = allocate(sizeof(Scratch));
  mirror_memory_ = allocate_host(sizeof(Scratch));
  scratch_ = reinterpret_cast<Scratch*>(scratch_memory_.get());
  mirror_ = new (mirror_memory_.get()) Scratch;
  stream_ = RP_CUDA(*api_, create_stream());
}

// Errors of a device that has failed are named before; here there is nobody to tell.
DeviceEngine::~DeviceEngine() {
  (void)api_->set_device(device_);
  (void)api_->destroy_stream(stream_);
}

std::shared_ptr<std::byte> DeviceEngine::allocate(std::int64_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  RP_CUDA(*api_, set_device(device_));
  const DeviceValue<std::byte*> memory = api_->allocate(bytes);
  if (memory.result == DeviceResult::kOutOfMemory) {
    throw std::bad_alloc();
  }
  detail::check_device(*api_, memory.result, "allocate(bytes)");
  return {memory.value, [api = api_, device = device_](std::byte* data) {
            (void)api->set_device(device);
            (void)api->release(data);
          }};
}

std::shared_ptr<std::byte> DeviceEngine::allocate_host(std::int64_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  RP_CUDA(*api_, set_device(device_));
  const DeviceValue<std::byte*> memory = api_->allocate_host(bytes);
  if (memory.result == DeviceResult::kOutOfMemory) {
    throw std::bad_alloc();
  }
  detail::check_device(*api_, memory.result, "allocate_host(bytes)");
  return {memory.value, [api = api_, device = device_](std::byte* data) {
            (void)api->set_device(device);
            (void)api->release_host(data);
          }};
}

void DeviceEngine::wait_until_idle() {
  const base::Deadline deadline = base::Deadline::after(max_wait_seconds_);
  while (true) {
    const DeviceResult state = api_->query_stream(stream_);
    if (state != DeviceResult::kNotReady) {
      detail::check_device(*api_, state, "copies on the device");
      return;
    }
    RP_CHECK(
        !deadline.expired(), ErrorCode::kTransferFailed,
        "device {} did not finish its copies within {:.3g} s", device_, max_wait_seconds_
    );
    std::this_thread::yield();
  }
}

// Runs the tiles added since the last launch, without waiting.
void DeviceEngine::launch(TileWork work) {
  const std::int64_t num_new = num_tiles_ - num_launched_;
  if (num_new == 0) {
    return;
  }
  CopyTile* tiles = scratch_->tiles + num_launched_;
  RP_CUDA(
      *api_, copy_async(
                 bytes_of(tiles), bytes_of(mirror_->tiles + num_launched_),
                 num_new * std::int64_t{sizeof(CopyTile)}, stream_
             )
  );
  RP_CUDA(*api_, run_tiles(work, tiles, num_new, scratch_->checksums, stream_));
  num_launched_ = num_tiles_;
}

void DeviceEngine::add_tile(TileWork work, const CopyTile& tile) {
  if (num_tiles_ == kMaxTiles) {
    launch(work);
    wait_until_idle();  // until then the device may read the mirror
    num_tiles_ = num_launched_ = 0;
  }
  mirror_->tiles[num_tiles_++] = tile;
}

// `tile` says where the first one starts; zeros behind the last one fill it up to 16 bytes.
void DeviceEngine::add_payload(TileWork work, CopyTile tile, std::int64_t bytes) {
  while (bytes > 0) {
    const std::int64_t piece = std::min(bytes, kTileBytes);
    tile.bytes = static_cast<std::int32_t>(piece);
    tile.padded_bytes = static_cast<std::int32_t>(base::round_up(piece, kSliceAlignment));
    add_tile(work, tile);
    tile.source += piece;
    if (tile.target != nullptr) {
      tile.target += piece;
    }
    tile.first_word += words_in(piece);
    bytes -= piece;
  }
}

void DeviceEngine::add_padded(std::int32_t slice, const PackJob& job) {
  const auto address = reinterpret_cast<std::uintptr_t>(job.slice);
  const auto payload = static_cast<std::int64_t>(job.stamp.payload_bytes);
  RP_ASSERT(
      light, address % kSliceAlignment == 0 && payload % kSliceAlignment == 0,
      "a slice of {} bytes at {}", payload, address
  );
  std::int64_t filled = 0;
  const auto zero_until = [&](std::int64_t end) {
    while (filled < end) {
      CopyTile gap;
      gap.slice = slice;
      gap.target = job.slice + filled;
      gap.first_word = words_in(filled);
      gap.padded_bytes = static_cast<std::int32_t>(std::min(end - filled, kTileBytes));
      add_tile(TileWork::kPack, gap);
      filled += gap.padded_bytes;
    }
  };
  for (const CopySegment& segment : job.segments) {
    const std::int64_t begin = segment.target - job.slice;
    RP_ASSERT(
        light, begin % kSliceAlignment == 0 && begin >= filled, "a segment at {} behind {}", begin,
        filled
    );
    zero_until(begin);
    CopyTile tile;
    tile.slice = slice;
    tile.source = segment.source;
    tile.target = segment.target;
    tile.first_word = words_in(begin);
    add_payload(TileWork::kPack, tile, segment.bytes);
    filled = base::round_up(begin + segment.bytes, kSliceAlignment);
  }
  zero_until(payload);
}

std::byte* DeviceEngine::trailer_at(std::size_t slice) const {
  return bytes_of(scratch_->trailers + slice);
}

// Checksums and trailers of the mirror to the device.
void DeviceEngine::upload_slices() {
  RP_CUDA(
      *api_, copy_async(
                 bytes_of(scratch_), bytes_of(mirror_),
                 std::int64_t{sizeof(mirror_->checksums) + sizeof(mirror_->trailers)}, stream_
             )
  );
}

// The trailer is put behind the payload by the device too, once the checksum is complete.
void DeviceEngine::pack(std::span<const PackJob> jobs) {
  RP_CUDA(*api_, set_device(device_));
  while (!jobs.empty()) {
    const auto group = jobs.first(std::min<std::size_t>(jobs.size(), kMaxSlices));
    num_tiles_ = num_launched_ = 0;
    for (std::size_t n = 0; n < group.size(); ++n) {
      mirror_->checksums[n] = 0;
      mirror_->trailers[n] = SliceTrailer{SliceTrailer::kMagic, group[n].stamp, 0};
    }
    upload_slices();
    for (std::size_t n = 0; n < group.size(); ++n) {
      add_padded(static_cast<std::int32_t>(n), group[n]);
    }
    launch(TileWork::kPack);
    for (std::size_t n = 0; n < group.size(); ++n) {
      CopyTile tile;
      tile.source = trailer_at(n);
      tile.target = group[n].slice + group[n].stamp.payload_bytes;
      add_payload(TileWork::kUnpack, tile, kStampBytes);
      tile.source = bytes_of(scratch_->checksums + n);
      tile.target += kStampBytes;
      add_payload(TileWork::kUnpack, tile, kTrailerBytes - kStampBytes);
    }
    launch(TileWork::kUnpack);
    wait_until_idle();
    jobs = jobs.subspan(group.size());
  }
}

std::vector<CheckResult> DeviceEngine::check(std::span<const CheckJob> jobs) {
  RP_CUDA(*api_, set_device(device_));
  std::vector<CheckResult> results;
  while (!jobs.empty()) {
    const auto group = jobs.first(std::min<std::size_t>(jobs.size(), kMaxSlices));
    num_tiles_ = num_launched_ = 0;
    std::fill_n(mirror_->checksums, group.size(), std::uint64_t{0});
    upload_slices();
    for (std::size_t n = 0; n < group.size(); ++n) {
      CopyTile tile;
      tile.slice = static_cast<std::int32_t>(n);
      tile.source = group[n].slice;
      add_payload(TileWork::kChecksum, tile, group[n].payload_bytes);
    }
    launch(TileWork::kChecksum);
    for (std::size_t n = 0; n < group.size(); ++n) {
      CopyTile tile;
      tile.source = group[n].slice + group[n].payload_bytes;
      tile.target = trailer_at(n);
      add_payload(TileWork::kUnpack, tile, kTrailerBytes);
    }
    launch(TileWork::kUnpack);
    copy_and_wait(
        bytes_of(mirror_), bytes_of(scratch_),
        std::int64_t{sizeof(mirror_->checksums) + sizeof(mirror_->trailers)}
    );
    for (std::size_t n = 0; n < group.size(); ++n) {
      results.push_back(CheckResult{mirror_->trailers[n], mirror_->checksums[n]});
    }
    jobs = jobs.subspan(group.size());
  }
  return results;
}

void DeviceEngine::copy(std::span<const CopySegment> segments) {
  RP_CUDA(*api_, set_device(device_));
  num_tiles_ = num_launched_ = 0;
  for (const CopySegment& segment : segments) {
    CopyTile tile;
    tile.source = segment.source;
    tile.target = segment.target;
    add_payload(TileWork::kUnpack, tile, segment.bytes);
  }
  launch(TileWork::kUnpack);
  wait_until_idle();
}

void DeviceEngine::copy_and_wait(std::byte* target, const std::byte* source, std::int64_t bytes) {
  RP_CUDA(*api_, copy_async(target, source, bytes, stream_));
  wait_until_idle();
}

void DeviceEngine::to_host(std::byte* host, const std::byte* buffer, std::int64_t bytes) {
  RP_CUDA(*api_, set_device(device_));
  copy_and_wait(host, buffer, bytes);
}

void DeviceEngine::from_host(std::byte* buffer, const std::byte* host, std::int64_t bytes) {
  RP_CUDA(*api_, set_device(device_));
  copy_and_wait(buffer, host, bytes);
}

}  // namespace routepack::shuffle
