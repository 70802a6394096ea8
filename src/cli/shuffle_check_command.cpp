// routepack shuffle-check: moves expert state of closed-form content and checks every byte of it,
// without and with faults.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/check.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "comm/collectives.hpp"
#include "domain/model.hpp"
#include "routepack/transports.hpp"
#include "shuffle/check/closed_form_state.hpp"
#include "shuffle/check/fault_transport.hpp"
#include "shuffle/transaction.hpp"
#include "shuffle/transport/transport.hpp"

namespace routepack::cli {
namespace {

constexpr double kMaxSize = 1e6;
constexpr double kMegabyte = 1e6;

struct NamedFault {
  std::string_view name;
  shuffle::FaultKind kind = shuffle::FaultKind::kFlip;
  double delay_deadlines = 0.0;  // how late, in deadlines of a round
};
constexpr std::array<NamedFault, 5> kFaults = {
    NamedFault{"flip", shuffle::FaultKind::kFlip, 0.0},
    NamedFault{"drop", shuffle::FaultKind::kDrop, 0.0},
    NamedFault{"delay", shuffle::FaultKind::kDelay, 1.3},   // late for its round, in time to agree
    NamedFault{"stall", shuffle::FaultKind::kDelay, 20.0},  // too late for everything: the job ends
    NamedFault{"die", shuffle::FaultKind::kDie, 0.0}};

constexpr Choice<TransportKind> kTransports[] = {
    {"mpi", TransportKind::kMpi}, {"nccl", TransportKind::kNccl}, {"auto", TransportKind::kAuto}};

// What the options of `shuffle-check` set.
struct CheckRequest {
  CommonOptions common;
  domain::ModelPreset model;
  // 0: the model's size.
  shuffle::StateShape shape = {.num_layers = 0, .num_experts = 0, .hidden = 0, .ffn = 0};
  double moved_fraction = 0.5;
  std::int64_t repeat = 1;
  ShuffleOptions shuffle;
  TransportKind transport = TransportKind::kMpi;
  bool per_layer = false;
  std::string fault_text;  // KIND@ROUND; empty: none

