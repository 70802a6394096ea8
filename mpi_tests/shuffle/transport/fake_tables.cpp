#include "shuffle/transport/fake_tables.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "shuffle/engine/host_tiles.hpp"

namespace routepack::testing {
namespace {

constexpr shuffle::DeviceResult kIllegalAddress{700};
constexpr shuffle::DeviceResult kInvalidValue{1};
constexpr std::align_val_t kDeviceAlignment{256};

template <class Handle>
std::uint64_t number_of(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}
template <class Handle>
Handle handle_of(std::uint64_t number) {
  return reinterpret_cast<Handle>(number);  // NOLINT: never dereferenced
}

}  // namespace

shuffle::NcclValue<shuffle::NcclUniqueId> FakeNccl::make_unique_id() {
  const std::lock_guard lock{fabric_.mutex_};
  const std::uint64_t number = ++fabric_.num_ids_;
  fabric_.cliques_[number];
  shuffle::NcclUniqueId id;
  std::memcpy(id.bytes.data(), &number, sizeof(number));
  return {shuffle::NcclResult::kSuccess, id};
}

shuffle::NcclValue<shuffle::NcclComm> FakeNccl::init_comm(
    int num_ranks, const shuffle::NcclUniqueId& id, int rank, int max_ctas
) {
  const std::lock_guard lock{fabric_.mutex_};
  std::uint64_t number = 0;
  std::memcpy(&number, id.bytes.data(), sizeof(number));
  const auto found = fabric_.cliques_.find(number);
  if (found == fabric_.cliques_.end() || rank != rank_ || rank >= num_ranks || max_ctas < 1) {
    return {shuffle::NcclResult::kInvalidArgument, nullptr};
  }
  FakeFabric::Clique& clique = found->second;
  clique.num_ranks = clique.num_ranks == 0 ? num_ranks : clique.num_ranks;
  if (clique.num_ranks != num_ranks || !clique.joined.insert(rank).second) {
    fabric_.violate(fmt::format("rank {} joins an id a second time or with other sizes", rank));
    return {shuffle::NcclResult::kInvalidUsage, nullptr};
  }
  auto comm = std::make_unique<FakeFabric::Comm>();
  comm->rank = rank;
  comm->clique = &clique;
  comm->polls_left = fabric_.settings_.polls_in_progress;
  clique.members[rank] = comm.get();
  const std::uint64_t handle = ++fabric_.num_handles_;
  fabric_.comms_[handle] = std::move(comm);
  return {shuffle::NcclResult::kInProgress, handle_of<shuffle::NcclComm>(handle)};
}

FakeFabric::Comm* FakeNccl::find_comm(shuffle::NcclComm comm, const char* call) {
  const auto found = fabric_.comms_.find(number_of(comm));
  if (found == fabric_.comms_.end()) {
    fabric_.violate(fmt::format("rank {}: {} with a communicator that is gone", rank_, call));
    return nullptr;
  }
  return found->second.get();
}

shuffle::NcclValue<shuffle::NcclResult> FakeNccl::async_error(shuffle::NcclComm handle) {
  const std::lock_guard lock{fabric_.mutex_};
  FakeFabric::Comm* comm = find_comm(handle, "async_error");
  if (comm == nullptr) {
    return {shuffle::NcclResult::kInvalidArgument, shuffle::NcclResult::kSuccess};
  }
  if (comm->error != shuffle::NcclResult::kSuccess) {
    return {shuffle::NcclResult::kSuccess, comm->error};
  }
  if (!FakeFabric::is_complete(*comm) && !comm->connected) {
    return {shuffle::NcclResult::kSuccess, shuffle::NcclResult::kInProgress};
  }
  comm->connected = true;
  if (comm->polls_left > 0) {
    --comm->polls_left;
    return {shuffle::NcclResult::kSuccess, shuffle::NcclResult::kInProgress};
  }
  fabric_.launch(*comm);
  return {shuffle::NcclResult::kSuccess, shuffle::NcclResult::kSuccess};
}

// A communicator that is closed in order must have nothing left to do.
shuffle::NcclResult FakeNccl::finalize(shuffle::NcclComm handle) {
  const std::lock_guard lock{fabric_.mutex_};
  FakeFabric::Comm* comm = find_comm(handle, "finalize");
  if (comm == nullptr) {
    return shuffle::NcclResult::kInvalidArgument;
  }
  if (FakeFabric::resident_kernel(*comm) != nullptr || !comm->launching.empty()) {
    fabric_.violate(fmt::format("rank {}: finalize with a group under way", rank_));
  }
  comm->finalized = true;
  comm->polls_left = fabric_.settings_.polls_in_progress;
  return shuffle::NcclResult::kInProgress;
}

shuffle::NcclResult FakeNccl::destroy(shuffle::NcclComm handle) {
  const std::lock_guard lock{fabric_.mutex_};
  FakeFabric::Comm* comm = find_comm(handle, "destroy");
  if (comm == nullptr) {
    return shuffle::NcclResult::kInvalidArgument;
  }
  if (!comm->finalized || comm->polls_left > 0) {
    fabric_.violate(fmt::format("rank {}: destroy before finalize is over", rank_));
  }
  drop_comm(handle);
  return shuffle::NcclResult::kSuccess;
}

// The own kernels end; those of peers go on waiting.
shuffle::NcclResult FakeNccl::abort(shuffle::NcclComm handle) {
  const std::lock_guard lock{fabric_.mutex_};
  FakeFabric::Comm* comm = find_comm(handle, "abort");
  if (comm == nullptr) {
    return shuffle::NcclResult::kInvalidArgument;
  }
  if (comm->stream != nullptr) {
    std::erase_if(comm->stream->work, [comm](const FakeFabric::Work& work) {
      return work.kernel != nullptr && work.kernel->comm == comm;
    });
  }
  drop_comm(handle);
  return shuffle::NcclResult::kSuccess;
}

void FakeNccl::drop_comm(shuffle::NcclComm handle) {
  FakeFabric::Comm& comm = *fabric_.comms_.at(number_of(handle));
  comm.clique->members.erase(comm.rank);
  fabric_.comms_.erase(number_of(handle));
}

shuffle::NcclResult FakeNccl::start_group() {
  ++depth_;
  return shuffle::NcclResult::kSuccess;
}

shuffle::NcclResult FakeNccl::send(
    const std::byte* data,
    std::int64_t bytes,
    int peer,
    shuffle::NcclComm comm,
    shuffle::DeviceStream stream
) {
  FakeFabric::Op op;
  op.what = GroupOp{peer, true};
  op.data = const_cast<std::byte*>(data);
  op.bytes = bytes;
  return queue_op(op, comm, stream, "send");
}

shuffle::NcclResult FakeNccl::receive(
    std::byte* data,
    std::int64_t bytes,
    int peer,
    shuffle::NcclComm comm,
    shuffle::DeviceStream stream
) {
  FakeFabric::Op op;
  op.what = GroupOp{peer, false};
  op.data = data;
  op.bytes = bytes;
  return queue_op(op, comm, stream, "receive");
}

// Arguments are checked at the call.
shuffle::NcclResult FakeNccl::try_queue_op(
    FakeFabric::Op op, shuffle::NcclComm handle, shuffle::DeviceStream stream, const char* call
) {
  const std::lock_guard lock{fabric_.mutex_};
  FakeFabric::Comm* comm = find_comm(handle, call);
  const auto queue = fabric_.streams_.find(number_of(stream));
  if (comm == nullptr || queue == fabric_.streams_.end() || op.what.peer < 0 ||
      op.what.peer >= comm->clique->num_ranks || (op.data == nullptr && op.bytes > 0)) {
    return shuffle::NcclResult::kInvalidArgument;
  }
  if (!comm->connected || comm->polls_left > 0) {
    fabric_.violate(fmt::format("rank {}: {} before the communicator is ready", rank_, call));
    return shuffle::NcclResult::kInvalidUsage;
  }
  queued_.push_back(QueuedOp{comm, queue->second.get(), op});
  return shuffle::NcclResult::kSuccess;
}

// Outside a group the operation is one of its own; within one an error spoils the whole group.
shuffle::NcclResult FakeNccl::queue_op(
    FakeFabric::Op op, shuffle::NcclComm comm, shuffle::DeviceStream stream, const char* call
) {
  const shuffle::NcclResult result = try_queue_op(op, comm, stream, call);
  if (depth_ > 0 || result != shuffle::NcclResult::kSuccess) {
    group_error_ =
        depth_ > 0 && group_error_ == shuffle::NcclResult::kSuccess ? result : group_error_;
    return result;
  }
  return close_group();
}

shuffle::NcclResult FakeNccl::end_group() {
  if (depth_ == 0) {
    return shuffle::NcclResult::kInvalidUsage;
  }
  return --depth_ > 0 ? shuffle::NcclResult::kSuccess : close_group();
}

shuffle::NcclResult FakeNccl::close_group() {
  const std::lock_guard lock{fabric_.mutex_};
  shuffle::NcclResult result = std::exchange(group_error_, shuffle::NcclResult::kSuccess);
  if (result != shuffle::NcclResult::kSuccess) {
    queued_.clear();
    return result;
  }
  while (!queued_.empty()) {  // a communicator at a time
    FakeFabric::Comm* comm = queued_.front().comm;
    std::vector<QueuedOp> ops;
    std::erase_if(queued_, [&](const QueuedOp& queued) {
      if (queued.comm == comm) {
        ops.push_back(queued);
      }
      return queued.comm == comm;
    });
    const shuffle::NcclResult launched = launch_group(*comm, std::move(ops));
    result = launched != shuffle::NcclResult::kSuccess ? launched : result;
  }
  return result;
}

void FakeNccl::check_one_op_a_peer(const std::vector<QueuedOp>& ops) {
  std::set<std::pair<int, bool>> seen;
  for (const QueuedOp& queued : ops) {
    if (!seen.emplace(queued.op.what.peer, queued.op.what.is_send).second) {
      fabric_.violate(fmt::format(
          "rank {}: more than one {} rank {} in a group", rank_,
          queued.op.what.is_send ? "send to" : "receive from", queued.op.what.peer
      ));
    }
  }
}

shuffle::NcclResult FakeNccl::launch_group(FakeFabric::Comm& comm, std::vector<QueuedOp> ops) {
  const auto count_self = [&](bool is_send) {
    return std::count_if(ops.begin(), ops.end(), [&](const QueuedOp& queued) {
      return queued.op.what.peer == rank_ && queued.op.what.is_send == is_send;
    });
  };
  const auto on_other_stream = [&](const QueuedOp& queued) {
    return queued.stream != ops.front().stream;
  };
  if (count_self(true) != count_self(false) ||
      std::any_of(ops.begin(), ops.end(), on_other_stream)) {
    return shuffle::NcclResult::kInvalidUsage;
  }
  ++fabric_.num_groups_;
  check_one_op_a_peer(ops);
  std::vector<GroupOp> what;
  for (const QueuedOp& queued : ops) {
    what.push_back(queued.op.what);
    if (!queued.op.what.is_send) {
      std::memset(
          queued.op.data, static_cast<int>(kPoison), static_cast<std::size_t>(queued.op.bytes)
      );
    }
  }
  comm.stream = ops.front().stream;
  const int num_ranks = comm.clique->num_ranks;
  for (const auto& positions :
       cut_into_kernels(rank_, num_ranks, what, fabric_.settings_.max_kernel_ops)) {
    auto kernel = std::make_unique<FakeFabric::Kernel>();
    kernel->comm = &comm;
    for (const std::size_t position : positions) {
      kernel->ops.push_back(ops[position].op);
    }
    comm.launching.push_back(FakeFabric::Work{nullptr, std::move(kernel)});
  }
  comm.polls_left = fabric_.settings_.polls_in_progress;
  if (comm.polls_left > 0) {
    return shuffle::NcclResult::kInProgress;
  }
  fabric_.launch(comm);
  return shuffle::NcclResult::kSuccess;
}

std::string FakeNccl::error_text(shuffle::NcclResult result) {
  return fmt::format("fake NCCL error {}", static_cast<int>(result));
}

std::string FakeNccl::last_error(shuffle::NcclComm handle) {
  const std::lock_guard lock{fabric_.mutex_};
  const auto found = fabric_.comms_.find(number_of(handle));
  return found == fabric_.comms_.end() ? std::string{} : found->second->error_text;
}

shuffle::DeviceValue<int> FakeDevice::num_devices() {
  return {shuffle::DeviceResult::kSuccess, fabric_.settings_.num_devices};
}

shuffle::DeviceResult FakeDevice::set_device(int device) {
  const std::lock_guard lock{fabric_.mutex_};
  if (device < 0 || device >= fabric_.settings_.num_devices) {
    return shuffle::DeviceResult{101};
  }
  threads_.insert(std::this_thread::get_id());
  return shuffle::DeviceResult::kSuccess;
}

void FakeDevice::check_thread(const char* call) {
  if (!threads_.contains(std::this_thread::get_id())) {
    fabric_.violate(fmt::format("rank {}: {} in a thread without a device", rank_, call));
  }
}

shuffle::DeviceValue<shuffle::DeviceStream> FakeDevice::create_stream() {
  const std::lock_guard lock{fabric_.mutex_};
  check_thread("create_stream");
  const std::uint64_t handle = ++fabric_.num_handles_;
  auto stream = std::make_unique<FakeFabric::DeviceQueue>();
  stream->rank = rank_;
  fabric_.streams_[handle] = std::move(stream);
  return {shuffle::DeviceResult::kSuccess, handle_of<shuffle::DeviceStream>(handle)};
}

shuffle::DeviceResult FakeDevice::destroy_stream(shuffle::DeviceStream handle) {
  const std::lock_guard lock{fabric_.mutex_};
  const auto found = fabric_.streams_.find(number_of(handle));
  if (found == fabric_.streams_.end()) {
    return kInvalidValue;
  }
  for (const auto& [number, comm] : fabric_.comms_) {
    if (comm->stream == found->second.get()) {
      fabric_.violate(fmt::format("rank {}: a communicator still uses the stream", rank_));
    }
  }
  fabric_.streams_.erase(found);
  return shuffle::DeviceResult::kSuccess;
}

shuffle::DeviceResult FakeDevice::query_stream(shuffle::DeviceStream handle) {
  const std::lock_guard lock{fabric_.mutex_};
  check_thread("query_stream");
  const auto found = fabric_.streams_.find(number_of(handle));
  if (found == fabric_.streams_.end()) {
    return kInvalidValue;
  }
  if (fabric_.broken_.contains(rank_)) {
    return kIllegalAddress;
  }
  for (const auto& [number, comm] : fabric_.comms_) {
    if (comm->stream == found->second.get() && !comm->launching.empty()) {
      fabric_.violate(fmt::format("rank {}: the stream is used while a group launches", rank_));
    }
  }
  return found->second->work.empty() ? shuffle::DeviceResult::kSuccess
                                     : shuffle::DeviceResult::kNotReady;
}

shuffle::DeviceValue<std::byte*> FakeDevice::allocate(std::int64_t bytes) {
  const std::lock_guard lock{fabric_.mutex_};
  check_thread("allocate");
  if (bytes > fabric_.settings_.max_device_bytes) {
    return {shuffle::DeviceResult::kOutOfMemory, nullptr};
  }
  auto* data =
      static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kDeviceAlignment));
  std::memset(data, static_cast<int>(kPoison), static_cast<std::size_t>(bytes));
  fabric_.allocations_[data] = bytes;
  return {shuffle::DeviceResult::kSuccess, data};
}

