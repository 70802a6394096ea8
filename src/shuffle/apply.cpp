// apply_placement: tells every rank what all hold, makes the plan, runs its transactions.
#include <algorithm>
#include <chrono>
#include <set>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "shuffle/plan/byte_moves.hpp"
#include "shuffle/plan/codec.hpp"
#include "shuffle/transaction.hpp"

namespace routepack {
namespace {

constexpr int kPlanVersion = 1;

void add_placement(base::DigestBuilder& builder, const Placement& placement) {
  builder.add(placement.num_experts);
  builder.add(placement.ep);
  builder.add(placement.layers.size());
  for (const LayerPlacement& layer : placement.layers) {
    for (const SlotId slot : layer) {
      builder.add(slot.value());
    }
  }
}

// Everything that must be equal on all ranks before the plan is made.
base::Digest digest_inputs(
    const PlacementTable& table,
    const Placement& target,
    Transport& transport,
    const ShuffleOptions& options
) {
  base::DigestBuilder builder;
  builder.add(kPlanVersion);
  builder.add(table.epoch);
  builder.add_all(table.layer_epoch.values());
  add_placement(builder, table.placement);
  add_placement(builder, target);
  builder.add(static_cast<int>(options.mode));
  builder.add(options.round_bytes);
  for (const std::string_view name : {transport.name(), transport.engine().name()}) {
    builder.add_all(std::vector<char>(name.begin(), name.end()));
  }
  return builder.finish();
}

void validate_table(const PlacementTable& table, const Placement& target) {
  const Placement& current = table.placement;
  const auto num_layers = static_cast<int>(current.layers.size());
  validate_placement(current, num_layers, current.num_experts);
  validate_placement(target, num_layers, current.num_experts);
  RP_CHECK(
      current.ep == target.ep, ErrorCode::kTopologyMismatch,
      "the placement in force has {} EP ranks, the target {}", current.ep, target.ep
  );
  RP_CHECK(
      table.layer_epoch.size() == current.layers.size(), ErrorCode::kUsage,
      "the table has the epochs of {} layers, its placement has {}", table.layer_epoch.size(),
      num_layers
  );
}

void validate_options(const ShuffleOptions& options) {
  constexpr std::int64_t kMaxRoundBytes = std::int64_t{1} << 40U;  // far above any memory
  shuffle::validate_times(options);
  RP_CHECK(
      options.round_bytes >= shuffle::kSliceAlignment && options.round_bytes <= kMaxRoundBytes,
      ErrorCode::kUsage, "round_bytes is {}, allowed are {} to {}", options.round_bytes,
      shuffle::kSliceAlignment, kMaxRoundBytes
  );
  RP_CHECK(
      options.mode == ShuffleMode::kFullShadow || options.mode == ShuffleMode::kPerLayer,
      ErrorCode::kUsage, "there is no shuffle mode {}", static_cast<int>(options.mode)
  );
}

void validate_registry(const ExpertRegistry& registry, const shuffle::CopyEngine& engine) {
  shuffle::validate_addresses(registry);
  for (const SlotTensor& tensor : registry.tensors()) {
    RP_CHECK(
        engine.reaches(tensor.memory), ErrorCode::kUsage,
        "layer {}, kind {}, slot {}: lies in {} memory, which the transport's {} engine cannot "
        "reach",
        tensor.layer.value(), tensor.kind, tensor.slot.value(),
        tensor.memory == Memory::kDevice ? "device" : "host", engine.name()
    );
  }
  for (const DerivedTensor& tensor : registry.derived()) {
    RP_CHECK(
        tensor.rebuild != nullptr, ErrorCode::kUsage,
        "layer {}, kind {}: derived, but without a function that rebuilds it", tensor.layer.value(),
        tensor.kind
    );
  }
}

// Of the first agreement, which brings invalid options to light and so cannot wait by them.
base::Deadline first_deadline(const ShuffleOptions& options) {
  try {
    shuffle::validate_times(options);
  } catch (const Error&) {
    return shuffle::agreement_deadline(ShuffleOptions{});
  }
  return shuffle::agreement_deadline(options);
}

// What a rank tells all others at the start: its error, if it has one, the digest of its inputs
// and its registry.
std::vector<std::byte> make_announcement(
    const PlacementTable& table,
    const Placement& target,
    const ExpertRegistry& registry,
    Transport& transport,
    const ShuffleOptions& options
) {
  shuffle::ByteWriter writer;
  try {
    validate_table(table, target);
    validate_options(options);
    validate_registry(registry, transport.engine());
    writer.add(0);
  } catch (const Error& error) {
    writer.add(1);
    writer.add(static_cast<int>(error.code()));
    writer.add(std::string(error.what()));
    return writer.take();
  }
  const base::Digest digest = digest_inputs(table, target, transport, options);
  writer.add(digest.high);
  writer.add(digest.low);
  const std::vector<std::byte> encoded = shuffle::encode_registry(registry);
  writer.add(std::span<const std::byte>{encoded});
  return writer.take();
}

// The common layout, or the same error on all ranks: each decides from the same announcements.
shuffle::StateLayout read_announcements(
    const std::vector<std::vector<std::byte>>& all, const Placement& placement
) {
  std::vector<base::Digest> digests;
  std::vector<std::span<const std::byte>> registries;
  for (const std::vector<std::byte>& bytes : all) {
    shuffle::ByteReader reader{bytes};
    if (reader.word() != 0) {
      const auto code = reader.number<ErrorCode>();
      throw Error(code, reader.text());
    }
    const auto high = reader.number<std::uint64_t>();
    digests.push_back(base::Digest{high, reader.number<std::uint64_t>()});
    registries.push_back(reader.rest());
  }
  for (std::size_t rank = 1; rank < digests.size(); ++rank) {
    RP_CHECK(
        digests[rank] == digests[0], ErrorCode::kPlanDisagreement,
        "placements or options differ: rank 0 holds {}, rank {} holds {}; nothing has moved",
        base::to_hex(digests[0]), rank, base::to_hex(digests[rank])
    );
  }
  return shuffle::make_state_layout(
      registries, static_cast<int>(placement.layers.size()), placement.num_experts
  );
}

base::Digest digest_plan(
    const std::vector<std::vector<std::byte>>& announcements,
    const std::vector<shuffle::ByteMove>& moves
) {
  base::DigestBuilder builder;
  for (const std::vector<std::byte>& bytes : announcements) {
    const base::Digest digest = base::digest_of(bytes);
    builder.add(digest.high);
    builder.add(digest.low);
  }
  const base::Digest digest = base::digest_of(std::as_bytes(std::span{moves}));
  builder.add(digest.high);
  builder.add(digest.low);
  return builder.finish();
}

std::vector<MoeLayer> layers_of(const std::vector<shuffle::ByteMove>& moves) {
  std::set<MoeLayer> layers;
  for (const shuffle::ByteMove& move : moves) {
    layers.insert(move.layer);
  }
  return {layers.begin(), layers.end()};
}

std::string list_layers(const std::vector<MoeLayer>& layers) {
  std::string text;
  for (const MoeLayer layer : layers) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", layer.value());
  }
  return text.empty() ? "none" : text;
}

class Shuffle {
 public:
  Shuffle(
      PlacementTable& table,
      const Placement& target,
      const shuffle::TransactionContext& context,
      const base::Digest& plan,
      ShuffleReport& report
  )
      : table_(table), target_(target), context_(context), plan_(plan), report_(report) {}

