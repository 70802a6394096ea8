// Each rank has a window folder of its own, as nodes with stale caches or copies have.
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "demand/load_window.hpp"
#include "demand/reduce.hpp"
#include "support/expect_error.hpp"
#include "support/random_window.hpp"

namespace routepack::demand {
namespace {

using testing::expect_error;
using testing::TempFolder;
using testing::TestWindow;

class AgreeWindow : public ::testing::Test {
 protected:
  // The last of several ranks reads `odd`, the others `usual`: refused on every rank.
  void expect_refused(
      const TestWindow& usual, const TestWindow& odd, const std::string& part_of_text
  ) const {
    if (last_ == 0) {
      return;
    }
    const TempFolder folder;
    (comm_.mpi_rank() == last_ ? odd : usual).write(folder.path());
    expect_error(ErrorCode::kInputDisagreement, part_of_text, [&] {
      (void)load_window(folder.path(), comm_);
    });
  }

  const comm::Communicator comm_{MPI_COMM_WORLD};
  const int last_ = comm_.num_mpi_ranks() - 1;
};

TestWindow routes() {
  return {
      .lengths = {2, 3, 2}, .row_counts = {2, 2, 2}, .ids = {0, 1, 2, 3, 1, 0, 3, 2, 0, 2, 1, 3,
                                                             0, 1, 2, 3, 1, 0, 3, 2, 0, 2, 1, 3}};
}

TestWindow counts() {
  return {
      .form = "counts",
      .lengths = {2, 3},
      .counts = {2, 2, 0, 0, 1, 1, 1, 1, 0, 0, 3, 3, 3, 3, 0, 0}};
}

TEST_F(AgreeWindow, CopiesUnderDifferentPathsAreOneWindow) {
  for (const TestWindow& window : {routes(), counts()}) {
    const TempFolder folder;
    window.write(folder.path());
    const WindowSlice slice = load_window(folder.path(), comm_);
    EXPECT_EQ(
        reduce_demand(slice, comm_).num_samples, static_cast<std::int64_t>(window.lengths.size())
    );
  }
}

TEST_F(AgreeWindow, NamesTheFileAndTheFirstSampleThatDiffers) {
  TestWindow other = routes();
  other.lengths[1] = 2;
  expect_refused(
      routes(), other, fmt::format("lengths.npy: sample 1 is 3 on rank 0 and 2 on rank {}", last_)
  );
  other = routes();
  other.lengths.push_back(1);
  other.row_counts.push_back(0);
  expect_refused(routes(), other, "lengths.npy has 3 elements on rank 0 and 4 on rank");
  other = routes();
  other.row_counts[1] = 3;
  other.ids.resize(28, 1);
  expect_refused(routes(), other, "row_offsets.npy: entry 2 is 4 on rank 0 and 5 on rank");
}

TEST_F(AgreeWindow, SeesOtherRoutesAndCountsOfEqualLengths) {
  TestWindow other = routes();
  std::swap(other.ids[12], other.ids[13]);
  expect_refused(routes(), other, "routed_experts.npy is ");
  other = routes();
  other.dtype = "<i8";
  expect_refused(routes(), other, "routed_experts.npy is ");
  other = counts();
  std::swap(other.counts[0], other.counts[3]);
  expect_refused(counts(), other, "demand.npy is ");
}

TEST_F(AgreeWindow, SeesOtherMetadata) {
  TestWindow other = routes();
  other.num_experts = 8;
  expect_refused(
      routes(), other,
      fmt::format("'num_experts' of window.json is 4 on rank 0 and 8 on rank {}", last_)
  );
  other = routes();
  other.moe_layers = {0, 2};
  other.num_layers = 3;
  expect_refused(routes(), other, "'num_layers' of window.json is 2 on rank 0 and 3");
  expect_refused(counts(), routes(), "'ep_demand' of window.json is counts on rank 0 and routes");
}

}  // namespace
}  // namespace routepack::demand
