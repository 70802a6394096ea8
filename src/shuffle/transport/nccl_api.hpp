// The calls of NCCL that the NCCL transport makes, as a table of ours beside that of the CUDA
// runtime (DeviceApi). Each entry does what its namesake does and returns its code; none throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "shuffle/engine/device_api.hpp"

namespace routepack::shuffle {

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

template <class T>
struct NcclValue {
  NcclResult result = NcclResult::kSuccess;
  T value{};
};
using NcclComm = struct NcclCommTag*;  // ncclComm_t
struct NcclUniqueId {                  // ncclUniqueId
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

template <class T>
[[nodiscard]] T check_nccl(
    NcclApi& api, NcclValue<T> made, const char* call, NcclComm comm = nullptr
) {
  check_nccl(api, made.result, call, comm);
  return made.value;
}

}  // namespace detail
}  // namespace routepack::shuffle

#define RP_NCCL(api, call) ::routepack::shuffle::detail::check_nccl((api), (api).call, #call)
