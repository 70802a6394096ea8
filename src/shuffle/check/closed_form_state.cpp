#include "shuffle/check/closed_form_state.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.hpp"
#include "random/stream.hpp"

namespace routepack::shuffle {
namespace {

constexpr std::int64_t kGuardBytes = 37;  // odd, so that tensors start at any alignment
constexpr std::byte kGuard{0xa5};
constexpr std::array<const char*, 2> kParameters = {"fc1", "fc2"};
constexpr std::array<const char*, 3> kStates = {"master", "exp_avg", "exp_avg_sq"};
constexpr std::int64_t kWeightBytes = 2;
constexpr std::int64_t kStateBytes = 4;

std::int64_t elements_of(const StateShape& shape, std::size_t parameter) {
  const auto product = std::int64_t{shape.hidden} * shape.ffn;
  return parameter == 0 ? 2 * product : product;  // gate and up in one
}

// SplitMix64's finalizer: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

std::uint64_t tensor_key(
    std::uint64_t seed, MoeLayer layer, ExpertId expert, const std::string& kind
) {
  std::uint64_t key = mix(seed + 0x9e3779b97f4a7c15U);
  key = mix(key ^ static_cast<std::uint64_t>(layer.value()));
  key = mix(key ^ static_cast<std::uint64_t>(expert.value()));
  for (const char letter : kind) {
    key = mix(key ^ static_cast<std::uint64_t>(letter));
  }
  return key;
}

// Calls `visit(position, word, first byte of the word used, bytes used)` over [begin, end).
template <class Visit>
void for_each_word(std::uint64_t key, std::int64_t begin, std::int64_t end, const Visit& visit) {
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t skip = at % 8;
    const std::int64_t count = std::min(8 - skip, end - at);
    const std::uint64_t word = mix(key + static_cast<std::uint64_t>(at / 8)) >> (8 * skip);
    visit(at, word, static_cast<std::size_t>(count));
    at += count;
  }
}

void fill_range(std::byte* target, std::uint64_t key, std::int64_t begin, std::int64_t bytes) {
  for_each_word(
      key, begin, begin + bytes,
      [&](std::int64_t at, std::uint64_t word, std::size_t count) {
        std::memcpy(target + (at - begin), &word, count);
      }
  );
}

// First wrong position, or begin + bytes.
std::int64_t find_difference(
    const std::byte* data, std::uint64_t key, std::int64_t begin, std::int64_t bytes
) {
  std::int64_t wrong = begin + bytes;
  for_each_word(
      key, begin, begin + bytes,
      [&](std::int64_t at, std::uint64_t word, std::size_t count) {
        if (at < wrong && std::memcmp(data + (at - begin), &word, count) != 0) {
          wrong = at;
        }
      }
  );
  return wrong;
}

// A cut between EDP shards: near the even one, but odd, so that it splits elements too.
std::int64_t cut_of(std::int64_t total, int shard, int edp) {
  if (shard == 0 || shard == edp) {
    return shard == 0 ? 0 : total;
  }
  return std::min(total, (total * shard / edp) | 1);
}

// Of every layer.
std::vector<IndexVector<SlotId, ExpertId>> experts_by_slot(const Placement& placement) {
  std::vector<IndexVector<SlotId, ExpertId>> all;
  for (const LayerPlacement& slots : placement.layers) {
    IndexVector<SlotId, ExpertId>& experts = all.emplace_back(slots.size());
    for (const ExpertId expert : ids<ExpertId>(slots.size())) {
      experts[slots[expert]] = expert;
    }
  }
  return all;
}

}  // namespace

std::int64_t bytes_per_expert(const StateShape& shape) {
  return (kWeightBytes + 3 * kStateBytes) * (elements_of(shape, 0) + elements_of(shape, 1));
}

