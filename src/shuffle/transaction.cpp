#include "shuffle/transaction.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <limits>
#include <new>
#include <vector>

#include "base/check.hpp"
#include "shuffle/plan/codec.hpp"

namespace routepack::shuffle {
namespace {

// A fault seen on this rank. Nearest to the cause is the one of the earliest round, and of those
// the one of the rank that has waited longest: the others wait for ranks that wait themselves.
struct LocalFault {
  std::int64_t round = 0;
  std::int64_t waited_us = 0;
  std::string text;
};
constexpr std::int64_t kNotWaiting = std::numeric_limits<std::int64_t>::max();  // damage, errors

class Transaction {
 public:
  Transaction(
      const TransactionContext& context,
      const RankStreams& streams,
      const base::Digest& plan,
      ShuffleReport& report
  )
      : context_(context),
        streams_(streams),
        plan_(plan),
        report_(report),
        control_(context.transport.control()),
        rank_(control_.rank()),
        serial_(context.transport.control().next_serial()) {}

  void prepare();
  // Empty when every rank has its buffers; otherwise what one of them lacks.
  [[nodiscard]] std::string agree_on_plan();
  void stage();
  // Empty when all ranks have staged and checked everything; otherwise the fault, the same text on
  // all ranks, and the transport is usable again.
  [[nodiscard]] std::string agree_staged();
  [[nodiscard]] std::string commit(const std::vector<MoeLayer>& layers);

 private:
  void note(std::int64_t round, std::string text, std::int64_t waited_us = kNotWaiting);
  void begin(const RoundId& id);
  void finish(const RoundId& id);
  void check(std::int64_t round);
  void run_rounds();
  [[nodiscard]] std::string tensor_in(const PairStream& stream, std::int64_t round) const;
  [[nodiscard]] std::string gather_first_fault();
  [[nodiscard]] bool agree_min(std::span<std::int64_t> words, const char* where);
  [[nodiscard]] std::string rebuild_derived(const std::vector<MoeLayer>& layers) const;

