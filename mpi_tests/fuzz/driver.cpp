// The entry of libFuzzer, for the target that the build names.
#include <cstdint>

#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  routepack::fuzz::ROUTEPACK_FUZZ_TARGET({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
