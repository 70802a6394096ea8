// The files of a window folder by name (docs/formats.md, "Window").
#pragma once

#include <array>
#include <string>
#include <vector>

namespace routepack {

// An older window loses its files in this order, and gets the new ones in the opposite order: what
// has a window.json is whole. A window may have its groups under another name.
inline constexpr std::array kWindowFiles = {"window.json",     "demand.npy", "routed_experts.npy",
                                            "row_offsets.npy", "groups.npy", "lengths.npy"};

// The paths that reading a window reads, as its window.json says; of a window.json that says
// nothing, those that every window has. Checks nothing: reading does.
[[nodiscard]] std::vector<std::string> window_inputs(const std::string& folder);

}  // namespace routepack
