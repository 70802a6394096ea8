#include "shuffle/transport_cases.hpp"

#include <mpi.h>

#include <cstring>

#include "shuffle/mpi_transport.hpp"

namespace routepack::testing {
namespace {

// Says that its buffers are device memory, so that the MPI transport bounces them; tensors are
// host memory as before.
class PretendedDevice : public CopyEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "pretended-device"; }
  [[nodiscard]] Memory memory() const override { return Memory::kDevice; }
  [[nodiscard]] bool reaches(Memory /*memory*/) const override { return true; }
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::int64_t bytes) override {
    return host_->allocate(bytes);
  }
  void pack(std::span<const PackJob> jobs) override { host_->pack(jobs); }
  [[nodiscard]] std::vector<CheckResult> check(std::span<const CheckJob> jobs) override {
    return host_->check(jobs);
  }
  void copy(std::span<const CopySegment> segments) override { host_->copy(segments); }
  [[nodiscard]] std::shared_ptr<std::byte> allocate_host(std::int64_t bytes) override {
    return host_->allocate_host(bytes);
  }
  void to_host(std::byte* host, const std::byte* buffer, std::int64_t bytes) override {
    host_->to_host(host, buffer, bytes);
  }
  void from_host(std::byte* buffer, const std::byte* host, std::int64_t bytes) override {
    host_->from_host(buffer, host, bytes);
  }

 private:
  std::shared_ptr<CopyEngine> host_ = make_host_engine();
};

}  // namespace

std::vector<TransportCase> transport_cases() {
  return {
      TransportCase{"Mpi", [] { return std::make_unique<MpiTransport>(MPI_COMM_WORLD); }},
      TransportCase{"MpiThroughHostBuffers", [] {
                      return std::make_unique<MpiTransport>(
                          MPI_COMM_WORLD, std::make_shared<PretendedDevice>()
                      );
                    }}};
}

}  // namespace routepack::testing
