#include "synth/window_files.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "base/checked.hpp"
#include "io/atomic_file.hpp"

namespace routepack {
namespace {

std::vector<std::int64_t> row_offsets_of(
    const SynthOptions& options, const std::vector<SampleTokens>& lengths
) {
  std::vector<std::int64_t> offsets = {0};
  for (const SampleTokens& tokens : lengths) {
    offsets.push_back(offsets.back() + tokens.total() - (options.last_route ? 0 : 1));
  }
  return offsets;
}

// The values as the narrower integers that the file holds. The caller knows that they fit.
template <class Narrow, class Wide>
std::vector<Narrow> narrowed(const std::vector<Wide>& values) {
  std::vector<Narrow> narrow;
  narrow.reserve(values.size());
  std::ranges::transform(values, std::back_inserter(narrow), [](Wide value) {
    return static_cast<Narrow>(value);
  });
  return narrow;
}

template <class T>
void write_elements(NpySliceWriter& file, std::int64_t first, const std::vector<T>& values) {
  file.write(first, std::as_bytes(std::span<const T>(values)));
}

void write_vector(const std::string& path, const std::vector<std::int64_t>& values) {
  write_npy<std::int64_t>(path, values, {static_cast<std::int64_t>(values.size())});
}

std::string window_json(const SynthOptions& options) {
  std::string name = options.name;
  if (name.empty()) {
    name = options.model.name;
    if (options.pattern != Pattern::kNone) {
      name += "-" + std::string(name_of(options.pattern));
    }
  }
  const nlohmann::ordered_json json = {
      {"format", "routepack-window/1"},
      {"num_experts", options.model.experts},
      {"top_k", options.model.top_k},
      {"moe_layers", options.model.moe_layers()},
      {"num_layers", options.model.layers},
      {"ep_demand", options.form == WindowForm::kRoutes ? "routes" : "counts"},
      {"groups", "groups.npy"},
      {"name", name},
      {"source", describe(options)},
  };
  return json.dump(1) + "\n";
}

}  // namespace

std::int64_t RoutingArray::bytes() const {
  std::int64_t product = bytes_of(dtype);
  for (const std::int64_t extent : shape) {
    product = checked_multiply(product, extent, "size of the window");
  }
  return product;
}

RoutingArray routing_array(const SynthOptions& options, const std::vector<SampleTokens>& lengths) {
  const auto num_moe_layers = static_cast<std::int64_t>(options.model.moe_layers().size());
  RoutingArray array;
  if (options.form == WindowForm::kRoutes) {
    array.file = "routed_experts.npy";
    constexpr int kUint8Ids = 256;
    array.dtype = options.model.experts <= kUint8Ids ? NpyDtype::kUint8 : NpyDtype::kUint16;
    array.shape = {
        row_offsets_of(options, lengths).back(),
        options.all_layers ? options.model.layers : num_moe_layers, options.model.top_k};
    return array;
  }
  std::int64_t longest = 0;
  for (const SampleTokens& tokens : lengths) {
    longest = std::max(longest, tokens.total());
  }
  array.file = "demand.npy";
  array.dtype =
      longest <= std::numeric_limits<std::uint16_t>::max() ? NpyDtype::kUint16 : NpyDtype::kUint32;
  array.shape = {static_cast<std::int64_t>(lengths.size()), num_moe_layers, options.model.experts};
  return array;
}

void create_window_files(
    const std::string& folder, const SynthOptions& options, const std::vector<SampleTokens>& lengths
) {
  std::vector<std::int64_t> totals;
  std::vector<std::int64_t> prompts;
  for (const SampleTokens& tokens : lengths) {
    prompts.push_back(options.prompt_of(static_cast<std::int64_t>(totals.size())));
    totals.push_back(tokens.total());
  }
  write_vector(folder + "/lengths.npy", totals);
  write_vector(folder + "/groups.npy", prompts);
  if (options.form == WindowForm::kRoutes) {
    write_vector(folder + "/row_offsets.npy", row_offsets_of(options, lengths));
  }
  const RoutingArray array = routing_array(options, lengths);
  create_npy(folder + "/" + array.file, array.dtype, array.shape);
  AtomicFile json(folder + "/window.json");
  json.write(window_json(options));
  json.commit();
}

SampleWriter::SampleWriter(
    const std::string& folder, const SynthOptions& options, const std::vector<SampleTokens>& lengths
)
    : options_(options),
      lengths_(lengths),
      row_offsets_(row_offsets_of(options, lengths)),
      array_(routing_array(options, lengths)),
      file_(folder + "/" + array_.file, array_.dtype, array_.shape),
      routing_(options) {}

void SampleWriter::write(std::int64_t sample) {
  const auto at = static_cast<std::size_t>(sample);
  if (options_.form == WindowForm::kRoutes) {
    const std::vector<std::uint16_t> ids = routing_.routes(sample, lengths_[at]);
    const std::int64_t first = row_offsets_[at] * array_.shape[1] * array_.shape[2];
    if (array_.dtype == NpyDtype::kUint8) {
      write_elements(file_, first, narrowed<std::uint8_t>(ids));
    } else {
      write_elements(file_, first, ids);
    }
    return;
  }
  const std::vector<std::uint32_t> demand = routing_.counts(sample, lengths_[at]);
  const std::int64_t first = sample * array_.shape[1] * array_.shape[2];
  if (array_.dtype == NpyDtype::kUint16) {
    write_elements(file_, first, narrowed<std::uint16_t>(demand));
  } else {
    write_elements(file_, first, demand);
  }
}

}  // namespace routepack
