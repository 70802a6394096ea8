#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <thread>

#include "comm/collectives.hpp"
#include "demand/load_window.hpp"
#include "demand/reduce.hpp"
#include "support/expect_error.hpp"
#include "support/random_window.hpp"

namespace routepack::demand {
namespace {

using testing::Draws;
using testing::expect_error;
using testing::make_random_window;
using testing::RandomWindow;
using testing::TempFolder;
using testing::TestWindow;

// A folder that rank 0 makes and all ranks see.
class SharedFolder {
 public:
  explicit SharedFolder(const comm::Communicator& comm) : comm_(comm) {
    std::vector<char> path;
    if (comm.is_root()) {
      folder_ = std::make_unique<TempFolder>();
      path.assign(folder_->path().begin(), folder_->path().end());
    }
    path = comm::broadcast(std::move(path), 0, comm);
    path_.assign(path.begin(), path.end());
  }
  ~SharedFolder() { comm::barrier(comm_); }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  [[nodiscard]] const std::string& write(const TestWindow& window) const {
    if (comm_.is_root()) {
      window.write(path_);
    }
    comm::barrier(comm_);
    return path_;
  }

 private:
  const comm::Communicator& comm_;
  std::unique_ptr<TempFolder> folder_;
  std::string path_;
};

class DemandTest : public ::testing::Test {
 protected:
  const comm::Communicator comm_{MPI_COMM_WORLD};
  const SharedFolder folder_{comm_};
};

RandomWindow random_window() {
  Draws draws(77);
  return make_random_window(
      {.num_experts = 12, .top_k = 3, .moe_layers = {1, 2, 4}, .num_layers = 5, .num_samples = 23},
      draws
  );
}

TEST_F(DemandTest, SlicesOfAllRanksAreTheWindow) {
  const RandomWindow made = random_window();
  const WindowSlice slice = load_window(folder_.write(made.window), comm_);
  EXPECT_EQ(comm::all_gather(slice.lengths, comm_), made.window.lengths);
  EXPECT_EQ(comm::all_gather(slice.demand, comm_), made.demand);
  EXPECT_EQ(comm::all_reduce_sum(slice.unrouted_tokens, comm_), made.unrouted_tokens);
  EXPECT_EQ(slice.shape.num_samples, 23);
  std::int64_t first = 0;
  for (const std::int64_t count : comm::all_gather_value(slice.num_local(), comm_)) {
    EXPECT_GE(count, 0);
    first += count;
  }
  EXPECT_EQ(first, 23);
}

TEST_F(DemandTest, ReducedDemandIsTheSumOfTheSamples) {
  const RandomWindow made = random_window();
  const domain::WindowDemand window =
      reduce_demand(load_window(folder_.write(made.window), comm_), comm_);
  EXPECT_EQ(window.num_samples, 23);
  EXPECT_EQ(window.unrouted_tokens, made.unrouted_tokens);
  EXPECT_EQ(
      window.total_tokens,
      std::accumulate(made.window.lengths.begin(), made.window.lengths.end(), std::int64_t{0})
  );
  ASSERT_EQ(window.demand.num_layers, 3);
  ASSERT_EQ(window.demand.num_experts, 12);
  std::vector<std::int64_t> expected(36, 0);
  for (std::size_t at = 0; at < made.demand.size(); ++at) {
    expected[at % 36] += made.demand[at];
  }
  EXPECT_EQ(window.demand.pairs, expected);
  EXPECT_TRUE(std::ranges::equal(window.demand.of(MoeLayer{1}), std::span(expected).subspan(12, 12))
  );
}

TEST_F(DemandTest, CountsNeedNotBeMultiplesOfTopK) {
  // Three samples with 1, 3 and 1 pairs at top 2: five pairs are two routed tokens, though a
  // sample alone would make 0, 1 and 0 of them.
  const TestWindow window{
      .num_experts = 2,
      .moe_layers = {0},
      .num_layers = 1,
      .form = "counts",
      .lengths = {2, 2, 2},
      .counts = {1, 0, 1, 2, 0, 1}};
  const domain::WindowDemand demand =
      reduce_demand(load_window(folder_.write(window), comm_), comm_);
  EXPECT_EQ(demand.unrouted_tokens, 4);
  EXPECT_EQ(demand.demand.pairs, (std::vector<std::int64_t>{2, 3}));
}

TEST_F(DemandTest, ADenseWindowHasNoDemandAndNothingMissing) {
  const TestWindow window{.moe_layers = {}, .form = "none", .lengths = {2, 5, 9}};
  const WindowSlice slice = load_window(folder_.write(window), comm_);
  EXPECT_TRUE(slice.demand.empty());
  const domain::WindowDemand demand = reduce_demand(slice, comm_);
  EXPECT_TRUE(demand.demand.pairs.empty());
  EXPECT_EQ(demand.total_tokens, 16);
  EXPECT_EQ(demand.unrouted_tokens, 0);
  const comm::Communicator node = comm_.split_by_node();
  const ProjectedDemand projected = project_demand(slice, identity_placement(0, 0, 1), node, comm_);
  EXPECT_EQ(projected.view().num_samples, 3);
  EXPECT_TRUE(projected.view().narrow.empty());
}

TEST_F(DemandTest, AnEmptyWindowIsEmptyOnEveryRank) {
  const WindowSlice slice = load_window(folder_.write({.form = "counts"}), comm_);
  EXPECT_EQ(slice.num_local(), 0);
  EXPECT_EQ(reduce_demand(slice, comm_).num_samples, 0);
}

TEST_F(DemandTest, EveryRankNamesTheFirstFaultySample) {
  RandomWindow made = random_window();
  // Faults in the last sample and in an earlier one, whoever owns them.
  const std::int64_t rows = std::accumulate(
      made.window.row_counts.begin(), made.window.row_counts.begin() + 9, std::int64_t{0}
  );
  made.window.ids.back() = 12;
  made.window.lengths[9] = made.window.row_counts[9] + 1;  // no filler
  made.window.ids[static_cast<std::size_t>(rows * 9)] = 13;
  const std::string& path = folder_.write(made.window);
  expect_error(ErrorCode::kExpertIdOutOfRange, "sample 9, token 0, layer 1: expert id 13", [&] {
    (void)load_window(path, comm_);
  });
  expect_error(ErrorCode::kFileMalformed, "window.json", [&] {
    (void)load_window(path + "/missing", comm_);
  });
}

TEST_F(DemandTest, AFileThatChangesMeanwhileIsTheSameErrorOnEveryRank) {
  const std::string& path = folder_.write(random_window().window);
  const std::string routes = path + "/routed_experts.npy";
  // Only the root's thread writes; when it does, no rank may differ from the others.
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (bool longer = true; comm_.is_root() && !stop; longer = !longer) {
      const std::uintmax_t size = std::filesystem::file_size(routes);
      std::filesystem::resize_file(routes, longer ? size + 1 : size - 1);
    }
  });
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::int32_t outcome = -1;
    try {
      (void)load_window(path, comm_);
    } catch (const Error& error) {
      outcome = static_cast<std::int32_t>(error.code());
      EXPECT_EQ(error.code(), ErrorCode::kFileMalformed) << error.what();
    }
    for (const std::int32_t other : comm::all_gather_value(outcome, comm_)) {
      EXPECT_EQ(other, outcome);
    }
  }
  stop = true;
  writer.join();
}

