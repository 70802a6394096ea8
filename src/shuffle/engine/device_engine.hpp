// The copy engine for device memory: packs, checks and unpacks with kernels on a stream of its
// own. All memory that it needs for itself is taken at the start, since allocating while a round
// travels may wait for the round.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "shuffle/engine/copy_engine.hpp"
#include "shuffle/engine/device_api.hpp"

namespace routepack::shuffle {

class DeviceEngine : public CopyEngine {
 public:
  // A wait for the device longer than `max_wait_seconds` throws TRANSFER_FAILED.
  DeviceEngine(std::shared_ptr<DeviceApi> api, int device, double max_wait_seconds);
  ~DeviceEngine() override;

  [[nodiscard]] std::string_view name() const override { return "device-words"; }
  [[nodiscard]] Memory memory() const override { return Memory::kDevice; }
  [[nodiscard]] bool reaches(Memory memory) const override {
    return memory == Memory::kDevice || reaches_host_;
  }
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::int64_t bytes) override;
  void pack(std::span<const PackJob> jobs) override;
  [[nodiscard]] std::vector<CheckResult> check(std::span<const CheckJob> jobs) override;
  void copy(std::span<const CopySegment> segments) override;
  [[nodiscard]] std::shared_ptr<std::byte> allocate_host(std::int64_t bytes) override;
  void to_host(std::byte* host, const std::byte* buffer, std::int64_t bytes) override;
  void from_host(std::byte* buffer, const std::byte* host, std::int64_t bytes) override;

 private:
  // Checksums and trailers of a group of slices, then tiles; the host's copy is alike.
  static constexpr std::int64_t kMaxSlices = 256;
  static constexpr std::int64_t kMaxTiles = 16384;
  struct Scratch {
    std::uint64_t checksums[kMaxSlices];
    SliceTrailer trailers[kMaxSlices];
    CopyTile tiles[kMaxTiles];
  };

  void add_tile(TileWork work, const CopyTile& tile);
  void add_payload(TileWork work, CopyTile tile, std::int64_t bytes);
  void add_padded(std::int32_t slice, const PackJob& job);
  void launch(TileWork work);
  void wait_until_idle();
  void copy_and_wait(std::byte* target, const std::byte* source, std::int64_t bytes);
  [[nodiscard]] std::byte* trailer_at(std::size_t slice) const;
  void upload_slices();

  std::shared_ptr<DeviceApi> api_;
  int device_;
  double max_wait_seconds_;
  bool reaches_host_ = false;
  DeviceStream stream_ = nullptr;
  std::shared_ptr<std::byte> scratch_memory_;
  std::shared_ptr<std::byte> mirror_memory_;
  Scratch* scratch_ = nullptr;  // on the device
  Scratch* mirror_ = nullptr;   // pinned, on the host
  std::int64_t num_launched_ = 0;
  std::int64_t num_tiles_ = 0;
};

}  // namespace routepack::shuffle
