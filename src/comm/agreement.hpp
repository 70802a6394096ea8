// Errors are agreed on: no rank throws alone before a collective.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "comm/communicator.hpp"
#include "routepack/error.hpp"

namespace routepack::comm {

// Collective. Throws on every rank the error of the lowest rank that has one.
void agree_ok(const std::optional<Error>& mine, const Communicator& comm);

// Collective. Throws PLAN_DISAGREEMENT on every rank unless all pass the same digest, as hex
// digits.
void agree_same(const std::string& mine, const char* what, const Communicator& comm);

namespace detail {

// The error of the running exception. Out of memory counts as NUMBER_OUT_OF_RANGE; what is no
// Error of ours has failed on a rank (TRANSFER_FAILED, naming it).
[[nodiscard]] Error current_error(int mpi_rank);

}  // namespace detail

// Collective. Runs local `work` on every rank, then votes: either all ranks get their result, or
// all throw the same error, whatever type of exception it was.
template <class Work>
auto agree_on(Work&& work, const Communicator& comm) -> std::invoke_result_t<Work> {
  using Result = std::invoke_result_t<Work>;
  std::optional<Error> error;
  if constexpr (std::is_void_v<Result>) {
    try {
      std::forward<Work>(work)();
    } catch (...) {
      error = detail::current_error(comm.mpi_rank());
    }
    agree_ok(error, comm);
  } else {
    std::optional<Result> result;
    try {
      result.emplace(std::forward<Work>(work)());
    } catch (...) {
      error = detail::current_error(comm.mpi_rank());
    }
    agree_ok(error, comm);
    return std::move(*result);
  }
}

// Ranks that were given different things (options, files) must notice before any work: each tells
// what it has, as names and values, and all throw the same error that says what differs and where.
struct NamedEvidence {
  std::string name;   // e.g. "option sweeps", "demand.npy"
  std::string value;  // compared as text, and printed
};

// Collective. Throws INPUT_DISAGREEMENT on every rank unless all pass the same list; names the
// first entry that differs between rank 0 and the lowest rank that has another list. Lists may
// differ in length: an entry that a rank lacks is "not given" there. Costs 16 bytes a rank where
// all agree.
void agree_on_inputs(const std::vector<NamedEvidence>& mine, const Communicator& comm);

// Collective. The same for numbers that are too many to print: "lengths.npy: sample 3 is 7 on rank
// 0 and 9 on rank 1", where `name` is "lengths.npy" and `element` "sample".
void agree_on_numbers(
    const std::string& name,
    const std::string& element,
    std::span<const std::int64_t> mine,
    const Communicator& comm
);

// Collective. The lowest rank whose digest is not rank 0's; empty where all are equal.
[[nodiscard]] std::optional<int> find_other_rank(
    const base::Digest& mine, const Communicator& comm
);

}  // namespace routepack::comm