shuffle::DeviceResult FakeDevice::release(std::byte* data) {
  const std::lock_guard lock{fabric_.mutex_};
  if (fabric_.allocations_.erase(data) == 0) {
    fabric_.violate(fmt::format("rank {}: release of what was not allocated", rank_));
    return kInvalidValue;
  }
  ::operator delete(data, kDeviceAlignment);
  return shuffle::DeviceResult::kSuccess;
}

shuffle::DeviceResult FakeDevice::enqueue(
    std::function<void()> task, shuffle::DeviceStream handle, const char* call
) {
  const std::lock_guard lock{fabric_.mutex_};
  check_thread(call);
  const auto found = fabric_.streams_.find(number_of(handle));
  if (found == fabric_.streams_.end()) {
    return kInvalidValue;
  }
  if (fabric_.broken_.contains(rank_)) {
    return kIllegalAddress;
  }
  found->second->work.push_back(FakeFabric::Work{std::move(task), nullptr});
  fabric_.changed_.notify_all();
  return shuffle::DeviceResult::kSuccess;
}

shuffle::DeviceResult FakeDevice::copy_async(
    std::byte* target, const std::byte* source, std::int64_t bytes, shuffle::DeviceStream stream
) {
  return enqueue(
      [=] { std::memcpy(target, source, static_cast<std::size_t>(bytes)); }, stream, "copy_async"
  );
}

shuffle::DeviceResult FakeDevice::run_tiles(
    shuffle::TileWork work,
    const shuffle::CopyTile* tiles,
    std::int64_t num_tiles,
    std::uint64_t* checksums,
    shuffle::DeviceStream stream
) {
  return enqueue(
      [=] { run_tiles_on_host(work, tiles, num_tiles, checksums); }, stream, "run_tiles"
  );
}

std::string FakeDevice::error_text(shuffle::DeviceResult result) {
  return fmt::format("fake CUDA error {}", static_cast<int>(result));
}

}  // namespace routepack::testing
