// How much memory the processes of this node may take together.
#pragma once

#include <cstdint>
#include <string>

namespace routepack::base {

// Bytes: the physical memory, or what this process's control groups (version 2) allow where that is
// less. A limit that cannot be read is none.
[[nodiscard]] std::int64_t node_memory_bytes();

// The least memory.max from the control group `group`, e.g. "/a/b", up to the root of `hierarchy`,
// where version 2 is mounted; INT64_MAX where there is no limit.
[[nodiscard]] std::int64_t control_group_limit(
    const std::string& hierarchy, const std::string& group
);

}  // namespace routepack::base
