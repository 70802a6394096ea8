#include "shuffle/transport/nccl_transport.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "base/check.hpp"
#include "shuffle/engine/device_engine.hpp"

namespace routepack::shuffle {
namespace {

// Put at the end of every slice that is to arrive: where it still stands, nothing has come.
constexpr std::size_t kMarkBytes = 16;
constexpr std::byte kMark{0xdb};

std::int64_t marked_bytes(const RecvSlice& slice) {
  return std::min<std::int64_t>(slice.bytes, kMarkBytes);
}

template <class Slices>
bool peers_ascend(const Slices& slices) {
  return std::adjacent_find(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
           return a.peer >= b.peer;
         }) == slices.end();
}

std::string no_slice_text(int peer) {
  return peer < 0 ? std::string{"a rank did not take its slice"}
                  : fmt::format("no slice from rank {}", peer);
}

}  // namespace

NcclTransport::NcclTransport(
    std::unique_ptr<Control> control,
    std::shared_ptr<NcclApi> nccl,
    std::shared_ptr<DeviceApi> device,
    const NcclOptions& options
)
    : control_(std::move(control)),
      nccl_(std::move(nccl)),
      device_(std::move(device)),
      options_(options) {
  Failure failure;
  std::int64_t version = 0;
  try {
    prepare_device();
    version = RP_NCCL(*nccl_, library_version());
  } catch (const std::exception& caught) {
    failure = Failure{caught.what(), false};
  }
  const base::Deadline deadline = base::Deadline::after(options_.setup_seconds);
  demand(agree(failure, deadline));
  std::array<std::int64_t, 2> versions{version, -version};
  if (!control_->all_reduce_min(versions, deadline)) {
    demand(Connection{});
  }
  RP_CHECK(
      versions[0] == -versions[1], ErrorCode::kUsage,
      "the ranks have NCCL libraries of versions {} to {}", versions[0], -versions[1]
  );
  demand(connect(options_.setup_seconds));
}

NcclTransport::~NcclTransport() {
  if (device_->set_device(options_.device) == DeviceResult::kSuccess) {
    close();
  }
}

void NcclTransport::prepare_device() {
  engine_ = std::make_shared<DeviceEngine>(device_, options_.device, options_.engine_seconds);
  std::array<std::byte, kMarkBytes> mark{};
  mark.fill(kMark);
  mark_ = engine_->allocate(kMarkBytes);
  engine_->from_host(mark_.get(), mark.data(), kMarkBytes);
  const auto destroy = [api = device_, device = options_.device](DeviceStream stream) {
    (void)api->set_device(device);
    (void)api->destroy_stream(stream);
  };
  stream_ = std::shared_ptr<DeviceStreamTag>(RP_CUDA(*device_, create_stream()), destroy);
}

// Only for the constructor, which has nobody to return a failure to.
void NcclTransport::demand(const Connection& connection) {
  if (!connection.in_contact) {
    control_->lose_contact(fmt::format(
        "rank {} gives up while connecting: no agreement within {:.3g} s", control_->rank(),
        options_.setup_seconds
    ));
  }
  if (!connection.error.empty()) {
    throw Error(ErrorCode::kTransferFailed, connection.error);
  }
}

// Collective: the error of the lowest rank that has one of its own, else of the lowest that has
// one: who waited in vain waited for somebody with a reason.
NcclTransport::Connection NcclTransport::agree(
    const Failure& mine, const base::Deadline& deadline
) {
  std::vector<std::byte> announced;
  if (!mine.text.empty()) {
    const auto text = std::as_bytes(std::span{mine.text});
    announced.assign(text.begin(), text.end());
    announced.push_back(std::byte{mine.only_waited ? std::uint8_t{1} : std::uint8_t{0}});
  }
  const std::vector<std::vector<std::byte>> all = control_->all_gather(announced, deadline);
  Connection connection{!all.empty(), {}};
  for (const std::byte only_waited : {std::byte{0}, std::byte{1}}) {
    for (std::size_t rank = 0; rank < all.size() && connection.error.empty(); ++rank) {
      if (!all[rank].empty() && all[rank].back() == only_waited) {
        const auto* text = reinterpret_cast<const char*>(all[rank].data());
        connection.error =
            fmt::format("rank {}: {}", rank, std::string_view(text, all[rank].size() - 1));
      }
    }
  }
  return connection;
}