ClosedFormState::ClosedFormState(
    const StateShape& shape, int rank, const Placement& placement, CopyEngine* engine
)
    : shape_(shape),
      device_(engine != nullptr && engine->memory() == Memory::kDevice ? engine : nullptr),
      registry_(EdpShard{rank / shape.ep}) {
  const EpRank ep_rank{rank % shape.ep};
  reserve_weights(ep_rank);
  reserve_optimizer(ep_rank, rank / shape.ep);
  arena_.assign(static_cast<std::size_t>(reserved_ + kGuardBytes), kGuard);
  device_arena_ = device_ != nullptr ? device_->allocate(bytes()) : nullptr;
  std::byte* const base = device_ != nullptr ? device_arena_.get() : arena_.data();
  for (Place& place : places_) {
    place.tensor.memory = device_ != nullptr ? Memory::kDevice : Memory::kHost;
    for (std::size_t n = 0; n < place.offsets.size(); ++n) {
      place.tensor.ranges[n].address = base + place.offsets[n];
    }
    registry_.add(place.tensor);
  }
  fill(placement);
}

std::int64_t ClosedFormState::reserve(std::int64_t bytes) {
  const std::int64_t offset = reserved_ + kGuardBytes;
  reserved_ = offset + bytes;
  return offset;
}

void ClosedFormState::reserve_weights(EpRank ep_rank) {
  const int first_slot = ep_rank.value() * shape_.slots_per_ep_rank();
  for (const MoeLayer layer : ids<MoeLayer>(shape_.num_layers)) {
    for (std::size_t parameter = 0; parameter < kParameters.size(); ++parameter) {
      const std::int64_t bytes = kWeightBytes * elements_of(shape_, parameter);
      for (int local = 0; local < shape_.slots_per_ep_rank(); ++local) {
        SlotTensor tensor{
            layer,
            SlotId{first_slot + local},
            std::string(kParameters[parameter]) + ".weight",
            bytes,
            Memory::kHost,
            {TensorRange{0, bytes, nullptr}}};
        places_.push_back(Place{std::move(tensor), {reserve(bytes)}});
      }
    }
  }
}

// One flat buffer a kind of state, parameters in reverse order as distributed optimizers keep
// them: last layer first, fc2 before fc1, last slot first. This rank holds its shard of each.
void ClosedFormState::reserve_optimizer(EpRank ep_rank, int shard) {
  const int per_rank = shape_.slots_per_ep_rank();
  const std::int64_t layer_elements = (elements_of(shape_, 0) + elements_of(shape_, 1)) * per_rank;
  const std::int64_t total = kStateBytes * layer_elements * shape_.num_layers;
  const std::int64_t shard_begin = cut_of(total, shard, shape_.edp);
  const std::int64_t shard_end = cut_of(total, shard + 1, shape_.edp);
  for (const char* state : kStates) {
    const std::int64_t base = reserve(shard_end - shard_begin);
    std::int64_t flat = 0;
    for (int layer = shape_.num_layers - 1; layer >= 0; --layer) {
      for (std::size_t parameter = kParameters.size(); parameter-- > 0;) {
        const std::int64_t bytes = kStateBytes * elements_of(shape_, parameter);
        for (int local = per_rank - 1; local >= 0; --local, flat += bytes) {
          const std::int64_t begin = std::max(flat, shard_begin);
          const std::int64_t end = std::min(flat + bytes, shard_end);
          SlotTensor tensor{
              MoeLayer{layer},
              SlotId{ep_rank.value() * per_rank + local},
              std::string(kParameters[parameter]) + "." + state,
              bytes,
              Memory::kHost,
              {}};
          std::vector<std::int64_t> offsets;
          if (begin < end) {
            tensor.ranges.push_back(TensorRange{begin - flat, end - begin, nullptr});
            offsets.push_back(base + begin - shard_begin);
          }
          places_.push_back(Place{std::move(tensor), std::move(offsets)});
        }
      }
    }
  }
}

void ClosedFormState::fill(const Placement& placement) {
  const std::vector<IndexVector<SlotId, ExpertId>> experts = experts_by_slot(placement);
  for (const Place& place : places_) {
    const SlotTensor& tensor = place.tensor;
    const ExpertId expert = experts[tensor.layer.offset()][tensor.slot];
    const std::uint64_t key = tensor_key(shape_.seed, tensor.layer, expert, tensor.kind);
    for (std::size_t n = 0; n < tensor.ranges.size(); ++n) {
      const TensorRange& range = tensor.ranges[n];
      fill_range(arena_.data() + place.offsets[n], key, range.begin, range.bytes);
    }
  }
  if (device_ != nullptr) {
    device_->from_host(device_arena_.get(), arena_.data(), bytes());
  }
}