  // What the text says.
  bool mismatch = false;                // the last rank is given another placement
  std::optional<shuffle::Fault> fault;  // at the last rank
};

OptionTable check_options(CheckRequest& request) {
  OptionTable table(
      "shuffle-check",
      "Moves expert weights and optimizer state of known content; checks every byte.",
      request.common
  );
  constexpr Range kSize = {1, kMaxSize};
  shuffle::StateShape& shape = request.shape;
  table.number("ep", "N", shape.ep, kSize, "expert-parallel ranks", {.required = true});
  table.number("edp", "N", shape.edp, kSize, "EDP shards; ep * edp is the number of ranks");
  table.parsed(
      "model", "NAME", request.model, domain::find_preset, "",
      "preset that gives the sizes left out"
  );
  table.number("layers", "N", shape.num_layers, kSize, "MoE layers");
  table.number("experts", "N", shape.num_experts, kSize, "experts of a layer");
  table.number("hidden", "N", shape.hidden, kSize, "hidden size");
  table.number("ffn", "N", shape.ffn, kSize, "inner size of an expert");
  table.number(
      "round-bytes", "N", request.shuffle.round_bytes, {16, 1e12}, "bytes a peer and round"
  );
  table.number("seed", "N", shape.seed, {0, 1e18}, "of contents and moves");
  table.number(
      "moved-fraction", "X", request.moved_fraction, {0, 1},
      "share of each layer's experts that change their slot"
  );
  table.number(
      "deadline", "SECONDS", request.shuffle.deadline_seconds, {0.01, 1e5},
      "of a round; agreements have twice as long"
  );
  table.number("repeat", "N", request.repeat, {1, 1e9}, "shuffles, there and back");
  table.choice(
      "transport", "KIND", request.transport, kTransports,
      "mpi (host memory), nccl (device memory), or auto: nccl if every rank can"
  );
  table.flag("per-layer", request.per_layer, "a transaction a layer, in the memory of one layer");
  table.text(
      "fault", "KIND@ROUND", request.fault_text,
      "what goes wrong at the last rank: flip, drop, delay, stall, die, or mismatch (another "
      "placement)"
  );
  return table;
}

// The size given as an option, else the model's.
int size_of(const char* name, int given, int of_model) {
  RP_CHECK(
      given > 0 || of_model > 0, ErrorCode::kUsage, "shuffle-check needs --{} or --model", name
  );
  return given > 0 ? given : of_model;
}

shuffle::StateShape complete_shape(shuffle::StateShape shape, const domain::ModelPreset& model) {
  shape.num_layers =
      size_of("layers", shape.num_layers, static_cast<int>(model.moe_layers().size()));
  shape.num_experts = size_of("experts", shape.num_experts, model.experts);
  shape.hidden = size_of("hidden", shape.hidden, model.hidden);
  shape.ffn = size_of("ffn", shape.ffn, model.expert_ffn);
  RP_CHECK(
      shape.num_experts % shape.ep == 0, ErrorCode::kExpertsNotDivisible,
      "{} experts are no multiple of --ep {}", shape.num_experts, shape.ep
  );
  return shape;
}

// With what a fault's text says.
CheckRequest with_fault(CheckRequest request, int num_ranks) {
  const std::string& text = request.fault_text;
  const std::size_t at = text.find('@');
  const std::string kind = text.substr(0, at);
  const auto found = std::find_if(kFaults.begin(), kFaults.end(), [&](const NamedFault& named) {
    return named.name == kind;
  });
  RP_CHECK(
      found != kFaults.end() || kind == "mismatch", ErrorCode::kUsage,
      "--fault {}: expected flip, drop, delay, stall, mismatch or die, and @ROUND", text
  );
  RP_CHECK(
      num_ranks > 1, ErrorCode::kUsage, "--fault {}: nothing travels with a single rank", text
  );
  request.mismatch = found == kFaults.end();
  if (!request.mismatch) {
    request.fault = shuffle::Fault{
        .kind = found->kind,
        .rank = num_ranks - 1,
        .round = at == std::string::npos
                     ? 0
                     : parse_number<std::int64_t>(
                           text.substr(at + 1), {0, kMaxSize}, "the round of --fault"
                       ),
        .delay_seconds = found->delay_deadlines * request.shuffle.deadline_seconds,
        .choice = request.shape.seed * 2654435761U};
  }
  return request;
}

// With the sizes of the model and what several options decide together.
CheckRequest completed(CheckRequest request, int num_ranks) {
  request.shape = complete_shape(request.shape, request.model);
  RP_CHECK(
      num_ranks == request.shape.ep * request.shape.edp, ErrorCode::kUsage,
      "--ep {} times --edp {} is not the number of MPI ranks, {}", request.shape.ep,
      request.shape.edp, num_ranks
  );
  request.shuffle.mode = request.per_layer ? ShuffleMode::kPerLayer : ShuffleMode::kFullShadow;
  return request.fault_text.empty() ? request : with_fault(std::move(request), num_ranks);
}

// What stands in this rank's memory, found out without communication. Between the transactions of
// per-layer mode some layers are old and some new, which is as it should be.
std::string describe_own_bytes(
    const shuffle::ClosedFormState& state,
    const Placement& before,
    const Placement& after,
    ShuffleMode mode
) {
  const shuffle::LayerContents contents = state.compare_layers(before, after);
  bool all_old = true;
  bool all_new = true;
  bool all_whole = mode == ShuffleMode::kPerLayer;
  std::string moved;
  for (const MoeLayer layer : ids<MoeLayer>(before.layers.size())) {
    const bool is_old = contents.is_old[layer];
    const bool is_new = contents.is_new[layer];
    all_old = all_old && is_old;
    all_new = all_new && is_new;
    all_whole = all_whole && (is_old || is_new);
    moved += is_old ? std::string{} : fmt::format(" {}", layer.value());
  }
  if (all_old) {
    return "unchanged";
  }
  if (all_new) {
    return "wholly at the new placement";
  }
  return all_whole ? fmt::format(
                         "whole in every layer: layers{} are at the new placement, all others "
                         "unchanged",
                         moved
                     )
                   : "neither old nor new";
}

class Check {
 public:
  Check(const CheckRequest& options, const comm::Communicator& comm)
      : options_(options),
        comm_(comm),
        choice_(make_transport(options.transport, comm.get())),
        first_(identity_placement(
            options.shape.num_layers, options.shape.num_experts, options.shape.ep
        )),
        second_(shuffle::make_moved_placement(first_, options.moved_fraction, options.shape.seed)),
        state_(options.shape, comm.mpi_rank(), first_, &choice_.transport->engine()),
        table_(make_placement_table(first_)) {
    if (options.fault) {
      faulty_ = std::make_unique<shuffle::FaultTransport>(*choice_.transport, *options.fault);
    }
  }

  void run() {
    for (std::int64_t n = 0; n < options_.repeat; ++n) {
      move(n % 2 == 0 ? second_ : first_);
    }
    const bool struck = faulty_ != nullptr && faulty_->has_struck();
    const int any_struck = comm::all_reduce_max(struck ? 1 : 0, comm_);
    RP_CHECK(
        !options_.fault || any_struck != 0, ErrorCode::kUsage,
        "--fault {}: it did not strike, no slice travels to or from rank {} that late",
        options_.fault_text, comm_.num_mpi_ranks() - 1
    );
    print_summary();
  }

 private:
  // One shuffle; afterwards every rank checks all its bytes.
  void move(Placement target) {
    if (options_.mismatch && comm_.mpi_rank() == comm_.num_mpi_ranks() - 1) {
      LayerPlacement& layer = target.layers[MoeLayer{0}];
      std::swap(layer[ExpertId{0}], layer[ExpertId{1}]);
    }
    const Placement before = table_.placement;
    ShuffleOptions options = options_.shuffle;
    options.on_lost_contact = [&](const std::string& /*reason*/) {
      print_own_bytes(before, target);
    };
    Transport& transport = faulty_ ? *faulty_ : *choice_.transport;
    try {
      report_ = apply_placement(table_, target, state_.registry(), transport, options);
    } catch (const Error&) {
      verify(before, target);
      print_after_fault(before);
      throw;
    }
    verify(before, target);
    seconds_.push_back(report_.seconds);
  }

