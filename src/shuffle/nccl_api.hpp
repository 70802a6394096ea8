// The calls of NCCL and of the CUDA runtime that the NCCL transport makes, as two tables of ours,
// so that everything above them compiles and is tested without either library. Each entry does
// what its namesake does and returns its code; nothing here throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "shuffle/copy_tiles.hpp"

namespace routepack {

// The values of ncclResult_t.
enum class NcclResult : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

// Those values of cudaError_t that are told apart; others keep their number.
enum class DeviceResult : int { kSuccess = 0, kOutOfMemory = 2, kNotReady = 600 };

template <class T>
struct NcclValue {
  NcclResult result = NcclResult::kSuccess;
  T value{};
};
template <class T>
struct DeviceValue {
  DeviceResult result = DeviceResult::kSuccess;
  T value{};
};

using NcclComm = struct NcclCommTag*;          // ncclComm_t
using DeviceStream = struct DeviceStreamTag*;  // cudaStream_t
struct NcclUniqueId {                          // ncclUniqueId
  std::array<std::byte, 128> bytes{};
};

// Non-blocking communicators only: every call may return kInProgress, and async_error() tells when
// the communicator is ready again.
class NcclApi {
 public:
  NcclApi() = default;
  virtual ~NcclApi() = default;
  NcclApi(const NcclApi&) = delete;
  NcclApi& operator=(const NcclApi&) = delete;

  // 10000 * major + 100 * minor + patch, of the headers this was compiled with and of the library.
  [[nodiscard]] virtual int header_version() = 0;
  [[nodiscard]] virtual NcclValue<int> library_version() = 0;
  [[nodiscard]] virtual NcclValue<NcclUniqueId> make_unique_id() = 0;
  [[nodiscard]] virtual NcclValue<NcclComm> init_comm(
      int num_ranks, const NcclUniqueId& id, int rank, int max_ctas
  ) = 0;
  [[nodiscard]] virtual NcclValue<NcclResult> async_error(NcclComm comm) = 0;
  [[nodiscard]] virtual NcclResult finalize(NcclComm comm) = 0;
  [[nodiscard]] virtual NcclResult destroy(NcclComm comm) = 0;
  [[nodiscard]] virtual NcclResult abort(NcclComm comm) = 0;
  [[nodiscard]] virtual NcclResult start_group() = 0;
  [[nodiscard]] virtual NcclResult end_group() = 0;
  [[nodiscard]] virtual NcclResult send(
      const std::byte* data, std::int64_t bytes, int peer, NcclComm comm, DeviceStream stream
  ) = 0;
  [[nodiscard]] virtual NcclResult receive(
      std::byte* data, std::int64_t bytes, int peer, NcclComm comm, DeviceStream stream
  ) = 0;
  [[nodiscard]] virtual std::string error_text(NcclResult result) = 0;
  // The library's last message about the communicator, which may be null; empty: none.
  [[nodiscard]] virtual std::string last_error(NcclComm comm) = 0;
};

class DeviceApi {
 public:
  DeviceApi() = default;
  virtual ~DeviceApi() = default;
  DeviceApi(const DeviceApi&) = delete;
  DeviceApi& operator=(const DeviceApi&) = delete;

  [[nodiscard]] virtual DeviceValue<int> num_devices() = 0;
  // Of the calling thread: the first call in every thread.
  [[nodiscard]] virtual DeviceResult set_device(int device) = 0;
  // Can kernels of the device read and write memory that operator new returned?
  [[nodiscard]] virtual DeviceValue<bool> reaches_host_memory(int device) = 0;
  // Streams do not wait for the default stream.
  [[nodiscard]] virtual DeviceValue<DeviceStream> create_stream() = 0;
  [[nodiscard]] virtual DeviceResult destroy_stream(DeviceStream stream) = 0;
  [[nodiscard]] virtual DeviceResult query_stream(DeviceStream stream) = 0;
  [[nodiscard]] virtual DeviceValue<std::byte*> allocate(std::int64_t bytes) = 0;
  [[nodiscard]] virtual DeviceResult release(std::byte* data) = 0;
  // Pinned.
  [[nodiscard]] virtual DeviceValue<std::byte*> allocate_host(std::int64_t bytes) = 0;
  [[nodiscard]] virtual DeviceResult release_host(std::byte* data) = 0;
  // Either side may be host or device memory.
  [[nodiscard]] virtual DeviceResult copy_async(
      std::byte* target, const std::byte* source, std::int64_t bytes, DeviceStream stream
  ) = 0;
  // `tiles` and `checksums` lie in device memory.
  [[nodiscard]] virtual DeviceResult run_tiles(
      TileWork work,
      const CopyTile* tiles,
      std::int64_t num_tiles,
      std::uint64_t* checksums,
      DeviceStream stream
  ) = 0;
  [[nodiscard]] virtual std::string error_text(DeviceResult result) = 0;
};

// Both libraries, or why they are not there.
struct DeviceLibraries {
  std::shared_ptr<NcclApi> nccl;
  std::shared_ptr<DeviceApi> device;
  std::string missing;
};
// The real ones, where the build has them.
[[nodiscard]] DeviceLibraries load_device_libraries();

// Empty if code compiled with headers of one version may use a library of another, else why not.
[[nodiscard]] std::string check_nccl_versions(int header, int library);

// Why this rank cannot use NCCL; empty when it can.
[[nodiscard]] std::string find_nccl_obstacle(const DeviceLibraries& libraries);

namespace detail {

// Throw TRANSFER_FAILED with the call and the decoded code. kInProgress is no error.
void check_nccl(NcclApi& api, NcclResult result, const char* call, NcclComm comm = nullptr);
void check_device(DeviceApi& api, DeviceResult result, const char* call);

template <class T>
[[nodiscard]] T check_nccl(
    NcclApi& api, NcclValue<T> made, const char* call, NcclComm comm = nullptr
) {
  check_nccl(api, made.result, call, comm);
  return made.value;
}
template <class T>
[[nodiscard]] T check_device(DeviceApi& api, DeviceValue<T> made, const char* call) {
  check_device(api, made.result, call);
  return made.value;
}

}  // namespace detail
}  // namespace routepack

#define RP_NCCL(api, call) ::routepack::detail::check_nccl((api), (api).call, #call)
#define RP_CUDA(api, call) ::routepack::detail::check_device((api), (api).call, #call)
