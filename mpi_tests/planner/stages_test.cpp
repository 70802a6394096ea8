// Every stage of the pipeline by itself: the same result at any number of ranks and threads and at
// any SIMD level, so that where plans part the first red test names the stage.
//
// No stage is fed by the one before it: each gets the same small window, layout and placement, made
// in integers. Results are hashed and compared with digests that are written down, which is how
// runs on 1, 2, 3 and 4 ranks are compared with each other. To renew one: as in
// golden_digest_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "annealing/population.hpp"
#include "base/digest.hpp"
#include "base/simd.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "demand/reduce.hpp"
#include "packing/pack_rows.hpp"
#include "packing/start_layout.hpp"
#include "placement/aggregate/place_experts.hpp"
#include "planner/block_placement.hpp"
#include "planner/polish.hpp"
#include "support/plan_problem.hpp"

namespace routepack::planner {
namespace {

constexpr int kLayers = 18;  // more than one group of SIMD lanes
constexpr int kExperts = 16;
const Topology kTopology = {.dp = 8, .ep = 4};

std::string hash(const CellLayout& layout) {
  base::DigestBuilder digest;
  digest.add(layout.num_rows);
  digest.add(layout.dp);
  for (const CellId cell : layout.cell_of_sample) {
    digest.add(cell.value());
  }
  return base::to_hex(digest.finish());
}

std::string hash(const Placement& placement) {
  base::DigestBuilder digest;
  for (const LayerPlacement& layer : placement.layers) {
    for (const SlotId slot : layer) {
      digest.add(slot.value());
    }
  }
  return base::to_hex(digest.finish());
}

class Stages : public ::testing::Test {
 protected:
  Stages()
      : instance_(testing::make_instance(
            {.num_samples = 72,
             .num_layers = kLayers,
             .num_experts = kExperts,
             .topology = kTopology},
            41
        )),
        slice_(testing::slice_of(instance_.window, world_)),
        identity_(identity_placement(kLayers, kExperts, kTopology.ep)) {
    testing::connect(instance_, kTopology);
  }

  // The window's routed pairs, [L, E].
  [[nodiscard]] std::vector<std::int64_t> demand() const {
    std::vector<std::int64_t> pairs(kLayers * kExperts, 0);
    for (std::size_t n = 0; n < instance_.window.demand.size(); ++n) {
      pairs[n % pairs.size()] += instance_.window.demand[n];
    }
    return pairs;
  }