// Polls until the library has done what it was asked for. False when the deadline comes first.
bool NcclTransport::is_ready(NcclComm comm, const base::Deadline& deadline) {
  while (true) {
    const NcclResult state = RP_NCCL(*nccl_, async_error(comm));
    if (state != NcclResult::kInProgress) {
      detail::check_nccl(*nccl_, state, "communicator", comm);
      return true;
    }
    if (deadline.expired()) {
      return false;
    }
    std::this_thread::yield();
  }
}

// Null, with the reason, when the communicator does not come up.
NcclComm NcclTransport::init_comm(
    std::span<const std::byte> id, const base::Deadline& deadline, Failure& failure
) {
  NcclUniqueId unique;
  std::copy(id.begin(), id.end(), unique.bytes.begin());
  const NcclValue<NcclComm> made =
      nccl_->init_comm(control_->num_ranks(), unique, control_->rank(), options_.max_ctas);
  try {
    detail::check_nccl(*nccl_, made.result, "init_comm", made.value);
    if (is_ready(made.value, deadline)) {
      return made.value;
    }
    failure = Failure{"NCCL did not connect all ranks in time", true};
  } catch (const Error& error) {
    failure = Failure{error.what(), false};
  }
  if (made.value != nullptr) {
    (void)nccl_->abort(made.value);
  }
  return nullptr;
}

// Collective. A fresh id each time: communicators of one id must not meet those of another life.
NcclTransport::Connection NcclTransport::connect(double seconds) {
  const base::Deadline deadline = base::Deadline::after(seconds);
  const base::Deadline init_deadline =
      base::Deadline::after(seconds / 2.0);  // the rest is for agreeing
  Failure failure;
  NcclUniqueId id;
  std::span<const std::byte> mine;
  try {
    if (control_->rank() == 0) {
      id = RP_NCCL(*nccl_, make_unique_id());
      mine = id.bytes;
    }
  } catch (const Error& error) {
    failure = Failure{error.what(), false};
  }
  const std::vector<std::vector<std::byte>> all = control_->all_gather(mine, deadline);
  if (all.empty()) {
    return Connection{};
  }
  NcclComm comm = nullptr;
  if (all[0].size() == id.bytes.size()) {
    comm = init_comm(all[0], init_deadline, failure);
  }
  Connection connection = agree(failure, deadline);
  const bool connected = connection.in_contact && connection.error.empty();
  if (!connected && comm != nullptr) {
    (void)nccl_->abort(comm);
  }
  comm_ = connected ? comm : nullptr;
  return connection;
}

void NcclTransport::mark_unarrived() {
  std::vector<CopySegment> segments;
  for (const RecvSlice& slice : awaited_) {
    const std::int64_t bytes = marked_bytes(slice);
    segments.push_back(CopySegment{mark_.get(), slice.data + slice.bytes - bytes, bytes});
  }
  engine_->copy(segments);
}

// One group. It must be ended even if a call within it fails; the first failure counts.
void NcclTransport::post(std::span<const SendSlice> sends) {
  RP_NCCL(*nccl_, start_group());
  NcclResult first = NcclResult::kSuccess;
  const auto note = [&first](NcclResult result) {
    const bool is_error = result != NcclResult::kInProgress;
    first = first == NcclResult::kSuccess && is_error ? result : first;
  };
  for (const SendSlice& slice : sends) {
    note(nccl_->send(slice.data, slice.bytes, slice.peer, comm_, stream_.get()));
  }
  for (const RecvSlice& slice : awaited_) {
    note(nccl_->receive(slice.data, slice.bytes, slice.peer, comm_, stream_.get()));
  }
  const NcclResult ended = nccl_->end_group();
  detail::check_nccl(*nccl_, first, "send or receive", comm_);
  detail::check_nccl(*nccl_, ended, "end_group()", comm_);
}

void NcclTransport::begin(
    const RoundId& id, std::span<const SendSlice> sends, std::span<const RecvSlice> receives
) {
  RP_ASSERT(light, !in_flight_, "round {} begins before another has finished", id.round);
  // More than one operation a peer in a group can be split into kernels that wait for each other.
  RP_ASSERT(
      light, peers_ascend(sends) && peers_ascend(receives), "round {}: two slices for one peer",
      id.round
  );
  id_ = id;
  begun_ = base::Deadline::Clock::now();
  awaited_.assign(receives.begin(), receives.end());
  if (sends.empty() && receives.empty()) {
    return;  // an empty group is none
  }
  RP_CUDA(*device_, set_device(options_.device));
  in_flight_ = true;
  try {
    mark_unarrived();
    post(sends);
  } catch (const Error& error) {  // told by finish(), as everything that goes wrong in a round
    post_error_ = error.what();
  }
}

