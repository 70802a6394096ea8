// For builds without NCCL.
#include "shuffle/nccl_api.hpp"

namespace routepack {

DeviceLibraries load_device_libraries() {
  DeviceLibraries libraries;
  libraries.missing = "this build has no NCCL";
  return libraries;
}

}  // namespace routepack
