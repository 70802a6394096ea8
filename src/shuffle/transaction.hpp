// One all-or-nothing move of expert state: ready? - stage in rounds - agree - commit - agree.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/digest.hpp"
#include "routepack/weights.hpp"
#include "shuffle/plan/rounds.hpp"
#include "shuffle/staging.hpp"
#include "shuffle/transport/transport.hpp"

namespace routepack::shuffle {

// What the transactions of a shuffle have in common. Refers to what the shuffle holds.
struct TransactionContext {
  const StateLayout& layout;
  const Placement& target;
  const ExpertRegistry& registry;
  const LocalTensors& tensors;
  Transport& transport;
  const ShuffleOptions& options;
};

// How a transaction ended, the same on all ranks.
struct TransactionOutcome {
  bool committed = false;
  std::string fault;  // names rank, layer and tensor; empty when all went well. With `committed`:
                      // a derived tensor could not be rebuilt
};

// Collective. `plan` is the digest of what this rank is about to do; throws PLAN_DISAGREEMENT on
// every rank, before a byte moves, unless all pass the same. Adds its figures to `report`.
// `layers` are those that the streams' moves touch on any rank.
[[nodiscard]] TransactionOutcome run_transaction(
    const TransactionContext& context,
    const RankStreams& streams,
    const base::Digest& plan,
    const std::vector<MoeLayer>& layers,
    ShuffleReport& report
);

// Throws USAGE unless the options' times are ones that a wait can have.
void validate_times(const ShuffleOptions& options);

// How long an agreement may take. The times must be valid.
[[nodiscard]] base::Deadline agreement_deadline(const ShuffleOptions& options);

// The reason that an agreement did not come.
[[nodiscard]] std::string missing_agreement(const char* where);

// Ends the job: there is no way to go on together.
[[noreturn]] void lose_contact(
    Control& control, const ShuffleOptions& options, const std::string& reason
);

}  // namespace routepack::shuffle
