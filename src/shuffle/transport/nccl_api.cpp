#include "shuffle/transport/nccl_api.hpp"

#include "base/check.hpp"

namespace routepack::shuffle {
namespace {

constexpr int kOldestVersion = 22200;  // several communicators may be aborted at once from here on

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace

std::string check_nccl_versions(int header, int library) {
  if (library < kOldestVersion) {
    return fmt::format(
        "the NCCL library is {}, older than {}", version_text(library), version_text(kOldestVersion)
    );
  }
  // A newer library reads the older configuration; an older one knows less than is asked of it.
  if (library < header || library / 10000 != header / 10000) {
    return fmt::format(
        "compiled with the headers of NCCL {}, but the library is {}", version_text(header),
        version_text(library)
    );
  }
  return {};
}

std::string find_nccl_obstacle(const DeviceLibraries& libraries) {
  if (!libraries.missing.empty()) {
    return libraries.missing;
  }
  const NcclValue<int> version = libraries.nccl->library_version();
  if (version.result != NcclResult::kSuccess) {
    return "the NCCL library: " + libraries.nccl->error_text(version.result);
  }
  std::string versions = check_nccl_versions(libraries.nccl->header_version(), version.value);
  if (!versions.empty()) {
    return versions;
  }
  const DeviceValue<int> devices = libraries.device->num_devices();
  if (devices.result != DeviceResult::kSuccess) {
    return "no usable device: " + libraries.device->error_text(devices.result);
  }
  return devices.value > 0 ? std::string{} : "no device";
}

namespace detail {

void check_nccl(NcclApi& api, NcclResult result, const char* call, NcclComm comm) {
  if (result == NcclResult::kSuccess || result == NcclResult::kInProgress) {
    return;
  }
  const std::string detail = api.last_error(comm);
  base::fail(
      ErrorCode::kTransferFailed, "NCCL {}: {}{}{}", call, api.error_text(result),
      detail.empty() ? "" : "; ", detail
  );
}

}  // namespace detail
}  // namespace routepack::shuffle