// 200 KB of lengths that ask for terabytes.
TEST_F(DemandTest, DemandThatNoNodeHoldsIsRefusedBeforeItIsAllocated) {
  constexpr std::int64_t kSamples = 200'000;
  TestWindow window{.num_experts = 1 << 16, .top_k = 1};
  window.moe_layers.resize(64);
  std::iota(window.moe_layers.begin(), window.moe_layers.end(), 0);
  window.num_layers = window.axis = 64;
  window.lengths.assign(kSamples, 1);
  window.row_counts.assign(kSamples, 0);
  window.dtype = "<u2";
  const std::string& path = folder_.write(window);
  expect_error(
      ErrorCode::kNumberOutOfRange,
      "200000 samples ('lengths.npy') at 64 layers ('moe_layers') of 65536 experts "
      "('num_experts') takes 3355443200000 bytes",
      [&] { (void)load_window(path, comm_); }
  );
}

WindowSlice slice_with_demand(
    const std::vector<std::uint32_t>& demand, const std::vector<std::int64_t>& lengths, int top_k
) {
  WindowSlice slice;
  slice.shape = {
      .num_samples = static_cast<std::int64_t>(lengths.size()),
      .moe_layers = {0},
      .num_layers = 1,
      .num_experts = static_cast<int>(demand.size()),
      .top_k = top_k,
      .name = ""};
  slice.lengths = lengths;
  slice.demand = lengths.empty() ? std::vector<std::uint32_t>{} : demand;
  return slice;
}

TEST_F(DemandTest, TokensCountedTwiceOrNotAtAllAreNoticed) {
  // Every rank counts the same six tokens, which the window has once.
  WindowSlice slice = slice_with_demand({3, 1, 0, 2}, {6}, 1);
  EXPECT_EQ(
      reduce_demand(slice, comm_).demand.pairs,
      (std::vector<std::int64_t>{
          3 * comm_.num_mpi_ranks(), comm_.num_mpi_ranks(), 0, 2 * comm_.num_mpi_ranks()})
  );
  slice.lengths = {comm_.is_root() ? 6 : 1};
  if (comm_.num_mpi_ranks() > 1) {
    expect_error(ErrorCode::kDemandNotConserved, "layer 0 has", [&] {
      (void)reduce_demand(slice, comm_);
    });
  }
  slice = slice_with_demand({3, 1, 0, 2}, {7}, 1);
  expect_error(ErrorCode::kDemandNotConserved, "twice or not at all", [&] {
    (void)reduce_demand(slice, comm_);
  });
}

