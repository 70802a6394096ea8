#include <filesystem>

#include "fuzz/count_both_ways.hpp"
#include "fuzz/targets.hpp"
#include "support/temp_folder.hpp"

namespace routepack::fuzz {

void fuzz_window(Bytes bytes) {
  constexpr const char* kNames[] = {
      "window.json", "lengths.npy", "row_offsets.npy", "routed_experts.npy", "groups.npy"};
  const std::string folder = scratch("window");
  std::filesystem::create_directory(folder);
  const std::vector<std::string> files = split_files(bytes);
  for (std::size_t at = 0; at < std::size(kNames); ++at) {
    const std::string path = folder + "/" + kNames[at];
    std::filesystem::remove(path);
    if (at < files.size()) {
      testing::write_file(path, files[at]);
    }
  }
  // One array serves both forms.
  std::filesystem::remove(folder + "/demand.npy");
  if (files.size() > 3) {
    testing::write_file(folder + "/demand.npy", files[3]);
  }
  count_both_ways(folder);
}

}  // namespace routepack::fuzz
