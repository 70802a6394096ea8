// The tables of one rank over a FakeFabric.
#pragma once

#include <set>
#include <thread>
#include <vector>

#include "shuffle/transport/fake_nccl.hpp"

namespace routepack::testing {

class FakeNccl : public shuffle::NcclApi {
 public:
  FakeNccl(FakeFabric& fabric, int rank) : fabric_(fabric), rank_(rank) {}
  [[nodiscard]] int header_version() override { return fabric_.settings_.header_version; }
  [[nodiscard]] shuffle::NcclValue<int> library_version() override {
    return {shuffle::NcclResult::kSuccess, fabric_.settings_.library_version};
  }
  [[nodiscard]] shuffle::NcclValue<shuffle::NcclUniqueId> make_unique_id() override;
  [[nodiscard]] shuffle::NcclValue<shuffle::NcclComm> init_comm(
      int num_ranks, const shuffle::NcclUniqueId& id, int rank, int max_ctas
  ) override;
  [[nodiscard]] shuffle::NcclValue<shuffle::NcclResult> async_error(shuffle::NcclComm comm
  ) override;
  [[nodiscard]] shuffle::NcclResult finalize(shuffle::NcclComm comm) override;
  [[nodiscard]] shuffle::NcclResult destroy(shuffle::NcclComm comm) override;
  [[nodiscard]] shuffle::NcclResult abort(shuffle::NcclComm comm) override;
  [[nodiscard]] shuffle::NcclResult start_group() override;
  [[nodiscard]] shuffle::NcclResult end_group() override;
  [[nodiscard]] shuffle::NcclResult send(
      const std::byte* data,
      std::int64_t bytes,
      int peer,
      shuffle::NcclComm comm,
      shuffle::DeviceStream stream
  ) override;
  [[nodiscard]] shuffle::NcclResult receive(
      std::byte* data,
      std::int64_t bytes,
      int peer,
      shuffle::NcclComm comm,
      shuffle::DeviceStream stream
  ) override;
  [[nodiscard]] std::string error_text(shuffle::NcclResult result) override;
  [[nodiscard]] std::string last_error(shuffle::NcclComm comm) override;

 private:
  struct QueuedOp {
    FakeFabric::Comm* comm = nullptr;
    FakeFabric::DeviceQueue* stream = nullptr;
    FakeFabric::Op op;
  };
  // Null, with a violation, for a communicator that is gone.
  [[nodiscard]] FakeFabric::Comm* find_comm(shuffle::NcclComm comm, const char* call);
  [[nodiscard]] shuffle::NcclResult try_queue_op(
      FakeFabric::Op op, shuffle::NcclComm comm, shuffle::DeviceStream stream, const char* call
  );
  [[nodiscard]] shuffle::NcclResult queue_op(
      FakeFabric::Op op, shuffle::NcclComm comm, shuffle::DeviceStream stream, const char* call
  );
  [[nodiscard]] shuffle::NcclResult close_group();
  [[nodiscard]] shuffle::NcclResult launch_group(FakeFabric::Comm& comm, std::vector<QueuedOp> ops);
  void check_one_op_a_peer(const std::vector<QueuedOp>& ops);
  void drop_comm(shuffle::NcclComm comm);

  FakeFabric& fabric_;
  int rank_;
  int depth_ = 0;                                                    // of open groups
  shuffle::NcclResult group_error_ = shuffle::NcclResult::kSuccess;  // the first within the group
  std::vector<QueuedOp> queued_;
};

// Device memory is ordinary memory.
class FakeDevice : public shuffle::DeviceApi {
 public:
  FakeDevice(FakeFabric& fabric, int rank) : fabric_(fabric), rank_(rank) {}
  [[nodiscard]] shuffle::DeviceValue<int> num_devices() override;
  [[nodiscard]] shuffle::DeviceResult set_device(int device) override;
  [[nodiscard]] shuffle::DeviceValue<bool> reaches_host_memory(int /*device*/) override {
    return {shuffle::DeviceResult::kSuccess, fabric_.settings_.reaches_host};
  }
  [[nodiscard]] shuffle::DeviceValue<shuffle::DeviceStream> create_stream() override;
  [[nodiscard]] shuffle::DeviceResult destroy_stream(shuffle::DeviceStream stream) override;
  [[nodiscard]] shuffle::DeviceResult query_stream(shuffle::DeviceStream stream) override;
  [[nodiscard]] shuffle::DeviceValue<std::byte*> allocate(std::int64_t bytes) override;
  [[nodiscard]] shuffle::DeviceResult release(std::byte* data) override;
  [[nodiscard]] shuffle::DeviceValue<std::byte*> allocate_host(std::int64_t bytes) override {
    return allocate(bytes);
  }
  [[nodiscard]] shuffle::DeviceResult release_host(std::byte* data) override {
    return release(data);
  }
  [[nodiscard]] shuffle::DeviceResult copy_async(
      std::byte* target, const std::byte* source, std::int64_t bytes, shuffle::DeviceStream stream
  ) override;
  [[nodiscard]] shuffle::DeviceResult run_tiles(
      shuffle::TileWork work,
      const shuffle::CopyTile* tiles,
      std::int64_t num_tiles,
      std::uint64_t* checksums,
      shuffle::DeviceStream stream
  ) override;
  [[nodiscard]] std::string error_text(shuffle::DeviceResult result) override;

 private:
  void check_thread(const char* call);
  [[nodiscard]] shuffle::DeviceResult enqueue(
      std::function<void()> task, shuffle::DeviceStream stream, const char* call
  );

  FakeFabric& fabric_;
  int rank_;
  std::set<std::thread::id> threads_;  // that have set the device
};

}  // namespace routepack::testing
