// What the ranks share: streams, communicators, matching, deadlocks.
#include "shuffle/transport/fake_nccl.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/check.hpp"
#include "random/stream.hpp"
#include "shuffle/transport/fake_tables.hpp"

namespace routepack::testing {

FakeFabric::FakeFabric(const FakeSettings& settings)
    : settings_(settings), worker_([this] { run(); }) {}

FakeFabric::~FakeFabric() {
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

shuffle::DeviceLibraries FakeFabric::libraries(int rank) {
  return {std::make_shared<FakeNccl>(*this, rank), std::make_shared<FakeDevice>(*this, rank), {}};
}

std::vector<std::string> FakeFabric::violations() {
  const std::lock_guard lock{mutex_};
  return violations_;
}

std::vector<std::string> FakeFabric::deadlocks() {
  const std::lock_guard lock{mutex_};
  return deadlocks_;
}

void FakeFabric::hold(bool held) {
  {
    const std::lock_guard lock{mutex_};
    held_ = held;
  }
  changed_.notify_all();
}

void FakeFabric::break_device(int rank) {
  const std::lock_guard lock{mutex_};
  broken_.insert(rank);
}

std::int64_t FakeFabric::num_groups() {
  const std::lock_guard lock{mutex_};
  return num_groups_;
}

std::size_t FakeFabric::num_allocations() {
  const std::lock_guard lock{mutex_};
  return allocations_.size();
}

std::size_t FakeFabric::num_comms() {
  const std::lock_guard lock{mutex_};
  return comms_.size();
}

std::uint32_t FakeFabric::draw(std::uint32_t bound) {
  return random::Stream{settings_.seed, random::Purpose::kTests, 9}
      .at(0, num_draws_++)
      .below(0, bound);
}

// The device: one thing at a time, now and then with a pause.
void FakeFabric::run() {
  std::unique_lock lock{mutex_};
  while (!stopped_) {
    if (held_ || !step()) {
      changed_.wait_for(lock, std::chrono::milliseconds(1));
    } else if (draw(4) == 0) {
      const auto pause = std::chrono::microseconds(draw(60));
      lock.unlock();
      std::this_thread::sleep_for(pause);
      lock.lock();
    }
  }
}

// One task or one transfer, whichever the dice say. False when nothing can go on.
bool FakeFabric::step() {
  std::vector<DeviceQueue*> ready;
  for (const auto& [handle, stream] : streams_) {
    if (!stream->work.empty() && stream->work.front().task) {
      ready.push_back(stream.get());
    }
  }
  const std::vector<Match> matches = find_matches();
  const std::size_t num_choices = ready.size() + matches.size();
  if (num_choices == 0) {
    find_deadlock();
    return false;
  }
  const std::size_t chosen = draw(static_cast<std::uint32_t>(num_choices));
  if (chosen >= ready.size()) {
    transfer(matches[chosen - ready.size()]);
    return true;
  }
  DeviceQueue& stream = *ready[chosen];
  stream.work.front().task();
  stream.work.pop_front();
  return true;
}

// The kernel of a communicator that runs now: the first thing in its stream.
FakeFabric::Kernel* FakeFabric::resident_kernel(const Comm& comm) {
  if (comm.stream == nullptr || comm.stream->work.empty()) {
    return nullptr;
  }
  Kernel* kernel = comm.stream->work.front().kernel.get();
  return kernel != nullptr && kernel->comm == &comm ? kernel : nullptr;
}

// Operations for one peer and direction go in order.
FakeFabric::Op* FakeFabric::first_pending(Kernel& kernel, int peer, bool is_send) {
  for (Op& op : kernel.ops) {
    if (!op.done && op.what.peer == peer && op.what.is_send == is_send) {
      return &op;
    }
  }
  return nullptr;
}

std::vector<FakeFabric::Match> FakeFabric::find_matches() {
  std::vector<Match> matches;
  for (auto& [id, clique] : cliques_) {
    for (const auto& [source_rank, source] : clique.members) {
      Kernel* outgoing = resident_kernel(*source);
      if (outgoing == nullptr || source->error != shuffle::NcclResult::kSuccess) {
        continue;
      }
      for (const auto& [target_rank, target] : clique.members) {
        Kernel* incoming = resident_kernel(*target);
        if (incoming == nullptr || target->error != shuffle::NcclResult::kSuccess) {
          continue;
        }
        Op* send = first_pending(*outgoing, target_rank, true);
        Op* receive = first_pending(*incoming, source_rank, false);
        if (send != nullptr && receive != nullptr) {
          matches.push_back(Match{source, send, target, receive});
        }
      }
    }
  }
  return matches;
}

void FakeFabric::fail_comm(Comm& comm, shuffle::NcclResult result, const std::string& text) {
  comm.error = result;
  comm.error_text = text;
}

void FakeFabric::transfer(const Match& match) {
  for (Comm* comm : {match.source, match.target}) {
    if (comm->rank == settings_.failing_rank && num_ops_[comm->rank]++ == settings_.failing_op) {
      fail_comm(*comm, shuffle::NcclResult::kRemoteError, "a link went down");
      return;
    }
  }
  if (match.send->bytes != match.receive->bytes) {
    const std::string text = fmt::format(
        "rank {} sends {} bytes to rank {}, which expects {}", match.source->rank,
        match.send->bytes, match.target->rank, match.receive->bytes
    );
    violate(text);
    fail_comm(*match.source, shuffle::NcclResult::kInvalidUsage, text);
    fail_comm(*match.target, shuffle::NcclResult::kInvalidUsage, text);
    return;
  }
  std::memcpy(match.receive->data, match.send->data, static_cast<std::size_t>(match.send->bytes));
  match.send->done = match.receive->done = true;
  for (Comm* comm : {match.source, match.target}) {
    Kernel* kernel = resident_kernel(*comm);
    const auto is_done = [](const Op& op) { return op.done; };
    if (kernel != nullptr && std::all_of(kernel->ops.begin(), kernel->ops.end(), is_done)) {
      comm->stream->work.pop_front();
    }
  }
}

// Those whose running kernel cannot serve an operation that `comm`'s running kernel waits for.
std::vector<FakeFabric::Comm*> FakeFabric::comms_waited_for(const Comm& comm) {
  std::vector<Comm*> peers;
  const Kernel* kernel =
      comm.error == shuffle::NcclResult::kSuccess ? resident_kernel(comm) : nullptr;
  for (std::size_t n = 0; kernel != nullptr && n < kernel->ops.size(); ++n) {
    const auto peer = comm.clique->members.find(kernel->ops[n].what.peer);
    if (!kernel->ops[n].done && peer != comm.clique->members.end() &&
        resident_kernel(*peer->second) != nullptr) {
      peers.push_back(peer->second);
    }
  }
  return peers;
}

// Depth first from the end of `path`; true with the cycle left in `path`, its start at both ends.
bool FakeFabric::find_cycle(std::vector<Comm*>& path, std::set<const Comm*>& explored) {
  for (Comm* next : comms_waited_for(*path.back())) {
    const auto before = std::find(path.begin(), path.end(), next);
    if (before != path.end()) {
      path.erase(path.begin(), before);
      path.push_back(next);
      return true;
    }
    if (explored.insert(next).second) {
      path.push_back(next);
      if (find_cycle(path, explored)) {
        return true;
      }
      path.pop_back();
    }
  }
  return false;
}

// Only called when nothing can go on. A kernel ends when all its operations have ended, so a cycle
// of kernels that wait for each other can never be left.
void FakeFabric::find_deadlock() {
  std::set<const Comm*> explored;
  for (const auto& [handle, start] : comms_) {
    std::vector<Comm*> path{start.get()};
    if (!explored.insert(start.get()).second || !find_cycle(path, explored)) {
      continue;
    }
    std::string cycle;
    for (const Comm* comm : path) {
      cycle += fmt::format("{}{}", cycle.empty() ? "" : " -> ", comm->rank);
    }
    if (settings_.deadlocks_hang) {
      return;
    }
    deadlocks_.push_back(cycle);
    for (const auto& [rank, comm] : start->clique->members) {
      fail_comm(*comm, shuffle::NcclResult::kInternalError, "deadlock " + cycle);
    }
    return;
  }
}

void FakeFabric::launch(Comm& comm) {
  while (!comm.launching.empty()) {
    comm.stream->work.push_back(std::move(comm.launching.front()));
    comm.launching.pop_front();
  }
  changed_.notify_all();
}

bool FakeFabric::is_complete(const Comm& comm) {
  return static_cast<int>(comm.clique->joined.size()) == comm.clique->num_ranks;
}

}  // namespace routepack::testing