  const TransactionContext& context_;
  const RankStreams& streams_;
  const base::Digest& plan_;
  ShuffleReport& report_;
  Control& control_;
  int rank_;
  std::uint64_t serial_;
  std::int64_t round_ = 0;
  base::Deadline::Clock::time_point begun_;  // of the round that travels
  std::optional<Staging> staging_;
  std::optional<LocalFault> fault_;
  bool broken_ = false;  // a round was abandoned on this rank
};

// Of the running exception, whatever its type.
std::string current_text() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

void Transaction::note(std::int64_t round, std::string text, std::int64_t waited_us) {
  if (!fault_) {
    fault_ = LocalFault{round, waited_us, std::move(text)};
  }
}

bool Transaction::agree_min(std::span<std::int64_t> words, const char* where) {
  if (!control_.all_reduce_min(words, agreement_deadline(context_.options))) {
    lose_contact(control_, context_.options, missing_agreement(where));
  }
  return words[0] == 1;
}

void Transaction::prepare() {
  try {
    staging_.emplace(streams_, context_.tensors, context_.transport.engine());
    report_.staging_bytes = std::max(report_.staging_bytes, staging_->staging_bytes());
    report_.shadow_bytes = std::max(report_.shadow_bytes, staging_->shadow_bytes());
    report_.high_water_bytes =
        std::max(report_.high_water_bytes, staging_->staging_bytes() + staging_->shadow_bytes());
    report_.memory_bound_bytes = std::max(report_.memory_bound_bytes, memory_bound_bytes(streams_));
  } catch (const std::bad_alloc&) {
    note(
        -1, fmt::format(
                "rank {} has no memory for {} bytes of buffers", rank_, memory_bound_bytes(streams_)
            )
    );
  } catch (...) {  // of the engine
    note(-1, fmt::format("rank {} has no buffers: {}", rank_, current_text()));
  }
}

// All hashes are equal iff the minimum of h equals the maximum, which is ~min(~h).
std::string Transaction::agree_on_plan() {
  const auto high = static_cast<std::int64_t>(plan_.high);
  const auto low = static_cast<std::int64_t>(plan_.low);
  std::array<std::int64_t, 5> words{fault_ ? 0 : 1, high, low, ~high, ~low};
  const bool ready = agree_min(words, "agreeing on the plan");
  RP_CHECK(
      words[1] == ~words[3] && words[2] == ~words[4], ErrorCode::kPlanDisagreement,
      "the ranks computed different moves from the same placements and layouts; nothing has moved"
  );
  return ready ? std::string{} : gather_first_fault();
}

std::string Transaction::tensor_in(const PairStream& stream, std::int64_t round) const {
  const std::int64_t begin = round * streams_.round_bytes;
  const std::span<const StreamMove> moves =
      moves_between(stream, begin, begin + stream.payload_of(round, streams_.round_bytes));
  const ByteMove& first = moves.front().move;
  const LayerPlacement& slots = context_.target.layers[first.layer];
  const auto expert = std::find(slots.begin(), slots.end(), first.to_slot) - slots.begin();
  const std::string others =
      moves.size() > 1 ? fmt::format(" and {} more", moves.size() - 1) : std::string{};
  return fmt::format(
      "layer {}, tensor {} of expert {}{}", first.layer.value(), context_.layout.kinds[first.kind],
      expert, others
  );
}

void Transaction::begin(const RoundId& id) {
  const std::vector<SendSlice> sends = staging_->pack(id, plan_.low, rank_);
  if (id.round > 0) {
    finish(RoundId{serial_, id.round - 1});
  }
  if (broken_) {
    return;
  }
  const std::vector<RecvSlice> receives = staging_->receives(id.round);
  context_.transport.begin(id, sends, receives);
  begun_ = base::Deadline::Clock::now();
  for (const SendSlice& slice : sends) {
    report_.sent_bytes += slice.bytes - kTrailerBytes;
  }
  for (const RecvSlice& slice : receives) {
    report_.received_bytes += slice.bytes - kTrailerBytes;
  }
}

void Transaction::finish(const RoundId& id) {
  const std::optional<ExchangeFault> fault =
      context_.transport.finish(base::Deadline::after(context_.options.deadline_seconds));
  if (!fault) {
    return;
  }
  broken_ = true;
  if (!fault->announced_by_peer) {
    control_.announce_failure(serial_);
  }
  const auto waited =
      std::chrono::duration_cast<std::chrono::microseconds>(base::Deadline::Clock::now() - begun_);
  const std::vector<PairStream>& streams = fault->outgoing ? streams_.sends : streams_.receives;
  const auto stream = std::find_if(streams.begin(), streams.end(), [&](const PairStream& item) {
    return item.peer == fault->peer && item.payload_of(id.round, streams_.round_bytes) > 0;
  });
  note(
      id.round,
      fmt::format(
          "rank {}, round {}: {}{}", rank_, id.round, fault->what,
          stream != streams.end() ? ": " + tensor_in(*stream, id.round) : std::string{}
      ),
      fault->from_library ? kNotWaiting : waited.count()
  );
}

void Transaction::check(std::int64_t round) {
  const RoundId id{serial_, round};
  if (const PairStream* damaged = staging_->find_damaged(id, plan_.low, rank_)) {
    note(
        round, fmt::format(
                   "rank {}, round {}: damaged slice from rank {}: {}", rank_, round, damaged->peer,
                   tensor_in(*damaged, round)
               )
    );
  }
}

// Round n+1 is packed while round n travels, and round n is checked while n+1 travels. A rank
// with a damaged slice goes on, so that nobody waits for it; only a round that does not end at
// all stops the schedule, and then everybody is told.
void Transaction::run_rounds() {
  staging_->pack_here();
  const std::int64_t num_rounds = streams_.num_rounds;
  for (round_ = 0; round_ < num_rounds && !broken_; ++round_) {
    begin(RoundId{serial_, round_});
    if (round_ > 0 && !broken_) {
      check(round_ - 1);
    }
  }
  if (num_rounds > 0 && !broken_) {
    finish(RoundId{serial_, num_rounds - 1});
  }
  if (num_rounds > 0 && !broken_) {
    check(num_rounds - 1);
  }
  report_.rounds += num_rounds;
}

void Transaction::stage() {
  try {
    run_rounds();
  } catch (const std::exception& error) {  // of the engine or the transport: this rank gives up
    note(round_, fmt::format("rank {}, round {}: {}", rank_, round_, error.what()));
    broken_ = true;
    control_.announce_failure(serial_);
  }
}

std::string Transaction::gather_first_fault() {
  ByteWriter writer;
  const LocalFault mine = fault_.value_or(LocalFault{
      std::numeric_limits<std::int64_t>::max(), 0, "no rank names its fault"});
  writer.add(mine.round);
  writer.add(mine.waited_us);
  writer.add(mine.text);
  const std::vector<std::vector<std::byte>> all =
      control_.all_gather(writer.take(), agreement_deadline(context_.options));
  if (all.empty()) {
    lose_contact(control_, context_.options, missing_agreement("naming the fault"));
  }
  std::optional<LocalFault> first;
  for (const std::vector<std::byte>& bytes : all) {
    ByteReader reader{bytes};
    const std::int64_t round = reader.word();
    const std::int64_t waited_us = reader.word();
    if (!first || round < first->round || (round == first->round && waited_us > first->waited_us)) {
      first = LocalFault{round, waited_us, reader.text()};
    }
  }
  return first->text;
}

std::string Transaction::agree_staged() {
  std::array<std::int64_t, 2> words{fault_ || broken_ ? 0 : 1, broken_ ? 0 : 1};
  if (agree_min(words, "agreeing that everything has arrived")) {
    return {};
  }
  std::string text = gather_first_fault();
  if (words[1] == 0 &&
      !context_.transport.recover(staging_->buffers(), agreement_deadline(context_.options))) {
    lose_contact(control_, context_.options, "cannot end what is in flight after: " + text);
  }
  return text;
}

std::string Transaction::rebuild_derived(const std::vector<MoeLayer>& layers) const {
  for (const DerivedTensor& tensor : context_.registry.derived()) {
    if (!std::binary_search(layers.begin(), layers.end(), tensor.layer)) {
      continue;
    }
    try {
      tensor.rebuild();
    } catch (...) {
      return fmt::format(
          "the experts have moved, but rank {} could not rebuild layer {}, tensor {}: {}", rank_,
          tensor.layer.value(), tensor.kind, current_text()
      );
    }
  }
  return {};
}

std::string Transaction::commit(const std::vector<MoeLayer>& layers) {
  try {
    staging_->commit();
  } catch (const std::exception& error) {  // after the agreement there is no way back
    lose_contact(
        control_, context_.options, fmt::format("cannot complete the commit: {}", error.what())
    );
  }
  const std::string derived = rebuild_derived(layers);
  if (!derived.empty()) {
    note(streams_.num_rounds, derived);
  }
  std::array<std::int64_t, 1> words{fault_ ? 0 : 1};
  return agree_min(words, "agreeing that the commit is complete") ? std::string{}
                                                                  : gather_first_fault();
}

}  // namespace

TransactionOutcome run_transaction(
    const TransactionContext& context,
    const RankStreams& streams,
    const base::Digest& plan,
    const std::vector<MoeLayer>& layers,
    ShuffleReport& report
) {
  Transaction transaction{context, streams, plan, report};
  transaction.prepare();
  std::string fault = transaction.agree_on_plan();
  if (fault.empty()) {
    transaction.stage();
    fault = transaction.agree_staged();
  }
  if (!fault.empty()) {
    return TransactionOutcome{false, fault};
  }
  return TransactionOutcome{true, transaction.commit(layers)};
}

void validate_times(const ShuffleOptions& options) {
  // Written so that NaN fails.
  RP_CHECK(
      options.deadline_seconds > 0.0 && options.agreement_seconds >= 0.0, ErrorCode::kUsage,
      "deadline_seconds is {}, it must be more than 0; agreement_seconds is {}, it must be at "
      "least "
      "0",
      options.deadline_seconds, options.agreement_seconds
  );
}

base::Deadline agreement_deadline(const ShuffleOptions& options) {
  return base::Deadline::after(
      options.agreement_seconds > 0.0 ? options.agreement_seconds : 2.0 * options.deadline_seconds
  );
}

std::string missing_agreement(const char* where) {
  return fmt::format("{}: no agreement within the deadline", where);
}

void lose_contact(Control& control, const ShuffleOptions& options, const std::string& reason) {
  const std::string text = fmt::format("rank {} gives up: {}", control.rank(), reason);
  if (options.on_lost_contact) {
    try {
      options.on_lost_contact(text);
    } catch (...) {  // the job must end whatever the caller's words were
    }
  }
  control.lose_contact(text);
  std::terminate();  // unreachable; compilers forget [[noreturn]] in a virtual call
}

}  // namespace routepack::shuffle
