// A window folder: its metadata, which every rank reads, and its demand, of which a rank reads only
// the samples that it owns.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/input_file.hpp"
#include "io/npy.hpp"
#include "routepack/window.hpp"

namespace routepack::io {

// An older window loses its files in this order, and gets the new ones in the opposite order: what
// has a window.json is whole. A window may have its groups under another name.
inline constexpr std::array kWindowFiles = {"window.json",     "demand.npy", "routed_experts.npy",
                                            "row_offsets.npy", "groups.npy", "lengths.npy"};

// The paths that reading a window reads, as its window.json says; of a window.json that says
// nothing, those that every window has. Checks nothing: reading does.
[[nodiscard]] std::vector<std::string> window_inputs(const std::string& folder);

enum class DemandForm { kRoutes, kCounts, kNone };

struct WindowHeader {
  std::string folder;
  WindowShape shape;
  DemandForm form = DemandForm::kNone;
  std::vector<std::int64_t> lengths;  // [N] tokens, each 1 to 2^31 - 1
  std::vector<std::int64_t> groups;   // [N] prompt ids, or empty
  // [N+1], form kRoutes only (row_offsets.npy): where the token routes of each sample begin.
  std::vector<std::int64_t> route_offsets;
  std::vector<FileStamp> files;  // that all of this was read from

  // Throws FILE_MALFORMED where one of them has changed since.
  void check_unchanged() const;
};

// Reads and checks window.json, lengths.npy, groups and row_offsets.npy.
// Throws FILE_MALFORMED for a key or file that is missing, of a wrong type or contradicts another,
// NUMBER_OUT_OF_RANGE for a number that no field can hold, ZERO_LENGTH_SAMPLE,
// TOO_MANY_ROUTE_ROWS and TOO_FEW_ROUTE_ROWS, naming the file and the key or sample.
[[nodiscard]] WindowHeader open_window(const std::string& folder);

// Consecutive MoE layers that lie side by side on the layer axis of the routes.
struct LayerRun {
  int first_layer = 0;  // index into moe_layers
  int first_axis = 0;   // where it lies on the axis
  int count = 0;
};

// The token routes of a window: [ΣT, axis, top_k] of one integer dtype. Owns nothing.
struct RouteView {
  const NpyFile* ids = nullptr;
  int axis_size = 0;  // A: L, or all layers of the model
  int top_k = 0;
  int num_experts = 0;
  std::span<const int> moe_layers;              // [L] absolute indices
  std::vector<LayerRun> runs;                   // all MoE layers, ascending
  std::span<const std::int64_t> lengths;        // [N]
  std::span<const std::int64_t> route_offsets;  // [N+1]

  [[nodiscard]] int num_moe_layers() const { return static_cast<int>(moe_layers.size()); }
  [[nodiscard]] std::int64_t num_routes(std::int64_t sample) const {
    const auto at = static_cast<std::size_t>(sample);
    return route_offsets[at + 1] - route_offsets[at];
  }
  // Ids of one token, [axis, top_k].
  [[nodiscard]] std::int64_t ids_per_token() const { return std::int64_t{axis_size} * top_k; }
  [[nodiscard]] std::int64_t bytes_per_token() const {
    return ids_per_token() * bytes_of(ids->dtype());
  }
};

// routed_experts.npy, open. `header` must outlive it.
class RouteFile {
 public:
  // Throws FILE_MALFORMED for a wrong shape, LAYER_AXIS_MISMATCH, DTYPE_TOO_NARROW, and
  // NUMBER_OUT_OF_RANGE for more ids of one token than any model has.
  explicit RouteFile(const WindowHeader& header);
  RouteFile(const RouteFile&) = delete;
  RouteFile& operator=(const RouteFile&) = delete;
  [[nodiscard]] const RouteView& view() const { return view_; }
  // Tells the kernel which samples are about to be read.
  void advise(std::int64_t first_sample, std::int64_t end_sample) const;

  // Throws FILE_MALFORMED where the file has changed since it was opened.
  void check_unchanged() const { ids_.check_unchanged(); }

 private:
  NpyFile ids_;
  RouteView view_;  // points at ids_
};

// demand.npy, open: [N, L, E] of one integer dtype.
class CountFile {
 public:
  // Throws FILE_MALFORMED for a wrong shape.
  explicit CountFile(const WindowHeader& header);
  [[nodiscard]] const NpyFile& array() const { return array_; }
  // As RouteFile.
  void advise(std::int64_t first_sample, std::int64_t end_sample) const;
  void check_unchanged() const { array_.check_unchanged(); }

 private:
  NpyFile array_;
};

}  // namespace routepack::io
