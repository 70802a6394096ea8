#include "fuzz/count_both_ways.hpp"

#include "demand/count.hpp"
#include "demand/exact_routes.hpp"
#include "fuzz/targets.hpp"

namespace routepack::fuzz {
namespace {

void compare_routes(const io::WindowHeader& header) {
  const io::RouteFile file(header);
  const demand::SampleRange all{0, header.shape.num_samples};
  file.advise(all.begin, all.end);
  const auto fast = outcome_of([&] { return demand::count_routes(file.view(), all); });
  const auto exact = outcome_of([&] { return demand::count_routes_exact(file.view(), all); });
  file.check_unchanged();
  expect(fast.error == exact.error, "fast says '" + fast.error + "', exact '" + exact.error + "'");
  if (!fast.value) {
    return;
  }
  expect(fast.value->demand == exact.value->demand, "the demand differs");
  expect(fast.value->routed_pairs == exact.value->routed_pairs, "the routed pairs differ");
  const std::int64_t middle = all.end / 2;
  demand::CountedDemand parts = demand::count_routes(file.view(), {0, middle});
  const demand::CountedDemand rest = demand::count_routes(file.view(), {middle, all.end});
  parts.demand.insert(parts.demand.end(), rest.demand.begin(), rest.demand.end());
  expect(parts.demand == fast.value->demand, "two parts differ from the whole");
  expect(
      parts.routed_pairs + rest.routed_pairs == fast.value->routed_pairs,
      "the pairs of two parts differ from the whole's"
  );
}

// A window has one answer: what reading throws is ignored, in whichever form.
void count(const std::string& folder) {
  const io::WindowHeader header = io::open_window(folder);
  constexpr std::int64_t kMaxCounters = 1 << 20;
  if (header.shape.num_samples * header.shape.num_moe_layers() * header.shape.num_experts >
      kMaxCounters) {
    return;
  }
  if (header.form == io::DemandForm::kRoutes) {
    compare_routes(header);
  } else if (header.form == io::DemandForm::kCounts) {
    const io::CountFile file(header);
    (void)demand::read_counts(header, file.array(), {0, header.shape.num_samples});
  }
  header.check_unchanged();
}

}  // namespace

void count_both_ways(const std::string& folder) {
  (void)outcome_of([&] {
    count(folder);
    return true;
  });
}

}  // namespace routepack::fuzz
