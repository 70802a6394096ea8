// The tables filled from the NCCL and CUDA runtime libraries that this is linked with, in builds
// that have them.
#include "shuffle/transport/nccl_api.hpp"

#if defined(ROUTEPACK_WITH_NCCL)
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstring>

namespace routepack::shuffle {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(NcclUniqueId));
static_assert(static_cast<int>(NcclResult::kSuccess) == ncclSuccess);
static_assert(static_cast<int>(NcclResult::kUnhandledCudaError) == ncclUnhandledCudaError);
static_assert(static_cast<int>(NcclResult::kSystemError) == ncclSystemError);
static_assert(static_cast<int>(NcclResult::kInternalError) == ncclInternalError);
static_assert(static_cast<int>(NcclResult::kInvalidArgument) == ncclInvalidArgument);
static_assert(static_cast<int>(NcclResult::kInvalidUsage) == ncclInvalidUsage);
static_assert(static_cast<int>(NcclResult::kRemoteError) == ncclRemoteError);
static_assert(static_cast<int>(NcclResult::kInProgress) == ncclInProgress);
static_assert(static_cast<int>(DeviceResult::kSuccess) == cudaSuccess);
static_assert(static_cast<int>(DeviceResult::kOutOfMemory) == cudaErrorMemoryAllocation);
static_assert(static_cast<int>(DeviceResult::kNotReady) == cudaErrorNotReady);

NcclResult ours(ncclResult_t result) { return static_cast<NcclResult>(result); }

ncclComm_t theirs(NcclComm comm) { return reinterpret_cast<ncclComm_t>(comm); }
cudaStream_t theirs(DeviceStream stream) { return reinterpret_cast<cudaStream_t>(stream); }

// Clears the error that the runtime would report again at the next unrelated call.
DeviceResult ours(cudaError_t result) {
  if (result != cudaSuccess) {
    (void)cudaGetLastError();
  }
  return static_cast<DeviceResult>(result);
}

class RealNccl : public NcclApi {
 public:
  [[nodiscard]] int header_version() override { return NCCL_VERSION_CODE; }
  [[nodiscard]] NcclValue<int> library_version() override {
    int version = 0;
    const ncclResult_t result = ncclGetVersion(&version);
    return {ours(result), version};
  }
  [[nodiscard]] NcclValue<NcclUniqueId> make_unique_id() override {
    ncclUniqueId made;
    std::memset(&made, 0, sizeof(made));
    const ncclResult_t result = ncclGetUniqueId(&made);
    NcclUniqueId id;
    std::memcpy(id.bytes.data(), &made, sizeof(made));
    return {ours(result), id};
  }
  // No split of it shares its resources: aborting it must concern nobody else.
  [[nodiscard]] NcclValue<NcclComm> init_comm(
      int num_ranks, const NcclUniqueId& id, int rank, int max_ctas
  ) override {
    ncclUniqueId unique;
    std::memcpy(&unique, id.bytes.data(), sizeof(unique));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.maxCTAs = max_ctas;
    config.splitShare = 0;
    config.commName = "routepack-shuffle";
    ncclComm_t comm = nullptr;
    const ncclResult_t result = ncclCommInitRankConfig(&comm, num_ranks, unique, rank, &config);
    return {ours(result), reinterpret_cast<NcclComm>(comm)};
  }
  [[nodiscard]] NcclValue<NcclResult> async_error(NcclComm comm) override {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t result = ncclCommGetAsyncError(theirs(comm), &state);
    return {ours(result), ours(state)};
  }
  [[nodiscard]] NcclResult finalize(NcclComm comm) override {
    return ours(ncclCommFinalize(theirs(comm)));
  }
  [[nodiscard]] NcclResult destroy(NcclComm comm) override {
    return ours(ncclCommDestroy(theirs(comm)));
  }
  [[nodiscard]] NcclResult abort(NcclComm comm) override {
    return ours(ncclCommAbort(theirs(comm)));
  }
  [[nodiscard]] NcclResult start_group() override { return ours(ncclGroupStart()); }
  [[nodiscard]] NcclResult end_group() override { return ours(ncclGroupEnd()); }
  [[nodiscard]] NcclResult send(
      const std::byte* data, std::int64_t bytes, int peer, NcclComm comm, DeviceStream stream
  ) override {
    return ours(ncclSend(
        data, static_cast<std::size_t>(bytes), ncclUint8, peer, theirs(comm), theirs(stream)
    ));
  }
  [[nodiscard]] NcclResult receive(
      std::byte* data, std::int64_t bytes, int peer, NcclComm comm, DeviceStream stream
  ) override {
    return ours(ncclRecv(
        data, static_cast<std::size_t>(bytes), ncclUint8, peer, theirs(comm), theirs(stream)
    ));
  }
  [[nodiscard]] std::string error_text(NcclResult result) override {
    return ncclGetErrorString(static_cast<ncclResult_t>(result));
  }
  [[nodiscard]] std::string last_error(NcclComm comm) override {
    const char* text = ncclGetLastError(theirs(comm));
    return text != nullptr ? text : "";
  }
};

