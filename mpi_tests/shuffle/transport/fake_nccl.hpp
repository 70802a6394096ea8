// NCCL and a device in one process, with ranks as threads: the semantics that a transport can get
// wrong, made strict. Streams run behind the callers' backs, in random order; memory that is to be
// received is poisoned until it is; kernels that wait in a cycle are reported; what the libraries
// leave undefined is recorded as a violation.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "shuffle/transport/fake_schedule.hpp"
#include "shuffle/transport/nccl_api.hpp"

namespace routepack::testing {

struct FakeSettings {
  std::size_t max_kernel_ops = 1000;  // budget of a kernel
  int polls_in_progress = 0;          // after each non-blocking call
  int header_version = 22809;
  int library_version = 22809;
  int num_devices = 1;
  bool reaches_host = true;
  std::int64_t max_device_bytes = std::int64_t{1} << 40U;  // of one allocation
  int failing_rank = -1;        // its communicator reports an asynchronous error …
  std::int64_t failing_op = 0;  // … when this operation of the rank, from 0, is due
  bool deadlocks_hang = false;  // as in reality; else the communicators report an error
  std::uint64_t seed = 1;       // of the order in which streams run
};

// Equals the mark by which the transport knows slices that have not come.
inline constexpr std::byte kPoison{0xdb};

// What all ranks share. Outlives their tables.
class FakeFabric {
 public:
  explicit FakeFabric(const FakeSettings& settings = {});
  ~FakeFabric();
  FakeFabric(const FakeFabric&) = delete;
  FakeFabric& operator=(const FakeFabric&) = delete;

  // The libraries as rank `rank` sees them.
  [[nodiscard]] shuffle::DeviceLibraries libraries(int rank);

  // Uses that the real libraries leave undefined, and groups with two operations for one peer.
  [[nodiscard]] std::vector<std::string> violations();
  // Kernels that waited for each other, e.g. "0 -> 2 -> 0".
  [[nodiscard]] std::vector<std::string> deadlocks();
  // Streams stand still while held.
  void hold(bool held);
  // From now on the rank's streams report an error.
  void break_device(int rank);
  // Groups with operations, of all ranks.
  [[nodiscard]] std::int64_t num_groups();
  [[nodiscard]] std::size_t num_allocations();  // not yet released
  [[nodiscard]] std::size_t num_comms();        // neither destroyed nor aborted

 private:
  friend class FakeNccl;
  friend class FakeDevice;

  struct Op {
    GroupOp what;
    std::byte* data = nullptr;  // of a send: only read
    std::int64_t bytes = 0;
    bool done = false;
  };
  struct Comm;
  struct Kernel {
    Comm* comm = nullptr;
    std::vector<Op> ops;
  };
  struct Work {  // one of the two
    std::function<void()> task;
    std::unique_ptr<Kernel> kernel;
  };
  struct DeviceQueue {  // a stream
    int rank = 0;
    std::deque<Work> work;
  };
  struct Clique {  // the ranks that share a unique id
    int num_ranks = 0;
    std::set<int> joined;          // ever
    std::map<int, Comm*> members;  // neither destroyed nor aborted
  };
  struct Comm {
    int rank = 0;
    Clique* clique = nullptr;
    bool connected = false;  // all ranks of the clique have been here
    int polls_left = 0;
    shuffle::NcclResult error = shuffle::NcclResult::kSuccess;
    std::string error_text;
    bool finalized = false;
    DeviceQueue* stream = nullptr;  // of its groups
    std::deque<Work> launching;     // not in the stream until the polls are over
  };
  struct Match {
    Comm* source = nullptr;
    Op* send = nullptr;
    Comm* target = nullptr;
    Op* receive = nullptr;
  };

  void run();
  [[nodiscard]] bool step();
  void transfer(const Match& match);
  static void fail_comm(Comm& comm, shuffle::NcclResult result, const std::string& text);
  [[nodiscard]] static Kernel* resident_kernel(const Comm& comm);
  [[nodiscard]] static Op* first_pending(Kernel& kernel, int peer, bool is_send);
  [[nodiscard]] std::vector<Match> find_matches();
  void find_deadlock();
  [[nodiscard]] bool find_cycle(std::vector<Comm*>& path, std::set<const Comm*>& explored);
  [[nodiscard]] static std::vector<Comm*> comms_waited_for(const Comm& comm);
  void launch(Comm& comm);
  [[nodiscard]] static bool is_complete(const Comm& comm);
  void violate(const std::string& text) { violations_.push_back(text); }
  [[nodiscard]] std::uint32_t draw(std::uint32_t bound);

  FakeSettings settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  bool held_ = false;
  std::uint64_t num_draws_ = 0;
  std::uint64_t num_ids_ = 0;
  std::uint64_t num_handles_ = 0;
  std::int64_t num_groups_ = 0;
  std::map<std::uint64_t, Clique> cliques_;
  std::map<std::uint64_t, std::unique_ptr<Comm>> comms_;  // by handle, never reused
  std::map<std::uint64_t, std::unique_ptr<DeviceQueue>> streams_;
  std::map<std::byte*, std::int64_t> allocations_;
  std::map<int, std::int64_t> num_ops_;  // of each rank
  std::set<int> broken_;                 // ranks
  std::vector<std::string> violations_;
  std::vector<std::string> deadlocks_;
  std::thread worker_;
};

}  // namespace routepack::testing
