// Errors are agreed on: no rank throws alone before a collective.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "comm/communicator.hpp"
#include "routepack/error.hpp"

namespace routepack {

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

}  // namespace routepack
