#include "io/plan_file.hpp"

#include "fuzz/targets.hpp"
#include "support/temp_folder.hpp"

namespace routepack::fuzz {

void fuzz_plan(Bytes bytes) {
  const std::string path = scratch("plan.json");
  testing::write_file(path, text_of(bytes));
  const auto plan = outcome_of([&] { return io::read_plan(path); });
  if (!plan.value) {
    return;
  }
  const CellLayout& layout = plan.value->layout;
  expect(layout.dp == plan.value->topology.dp, "the layout has another dp than the topology");
  const std::int64_t num_cells = std::int64_t{layout.num_rows} * layout.dp;
  for (const CellId cell : layout.cell_of_sample) {
    expect(cell.value() >= 0 && std::cmp_less(cell.value(), num_cells), "a sample lies in no cell");
  }
  const Placement& placement = plan.value->placement;
  const auto num_layers = static_cast<int>(placement.layers.size());
  validate_placement(placement, num_layers, placement.num_experts);  // read_plan has, too
}

}  // namespace routepack::fuzz
