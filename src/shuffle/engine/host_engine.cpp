// The copy engine for plain memory.
#include <cstring>
#include <new>

#include "base/simd.hpp"
#include "shuffle/engine/copy_engine.hpp"
#include "shuffle/engine/gather.hpp"

namespace routepack::shuffle {
namespace {

constexpr std::align_val_t kBufferAlignment{64};

class HostEngine : public CopyEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "host-xxh3"; }
  [[nodiscard]] Memory memory() const override { return Memory::kHost; }
  [[nodiscard]] bool reaches(Memory memory) const override { return memory == Memory::kHost; }

  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::int64_t bytes) override {
    if (bytes == 0) {
      return nullptr;
    }
    void* memory = ::operator new(static_cast<std::size_t>(bytes), kBufferAlignment);
    return {static_cast<std::byte*>(memory), [](std::byte* buffer) {
              ::operator delete(buffer, kBufferAlignment);
            }};
  }

  void pack(std::span<const PackJob> jobs) override {
    for (const PackJob& job : jobs) {
      SliceTrailer trailer;
      trailer.stamp = job.stamp;
      const std::span<std::byte> payload{job.slice, job.stamp.payload_bytes};
      trailer.checksum = gather_segments(payload, job.segments, level_);
      std::memcpy(job.slice + job.stamp.payload_bytes, &trailer, sizeof(trailer));
    }
  }

  [[nodiscard]] std::vector<CheckResult> check(std::span<const CheckJob> jobs) override {
    std::vector<CheckResult> results(jobs.size());
    for (std::size_t n = 0; n < jobs.size(); ++n) {
      const auto bytes = static_cast<std::size_t>(jobs[n].payload_bytes);
      results[n].checksum = payload_checksum({jobs[n].slice, bytes}, level_);
      std::memcpy(&results[n].trailer, jobs[n].slice + bytes, sizeof(SliceTrailer));
    }
    return results;
  }

  void copy(std::span<const CopySegment> segments) override {
    for (const CopySegment& segment : segments) {
      std::memcpy(segment.target, segment.source, static_cast<std::size_t>(segment.bytes));
    }
  }

  [[nodiscard]] std::shared_ptr<std::byte> allocate_host(std::int64_t bytes) override {
    return allocate(bytes);
  }
  void to_host(std::byte* host, const std::byte* buffer, std::int64_t bytes) override {
    std::memcpy(host, buffer, static_cast<std::size_t>(bytes));
  }
  void from_host(std::byte* buffer, const std::byte* host, std::int64_t bytes) override {
    std::memcpy(buffer, host, static_cast<std::size_t>(bytes));
  }

 private:
  SimdLevel level_ = base::best_simd_level();
};

}  // namespace

std::shared_ptr<CopyEngine> make_host_engine() { return std::make_shared<HostEngine>(); }

}  // namespace routepack::shuffle
