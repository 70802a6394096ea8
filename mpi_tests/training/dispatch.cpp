#include "training/dispatch.hpp"

namespace routepack::training {

Dispatch::Dispatch(
    std::vector<Assignment> mine, const Shape& shape, const comm::Communicator& ep_group
)
    : ep_group_(&ep_group), mine_(std::move(mine)), sent_(static_cast<std::size_t>(shape.ep), 0) {
  std::sort(mine_.begin(), mine_.end());
  std::vector<SlotId> slots;
  for (const Assignment& assignment : mine_) {
    slots.push_back(assignment.slot);
    ++sent_[assignment.slot.offset() / static_cast<std::size_t>(shape.slots_per_ep_rank())];
  }
  for (const std::vector<SlotId>& part : exchange_parts(slots, sent_, ep_group)) {
    arrived_.push_back(part.size());
    arriving_slots_.insert(arriving_slots_.end(), part.begin(), part.end());
  }
}

}  // namespace routepack::training
