#include "comm/agreement.hpp"

#include <exception>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "comm/collectives.hpp"
#include "comm/inputs.hpp"

namespace routepack {

void agree_ok(const std::optional<Error>& mine, const Communicator& comm) {
  const int first = all_reduce_min(mine ? comm.mpi_rank() : comm.num_mpi_ranks(), comm);
  if (first == comm.num_mpi_ranks()) {
    return;
  }
  std::vector<char> text;
  auto code = static_cast<int>(ErrorCode::kUsage);
  if (comm.mpi_rank() == first) {
    const std::string what = mine->what();
    text.assign(what.begin(), what.end());
    code = static_cast<int>(mine->code());
  }
  code = broadcast_value(code, first, comm);
  text = broadcast(std::move(text), first, comm);
  throw Error(static_cast<ErrorCode>(code), std::string(text.begin(), text.end()));
}

void agree_same(const std::string& mine, const char* what, const Communicator& comm) {
  const std::optional<int> other = find_other_rank(digest_of(std::as_bytes(std::span(mine))), comm);
  if (!other) {
    return;
  }
  const auto text_of = [&](int rank) {
    const std::vector<char> text =
        broadcast(std::vector<char>(mine.begin(), mine.end()), rank, comm);
    return std::string(text.begin(), text.end());
  };
  const std::string at_root = text_of(0);
  const std::string at_other = text_of(*other);
  fail(
      ErrorCode::kPlanDisagreement, "{}: rank 0 holds {}, rank {} holds {}", what, at_root, *other,
      at_other
  );
}

namespace detail {

Error current_error(int mpi_rank) {
  const auto internal = [&](const char* what) {
    return Error(
        ErrorCode::kTransferFailed, fmt::format("internal error on rank {}: {}", mpi_rank, what)
    );
  };
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kNumberOutOfRange, "out of memory");
  } catch (const std::exception& error) {
    return internal(error.what());
  } catch (...) {
    return internal("an exception of unknown type");
  }
}

}  // namespace detail
}  // namespace routepack
