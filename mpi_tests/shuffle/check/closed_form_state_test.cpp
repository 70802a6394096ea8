#include "shuffle/check/closed_form_state.hpp"

#include <gtest/gtest.h>

#include "shuffle/placements.hpp"

namespace routepack::shuffle {
namespace {

class ClosedForm : public ::testing::Test {
 protected:
  // Layers 0 and 2 move, layer 1 stays.
  static constexpr int kLayers = 3;
  StateShape shape_{kLayers, 4, 8, 6, 2, 1, 3};
  Placement before_ = identity_placement(kLayers, 4, 2);
  Placement after_ = [this] {
    Placement moved = before_;
    for (const int layer : {0, 2}) {
      LayerPlacement& slots = moved.layers[MoeLayer{layer}];
      std::swap(slots[ExpertId{0}], slots[ExpertId{3}]);
    }
    return moved;
  }();
  ClosedFormState state_{shape_, 0, before_};
};

using Layers = std::vector<bool>;

TEST_F(ClosedForm, TellsOldLayersFromNewOnes) {
  LayerContents contents = state_.compare_layers(before_, after_);
  EXPECT_EQ(contents.is_old.values(), (Layers{true, true, true}));
  EXPECT_EQ(contents.is_new.values(), (Layers{false, true, false}));  // layer 1 is both

  Placement mixed = before_;
  mixed.layers[MoeLayer{0}] = after_.layers[MoeLayer{0}];
  state_.fill(mixed);
  EXPECT_NE(state_.find_fault(before_), "");
  EXPECT_NE(state_.find_fault(after_), "");
  contents = state_.compare_layers(before_, after_);
  EXPECT_EQ(contents.is_old.values(), (Layers{false, true, true}));
  EXPECT_EQ(contents.is_new.values(), (Layers{true, true, false}));

  state_.fill(after_);
  contents = state_.compare_layers(before_, after_);
  EXPECT_EQ(contents.is_old.values(), (Layers{false, true, false}));
  EXPECT_EQ(contents.is_new.values(), (Layers{true, true, true}));
}

TEST_F(ClosedForm, ADamagedLayerIsNeither) {
  const SlotTensor& tensor = state_.registry().tensors().front();
  ASSERT_EQ(tensor.layer, MoeLayer{0});
  tensor.ranges.front().address[5] ^= std::byte{1};
  LayerContents contents = state_.compare_layers(before_, after_);
  EXPECT_EQ(contents.is_old.values(), (Layers{false, true, true}));
  EXPECT_EQ(contents.is_new.values(), (Layers{false, true, false}));
  tensor.ranges.front().address[5] ^= std::byte{1};
  tensor.ranges.front().address[-1] ^= std::byte{1};  // outside all tensors
  contents = state_.compare_layers(before_, after_);
  EXPECT_EQ(contents.is_old.values(), (Layers{false, false, false}));
  EXPECT_EQ(contents.is_new.values(), (Layers{false, false, false}));
}

}  // namespace
}  // namespace routepack::shuffle