void ClosedFormState::read_back() const {
  if (device_ != nullptr) {
    device_->to_host(arena_.data(), device_arena_.get(), bytes());
  }
}

std::string ClosedFormState::find_tensor_fault(const Place& place, ExpertId expert) const {
  const SlotTensor& tensor = place.tensor;
  const std::uint64_t key = tensor_key(shape_.seed, tensor.layer, expert, tensor.kind);
  for (std::size_t n = 0; n < tensor.ranges.size(); ++n) {
    const TensorRange& range = tensor.ranges[n];
    const std::int64_t wrong =
        find_difference(arena_.data() + place.offsets[n], key, range.begin, range.bytes);
    if (wrong < range.begin + range.bytes) {
      return fmt::format(
          "layer {}, tensor {}, slot {}: bytes from {} on are not those of expert {}",
          tensor.layer.value(), tensor.kind, tensor.slot.value(), wrong, expert.value()
      );
    }
  }
  return {};
}

std::string ClosedFormState::find_stray_write() const {
  struct Extent {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  std::vector<Extent> used;
  for (const Place& place : places_) {
    for (std::size_t n = 0; n < place.offsets.size(); ++n) {
      used.push_back(Extent{place.offsets[n], place.offsets[n] + place.tensor.ranges[n].bytes});
    }
  }
  std::sort(used.begin(), used.end(), [](const Extent& a, const Extent& b) {
    return a.begin < b.begin;
  });
  used.push_back(Extent{bytes(), bytes()});
  std::int64_t free_from = 0;
  for (const Extent& extent : used) {
    const auto first = arena_.begin() + free_from;
    const auto last = arena_.begin() + extent.begin;
    if (!std::all_of(first, last, [](std::byte value) { return value == kGuard; })) {
      return fmt::format("a byte before offset {}, outside all tensors, was written", extent.begin);
    }
    free_from = extent.end;
  }
  return {};
}

std::string ClosedFormState::find_fault(const Placement& placement) const {
  const std::vector<IndexVector<SlotId, ExpertId>> experts = experts_by_slot(placement);
  read_back();
  for (const Place& place : places_) {
    const ExpertId expert = experts[place.tensor.layer.offset()][place.tensor.slot];
    if (std::string fault = find_tensor_fault(place, expert); !fault.empty()) {
      return fault;
    }
  }
  return find_stray_write();
}

LayerContents ClosedFormState::compare_layers(const Placement& before, const Placement& after)
    const {
  const std::vector<IndexVector<SlotId, ExpertId>> old_experts = experts_by_slot(before);
  const std::vector<IndexVector<SlotId, ExpertId>> new_experts = experts_by_slot(after);
  read_back();
  const bool is_clean = find_stray_write().empty();
  const IndexVector<MoeLayer, bool> all{before.layers.size(), is_clean};
  LayerContents contents{all, all};
  for (const Place& place : places_) {
    const MoeLayer layer = place.tensor.layer;
    const auto agrees = [&](const std::vector<IndexVector<SlotId, ExpertId>>& experts) {
      return find_tensor_fault(place, experts[layer.offset()][place.tensor.slot]).empty();
    };
    contents.is_old[layer] = contents.is_old[layer] && agrees(old_experts);
    contents.is_new[layer] = contents.is_new[layer] && agrees(new_experts);
  }
  return contents;
}

Placement make_moved_placement(
    const Placement& current, double moved_fraction, std::uint64_t seed
) {
  Placement moved = current;
  const random::Stream stream{seed, random::Purpose::kPerturbation, 0};
  const auto num_moved =
      static_cast<std::size_t>(std::llround(moved_fraction * current.num_experts));
  for (const MoeLayer layer : ids<MoeLayer>(current.layers.size())) {
    const std::vector<std::int32_t> order = random::random_permutation(
        stream, static_cast<std::uint32_t>(layer.value()), current.num_experts
    );
    const LayerPlacement& before = current.layers[layer];
    for (std::size_t n = 0; n < num_moved; ++n) {
      moved.layers[layer][ExpertId{order[n]}] = before[ExpertId{order[(n + 1) % num_moved]}];
    }
  }
  return moved;
}

}  // namespace routepack::shuffle
