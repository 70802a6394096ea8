// Small windows for tests, written byte by byte: independent of the library's own writer.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/temp_folder.hpp"

namespace routepack::testing {

// An .npy file of version 1 or 2 around raw data.
inline std::string npy_file(const std::string& header, const std::string& data, int version = 1) {
  const std::size_t preamble = version == 1 ? 10 : 12;
  std::string text = header;
  text.resize((preamble + text.size() + 64) / 64 * 64 - preamble - 1, ' ');
  text += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (std::size_t byte = 0; byte < preamble - 8; ++byte) {
    file += static_cast<char>(text.size() >> (8 * byte) & 0xffU);
  }
  return file + text + data;
}

inline std::string npy_header(const std::string& descr, const std::vector<std::int64_t>& shape) {
  std::string extents;
  for (const std::int64_t extent : shape) {
    extents += std::to_string(extent) + ", ";
  }
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, extents);
}

// Values as little-endian elements of `descr`, e.g. "<i2"; what does not fit is cut off.
inline std::string npy_array(
    const std::string& descr,
    const std::vector<std::int64_t>& shape,
    const std::vector<std::int64_t>& values
) {
  const auto size = static_cast<std::size_t>(descr.back() - '0');
  std::string data;
  for (const std::int64_t value : values) {
    for (std::size_t byte = 0; byte < size; ++byte) {
      data += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * byte) & 0xffU);
    }
  }
  return npy_file(npy_header(descr, shape), data);
}

struct TestWindow {
  int num_experts = 4;
  int top_k = 2;
  std::vector<int> moe_layers = {0, 1};
  int num_layers = 2;
  std::string form = "routes";
  std::vector<std::int64_t> lengths = {};
  // Form routes.
  std::string dtype = "<i4";
  int axis = 2;                               // layers on the axis
  std::vector<std::int64_t> row_counts = {};  // token routes of each sample
  std::vector<std::int64_t> ids = {};         // [Σ row_counts, axis, top_k]
  // Form counts: [N, L, E].
  std::vector<std::int64_t> counts = {};

  [[nodiscard]] std::string metadata() const {
    std::string layers;
    for (const int layer : moe_layers) {
      layers += (layers.empty() ? "" : ", ") + std::to_string(layer);
    }
    return fmt::format(
        R"({{"format": "routepack-window/1", "num_experts": {}, "top_k": {}, "moe_layers": [{}], )"
        R"("num_layers": {}, "ep_demand": "{}", "name": "test"}})",
        num_experts, top_k, layers, num_layers, form
    );
  }

  void write(const std::string& folder) const {
    const auto samples = static_cast<std::int64_t>(lengths.size());
    write_file(folder + "/window.json", metadata());
    write_file(folder + "/lengths.npy", npy_array("<i8", {samples}, lengths));
    if (form == "routes") {
      std::vector<std::int64_t> offsets = {0};
      for (const std::int64_t rows : row_counts) {
        offsets.push_back(offsets.back() + rows);
      }
      write_file(folder + "/row_offsets.npy", npy_array("<i8", {samples + 1}, offsets));
      write_file(
          folder + "/routed_experts.npy", npy_array(dtype, {offsets.back(), axis, top_k}, ids)
      );
    } else if (form == "counts") {
      const auto layers = static_cast<std::int64_t>(moe_layers.size());
      write_file(folder + "/demand.npy", npy_array("<u4", {samples, layers, num_experts}, counts));
    }
  }
};

}  // namespace routepack::testing