// Reverses the experts of odd layers, so that no two layers are placed alike.
Placement mixed_placement(int layers, int experts, int ep) {
  Placement placement = identity_placement(layers, experts, ep);
  for (int layer = 1; layer < layers; layer += 2) {
    for (const ExpertId expert : ids<ExpertId>(experts)) {
      placement.layers[MoeLayer{layer}][expert] = SlotId{experts - 1 - expert.value()};
    }
  }
  return placement;
}

void expect_projected(
    const domain::ProjectedDemandView& view,
    const std::vector<std::uint32_t>& demand,
    const Placement& placement,
    bool wide
) {
  const auto layers = static_cast<int>(placement.layers.size());
  ASSERT_EQ(view.padded_layers, 16);
  ASSERT_EQ(view.num_layers, layers);
  ASSERT_EQ(view.ep, placement.ep);
  const auto size = static_cast<std::size_t>(view.num_samples * view.ep * view.padded_layers);
  ASSERT_EQ(wide ? view.wide.size() : view.narrow.size(), size);
  EXPECT_TRUE(wide ? view.narrow.empty() : view.wide.empty());
  std::vector<std::uint32_t> expected(size, 0);
  std::size_t at = 0;
  for (int sample = 0; sample < view.num_samples; ++sample) {
    for (const MoeLayer layer : ids<MoeLayer>(layers)) {
      for (const ExpertId expert : ids<ExpertId>(placement.num_experts)) {
        const int rank = placement.ep_rank_of(layer, expert).value();
        expected[static_cast<std::size_t>(
            (sample * view.ep + rank) * view.padded_layers + layer.value()
        )] += demand[at++];
      }
    }
  }
  for (std::size_t element = 0; element < size; ++element) {
    ASSERT_EQ(wide ? view.wide[element] : view.narrow[element], expected[element]) << element;
  }
}

TEST_F(DemandTest, ProjectionChargesTheRankThatHoldsTheExpert) {
  const RandomWindow made = random_window();
  const WindowSlice slice = load_window(folder_.write(made.window), comm_);
  const comm::Communicator node = comm_.split_by_node();
  const Placement placement = mixed_placement(3, 12, 4);
  const ProjectedDemand projected = project_demand(slice, placement, node, comm_);
  EXPECT_FALSE(projected.is_wide());
  expect_projected(projected.view(), made.demand, placement, false);
}

TEST_F(DemandTest, ProjectionGathersOverNodes) {
  // Pretended nodes, with ranks dealt in turn: no node's samples are consecutive.
  const RandomWindow made = random_window();
  const WindowSlice slice = load_window(folder_.write(made.window), comm_);
  const comm::Communicator node = comm_.split(comm_.mpi_rank() % 2);
  const Placement placement = mixed_placement(3, 12, 2);
  const ProjectedDemand projected = project_demand(slice, placement, node, comm_);
  expect_projected(projected.view(), made.demand, placement, false);
}

// While it lives, no file of this process can grow: no rank gets common memory.
class NoRoomInFiles {
 public:
  NoRoomInFiles() : before_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit none{0, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoRoomInFiles() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    ::signal(SIGXFSZ, before_);
  }
  NoRoomInFiles(const NoRoomInFiles&) = delete;
  NoRoomInFiles& operator=(const NoRoomInFiles&) = delete;

 private:
  rlimit limit_{};
  sighandler_t before_;
};

// A copy a rank, also where only one of the nodes has no common memory.
TEST_F(DemandTest, ProjectionNeedsNoCommonMemory) {
  const RandomWindow made = random_window();
  const WindowSlice slice = load_window(folder_.write(made.window), comm_);
  const Placement placement = mixed_placement(3, 12, 2);
  for (const bool on_all_nodes : {true, false}) {
    const int pretended_node = comm_.mpi_rank() / 2;
    const comm::Communicator node =
        on_all_nodes ? comm_.split_by_node() : comm_.split(pretended_node);
    std::optional<NoRoomInFiles> no_room;
    if (on_all_nodes || pretended_node == 0) {
      no_room.emplace();
    }
    const ProjectedDemand projected = project_demand(slice, placement, node, comm_);
    expect_projected(projected.view(), made.demand, placement, false);
  }
}

TEST_F(DemandTest, OneLargeElementAnywhereMakesAllRanksWide) {
  const TestWindow window{
      .num_experts = 2,
      .top_k = 1,
      .moe_layers = {0, 1, 2},
      .num_layers = 3,
      .form = "counts",
      .lengths = {5, 5, 5, 70'000},
      .counts = {1, 2, 0, 3, 3, 0, 0,      5, 5, 0,      1, 4,
                 0, 0, 0, 0, 0, 0, 65'536, 1, 0, 65'537, 5, 65'532}};
  const std::vector<std::uint32_t> demand(window.counts.begin(), window.counts.end());
  const WindowSlice slice = load_window(folder_.write(window), comm_);
  const comm::Communicator node = comm_.split_by_node();
  const Placement placement = mixed_placement(3, 2, 2);
  const ProjectedDemand projected = project_demand(slice, placement, node, comm_);
  EXPECT_TRUE(projected.is_wide());
  expect_projected(projected.view(), demand, placement, true);
}

}  // namespace
}  // namespace routepack::demand
