#include "shuffle/transport/mpi_control.hpp"

#include <cstdlib>
#include <limits>
#include <numeric>
#include <thread>

#include "base/check.hpp"
#include "base/log.hpp"

namespace routepack::shuffle {
namespace {

constexpr int kNoticeTag = 1;
constexpr int kLostContactStatus = 4;

}  // namespace

bool wait_until(MPI_Request& request, const base::Deadline& deadline) {
  int done = 0;
  while (true) {
    RP_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done != 0) {
      return true;
    }
    if (deadline.expired()) {
      return false;
    }
    std::this_thread::yield();
  }
}

MpiControl::~MpiControl() {
  const bool runs = comm::mpi_runs();
  for (const std::unique_ptr<Notice>& notice : notices_) {
    if (runs && notice->request != MPI_REQUEST_NULL) {
      MPI_Wait(&notice->request, MPI_STATUS_IGNORE);  // 8 bytes: buffered by every MPI
    }
  }
}

bool MpiControl::all_reduce_min(std::span<std::int64_t> words, const base::Deadline& deadline) {
  RP_CHECK(comm::mpi_runs(), ErrorCode::kUsage, "a shuffle after MPI_Finalize");
  // The library may go on writing here if the deadline comes first; the job then ends.
  auto result = std::make_unique<std::vector<std::int64_t>>(words.begin(), words.end());
  MPI_Request request = MPI_REQUEST_NULL;
  RP_MPI(MPI_Iallreduce(
      MPI_IN_PLACE, result->data(), static_cast<int>(words.size()), MPI_INT64_T, MPI_MIN,
      comm_.get(), &request
  ));
  if (!wait_until(request, deadline)) {
    static_cast<void>(result.release());
    return false;
  }
  std::copy(result->begin(), result->end(), words.begin());
  return true;
}

std::vector<std::vector<std::byte>> MpiControl::all_gather(
    std::span<const std::byte> mine, const base::Deadline& deadline
) {
  RP_CHECK(comm::mpi_runs(), ErrorCode::kUsage, "a shuffle after MPI_Finalize");
  struct Buffers {
    std::int64_t my_size = 0;
    std::vector<std::int64_t> sizes;
    std::vector<int> counts;
    std::vector<int> starts;
    std::vector<std::byte> mine;
    std::vector<std::byte> all;
  };
  const auto num_ranks = static_cast<std::size_t>(comm_.num_mpi_ranks());
  auto buffers = std::make_unique<Buffers>();
  buffers->my_size = static_cast<std::int64_t>(mine.size());
  buffers->sizes.resize(num_ranks);
  buffers->mine.assign(mine.begin(), mine.end());
  MPI_Request request = MPI_REQUEST_NULL;
  RP_MPI(MPI_Iallgather(
      &buffers->my_size, 1, MPI_INT64_T, buffers->sizes.data(), 1, MPI_INT64_T, comm_.get(),
      &request
  ));
  if (!wait_until(request, deadline)) {
    static_cast<void>(buffers.release());
    return {};
  }
  std::int64_t total = 0;
  for (const std::int64_t size : buffers->sizes) {
    buffers->counts.push_back(static_cast<int>(size));
    buffers->starts.push_back(static_cast<int>(total));
    total += size;
    RP_CHECK(
        total <= std::numeric_limits<int>::max(), ErrorCode::kNumberOutOfRange,
        "the ranks' descriptions of their tensors take more than {} bytes together",
        std::numeric_limits<int>::max()
    );
  }
  buffers->all.resize(static_cast<std::size_t>(total));
  RP_MPI(MPI_Iallgatherv(
      buffers->mine.data(), static_cast<int>(buffers->my_size), MPI_BYTE, buffers->all.data(),
      buffers->counts.data(), buffers->starts.data(), MPI_BYTE, comm_.get(), &request
  ));
  if (!wait_until(request, deadline)) {
    static_cast<void>(buffers.release());
    return {};
  }
  std::vector<std::vector<std::byte>> parts(num_ranks);
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    const auto begin = buffers->all.begin() + buffers->starts[rank];
    parts[rank].assign(begin, begin + buffers->counts[rank]);
  }
  return parts;
}

void MpiControl::drop_sent_notices() {
  std::erase_if(notices_, [](const std::unique_ptr<Notice>& notice) {
    int done = 0;
    MPI_Test(&notice->request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

void MpiControl::announce_failure(std::uint64_t serial) {
  drop_sent_notices();
  for (int peer = 0; peer < comm_.num_mpi_ranks(); ++peer) {
    if (peer == comm_.mpi_rank()) {
      continue;
    }
    auto notice = std::make_unique<Notice>();
    notice->serial = serial;
    // A peer that cannot be told finds out by its own deadline.
    MPI_Isend(&notice->serial, 1, MPI_UINT64_T, peer, kNoticeTag, comm_.get(), &notice->request);
    notices_.push_back(std::move(notice));
  }
}

bool MpiControl::failure_announced(std::uint64_t serial) {
  int arrived = 0;
  MPI_Status status;
  RP_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kNoticeTag, comm_.get(), &arrived, &status));
  while (arrived != 0) {
    std::uint64_t announced = 0;
    RP_MPI(MPI_Recv(
        &announced, 1, MPI_UINT64_T, status.MPI_SOURCE, kNoticeTag, comm_.get(), MPI_STATUS_IGNORE
    ));
    last_announced_ = std::max(last_announced_, announced);
    RP_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kNoticeTag, comm_.get(), &arrived, &status));
  }
  return last_announced_ >= serial;
}

void MpiControl::lose_contact(const std::string& reason) {
  base::report("routepack: error [{}] {}\n", name_of(ErrorCode::kTransferFailed), reason);
  if (comm::mpi_runs()) {
    MPI_Abort(comm_.get(), kLostContactStatus);
  }
  std::_Exit(kLostContactStatus);  // where MPI is over, or its abort came back
}

}  // namespace routepack::shuffle