  // One transaction. The table changes here and nowhere else, last.
  void run(const std::vector<shuffle::ByteMove>& moves, const std::vector<MoeLayer>& layers) {
    const shuffle::RankStreams streams = shuffle::make_streams(
        moves, context_.transport.control().rank(), context_.options.round_bytes
    );
    const shuffle::TransactionOutcome outcome =
        shuffle::run_transaction(context_, streams, plan_, layers, report_);
    if (outcome.committed) {
      commit_table(layers);
    }
    if (!outcome.fault.empty()) {
      std::string text = outcome.fault;
      if (!outcome.committed && context_.options.mode == ShuffleMode::kPerLayer) {
        text += "; layers at the new placement: " + list_layers(report_.committed_layers);
      }
      throw ShuffleError(text, report_);
    }
  }

 private:
  void commit_table(const std::vector<MoeLayer>& layers) {
    if (layers.empty()) {
      return;
    }
    const std::int64_t epoch = epoch_before_ + 1;
    for (const MoeLayer layer : layers) {
      table_.placement.layers[layer] = target_.layers[layer];
      table_.layer_epoch[layer] = epoch;
      report_.committed_layers.push_back(layer);
    }
    table_.epoch = epoch;
    report_.placement = table_.placement;
    report_.epoch = epoch;
  }

