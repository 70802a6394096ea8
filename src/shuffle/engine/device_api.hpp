// The calls of the CUDA runtime that engine and transport make, as a table of ours, so that
// everything above it compiles and is tested without the library. Each entry does what its namesake
// does and returns its code; none throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "routepack/error.hpp"
#include "shuffle/engine/copy_tiles.hpp"

namespace routepack::shuffle {

// Those values of cudaError_t that are told apart; others keep their number.
enum class DeviceResult : int { kSuccess = 0, kOutOfMemory = 2, kNotReady = 600 };

template <class T>
struct DeviceValue {
  DeviceResult result = DeviceResult::kSuccess;
  T value{};
};

using DeviceStream = struct DeviceStreamTag*;  // cudaStream_t

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

// The kernels behind DeviceApi::run_tiles, in builds that have them, on the current device. Returns
// the error of the launch.
[[nodiscard]] DeviceResult launch_tiles(
    TileWork work,
    const CopyTile* tiles,
    std::int64_t num_tiles,
    std::uint64_t* checksums,
    DeviceStream stream
);

namespace detail {

// Throw TRANSFER_FAILED with the call and the decoded code.
inline void check_device(DeviceApi& api, DeviceResult result, const char* call) {
  if (result != DeviceResult::kSuccess) {
    throw Error{
        ErrorCode::kTransferFailed, std::string("CUDA ") + call + ": " + api.error_text(result)};
  }
}
template <class T>
[[nodiscard]] T check_device(DeviceApi& api, DeviceValue<T> made, const char* call) {
  check_device(api, made.result, call);
  return made.value;
}

}  // namespace detail
}  // namespace routepack::shuffle

#define RP_CUDA(api, call) ::routepack::shuffle::detail::check_device((api), (api).call, #call)
