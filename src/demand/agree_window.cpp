#include "demand/agree_window.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/inputs.hpp"
#include "io/input_file.hpp"

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

// The array that no rank reads whole; none for lengths alone.
std::optional<InputFile> open_array(const WindowHeader& header) {
  if (header.form == DemandForm::kNone) {
    return std::nullopt;
  }
  const char* name = header.form == DemandForm::kRoutes ? "routed_experts.npy" : "demand.npy";
  return InputFile((std::filesystem::path(header.folder) / name).string());
}

std::vector<NamedEvidence> array_evidence(const std::optional<InputFile>& array) {
  if (!array) {
    return {};
  }
  const FileSample sample = sample_file(*array);
  return {
      {std::filesystem::path(array->path()).filename().string(),
       fmt::format("{} bytes with digest {}", sample.bytes, to_hex(sample.digest))}};
}

}  // namespace

void agree_on_window(const WindowHeader& header, const Communicator& comm) {
  const std::optional<InputFile> array = agree_on([&] { return open_array(header); }, comm);
  try {
    agree_on_inputs(metadata_evidence(header), comm);
    agree_on_numbers("lengths.npy", "sample", header.lengths, comm);
    agree_on_numbers("the file of groups", "sample", header.groups, comm);
    agree_on_numbers("row_offsets.npy", "entry", header.row_offsets, comm);
    agree_on_inputs(agree_on([&] { return array_evidence(array); }, comm), comm);
  } catch (const Error&) {  // the same on every rank
    // Ranks that share a folder see different files where these change between their looks.
    agree_on(
        [&] {
          header.check_unchanged();
          if (array) {
            array->check_unchanged();
          }
        },
        comm
    );
    throw;
  }
}

}  // namespace routepack
