#include "comm/communicator.hpp"

#include <array>
#include <string>
#include <utility>

#include "base/check.hpp"

namespace routepack::comm {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) {
    return;
  }
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  base::fail(
      ErrorCode::kTransferFailed, "{}: {}", call,
      std::string(text.data(), static_cast<std::size_t>(length))
  );
}

bool mpi_runs() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

MPI_Comm duplicate(MPI_Comm parent) {
  RP_CHECK(mpi_runs(), ErrorCode::kUsage, "MPI is not initialized, or finalized");
  RP_CHECK(parent != MPI_COMM_NULL, ErrorCode::kUsage, "the communicator is MPI_COMM_NULL");
  int joins_groups = 0;
  RP_MPI(MPI_Comm_test_inter(parent, &joins_groups));
  RP_CHECK(joins_groups == 0, ErrorCode::kUsage, "the communicator is an inter-communicator");
  // The caller's handler ends the job by default, e.g. where MPI has no communicators left.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  RP_MPI(MPI_Comm_get_errhandler(parent, &handler));
  RP_MPI(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
  MPI_Comm comm = MPI_COMM_NULL;
  const int code = MPI_Comm_dup(parent, &comm);
  MPI_Comm_set_errhandler(parent, handler);
  MPI_Errhandler_free(&handler);
  check_mpi(code, "MPI_Comm_dup");
  RP_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  return comm;
}

Communicator::Communicator(MPI_Comm parent) : comm_(duplicate(parent)) {
  RP_MPI(MPI_Comm_rank(comm_, &rank_));
  RP_MPI(MPI_Comm_size(comm_, &size_));
}

Communicator::Communicator(Owned owned) : comm_(owned.comm) {
  RP_MPI(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
  RP_MPI(MPI_Comm_rank(comm_, &rank_));
  RP_MPI(MPI_Comm_size(comm_, &size_));
}

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {}

Communicator::~Communicator() {
  if (comm_ != MPI_COMM_NULL && mpi_runs()) {
    MPI_Comm_free(&comm_);
  }
}

Communicator Communicator::split_by_node() const {
  MPI_Comm node = MPI_COMM_NULL;
  RP_MPI(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node));
  return Communicator{Owned{node}};
}

Communicator Communicator::split(int colour) const {
  MPI_Comm part = MPI_COMM_NULL;
  RP_MPI(MPI_Comm_split(comm_, colour, rank_, &part));
  return Communicator{Owned{part}};
}

Share share_of(std::int64_t count, int part, int num_parts) {
  const std::int64_t base = count / num_parts;
  const std::int64_t extra = count % num_parts;
  const std::int64_t begin = base * part + (part < extra ? part : extra);
  return Share{begin, begin + base + (part < extra ? 1 : 0)};
}

}  // namespace routepack::comm
