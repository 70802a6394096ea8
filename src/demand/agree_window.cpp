#include "demand/agree_window.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/inputs.hpp"
#include "io/file_sample.hpp"

namespace routepack {
namespace {

std::vector<NamedEvidence> metadata_evidence(const WindowHeader& header) {
  const WindowShape& shape = header.shape;
  const auto entry = [](const char* key, const std::string& value) {
    return NamedEvidence{fmt::format("'{}' of window.json", key), value};
  };
  const auto form = [&] {
    switch (header.form) {
      case DemandForm::kRoutes:
        return "routes";
      case DemandForm::kCounts:
        return "counts";
      case DemandForm::kNone:
        break;
    }
    return "none";
  };
  return {
      entry("ep_demand", form()),
      entry("num_experts", std::to_string(shape.num_experts)),
      entry("top_k", std::to_string(shape.top_k)),
      entry("num_layers", std::to_string(shape.num_layers)),
      entry("moe_layers", fmt::format("[{}]", fmt::join(shape.moe_layers, ", "))),
      entry("groups", header.groups.empty() ? "not given" : "given")};
}

// Of the array that no rank reads whole.
std::vector<NamedEvidence> array_evidence(const WindowHeader& header) {
  if (header.form == DemandForm::kNone) {
    return {};
  }
  const std::string name = header.form == DemandForm::kRoutes ? "routed_experts.npy" : "demand.npy";
  const FileSample sample = sample_file((std::filesystem::path(header.folder) / name).string());
  return {{name, fmt::format("{} bytes with digest {}", sample.bytes, to_hex(sample.digest))}};
}

}  // namespace

void agree_on_window(const WindowHeader& header, const Communicator& comm) {
  agree_on_inputs(metadata_evidence(header), comm);
  agree_on_numbers("lengths.npy", "sample", header.lengths, comm);
  agree_on_numbers("the file of groups", "sample", header.groups, comm);
  agree_on_numbers("row_offsets.npy", "entry", header.row_offsets, comm);
  agree_on_inputs(agree_on([&] { return array_evidence(header); }, comm), comm);
}

}  // namespace routepack
