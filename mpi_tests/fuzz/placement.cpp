#include "fuzz/targets.hpp"
#include "io/plan_file.hpp"
#include "support/temp_folder.hpp"

namespace routepack::fuzz {

void fuzz_placement(Bytes bytes) {
  const std::string path = scratch("placement.json");
  testing::write_file(path, text_of(bytes));
  for (const int ep : {1, 2, 4}) {
    const auto placement = outcome_of([&] { return io::read_placement(path, ep); });
    if (placement.value) {
      expect(placement.value->ep == ep, "the placement is for another ep");
      const auto num_layers = static_cast<int>(placement.value->layers.size());
      validate_placement(*placement.value, num_layers, placement.value->num_experts);
    }
  }
}

}  // namespace routepack::fuzz