  PlacementTable& table_;
  const Placement& target_;
  const shuffle::TransactionContext& context_;
  const base::Digest& plan_;
  ShuffleReport& report_;
  std::int64_t epoch_before_ = table_.epoch;
};

// The transport for the time of one shuffle. Two at once would mix their messages.
class Turn {
 public:
  explicit Turn(shuffle::Control& control) : control_(control) {
    RP_CHECK(
        control.try_enter(), ErrorCode::kUsage,
        "the transport is in use by another shuffle, of another thread or around this call"
    );
  }
  ~Turn() { control_.leave(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  shuffle::Control& control_;
};

void count_planned(const std::vector<shuffle::ByteMove>& moves, ShuffleReport& report) {
  for (const shuffle::ByteMove& move : moves) {
    (move.source == move.target ? report.planned_here_bytes : report.planned_bytes) += move.bytes;
  }
}

}  // namespace

PlacementTable make_placement_table(Placement placement) {
  const std::size_t num_layers = placement.layers.size();
  return PlacementTable{
      std::move(placement), 0, IndexVector<MoeLayer, std::int64_t>{num_layers, 0}};
}

ShuffleReport apply_placement(
    PlacementTable& table,
    const Placement& target,
    const ExpertRegistry& registry,
    Transport& transport,
    const ShuffleOptions& options
) {
  const auto start = base::Deadline::Clock::now();
  shuffle::Control& control = transport.control();
  const Turn turn{control};
  const std::vector<std::vector<std::byte>> announcements = control.all_gather(
      make_announcement(table, target, registry, transport, options), first_deadline(options)
  );
  if (announcements.empty()) {
    shuffle::lose_contact(control, options, shuffle::missing_agreement("telling the placements"));
  }
  const shuffle::StateLayout layout = read_announcements(announcements, table.placement);
  const std::vector<shuffle::ByteMove> moves = shuffle::make_moves(layout, table.placement, target);
  const base::Digest plan = digest_plan(announcements, moves);
  const shuffle::LocalTensors tensors{registry, layout};
  const shuffle::TransactionContext context{layout, target, registry, tensors, transport, options};

  ShuffleReport report;
  report.moved_experts = shuffle::count_changed_slots(table.placement, target);
  report.placement = table.placement;
  report.epoch = table.epoch;
  count_planned(moves, report);
  const std::vector<MoeLayer> layers = layers_of(moves);
  Shuffle shuffle{table, target, context, plan, report};
  if (options.mode == ShuffleMode::kPerLayer && !layers.empty()) {
    for (const MoeLayer layer : layers) {
      std::vector<shuffle::ByteMove> part;
      std::copy_if(
          moves.begin(), moves.end(), std::back_inserter(part),
          [layer](const shuffle::ByteMove& move) { return move.layer == layer; }
      );
      shuffle.run(part, {layer});
    }
  } else {
    shuffle.run(moves, layers);
  }
  report.seconds = std::chrono::duration<double>(base::Deadline::Clock::now() - start).count();
  return report;
}

ShuffleReport apply_placement(
    const Placement& old_placement,
    const Placement& new_placement,
    const ExpertRegistry& registry,
    Transport& transport,
    const ShuffleOptions& options
) {
  PlacementTable table = make_placement_table(old_placement);
  return apply_placement(table, new_placement, registry, transport, options);
}

}  // namespace routepack
