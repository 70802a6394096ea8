#include "demand/exact_routes.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace routepack::demand {
namespace {

constexpr std::int64_t kMissing = -1;
constexpr std::int64_t kBufferBytes = 64 << 10;

// The routes of one sample as int64, whatever their dtype. An unsigned id above int64 reads as its
// maximum, which no window allows.
class SampleRoutes {
 public:
  // Both must outlive it.
  SampleRoutes(const io::RouteView& routes, std::int64_t sample, RouteReader& reader)
      : routes_(routes),
        sample_(sample),
        reader_(reader),
        ids_(static_cast<std::size_t>(routes.top_k)) {
    for (const io::LayerRun& run : routes.runs) {
      for (int offset = 0; offset < run.count; ++offset) {
        axis_of_layer_.push_back(run.first_axis + offset);
      }
    }
  }

  // The top_k ids of a token of the sample at MoE layer `layer`; valid until the next call.
  std::span<const std::int64_t> line(std::int64_t token, int layer) {
    const std::int64_t first_token = routes_.route_offsets[static_cast<std::size_t>(sample_)];
    const std::int64_t first =
        std::int64_t{axis_of_layer_[static_cast<std::size_t>(layer)]} * routes_.top_k;
    io::with_type_of(routes_.ids->dtype(), [&](auto type) {
      const auto values = reader_.ids<decltype(type)>(first_token + token, 1)
                              .subspan(static_cast<std::size_t>(first), ids_.size());
      std::ranges::transform(values, ids_.begin(), [](auto id) {
        return std::in_range<std::int64_t>(id) ? static_cast<std::int64_t>(id)
                                               : std::numeric_limits<std::int64_t>::max();
      });
    });
    return ids_;
  }

  bool every_id_is(std::int64_t token, std::int64_t value) {
    for (int layer = 0; layer < routes_.num_moe_layers(); ++layer) {
      if (!std::ranges::all_of(line(token, layer), [&](auto id) { return id == value; })) {
        return false;
      }
    }
    return true;
  }

  // The ids of a line; throws unless they are distinct experts. An id of -1 here is a missing route
  // that is missing only in part.
  std::vector<std::int64_t> checked_line(std::int64_t token, int layer) {
    const std::span<const std::int64_t> current = line(token, layer);
    // A copy, as other lines are read to explain a fault.
    std::vector<std::int64_t> ids(current.begin(), current.end());
    for (std::size_t slot = 0; slot < ids.size(); ++slot) {
      const std::int64_t id = ids[slot];
      RP_CHECK(
          id != kMissing, ErrorCode::kPartialSentinel,
          "{}: some ids of the token are -1, a missing route is -1 at all {} ids of all {} MoE "
          "layers",
          where(token, layer), routes_.top_k, routes_.num_moe_layers()
      );
      RP_CHECK(
          id >= 0 && id < routes_.num_experts, ErrorCode::kExpertIdOutOfRange,
          "{}: expert id {}, allowed are 0 to {}", where(token, layer), id, routes_.num_experts - 1
      );
      if (std::find(ids.begin(), ids.end(), id) ==
          ids.begin() + static_cast<std::ptrdiff_t>(slot)) {
        continue;
      }
      fail_repeated(token, layer, id);
    }
    return ids;
  }

 private:
  [[nodiscard]] int model_layer(int layer) const {
    return routes_.moe_layers[static_cast<std::size_t>(layer)];
  }

  [[nodiscard]] std::string where(std::int64_t token, int layer) const {
    return fmt::format("sample {}, token {}, layer {}", sample_, token, model_layer(layer));
  }

  // Zeros throughout are a layer that nobody captured, not a strange route.
  [[noreturn]] void fail_repeated(std::int64_t token, int layer, std::int64_t id) {
    RP_CHECK(
        id != 0 || !layer_is_all_zero(layer), ErrorCode::kLayerAllZero,
        "sample {}: layer {} is all zeros, it was not captured", sample_, model_layer(layer)
    );
    const bool zeros = id == 0 && every_id_is(token, 0);
    base::fail(
        ErrorCode::kDuplicateExpertInRow, "{}: expert id {} appears twice among the top {}{}",
        where(token, layer), id, routes_.top_k,
        zeros
            ? "; the token is all zeros at every layer: a missing route inside a sample is written "
              "as -1"
            : ""
    );
  }

  // Whether a layer is zeros in all tokens that have a route, and at least one has.
  bool layer_is_all_zero(int layer) {
    bool any = false;
    const std::int64_t num_tokens = num_tokens_without_fillers(routes_, sample_);
    for (std::int64_t token = 0; token < num_tokens; ++token) {
      if (every_id_is(token, kMissing)) {
        continue;
      }
      any = true;
      if (!std::ranges::all_of(line(token, layer), [](auto id) { return id == 0; })) {
        return false;
      }
    }
    return any;
  }