  comm::Communicator world_{MPI_COMM_WORLD};
  testing::SearchInstance instance_;
  WindowSlice slice_;
  Placement identity_;
};

struct Workers {
  int threads = 1;
  SimdLevel simd = SimdLevel::kPortable;
};

std::string name_of(const Workers& workers) {
  const std::string level = workers.simd == SimdLevel::kPortable ? "Portable"
                            : workers.simd == SimdLevel::kAvx2   ? "Avx2"
                                                                 : "Avx512";
  return level + "On" + std::to_string(workers.threads) + "Threads";
}

void PrintTo(const Workers& workers, std::ostream* out) { *out << name_of(workers); }

// A stage whose work is shared by threads or done by kernels; the level is that of this CPU where
// it has less.
class SharedStages : public Stages, public ::testing::WithParamInterface<Workers> {
 protected:
  const int threads_ = GetParam().threads;
  const SimdLevel simd_ = std::min(GetParam().simd, base::best_simd_level());
};

TEST_F(Stages, Demand) {
  const domain::WindowDemand window = demand::reduce_demand(slice_, world_);
  base::DigestBuilder digest;
  for (const std::int64_t pairs : window.demand.pairs) {
    digest.add(pairs);
  }
  digest.add(window.num_samples);
  digest.add(window.total_tokens);
  digest.add(window.unrouted_tokens);
  for (const std::int64_t pairs : demand::gather_routed_pairs(slice_, world_)) {
    digest.add(pairs);
  }
  EXPECT_EQ(base::to_hex(digest.finish()), "f4a2fa08d9f7ceb1dcc169a374148d46");
}

TEST_F(Stages, DemandOnEpRanks) {
  const comm::Communicator node = world_.split_by_node();
  const demand::ProjectedDemand projected = demand::project_demand(slice_, identity_, node, world_);
  ASSERT_FALSE(projected.is_wide());
  base::DigestBuilder digest;
  for (const std::uint16_t pairs : projected.view().narrow) {
    digest.add(pairs);
  }
  EXPECT_EQ(base::to_hex(digest.finish()), "6e551f2998f6c2084822ab2f94f43fe1");
}

TEST_F(Stages, Rows) {
  const packing::PackedRows rows = packing::pack_counted_rows(
      packing::PaddedLengths{instance_.window.lengths}, instance_.rules, kTopology, 1, {}
  );
  EXPECT_EQ(hash(rows.layout), "d5672633f0ba4903b4d777c986fa187c");
}

struct Start {
  packing::StartKind kind;
  const char* name;
  const char* digest;
};

void PrintTo(const Start& start, std::ostream* out) { *out << start.name; }

class StartStage : public Stages, public ::testing::WithParamInterface<Start> {};

TEST_P(StartStage, StartLayout) {
  packing::StartProblem problem;
  problem.padded_lengths = packing::PaddedLengths{instance_.window.lengths};
  problem.capacity_tokens = instance_.rules.capacity_tokens;
  problem.topology = kTopology;
  problem.num_rows = instance_.layout.num_rows;
  problem.feasible = instance_.layout;
  for (const std::int64_t length : instance_.window.lengths) {
    problem.attention_work.push_back(length * 1000 + length * length);
  }
  const CellLayout layout = packing::make_start_layout(
      GetParam().kind, problem, random::Stream{1, random::Purpose::kStarts, 1}
  );
  EXPECT_EQ(hash(layout), GetParam().digest);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds,
    StartStage,
    ::testing::Values(
        Start{packing::StartKind::kPacked, "Packed", "d7b9a6c221b230376ba6e437ca365edd"},
        Start{
            packing::StartKind::kKarmarkarKarp, "KarmarkarKarp",
            "3cc01bb83156211150d710273aac7a79"},
        Start{packing::StartKind::kShuffledFit, "ShuffledFit", "918d5f9b334a3b8df45a7db1156a9b54"},
        Start{
            packing::StartKind::kRandomBestFit, "RandomBestFit", "9fe7a92b14d24d44ccc32d6bb407feb4"}
    ),
    [](const auto& start) { return std::string(start.param.name); }
);

TEST_P(SharedStages, AggregatePlacement) {
  const std::vector<std::int64_t> pairs = demand();
  const placement::PlacementResult placed = placement::place_experts(
      {pairs, kLayers, kExperts, kTopology.ep, &identity_}, {.num_threads = threads_}, 5, world_
  );
  EXPECT_EQ(hash(placed.placement), "5bc09c0cc1cc0390a8cef7168c598cf1");
}

TEST_P(SharedStages, PlacementForBlocks) {
  const random::Acceptance acceptance(
      comm::broadcast_value(random::Acceptance::make_table(), 0, world_)
  );
  const Placement refined = refine_placement(
      slice_, instance_.layout, identity_, nullptr, kTopology,
      {.moves_per_layer = 2'000,
       .seed = 5,
       .round = 1,
       .num_threads = threads_,
       .simd = simd_,
       .acceptance = acceptance},
      world_
  );
  EXPECT_EQ(hash(refined), "094952a689e345103078bb2fa8abf7a9");
}

// Two rounds: with resampling, and again from the best layout.
void expect_annealed(
    const testing::SearchInstance& instance,
    const annealing::PopulationOptions& options,
    const std::string& digest,
    const comm::Communicator& comm
) {
  annealing::Population population(
      instance.problem, [&](ChainId) { return instance.layout; }, options, {}, comm
  );
  const std::int64_t scale = population.mean_change();
  const base::Stopwatch clock;
  population.anneal({scale / 2, scale / 500, 12, 24, 0.0}, clock, {});
  population.restart_from(population.best_layout());
  population.anneal({scale / 10, scale / 500, 6, 9, 0.0}, clock, {});
  const std::string got = hash(population.best_layout());
  comm::agree_same(got, "best layout", comm);
  EXPECT_EQ(got, digest);
}

TEST_P(SharedStages, PopulationOfOneChain) {
  expect_annealed(instance_, {5, 1, threads_, simd_}, "5c3e8243a00b8905ea87c311f9952750", world_);
}

TEST_P(SharedStages, PopulationOfThreeChains) {
  expect_annealed(instance_, {5, 3, threads_, simd_}, "71547c9e226530efb1f7f0105ccc221c", world_);
}

TEST_P(SharedStages, PopulationOfEightChains) {
  expect_annealed(instance_, {5, 8, threads_, simd_}, "b70c754635797f4a0f72f9bc26584d8b", world_);
}

TEST_F(Stages, Polish) {
  EXPECT_EQ(
      hash(deal_blocks(instance_.problem, instance_.layout)), "eac52805c39aadce22e2798bc92ba103"
  );
}

INSTANTIATE_TEST_SUITE_P(
    Workers,
    SharedStages,
    ::testing::Values(
        Workers{1, SimdLevel::kPortable},
        Workers{2, SimdLevel::kPortable},
        Workers{1, SimdLevel::kAvx2},
        Workers{1, SimdLevel::kAvx512},
        Workers{2, SimdLevel::kAvx512}
    ),
    [](const auto& workers) { return name_of(workers.param); }
);

}  // namespace
}  // namespace routepack::planner
