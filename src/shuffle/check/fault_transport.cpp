#include "shuffle/check/fault_transport.hpp"

#include <chrono>
#include <csignal>
#include <thread>

namespace routepack::shuffle {

bool FaultTransport::is_due(const RoundId& id, std::size_t num_slices) {
  first_serial_ = first_serial_.value_or(id.serial);
  return !has_struck_ && inner_.control().rank() == fault_.rank && id.round >= fault_.round &&
         id.serial - *first_serial_ >= fault_.transaction && num_slices > 0;
}

void FaultTransport::begin(
    const RoundId& id, std::span<const SendSlice> sends, std::span<const RecvSlice> receives
) {
  std::vector<SendSlice> outgoing(sends.begin(), sends.end());
  const std::size_t num_slices =
      fault_.kind == FaultKind::kFlip ? receives.size() : outgoing.size();
  if (is_due(id, num_slices)) {
    has_struck_ = true;
    const std::size_t chosen = fault_.choice % num_slices;
    switch (fault_.kind) {
      case FaultKind::kFlip:
        to_flip_ = receives[chosen];
        break;
      case FaultKind::kDrop:
        outgoing.erase(outgoing.begin() + static_cast<std::ptrdiff_t>(chosen));
        break;
      case FaultKind::kDelay:
        std::this_thread::sleep_for(std::chrono::duration<double>(fault_.delay_seconds));
        break;
      case FaultKind::kDie:
        std::raise(SIGKILL);
        break;
    }
  }
  inner_.begin(id, outgoing, receives);
}

std::optional<ExchangeFault> FaultTransport::finish(const base::Deadline& deadline) {
  std::optional<ExchangeFault> fault = inner_.finish(deadline);
  if (!fault && to_flip_) {
    flip(*to_flip_);
  }
  to_flip_.reset();
  return fault;
}

// Through the engine, since the slice may lie on a device.
void FaultTransport::flip(const RecvSlice& slice) {
  const std::uint64_t bit = fault_.choice % (8 * static_cast<std::uint64_t>(slice.bytes));
  std::byte value{};
  engine().to_host(&value, slice.data + bit / 8, 1);
  value ^= std::byte{1} << (bit % 8);
  engine().from_host(slice.data + bit / 8, &value, 1);
}

bool FaultTransport::recover(
    std::vector<std::shared_ptr<std::byte>> buffers, const base::Deadline& deadline
) {
  return inner_.recover(std::move(buffers), deadline);
}

}  // namespace routepack::shuffle
