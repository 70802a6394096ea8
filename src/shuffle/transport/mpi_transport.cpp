#include "shuffle/transport/mpi_transport.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <thread>

#include "base/check.hpp"
#include "routepack/transports.hpp"

namespace routepack::shuffle {
namespace {

// MPI counts are int, and several transports of Open MPI fail above 2 GiB.
constexpr std::int64_t kMaxMessageBytes = std::int64_t{64} << 20U;
constexpr int kMaxTag = 0x7fff;  // MPI promises no more

int tag_of(const RoundId& id) { return static_cast<int>(id.round & kMaxTag); }

// MPI's text; the code may only say that one of the statuses has it.
std::string describe_error(int code, std::span<const MPI_Status> statuses) {
  for (const MPI_Status& status : statuses) {
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS) {
      code = status.MPI_ERROR;
    }
  }
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm parent, std::shared_ptr<CopyEngine> engine)
    : control_(parent), engine_(std::move(engine)), data_(comm::duplicate(parent)) {}

MpiTransport::~MpiTransport() {
  if (!comm::mpi_runs()) {
    return;
  }
  for (MPI_Comm& comm : retired_) {
    MPI_Comm_free(&comm);
  }
  if (data_ != MPI_COMM_NULL) {
    MPI_Comm_free(&data_);
  }
}

void MpiTransport::post_send(const SendSlice& slice) {
  for (std::int64_t at = 0; at < slice.bytes; at += kMaxMessageBytes) {
    const auto count = static_cast<int>(std::min(kMaxMessageBytes, slice.bytes - at));
    MPI_Request request = MPI_REQUEST_NULL;
    RP_MPI(MPI_Isend(slice.data + at, count, MPI_BYTE, slice.peer, tag_of(id_), data_, &request));
    requests_.push_back(request);
    posted_.push_back(Posted{slice.peer, true});
  }
}

void MpiTransport::post_receive(const RecvSlice& slice) {
  for (std::int64_t at = 0; at < slice.bytes; at += kMaxMessageBytes) {
    const auto count = static_cast<int>(std::min(kMaxMessageBytes, slice.bytes - at));
    MPI_Request request = MPI_REQUEST_NULL;
    RP_MPI(MPI_Irecv(slice.data + at, count, MPI_BYTE, slice.peer, tag_of(id_), data_, &request));
    requests_.push_back(request);
    posted_.push_back(Posted{slice.peer, false});
  }
}

// Replaces the slices by their host copies, which live in one buffer that grows as needed.
void MpiTransport::bounce_all(std::vector<SendSlice>& sends, std::vector<RecvSlice>& receives) {
  std::int64_t bytes = 0;
  for (const SendSlice& slice : sends) {
    bytes += slice.bytes;
  }
  for (const RecvSlice& slice : receives) {
    bytes += slice.bytes;
  }
  if (bytes > bounce_bytes_) {
    bounce_buffer_ = engine_->allocate_host(bytes);
    bounce_bytes_ = bytes;
  }
  std::byte* host = bounce_buffer_.get();
  for (SendSlice& slice : sends) {
    engine_->to_host(host, slice.data, slice.bytes);
    slice.data = host;
    host += slice.bytes;
  }
  bounced_.clear();
  for (RecvSlice& slice : receives) {
    bounced_.push_back(Bounced{slice, host});
    slice.data = host;
    host += slice.bytes;
  }
}

void MpiTransport::begin(
    const RoundId& id, std::span<const SendSlice> sends, std::span<const RecvSlice> receives
) {
  RP_ASSERT(light, requests_.empty(), "round {} begins before another has finished", id.round);
  id_ = id;
  begun_ = base::Deadline::Clock::now();
  std::vector<SendSlice> outgoing(sends.begin(), sends.end());
  std::vector<RecvSlice> incoming(receives.begin(), receives.end());
  if (engine_->memory() == Memory::kDevice) {
    bounce_all(outgoing, incoming);
  }
  for (const RecvSlice& slice : incoming) {
    post_receive(slice);
  }
  // Starting behind the own rank spreads the first messages over all receivers.
  const auto next = std::find_if(outgoing.begin(), outgoing.end(), [this](const SendSlice& slice) {
    return slice.peer > control_.rank();
  });
  std::rotate(outgoing.begin(), next, outgoing.end());
  for (const SendSlice& slice : outgoing) {
    post_send(slice);
  }
}

// Drops finished requests. False, with the text, when MPI reports an error.
bool MpiTransport::test_posted(std::string& error) {
  if (requests_.empty()) {
    return true;
  }
  finished_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int num_finished = 0;
  const int code = MPI_Testsome(
      static_cast<int>(requests_.size()), requests_.data(), &num_finished, finished_.data(),
      statuses_.data()
  );
  if (code != MPI_SUCCESS) {
    error = describe_error(code, {statuses_.data(), static_cast<std::size_t>(num_finished)});
    return false;
  }
  if (num_finished > 0) {  // finished requests have become MPI_REQUEST_NULL
    std::size_t kept = 0;
    for (std::size_t n = 0; n < requests_.size(); ++n) {
      if (requests_[n] != MPI_REQUEST_NULL) {
        requests_[kept] = requests_[n];
        posted_[kept++] = posted_[n];
      }
    }
    requests_.resize(kept);
    posted_.resize(kept);
  }
  return true;
}

ExchangeFault MpiTransport::describe_missing(bool announced_by_peer) const {
  const Posted* missing = &posted_.front();
  for (const Posted& posted : posted_) {  // a missing arrival says more than an unread departure
    const bool better = missing->is_send && !posted.is_send;
    const bool lower = missing->is_send == posted.is_send && posted.peer < missing->peer;
    missing = better || lower ? &posted : missing;
  }
  const std::chrono::duration<double> waited = base::Deadline::Clock::now() - begun_;
  const std::string what = missing->is_send
                               ? fmt::format("rank {} did not take its slice", missing->peer)
                               : fmt::format("no slice from rank {}", missing->peer);
  return ExchangeFault{
      announced_by_peer, missing->peer, fmt::format("{} within {:.3g} s", what, waited.count()),
      missing->is_send};
}

std::optional<ExchangeFault> MpiTransport::finish(const base::Deadline& deadline) {
  constexpr unsigned kTestsPerLook = 16;  // notices and the clock are looked at less often
  std::string error;
  for (unsigned tests = 1;; ++tests) {
    if (!test_posted(error)) {
      return ExchangeFault{false, -1, error, false, true};
    }
    if (requests_.empty()) {
      break;
    }
    if (tests % kTestsPerLook == 0) {
      if (control_.failure_announced(id_.serial)) {
        return describe_missing(true);
      }
      if (deadline.expired()) {
        return describe_missing(false);
      }
    }
  }
  for (const Bounced& bounced : bounced_) {
    engine_->from_host(bounced.slice.data, bounced.host, bounced.slice.bytes);
  }
  bounced_.clear();
  return std::nullopt;
}

bool MpiTransport::sends_are_done() const {
  return std::none_of(posted_.begin(), posted_.end(), [](const Posted& posted) {
    return posted.is_send;
  });
}

// Takes in messages for which this rank has not come to post a receive, so that their senders end.
void MpiTransport::drain_unexpected() {
  int arrived = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  RP_MPI(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, data_, &arrived, &message, &status));
  while (arrived != 0) {
    int count = 0;
    RP_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    std::vector<std::byte> scratch(static_cast<std::size_t>(count));
    RP_MPI(MPI_Mrecv(scratch.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    RP_MPI(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, data_, &arrived, &message, &status));
  }
}

// Until all sends of all ranks have ended: every rank drains what arrives and enters a
// non-blocking barrier when its own sends are done.
bool MpiTransport::quiesce(const base::Deadline& deadline) {
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool entered = false;
  std::string ignored;  // what failed is named already
  while (!deadline.expired()) {
    (void)test_posted(ignored);
    drain_unexpected();
    if (!entered && sends_are_done()) {
      RP_MPI(MPI_Ibarrier(control_.comm().get(), &barrier));
      entered = true;
    }
    int passed = 0;
    if (entered) {
      RP_MPI(MPI_Test(&barrier, &passed, MPI_STATUS_IGNORE));
    }
    if (passed != 0) {
      return true;
    }
    std::this_thread::yield();
  }
  return false;
}

bool MpiTransport::cancel_receives(const base::Deadline& deadline) {
  for (MPI_Request& request : requests_) {
    RP_MPI(MPI_Cancel(&request));
  }
  std::string ignored;
  while (!requests_.empty()) {
    (void)test_posted(ignored);
    if (deadline.expired()) {
      return requests_.empty();
    }
  }
  return true;
}

bool MpiTransport::recover(
    std::vector<std::shared_ptr<std::byte>> buffers, const base::Deadline& deadline
) {
  kept_ = std::move(buffers);
  bounced_.clear();
  if (!quiesce(deadline) || !cancel_receives(deadline)) {
    return false;
  }
  MPI_Comm fresh = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  RP_MPI(MPI_Comm_idup(control_.comm().get(), &fresh, &request));
  if (!wait_until(request, deadline)) {
    return false;
  }
  RP_MPI(MPI_Comm_set_errhandler(fresh, MPI_ERRORS_RETURN));
  retired_.push_back(data_);
  data_ = fresh;
  kept_.clear();
  return true;
}

}  // namespace routepack::shuffle

namespace routepack {

void TransportDeleter::operator()(Transport* transport) const { delete transport; }

TransportHandle make_mpi_transport(MPI_Comm comm) {
  return TransportHandle{new shuffle::MpiTransport(comm)};
}

}  // namespace routepack
