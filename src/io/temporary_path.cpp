#include "io/temporary_path.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <filesystem>

namespace routepack {
namespace {

// Letters, digits and dots of the host's name, the first 63.
std::string host_name() {
  std::array<char, 64> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) {
    return "host";
  }
  std::string text(name.data());
  for (char& letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '.') {
      letter = '_';
    }
  }
  return text;
}

// Containers may have equal names and process ids. Nothing of a result depends on these bits.
std::uint64_t unique_bits() {
  static std::atomic<std::uint64_t> count = 0;
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof bits)) {
    bits = 0;
  }
  return bits + ++count;
}

}  // namespace

std::string temporary_path(const std::string& folder, std::string_view kind) {
  const std::string name =
      fmt::format(".routepack-{}-{}-{:016x}.{}", host_name(), ::getpid(), unique_bits(), kind);
  return (std::filesystem::path(folder) / name).string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace routepack
