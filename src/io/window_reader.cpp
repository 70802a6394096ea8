#include "io/window_reader.hpp"

#include <filesystem>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "io/json_fields.hpp"

namespace routepack::io {
namespace {

// Far above any model.
constexpr std::int64_t kMaxLayers = 1 << 14;
constexpr std::int64_t kMaxExperts = 1 << 16;
constexpr std::int64_t kMaxCounters = 1 << 22;  // L * E: 16 MiB of demand a sample
constexpr std::int64_t kMaxLength = std::numeric_limits<std::int32_t>::max();

std::string path_in(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

DemandForm parse_form(const std::string& text, const std::string& path) {
  if (text == "routes") {
    return DemandForm::kRoutes;
  }
  if (text == "counts") {
    return DemandForm::kCounts;
  }
  RP_CHECK(
      text == "none", ErrorCode::kFileMalformed,
      "{}: 'ep_demand' is '{}', expected 'routes', 'counts' or 'none'", path, text
  );
  return DemandForm::kNone;
}

std::vector<int> read_moe_layers(
    const JsonFields& fields, int num_layers, const std::string& path
) {
  std::vector<int> layers;
  for (const std::int64_t layer : fields.integers("moe_layers", 0, kMaxLayers - 1)) {
    RP_CHECK(
        layer < num_layers, ErrorCode::kFileMalformed,
        "{}: 'moe_layers' names layer {}, 'num_layers' is {}", path, layer, num_layers
    );
    RP_CHECK(
        layers.empty() || layers.back() < layer, ErrorCode::kFileMalformed,
        "{}: 'moe_layers' is not ascending at layer {}", path, layer
    );
    layers.push_back(static_cast<int>(layer));
  }
  return layers;
}

// Returns the name of the groups file, empty where the window has none.
std::string read_metadata(WindowHeader& header) {
  const std::string path = path_in(header.folder, "window.json");
  const FileCopy file(path);
  header.files.push_back(file.stamp());
  const JsonFields fields = JsonFields::read(file);
  const std::string format = fields.text("format");
  RP_CHECK(
      format == "routepack-window/1", ErrorCode::kFileMalformed,
      "{}: 'format' is '{}', expected 'routepack-window/1'", path, format
  );
  header.form = parse_form(fields.text("ep_demand"), path);
  WindowShape& shape = header.shape;
  shape.num_layers = static_cast<int>(fields.integer("num_layers", 0, kMaxLayers));
  shape.moe_layers = read_moe_layers(fields, shape.num_layers, path);
  const bool routed = header.form != DemandForm::kNone;
  RP_CHECK(
      routed != shape.moe_layers.empty(), ErrorCode::kFileMalformed,
      "{}: 'moe_layers' has {} layers, which contradicts 'ep_demand' = '{}'", path,
      shape.moe_layers.size(), fields.text("ep_demand")
  );
  const std::int64_t experts = fields.integer("num_experts", routed ? 1 : 0, kMaxExperts);
  const std::int64_t top_k = fields.integer("top_k", routed ? 1 : 0, kMaxExperts);
  RP_CHECK(
      !routed || top_k <= experts, ErrorCode::kNumberOutOfRange,
      "{}: 'top_k' is {}, the limit is 'num_experts' = {}", path, top_k, experts
  );
  RP_CHECK(
      experts * shape.num_moe_layers() <= kMaxCounters, ErrorCode::kNumberOutOfRange,
      "{}: {} 'moe_layers' of 'num_experts' = {} are over the limit of {} experts in all", path,
      shape.num_moe_layers(), experts, kMaxCounters
  );
  // A dense model has no experts, whatever the file says.
  shape.num_experts = routed ? static_cast<int>(experts) : 0;
  shape.top_k = routed ? static_cast<int>(top_k) : 0;
  shape.name = fields.has("name") ? fields.text("name") : "";
  return fields.has("groups") ? fields.text("groups") : "";
}

// `files` learns of the file.
std::vector<std::int64_t> read_vector(
    const std::string& path, std::int64_t expected_size, std::vector<FileStamp>& files
) {
  const FileCopy file(path);
  files.push_back(file.stamp());
  const NpyView view = view_npy(file.bytes(), path);
  RP_CHECK(
      view.shape.size() == 1, ErrorCode::kFileMalformed, "{} has shape {}, expected one dimension",
      path, shape_text(view.shape)
  );
  RP_CHECK(
      expected_size < 0 || view.shape[0] == expected_size, ErrorCode::kFileMalformed,
      "{} has {} elements, expected {}", path, view.shape[0], expected_size
  );
  return read_int64(view);
}

void read_lengths(WindowHeader& header) {
  const std::string path = path_in(header.folder, "lengths.npy");
  header.lengths = read_vector(path, -1, header.files);
  RP_CHECK(
      std::cmp_less(header.lengths.size(), std::numeric_limits<std::int32_t>::max()),
      ErrorCode::kNumberOutOfRange, "{} has {} samples, the limit is {}", path,
      header.lengths.size(), std::numeric_limits<std::int32_t>::max() - 1
  );
  header.shape.num_samples = static_cast<std::int64_t>(header.lengths.size());
  for (std::size_t sample = 0; sample < header.lengths.size(); ++sample) {
    const std::int64_t length = header.lengths[sample];
    RP_CHECK(
        length != 0, ErrorCode::kZeroLengthSample, "{}: sample {} has no tokens", path, sample
    );
    RP_CHECK(
        length > 0 && length <= kMaxLength, ErrorCode::kNumberOutOfRange,
        "{}: sample {} has {} tokens, allowed are 1 to {}", path, sample, length, kMaxLength
    );
    // So that the pairs of a sample fit 32 bits on any EP rank.
    RP_CHECK(
        length * header.shape.top_k <= std::numeric_limits<std::uint32_t>::max(),
        ErrorCode::kNumberOutOfRange, "{}: sample {} has {} tokens at top {}, over 2^32 - 1 pairs",
        path, sample, length, header.shape.top_k
    );
  }
}

void read_route_offsets(WindowHeader& header) {
  const std::string path = path_in(header.folder, "row_offsets.npy");
  header.route_offsets = read_vector(path, header.shape.num_samples + 1, header.files);
  const std::vector<std::int64_t>& offsets = header.route_offsets;
  RP_CHECK(
      offsets[0] == 0, ErrorCode::kFileMalformed, "{} starts at {}, expected 0", path, offsets[0]
  );
  for (std::size_t sample = 0; sample < header.lengths.size(); ++sample) {
    const std::int64_t length = header.lengths[sample];
    RP_CHECK(
        offsets[sample + 1] >= offsets[sample], ErrorCode::kFileMalformed,
        "{} falls from {} to {} after sample {}", path, offsets[sample], offsets[sample + 1], sample
    );
    const std::int64_t routes = offsets[sample + 1] - offsets[sample];
    RP_CHECK(
        routes <= length, ErrorCode::kTooManyRouteRows,
        "sample {} has {} route rows for {} tokens, allowed are {} or {}", sample, routes, length,
        length - 1, length
    );
    RP_CHECK(
        routes >= length - 1, ErrorCode::kTooFewRouteRows,
        "sample {} has {} route rows for {} tokens, allowed are {} or {}", sample, routes, length,
        length - 1, length
    );
  }
}

// Where the MoE layers lie on an axis of MoE layers only, or of all layers.
std::vector<LayerRun> find_runs(const WindowShape& shape, bool all_layers) {
  std::vector<LayerRun> runs;
  for (int layer = 0; layer < shape.num_moe_layers(); ++layer) {
    const int axis = all_layers ? shape.moe_layers[static_cast<std::size_t>(layer)] : layer;
    if (!runs.empty() && runs.back().first_axis + runs.back().count == axis) {
      ++runs.back().count;
    } else {
      runs.push_back({layer, axis, 1});
    }
  }
  return runs;
}

// "2 (MoE layers) or 5 (all layers)".
std::string expected_axis(const WindowShape& shape) {
  return shape.num_moe_layers() == shape.num_layers
             ? fmt::format("{}, all of them MoE layers", shape.num_layers)
             : fmt::format(
                   "{} (MoE layers) or {} (all layers)", shape.num_moe_layers(), shape.num_layers
               );
}

void check_routes(const WindowHeader& header, const NpyFile& ids) {
  const WindowShape& shape = header.shape;
  const std::string& path = ids.path();
  const std::vector<std::int64_t>& extents = ids.shape();
  RP_CHECK(
      extents.size() == 3, ErrorCode::kFileMalformed,
      "{} has shape {}, expected [rows, layers, top_k]", path, shape_text(extents)
  );
  RP_CHECK(
      extents[0] == header.route_offsets.back(), ErrorCode::kFileMalformed,
      "{} has {} rows, row_offsets.npy ends at {}", path, extents[0], header.route_offsets.back()
  );
  RP_CHECK(
      extents[1] == shape.num_moe_layers() || extents[1] == shape.num_layers,
      ErrorCode::kLayerAxisMismatch, "{}: the layer axis has {} layers, expected {}", path,
      extents[1], expected_axis(shape)
  );
  RP_CHECK(
      extents[2] == shape.top_k, ErrorCode::kFileMalformed,
      "{} holds {} ids a token and layer, 'top_k' is {}", path, extents[2], shape.top_k
  );
  // A token is read whole.
  RP_CHECK(
      extents[1] * extents[2] <= kMaxCounters, ErrorCode::kNumberOutOfRange,
      "{}: {} layers of 'top_k' = {} are over the limit of {} ids a token", path, extents[1],
      extents[2], kMaxCounters
  );
  RP_CHECK(
      std::cmp_greater_equal(max_of(ids.dtype()), shape.num_experts - 1),
      ErrorCode::kDtypeTooNarrow, "{}: {} holds ids up to {}, 'num_experts' is {}", path,
      name_of(ids.dtype()), max_of(ids.dtype()), shape.num_experts
  );
}

RouteView view_routes(const WindowHeader& header, const NpyFile& ids) {
  check_routes(header, ids);
  const WindowShape& shape = header.shape;
  RouteView view;
  view.ids = &ids;
  view.axis_size = static_cast<int>(ids.shape()[1]);
  view.top_k = shape.top_k;
  view.num_experts = shape.num_experts;
  view.moe_layers = shape.moe_layers;
  view.runs = find_runs(shape, view.axis_size != shape.num_moe_layers());
  view.lengths = header.lengths;
  view.route_offsets = header.route_offsets;
  return view;
}

}  // namespace

WindowHeader open_window(const std::string& folder) {
  WindowHeader header;
  header.folder = folder;
  const std::string groups = read_metadata(header);
  read_lengths(header);
  if (!groups.empty()) {
    header.groups = read_vector(path_in(folder, groups), header.shape.num_samples, header.files);
  }
  if (header.form == DemandForm::kRoutes) {
    read_route_offsets(header);
  }
  return header;
}

void WindowHeader::check_unchanged() const {
  for (const FileStamp& file : files) {
    file.check_unchanged();
  }
}

RouteFile::RouteFile(const WindowHeader& header)
    : ids_(path_in(header.folder, "routed_experts.npy")), view_(view_routes(header, ids_)) {}

void RouteFile::advise(std::int64_t first_sample, std::int64_t end_sample) const {
  const std::int64_t token = view_.ids_per_token();
  ids_.advise_sequential(
      view_.route_offsets[static_cast<std::size_t>(first_sample)] * token,
      view_.route_offsets[static_cast<std::size_t>(end_sample)] * token
  );
}

CountFile::CountFile(const WindowHeader& header) : array_(path_in(header.folder, "demand.npy")) {
  const WindowShape& shape = header.shape;
  const std::vector<std::int64_t> expected = {
      shape.num_samples, shape.num_moe_layers(), shape.num_experts};
  RP_CHECK(
      array_.shape() == expected, ErrorCode::kFileMalformed,
      "{} has shape {}, expected {} (samples, MoE layers, experts)", array_.path(),
      shape_text(array_.shape()), shape_text(expected)
  );
}

void CountFile::advise(std::int64_t first_sample, std::int64_t end_sample) const {
  const std::int64_t sample = array_.shape()[1] * array_.shape()[2];
  array_.advise_sequential(first_sample * sample, end_sample * sample);
}

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

}  // namespace routepack::io
