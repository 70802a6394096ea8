// The tables of one rank over a FakeFabric.
#pragma once

#include <set>
#include <thread>
#include <vector>

#include "shuffle/transport/fake_nccl.hpp"

namespace routepack::testing {

class FakeNccl : public NcclApi {
 public:
  FakeNccl(FakeFabric& fabric, int rank) : fabric_(fabric), rank_(rank) {}
  [[nodiscard]] int header_version() override { return fabric_.settings_.header_version; }
  [[nodiscard]] NcclValue<int> library_version() override {
    return {NcclResult::kSuccess, fabric_.settings_.library_version};
  }
  [[nodiscard]] NcclValue<NcclUniqueId> make_unique_id() override;
  [[nodiscard]] NcclValue<NcclComm> init_comm(
      int num_ranks, const NcclUniqueId& id, int rank, int max_ctas
  ) override;
  [[nodiscard]] NcclValue<NcclResult> async_error(NcclComm comm) override;
  [[nodiscard]] NcclResult finalize(NcclComm comm) override;
  [[nodiscard]] NcclResult destroy(NcclComm comm) override;
  [[nodiscard]] NcclResult abort(NcclComm comm) override;
  [[nodiscard]] NcclResult start_group() override;
  [[nodiscard]] NcclResult end_group() override;
  [[nodiscard]] NcclResult send(
      const std::byte* data, std::int64_t bytes, int peer, NcclComm comm, DeviceStream stream
  ) override;
  [[nodiscard]] NcclResult receive(
      std::byte* data, std::int64_t bytes, int peer, NcclComm comm, DeviceStream stream
  ) override;
  [[nodiscard]] std::string error_text(NcclResult result) override;
  [[nodiscard]] std::string last_error(NcclComm comm) override;

 private:
  struct QueuedOp {
    FakeFabric::Comm* comm = nullptr;
    FakeFabric::DeviceQueue* stream = nullptr;
    FakeFabric::Op op;
  };
  // Null, with a violation, for a communicator that is gone.
  [[nodiscard]] FakeFabric::Comm* find_comm(NcclComm comm, const char* call);
  [[nodiscard]] NcclResult try_queue_op(
      FakeFabric::Op op, NcclComm comm, DeviceStream stream, const char* call
  );
  [[nodiscard]] NcclResult queue_op(
      FakeFabric::Op op, NcclComm comm, DeviceStream stream, const char* call
  );
  [[nodiscard]] NcclResult close_group();
  [[nodiscard]] NcclResult launch_group(FakeFabric::Comm& comm, std::vector<QueuedOp> ops);
  void check_one_op_a_peer(const std::vector<QueuedOp>& ops);
  void drop_comm(NcclComm comm);

  FakeFabric& fabric_;
  int rank_;
  int depth_ = 0;                                  // of open groups
  NcclResult group_error_ = NcclResult::kSuccess;  // the first within the group
  std::vector<QueuedOp> queued_;
};

// Device memory is ordinary memory.
class FakeDevice : public DeviceApi {
 public:
  FakeDevice(FakeFabric& fabric, int rank) : fabric_(fabric), rank_(rank) {}
  [[nodiscard]] DeviceValue<int> num_devices() override;
  [[nodiscard]] DeviceResult set_device(int device) override;
  [[nodiscard]] DeviceValue<bool> reaches_host_memory(int /*device*/) override {
    return {DeviceResult::kSuccess, fabric_.settings_.reaches_host};
  }
  [[nodiscard]] DeviceValue<DeviceStream> create_stream() override;
  [[nodiscard]] DeviceResult destroy_stream(DeviceStream stream) override;
  [[nodiscard]] DeviceResult query_stream(DeviceStream stream) override;
  [[nodiscard]] DeviceValue<std::byte*> allocate(std::int64_t bytes) override;
  [[nodiscard]] DeviceResult release(std::byte* data) override;
  [[nodiscard]] DeviceValue<std::byte*> allocate_host(std::int64_t bytes) override {
    return allocate(bytes);
  }
  [[nodiscard]] DeviceResult release_host(std::byte* data) override { return release(data); }
  [[nodiscard]] DeviceResult copy_async(
      std::byte* target, const std::byte* source, std::int64_t bytes, DeviceStream stream
  ) override;
  [[nodiscard]] DeviceResult run_tiles(
      TileWork work,
      const CopyTile* tiles,
      std::int64_t num_tiles,
      std::uint64_t* checksums,
      DeviceStream stream
  ) override;
  [[nodiscard]] std::string error_text(DeviceResult result) override;

 private:
  void check_thread(const char* call);
  [[nodiscard]] DeviceResult enqueue(
      std::function<void()> task, DeviceStream stream, const char* call
  );

  FakeFabric& fabric_;
  int rank_;
  std::set<std::thread::id> threads_;  // that have set the device
};

}  // namespace routepack::testing
