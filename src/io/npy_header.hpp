// The dictionary in front of an .npy array.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace routepack {

struct NpyHeader {
  std::string descr;  // e.g. "<i8"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Parses e.g. "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 4), }": the three keys, in
// any order, each once. Throws FILE_MALFORMED, naming `name`, for anything else.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text, const std::string& name);

}  // namespace routepack
