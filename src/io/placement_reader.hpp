// Reads where experts live now: a placement file, or a plan.
#pragma once

#include <string>

#include "routepack/placement.hpp"

namespace routepack {

// The "placement" of a JSON file, on `ep` EP ranks. Throws FILE_MALFORMED, naming the file and the
// layer, where a layer is no permutation or differs in size from the others, EXPERTS_NOT_DIVISIBLE,
// and USAGE for a plan that was made for another ep.
[[nodiscard]] Placement read_placement(const std::string& path, int ep);

}  // namespace routepack