NcclTransport::Progress NcclTransport::poll(std::string& error) {
  try {
    const NcclResult state = RP_NCCL(*nccl_, async_error(comm_));
    if (state == NcclResult::kInProgress) {
      return Progress::kPending;  // being launched: the stream must not be touched
    }
    detail::check_nccl(*nccl_, state, "exchange", comm_);
    const DeviceResult stream = device_->query_stream(stream_.get());
    if (stream == DeviceResult::kNotReady) {
      return Progress::kPending;
    }
    detail::check_device(*device_, stream, "exchange");
    return Progress::kDone;
  } catch (const Error& caught) {
    error = caught.what();
    return Progress::kFailed;
  }
}

// The lowest peer whose slice has not come to its end; -1: none, or it cannot be told.
int NcclTransport::find_missing_peer() {
  try {
    for (const RecvSlice& slice : awaited_) {
      const std::int64_t bytes = marked_bytes(slice);
      std::array<std::byte, kMarkBytes> end{};
      engine_->to_host(end.data(), slice.data + slice.bytes - bytes, bytes);
      if (std::all_of(end.begin(), end.begin() + bytes, [](std::byte b) { return b == kMark; })) {
        return slice.peer;
      }
    }
  } catch (const Error&) {  // the device itself has failed
  }
  return -1;
}

ExchangeFault NcclTransport::describe_fault(bool announced_by_peer, const std::string& error) {
  const std::chrono::duration<double> waited = base::Deadline::Clock::now() - begun_;
  const int peer = find_missing_peer();
  ExchangeFault fault;
  fault.announced_by_peer = announced_by_peer;
  fault.peer = peer;
  fault.from_library = !error.empty();
  if (error.empty()) {
    fault.what = fmt::format("{} within {:.3g} s", no_slice_text(peer), waited.count());
  } else {
    fault.what = peer < 0 ? error : fmt::format("{}; {}", error, no_slice_text(peer));
  }
  return fault;
}

std::optional<ExchangeFault> NcclTransport::finish(const base::Deadline& deadline) {
  constexpr unsigned kPollsPerLook = 16;  // notices and the clock are looked at less often
  if (!in_flight_) {
    return std::nullopt;
  }
  RP_CUDA(*device_, set_device(options_.device));
  if (!post_error_.empty()) {
    return describe_fault(false, post_error_);
  }
  for (unsigned polls = 1;; ++polls) {
    std::string error;
    switch (poll(error)) {
      case Progress::kDone:
        in_flight_ = false;
        return std::nullopt;
      case Progress::kFailed:
        return describe_fault(false, error);
      case Progress::kPending:
        break;
    }
    if (polls % kPollsPerLook == 0) {
      if (control_->failure_announced(id_.serial)) {
        return describe_fault(true, {});
      }
      if (deadline.expired()) {
        return describe_fault(false, {});
      }
    }
    std::this_thread::yield();
  }
}

bool NcclTransport::is_idle(const base::Deadline& deadline) {
  DeviceResult state = device_->query_stream(stream_.get());
  while (state == DeviceResult::kNotReady && !deadline.expired()) {
    std::this_thread::yield();
    state = device_->query_stream(stream_.get());
  }
  return state == DeviceResult::kSuccess;
}

void NcclTransport::abort() {
  if (comm_ != nullptr) {
    (void)nccl_->abort(comm_);  // it is gone, whatever the code says
    comm_ = nullptr;
  }
}

// All ranks come here right after an agreement, so that they abort together.
bool NcclTransport::recover(
    std::vector<std::shared_ptr<std::byte>> buffers, const base::Deadline& deadline
) {
  kept_ = std::move(buffers);
  awaited_.clear();
  post_error_.clear();
  if (device_->set_device(options_.device) != DeviceResult::kSuccess) {
    return false;
  }
  abort();
  if (!is_idle(deadline)) {
    return false;
  }
  in_flight_ = false;
  const std::chrono::duration<double> left = deadline.at() - base::Deadline::Clock::now();
  const Connection connection = connect(left.count());
  if (!connection.in_contact || !connection.error.empty()) {
    return false;
  }
  kept_.clear();
  return true;
}

void NcclTransport::close() {
  if (comm_ == nullptr) {
    return;
  }
  try {
    if (!in_flight_) {
      RP_NCCL(*nccl_, finalize(comm_));
      if (is_ready(comm_, base::Deadline::after(options_.close_seconds))) {
        RP_NCCL(*nccl_, destroy(comm_));
        comm_ = nullptr;
      }
    }
  } catch (const Error&) {  // nobody to tell
  }
  abort();
}

}  // namespace routepack::shuffle
