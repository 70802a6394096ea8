// Local copies of a shuffle: gather into packed slices with a checksum trailer, check slices,
// scatter. A host engine and a device engine have this interface and the same tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "routepack/weights.hpp"

namespace routepack::shuffle {

struct CopySegment {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  std::int64_t bytes = 0;
};

// What a slice says of itself; both ends derive it from the plan. It travels behind the payload,
// followed by the payload's checksum, as the 64-byte trailer (8 little-endian words).
struct SliceStamp {
  std::uint64_t plan = 0;    // low half of the agreed plan digest
  std::uint64_t serial = 0;  // of the transaction
  std::uint64_t round = 0;
  std::uint64_t source = 0;  // rank
  std::uint64_t target = 0;  // rank
  std::uint64_t payload_bytes = 0;
  bool operator==(const SliceStamp&) const = default;
};

struct SliceTrailer {
  static constexpr std::uint64_t kMagic = 0x31454c5350525054;
  std::uint64_t magic = kMagic;
  SliceStamp stamp;
  std::uint64_t checksum = 0;
  bool operator==(const SliceTrailer&) const = default;
};
static_assert(sizeof(SliceTrailer) == 64);
inline constexpr std::int64_t kTrailerBytes = sizeof(SliceTrailer);
// Payloads are multiples of this, and so are the starts of segments within a payload.
inline constexpr std::int64_t kSliceAlignment = 16;

// Segments ascend by target within [slice, slice + stamp.payload_bytes); payload bytes that no
// segment covers become 0. The trailer lies right behind the payload.
struct PackJob {
  std::byte* slice = nullptr;
  SliceStamp stamp;
  std::span<const CopySegment> segments;
};

struct CheckJob {
  const std::byte* slice = nullptr;
  std::int64_t payload_bytes = 0;
};
struct CheckResult {
  SliceTrailer trailer;        // as it lies behind the payload
  std::uint64_t checksum = 0;  // of the payload as it is
};

class CopyEngine {
 public:
  CopyEngine() = default;
  virtual ~CopyEngine() = default;
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;

  // Takes part in the plan digest: engines whose checksums differ have different names.
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Where allocate() puts its buffers.
  [[nodiscard]] virtual Memory memory() const = 0;
  // Can it read and write tensors there?
  [[nodiscard]] virtual bool reaches(Memory memory) const = 0;
  // At least 64-byte aligned; 0 bytes give null. Throws std::bad_alloc.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate(std::int64_t bytes) = 0;

  // Each of these returns when its work is complete and visible to the transport.
  virtual void pack(std::span<const PackJob> jobs) = 0;
  [[nodiscard]] virtual std::vector<CheckResult> check(std::span<const CheckJob> jobs) = 0;
  virtual void copy(std::span<const CopySegment> segments) = 0;

  // Between its buffers and host memory, for transports that know host memory only.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate_host(std::int64_t bytes) = 0;
  virtual void to_host(std::byte* host, const std::byte* buffer, std::int64_t bytes) = 0;
  virtual void from_host(std::byte* buffer, const std::byte* host, std::int64_t bytes) = 0;
};

// Plain memory, XXH3 checksums.
[[nodiscard]] std::shared_ptr<CopyEngine> make_host_engine();

}  // namespace routepack::shuffle
