#include "shuffle/plan/state_layout.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/check.hpp"
#include "shuffle/plan/codec.hpp"

namespace routepack::shuffle {
namespace {

// One rank's tensor, decoded; its ranges lie in the common list.
struct DecodedTensor {
  std::int32_t rank = 0;
  MoeLayer layer;
  SlotId slot;
  KindId kind;  // of the rank's own list first, of the common list after renumber()
  std::int64_t tensor_bytes = 0;
  std::size_t first_range = 0;
  std::size_t num_ranges = 0;
};

struct NamedKind {
  MoeLayer layer;
  std::string kind;
  auto operator<=>(const NamedKind&) const = default;
};

struct Decoded {
  std::vector<EdpShard> shard_of_rank;
  std::vector<std::string> kinds;  // ascending
  std::vector<DecodedTensor> tensors;
  std::vector<OwnedRange> ranges;
  std::set<NamedKind> shared;
  std::set<NamedKind> derived;
  std::set<NamedKind> required;
};

std::vector<std::string> sorted_kinds(const ExpertRegistry& registry) {
  std::set<std::string> names;
  for (const SlotTensor& tensor : registry.tensors()) {
    names.insert(tensor.kind);
  }
  return {names.begin(), names.end()};
}

void read_named(ByteReader& reader, std::set<NamedKind>& into) {
  const std::int64_t count = reader.word();
  for (std::int64_t n = 0; n < count; ++n) {
    const MoeLayer layer{reader.number<std::int32_t>()};
    into.insert(NamedKind{layer, reader.text()});
  }
}

void decode_rank(std::span<const std::byte> bytes, Decoded& all, std::vector<std::string>& names) {
  ByteReader reader{bytes};
  const auto rank = static_cast<std::int32_t>(all.shard_of_rank.size());
  all.shard_of_rank.push_back(EdpShard{reader.number<std::int32_t>()});
  const std::int64_t num_kinds = reader.word();
  for (std::int64_t n = 0; n < num_kinds; ++n) {
    names.push_back(reader.text());
  }
  const std::int64_t num_tensors = reader.word();
  for (std::int64_t n = 0; n < num_tensors; ++n) {
    DecodedTensor tensor;
    tensor.rank = rank;
    tensor.layer = MoeLayer{reader.number<std::int32_t>()};
    tensor.slot = SlotId{reader.number<std::int32_t>()};
    tensor.kind = KindId{reader.number<std::int32_t>()};
    tensor.tensor_bytes = reader.word();
    tensor.first_range = all.ranges.size();
    tensor.num_ranges = reader.number<std::size_t>();
    for (std::size_t range = 0; range < tensor.num_ranges; ++range) {
      const std::int64_t begin = reader.word();
      all.ranges.push_back(OwnedRange{rank, begin, begin + reader.word()});
    }
    all.tensors.push_back(tensor);
  }
  read_named(reader, all.shared);
  read_named(reader, all.derived);
  read_named(reader, all.required);
}

Decoded decode(const std::vector<std::span<const std::byte>>& registries) {
  Decoded all;
  std::vector<std::vector<std::string>> names_of_rank;
  std::vector<std::size_t> first_tensor;
  std::set<std::string> names;
  for (const std::span<const std::byte> bytes : registries) {
    first_tensor.push_back(all.tensors.size());
    decode_rank(bytes, all, names_of_rank.emplace_back());
    names.insert(names_of_rank.back().begin(), names_of_rank.back().end());
  }
  all.kinds.assign(names.begin(), names.end());
  for (DecodedTensor& tensor : all.tensors) {
    const std::string& name =
        names_of_rank[static_cast<std::size_t>(tensor.rank)].at(tensor.kind.offset());
    const auto at = std::lower_bound(all.kinds.begin(), all.kinds.end(), name);
    tensor.kind = KindId{static_cast<std::size_t>(at - all.kinds.begin())};
  }
  return all;
}

void check_tensor(const DecodedTensor& tensor, const Decoded& all, const StateLayout& layout) {
  const std::string& kind = all.kinds[tensor.kind.offset()];
  RP_CHECK(
      tensor.layer.value() >= 0 && tensor.layer.value() < layout.num_layers &&
          tensor.slot.value() >= 0 && tensor.slot.value() < layout.num_experts,
      ErrorCode::kStateIncomplete,
      "layer {}, kind {}, slot {}: registered by rank {}, but the placement has {} layers of {} "
      "slots",
      tensor.layer.value(), kind, tensor.slot.value(), tensor.rank, layout.num_layers,
      layout.num_experts
  );
  RP_CHECK(
      tensor.tensor_bytes > 0, ErrorCode::kStateIncomplete,
      "layer {}, kind {}, slot {}: rank {} registers {} bytes", tensor.layer.value(), kind,
      tensor.slot.value(), tensor.rank, tensor.tensor_bytes
  );
  std::int64_t end = 0;
  for (std::size_t n = 0; n < tensor.num_ranges; ++n) {
    const OwnedRange& range = all.ranges[tensor.first_range + n];
    RP_CHECK(
        range.begin >= end && range.end > range.begin && range.end <= tensor.tensor_bytes,
        ErrorCode::kStateIncomplete,
        "layer {}, kind {}, slot {}: the bytes {} to {} of rank {} do not ascend within {}",
        tensor.layer.value(), kind, tensor.slot.value(), range.begin, range.end, tensor.rank,
        tensor.tensor_bytes
    );
    end = range.end;
  }
}

// One size for all experts of a layer; the first one seen is the measure.
void fill_tensor_bytes(const Decoded& all, StateLayout& layout) {
  layout.tensor_bytes.assign(static_cast<std::size_t>(layout.num_layers) * layout.kinds.size(), 0);
  for (const DecodedTensor& tensor : all.tensors) {
    std::int64_t& bytes = layout.tensor_bytes[layout.layer_kind(tensor.layer, tensor.kind)];
    RP_CHECK(
        bytes == 0 || bytes == tensor.tensor_bytes, ErrorCode::kStateIncomplete,
        "layer {}, kind {}, slot {}: {} bytes on rank {}, {} bytes for another expert",
        tensor.layer.value(), layout.kinds[tensor.kind], tensor.slot.value(), tensor.tensor_bytes,
        tensor.rank, bytes
    );
    bytes = tensor.tensor_bytes;
  }
}

// Ranges of the tensors in order; tensors come by rank, so a tensor's ranges are by rank too.
void fill_ranges(const Decoded& all, StateLayout& layout) {
  const std::size_t num_tensors =
      layout.tensor_bytes.size() * static_cast<std::size_t>(layout.num_experts);
  layout.first_range.assign(num_tensors + 1, 0);
  for (const DecodedTensor& tensor : all.tensors) {
    const std::size_t at = layout.tensor(tensor.layer, tensor.kind, tensor.slot);
    layout.first_range[at + 1] += tensor.num_ranges;
  }
  for (std::size_t n = 0; n < num_tensors; ++n) {
    layout.first_range[n + 1] += layout.first_range[n];
  }
  layout.ranges.resize(all.ranges.size());
  std::vector<std::size_t> next(layout.first_range.begin(), layout.first_range.end() - 1);
  std::vector<std::int32_t> last_rank(num_tensors, -1);
  for (const DecodedTensor& tensor : all.tensors) {
    const std::size_t at = layout.tensor(tensor.layer, tensor.kind, tensor.slot);
    RP_CHECK(
        last_rank[at] != tensor.rank, ErrorCode::kStateIncomplete,
        "layer {}, kind {}, slot {}: registered twice by rank {}", tensor.layer.value(),
        layout.kinds[tensor.kind], tensor.slot.value(), tensor.rank
    );
    last_rank[at] = tensor.rank;
    for (std::size_t n = 0; n < tensor.num_ranges; ++n) {
      layout.ranges[next[at]++] = all.ranges[tensor.first_range + n];
    }
  }
}

// The first byte of [0, bytes) that no range covers, or `bytes`. Any order, overlaps allowed.
std::int64_t first_uncovered(std::span<const OwnedRange> owners, std::int64_t bytes) {
  std::int64_t covered = 0;
  for (const OwnedRange& range : owners) {  // whole copies, or shards whose order is the ranks'
    if (range.begin <= covered) {
      covered = std::max(covered, range.end);
    }
  }
  if (covered == bytes) {
    return bytes;
  }
  std::vector<OwnedRange> ascending(owners.begin(), owners.end());
  std::sort(ascending.begin(), ascending.end(), [](const OwnedRange& a, const OwnedRange& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  covered = 0;
  for (const OwnedRange& range : ascending) {
    if (range.begin > covered) {
      break;
    }
    covered = std::max(covered, range.end);
  }
  return covered;
}

void check_cover(const StateLayout& layout) {
  for (const MoeLayer layer : ids<MoeLayer>(layout.num_layers)) {
    for (const KindId kind : ids<KindId>(layout.kinds.size())) {
      const std::int64_t bytes = layout.bytes_of(layer, kind);
      for (const SlotId slot : ids<SlotId>(bytes > 0 ? layout.num_experts : 0)) {
        const std::int64_t missing = first_uncovered(layout.owners(layer, kind, slot), bytes);
        RP_CHECK(
            missing == bytes, ErrorCode::kStateIncomplete,
            "layer {}, kind {}, slot {}: no rank registers byte {} of {}", layer.value(),
            layout.kinds[kind], slot.value(), missing, bytes
        );
      }
    }
  }
}

void check_classes(const Decoded& all, const StateLayout& layout) {
  const auto is_registered = [&](const NamedKind& named) {
    const auto at = std::lower_bound(all.kinds.begin(), all.kinds.end(), named.kind);
    if (at == all.kinds.end() || *at != named.kind) {
      return false;
    }
    const KindId kind{static_cast<std::size_t>(at - all.kinds.begin())};
    return layout.bytes_of(named.layer, kind) > 0;
  };
  for (const std::set<NamedKind>* list : {&all.shared, &all.derived, &all.required}) {
    for (const NamedKind& named : *list) {
      RP_CHECK(
          named.layer.value() >= 0 && named.layer.value() < layout.num_layers,
          ErrorCode::kStateIncomplete,
          "layer {}, kind {}: declared, but the placement has {} layers", named.layer.value(),
          named.kind, layout.num_layers
      );
    }
  }
  for (const NamedKind& named : all.shared) {
    RP_CHECK(
        !is_registered(named) && !all.derived.contains(named), ErrorCode::kStateIncomplete,
        "layer {}, kind {}: shared by all experts, so it cannot be registered for a slot or as "
        "derived",
        named.layer.value(), named.kind
    );
  }
  for (const NamedKind& named : all.derived) {
    RP_CHECK(
        !is_registered(named), ErrorCode::kStateIncomplete,
        "layer {}, kind {}: derived, so it cannot be registered for a slot", named.layer.value(),
        named.kind
    );
  }
  for (const NamedKind& named : all.required) {
    RP_CHECK(
        is_registered(named) || all.derived.contains(named) || all.shared.contains(named),
        ErrorCode::kStateIncomplete,
        "layer {}, kind {}: the model has such a tensor, but no rank registers it for any slot",
        named.layer.value(), named.kind
    );
  }
}

}  // namespace

std::vector<std::byte> encode_registry(const ExpertRegistry& registry) {
  ByteWriter writer;
  writer.add(registry.shard().value());
  const std::vector<std::string> kinds = sorted_kinds(registry);
  writer.add(kinds.size());
  for (const std::string& kind : kinds) {
    writer.add(kind);
  }
  writer.add(registry.tensors().size());
  for (const SlotTensor& tensor : registry.tensors()) {
    const auto kind = std::lower_bound(kinds.begin(), kinds.end(), tensor.kind);
    writer.add(tensor.layer.value());
    writer.add(tensor.slot.value());
    writer.add(kind - kinds.begin());
    writer.add(tensor.tensor_bytes);
    writer.add(tensor.ranges.size());
    for (const TensorRange& range : tensor.ranges) {
      writer.add(range.begin);
      writer.add(range.bytes);
    }
  }
  const auto add_named = [&](const auto& list) {
    writer.add(list.size());
    for (const auto& named : list) {
      writer.add(named.layer.value());
      writer.add(named.kind);
    }
  };
  add_named(registry.shared());
  add_named(registry.derived());
  add_named(registry.required());
  return writer.take();
}

StateLayout make_state_layout(
    const std::vector<std::span<const std::byte>>& registries, int num_layers, int num_experts
) {
  Decoded all = decode(registries);
  StateLayout layout;
  layout.num_layers = num_layers;
  layout.num_experts = num_experts;
  layout.shard_of_rank = all.shard_of_rank;
  layout.kinds = IndexVector<KindId, std::string>{all.kinds};
  for (const DecodedTensor& tensor : all.tensors) {
    check_tensor(tensor, all, layout);
  }
  fill_tensor_bytes(all, layout);
  fill_ranges(all, layout);
  check_cover(layout);
  check_classes(all, layout);
  return layout;
}

void validate_addresses(const ExpertRegistry& registry) {
  struct Extent {
    const std::byte* begin;
    const std::byte* end;
    const SlotTensor* tensor;
  };
  // What no address space holds: sums of valid sizes stay far below 64 bits.
  constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 47U;
  std::vector<Extent> extents;
  for (const SlotTensor& tensor : registry.tensors()) {
    RP_CHECK(
        tensor.tensor_bytes <= kMaxTensorBytes, ErrorCode::kStateIncomplete,
        "layer {}, kind {}, slot {}: a tensor of {} bytes, at most {} fit an address space",
        tensor.layer.value(), tensor.kind, tensor.slot.value(), tensor.tensor_bytes, kMaxTensorBytes
    );
    for (const TensorRange& range : tensor.ranges) {
      RP_CHECK(
          range.address != nullptr && range.bytes > 0, ErrorCode::kStateIncomplete,
          "layer {}, kind {}, slot {}: a range of {} bytes at no address or empty",
          tensor.layer.value(), tensor.kind, tensor.slot.value(), range.bytes
      );
      RP_CHECK(
          range.begin >= 0 && range.bytes <= tensor.tensor_bytes &&
              range.begin <= tensor.tensor_bytes - range.bytes,
          ErrorCode::kStateIncomplete,
          "layer {}, kind {}, slot {}: {} bytes from byte {} on do not ascend within {}",
          tensor.layer.value(), tensor.kind, tensor.slot.value(), range.bytes, range.begin,
          tensor.tensor_bytes
      );
      extents.push_back(Extent{range.address, range.address + range.bytes, &tensor});
    }
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::less<>{}(a.begin, b.begin);
  });
  for (std::size_t n = 1; n < extents.size(); ++n) {
    const SlotTensor& below = *extents[n - 1].tensor;
    const SlotTensor& above = *extents[n].tensor;
    RP_CHECK(
        !std::less<>{}(extents[n].begin, extents[n - 1].end), ErrorCode::kStateIncomplete,
        "layer {}, kind {}, slot {}: shares memory with layer {}, kind {}, slot {}; an expert "
        "must own its bytes",
        above.layer.value(), above.kind, above.slot.value(), below.layer.value(), below.kind,
        below.slot.value()
    );
  }
}

}  // namespace routepack::shuffle
