// The host engine behind a class that tests change in one point.
#pragma once

#include <memory>
#include <vector>

#include "shuffle/engine/copy_engine.hpp"

namespace routepack::testing {

class ForwardingEngine : public shuffle::CopyEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "forwarding"; }
  [[nodiscard]] Memory memory() const override { return Memory::kHost; }
  [[nodiscard]] bool reaches(Memory memory) const override { return host_->reaches(memory); }
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::int64_t bytes) override {
    return host_->allocate(bytes);
  }
  void pack(std::span<const shuffle::PackJob> jobs) override { host_->pack(jobs); }
  [[nodiscard]] std::vector<shuffle::CheckResult> check(std::span<const shuffle::CheckJob> jobs
  ) override {
    return host_->check(jobs);
  }
  void copy(std::span<const shuffle::CopySegment> segments) override { host_->copy(segments); }
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
  std::shared_ptr<shuffle::CopyEngine> host_ = shuffle::make_host_engine();
};

}  // namespace routepack::testing