class RealDevice : public DeviceApi {
 public:
  [[nodiscard]] DeviceValue<int> num_devices() override {
    int count = 0;
    const DeviceResult result = ours(cudaGetDeviceCount(&count));
    return {result, count};
  }
  [[nodiscard]] DeviceResult set_device(int device) override { return ours(cudaSetDevice(device)); }
  [[nodiscard]] DeviceValue<bool> reaches_host_memory(int device) override {
    int value = 0;
    const DeviceResult result =
        ours(cudaDeviceGetAttribute(&value, cudaDevAttrPageableMemoryAccess, device));
    return {result, value != 0};
  }
  [[nodiscard]] DeviceValue<DeviceStream> create_stream() override {
    cudaStream_t stream = nullptr;
    const DeviceResult result = ours(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return {result, reinterpret_cast<DeviceStream>(stream)};
  }
  [[nodiscard]] DeviceResult destroy_stream(DeviceStream stream) override {
    return ours(cudaStreamDestroy(theirs(stream)));
  }
  [[nodiscard]] DeviceResult query_stream(DeviceStream stream) override {
    return ours(cudaStreamQuery(theirs(stream)));
  }
  [[nodiscard]] DeviceValue<std::byte*> allocate(std::int64_t bytes) override {
    void* data = nullptr;
    const DeviceResult result = ours(cudaMalloc(&data, static_cast<std::size_t>(bytes)));
    return {result, static_cast<std::byte*>(data)};
  }
  [[nodiscard]] DeviceResult release(std::byte* data) override { return ours(cudaFree(data)); }
  [[nodiscard]] DeviceValue<std::byte*> allocate_host(std::int64_t bytes) override {
    void* data = nullptr;
    const DeviceResult result = ours(cudaMallocHost(&data, static_cast<std::size_t>(bytes)));
    return {result, static_cast<std::byte*>(data)};
  }
  [[nodiscard]] DeviceResult release_host(std::byte* data) override {
    return ours(cudaFreeHost(data));
  }
  [[nodiscard]] DeviceResult copy_async(
      std::byte* target, const std::byte* source, std::int64_t bytes, DeviceStream stream
  ) override {
    return ours(cudaMemcpyAsync(
        target, source, static_cast<std::size_t>(bytes), cudaMemcpyDefault, theirs(stream)
    ));
  }
  [[nodiscard]] DeviceResult run_tiles(
      TileWork work,
      const CopyTile* tiles,
      std::int64_t num_tiles,
      std::uint64_t* checksums,
      DeviceStream stream
  ) override {
    return launch_tiles(work, tiles, num_tiles, checksums, stream);
  }
  [[nodiscard]] std::string error_text(DeviceResult result) override {
    return cudaGetErrorString(static_cast<cudaError_t>(result));
  }
};

}  // namespace

DeviceLibraries load_device_libraries() {
  return {std::make_shared<RealNccl>(), std::make_shared<RealDevice>(), {}};
}

}  // namespace routepack::shuffle

#else

namespace routepack::shuffle {

DeviceLibraries load_device_libraries() { return {nullptr, nullptr, "this build has no NCCL"}; }

}  // namespace routepack::shuffle

#endif
