#include "io/window_names.hpp"

#include <filesystem>

#include "io/json_fields.hpp"
#include "routepack/error.hpp"

namespace routepack {

std::vector<std::string> window_inputs(const std::string& folder) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& name) {
    paths.push_back((std::filesystem::path(folder) / name).string());
  };
  add("window.json");
  add("lengths.npy");
  try {
    const JsonFields fields = JsonFields::read(paths[0]);
    if (fields.has("groups")) {
      add(fields.text("groups"));
    }
    const std::string form = fields.text("ep_demand");
    if (form == "routes") {
      add("row_offsets.npy");
      add("routed_experts.npy");
    } else if (form == "counts") {
      add("demand.npy");
    }
  } catch (const Error&) {
    // No window: whoever reads it says so, and has nothing to lose.
  }
  return paths;
}

}  // namespace routepack