  // Every rank looks at its own bytes. What they find is told within a deadline: a host may be lost
  // here as well as in a shuffle.
  void verify(const Placement& before, const Placement& target) {
    const std::string fault = state_.find_fault(table_.placement);
    const std::string mine =
        fault.empty() ? "" : fmt::format("rank {}: {}", comm_.mpi_rank(), fault);
    shuffle::Control& control = choice_.transport->control();
    const std::vector<std::vector<std::byte>> all = control.all_gather(
        std::as_bytes(std::span{mine.data(), mine.size()}),
        shuffle::agreement_deadline(options_.shuffle)
    );
    if (all.empty()) {
      print_own_bytes(before, target);
      control.lose_contact(fmt::format(
          "rank {} gives up: telling that its bytes are right: no agreement within the deadline",
          comm_.mpi_rank()
      ));
    }
    for (const std::vector<std::byte>& found : all) {
      RP_CHECK(
          found.empty(), ErrorCode::kTransferFailed, "{}",
          std::string(reinterpret_cast<const char*>(found.data()), found.size())
      );
    }
  }

  void print_own_bytes(const Placement& before, const Placement& target) const {
    base::report(
        "routepack: the weights of rank {} are {}\n", comm_.mpi_rank(),
        describe_own_bytes(state_, before, target, options_.shuffle.mode)
    );
  }

  void print_after_fault(const Placement& before) const {
    if (!comm_.is_root()) {
      return;
    }
    std::string moved;
    for (const MoeLayer layer : ids<MoeLayer>(before.layers.size())) {
      if (before.layers[layer] != table_.placement.layers[layer]) {
        moved += fmt::format("{}{}", moved.empty() ? "" : " ", layer.value());
      }
    }
    if (moved.empty()) {
      print_output("checked every byte: the weights are unchanged on all ranks\n");
    } else {
      print_output(
          "checked every byte: layers {} are at the new placement and all other layers unchanged "
          "on all ranks\n",
          moved
      );
    }
    std::fflush(stdout);
  }

  void print_summary() {
    const std::int64_t high_water = comm::all_reduce_max(report_.high_water_bytes, comm_);
    const std::int64_t bound = comm::all_reduce_max(report_.memory_bound_bytes, comm_);
    const std::int64_t state_bytes = comm::all_reduce_max(state_.bytes(), comm_);
    const int num_nodes = comm::count_nodes(comm_);
    std::sort(seconds_.begin(), seconds_.end());
    const double seconds = comm::all_reduce_max(seconds_[seconds_.size() / 2], comm_);
    if (!comm_.is_root()) {
      return;
    }
    const std::int64_t bytes = report_.planned_bytes + report_.planned_here_bytes;
    const shuffle::StateShape& shape = options_.shape;
    print_output(
        "ranks: {} (EP {} x EDP {}, on {} node{}), {} layers x {} experts of {:.3f} MB, at most "
        "{:.3f} MB a rank\n",
        comm_.num_mpi_ranks(), shape.ep, shape.edp, num_nodes, num_nodes == 1 ? "" : "s",
        shape.num_layers, shape.num_experts,
        static_cast<double>(shuffle::bytes_per_expert(shape)) / kMegabyte,
        static_cast<double>(state_bytes) / kMegabyte
    );
    if (options_.transport == TransportKind::kAuto && !choice_.why_not_nccl.empty()) {
      print_output("transport: {}, not nccl: {}\n", choice_.name, choice_.why_not_nccl);
    }
    print_output(
        "moved: {} of {} experts, {} bytes between ranks and {} within ranks, {} rounds\n",
        report_.moved_experts, shape.num_layers * shape.num_experts, report_.planned_bytes,
        report_.planned_here_bytes, report_.rounds
    );
    print_output(
        "rate: {:.3f} GB/s over {}, {:.3f} ms (median of {})\n",
        static_cast<double>(bytes) / seconds / 1e9, choice_.name, 1e3 * seconds, seconds_.size()
    );
    print_output(
        "memory: high water {:.3f} MB a rank, bound {:.3f} MB\n",
        static_cast<double>(high_water) / kMegabyte, static_cast<double>(bound) / kMegabyte
    );
    print_output("verdict: ok, every byte is where the new placement puts it\n");
  }

  const CheckRequest& options_;
  const comm::Communicator& comm_;
  TransportChoice choice_;
  std::unique_ptr<shuffle::FaultTransport> faulty_;
  Placement first_;
  Placement second_;
  shuffle::ClosedFormState state_;
  PlacementTable table_;
  ShuffleReport report_;
  std::vector<double> seconds_;
};

void run_shuffle_check(const CheckRequest& asked, const comm::Communicator& comm) {
  const CheckRequest request = completed(asked, comm.num_mpi_ranks());
  Check check{request, comm};
  check.run();
}

}  // namespace

Command shuffle_check_command() { return make_command(check_options, run_shuffle_check); }

}  // namespace routepack::cli
