#include "base/log.hpp"

namespace routepack {

void write_unchecked(std::FILE* stream, std::string_view text) noexcept {
  (void)std::fwrite(text.data(), 1, text.size(), stream);
  (void)std::fflush(stream);
}

}  // namespace routepack
