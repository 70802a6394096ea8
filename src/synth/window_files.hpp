// The files of a synthetic window (docs/formats.md, "Window"). One process creates them, with
// everything but the demand or the routes; then each process fills in its own samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synth/lengths.hpp"
#include "synth/npy_slices.hpp"
#include "synth/options.hpp"
#include "synth/sample_routing.hpp"

namespace routepack {

// The array that holds the routing: demand.npy, or routed_experts.npy.
struct RoutingArray {
  std::string file;
  NpyDtype dtype = NpyDtype::kUint16;
  std::vector<std::int64_t> shape;

  [[nodiscard]] std::int64_t bytes() const;
};

// Counts: [N, L, E] of uint16 where the longest sample allows it, else uint32. Routes:
// [Σ rows, A, k] of uint8 for up to 256 experts, else uint16.
[[nodiscard]] RoutingArray routing_array(
    const SynthOptions& options, const std::vector<SampleTokens>& lengths
);

// Writes window.json, lengths.npy, groups.npy and, for routes, row_offsets.npy into the folder, and
// creates the routing array, filled with zeros.
void create_window_files(
    const std::string& folder, const SynthOptions& options, const std::vector<SampleTokens>& lengths
);

// Fills in samples, in any order.
class SampleWriter {
 public:
  // `options` and `lengths` must outlive it.
  SampleWriter(
      const std::string& folder,
      const SynthOptions& options,
      const std::vector<SampleTokens>& lengths
  );
  void write(std::int64_t sample);
  void close() { file_.close(); }

 private:
  const SynthOptions& options_;
  const std::vector<SampleTokens>& lengths_;
  std::vector<std::int64_t> row_offsets_;  // [N+1], kRoutes only
  RoutingArray array_;
  NpySliceWriter file_;
  SampleRouting routing_;
};

}  // namespace routepack