  const io::RouteView& routes_;
  std::int64_t sample_;
  RouteReader& reader_;
  std::vector<int> axis_of_layer_;
  std::vector<std::int64_t> ids_;
};

// A reader of one sample's routes.
RouteReader reader_of(
    const io::RouteView& routes, std::int64_t sample, std::int64_t buffer_bytes = kBufferBytes
) {
  return {routes, routes.route_offsets[static_cast<std::size_t>(sample) + 1], buffer_bytes};
}

}  // namespace

RouteReader::RouteReader(
    const io::RouteView& routes, std::int64_t end_token, std::int64_t buffer_bytes
)
    : file_(*routes.ids),
      bytes_per_token_(routes.bytes_per_token()),
      end_token_(end_token),
      ahead_(buffer_bytes / bytes_per_token_) {}

std::span<const std::byte> RouteReader::tokens(std::int64_t first, std::int64_t count) {
  if (first < begin_ || first + count > end_) {
    load(first, std::max(count, std::min(ahead_, end_token_ - first)));
  }
  return {
      buffer_.get() + (first - begin_) * bytes_per_token_,
      static_cast<std::size_t>(count * bytes_per_token_)};
}

void RouteReader::load(std::int64_t first, std::int64_t count) {
  RP_ASSERT(
      light, first >= 0 && first + count <= end_token_, "tokens {} to {} of {}", first,
      first + count, end_token_
  );
  begin_ = end_ = 0;  // also where reading fails
  if (count > capacity_) {
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(
        static_cast<std::size_t>(count * bytes_per_token_)
    );
    capacity_ = count;
  }
  file_.read_bytes(
      first * bytes_per_token_, {buffer_.get(), static_cast<std::size_t>(count * bytes_per_token_)}
  );
  begin_ = first;
  end_ = first + count;
}

std::int64_t num_tokens_without_fillers(const io::RouteView& routes, std::int64_t sample) {
  std::int64_t end = routes.num_routes(sample);
  if (routes.top_k == 1 || end != routes.lengths[static_cast<std::size_t>(sample)]) {
    return end;
  }
  // Backwards in blocks: most samples have one filler or none, few have thousands.
  const std::int64_t max_block = std::max<std::int64_t>(1, kBufferBytes / routes.bytes_per_token());
  RouteReader reader = reader_of(routes, sample, 0);
  SampleRoutes tokens(routes, sample, reader);
  for (std::int64_t block = 1; end > 1; block = std::min(2 * block, max_block)) {
    const std::int64_t begin = std::max<std::int64_t>(1, end - block);
    reader.hold(routes.route_offsets[static_cast<std::size_t>(sample)] + begin, end - begin);
    for (; end > begin; --end) {
      if (!tokens.every_id_is(end - 1, 0)) {
        return end;
      }
    }
  }
  return end;
}

std::int64_t add_tokens_exact(
    const io::RouteView& routes,
    std::int64_t sample,
    TokenRange tokens,
    RouteReader& reader,
    std::span<std::uint32_t> demand
) {
  SampleRoutes sample_routes(routes, sample, reader);
  std::int64_t routed = 0;
  for (std::int64_t token = tokens.begin; token < tokens.end; ++token) {
    if (sample_routes.every_id_is(token, kMissing)) {
      continue;
    }
    ++routed;
    for (int layer = 0; layer < routes.num_moe_layers(); ++layer) {
      for (const std::int64_t id : sample_routes.checked_line(token, layer)) {
        ++demand[static_cast<std::size_t>(std::int64_t{layer} * routes.num_experts + id)];
      }
    }
  }
  return routed;
}

CountedDemand count_routes_exact(const io::RouteView& routes, SampleRange range) {
  const auto sample_size = static_cast<std::size_t>(routes.num_moe_layers()) *
                           static_cast<std::size_t>(routes.num_experts);
  CountedDemand counted;
  counted.demand.resize(static_cast<std::size_t>(range.size()) * sample_size);
  for (std::int64_t sample = range.begin; sample < range.end; ++sample) {
    const std::span<std::uint32_t> demand =
        std::span(counted.demand)
            .subspan(static_cast<std::size_t>(sample - range.begin) * sample_size, sample_size);
    RouteReader reader = reader_of(routes, sample);
    const TokenRange tokens{0, num_tokens_without_fillers(routes, sample)};
    counted.routed_pairs += routes.top_k * add_tokens_exact(routes, sample, tokens, reader, demand);
  }
  return counted;
}

}  // namespace routepack::demand
