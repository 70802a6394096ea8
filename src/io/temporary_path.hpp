// Names for output that is not finished.
#pragma once

#include <string>
#include <string_view>

namespace routepack {

// FOLDER/.routepack-HOST-PID-RANDOM.KIND, for a file system that several hosts and containers may
// write to: what kill -9 leaves behind says whose it was. The caller still creates it exclusively.
// The name's length (at most 120 bytes) does not depend on what it will be renamed to.
[[nodiscard]] std::string temporary_path(const std::string& folder, std::string_view kind);

// The folder that a path lies in, "." where it has none.
[[nodiscard]] std::string folder_of(const std::string& path);

}  // namespace routepack
