// Runs `routepack shuffle-check` under mpirun: clean moves, every fault, wrong usage.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "support/temp_folder.hpp"

namespace routepack::shuffle {
namespace {

using testing::read_file;
using testing::TempFolder;

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

Outcome run(int num_ranks, const std::string& arguments) {
  const TempFolder folder;
  const std::string command = std::string(ROUTEPACK_MPIEXEC) + " -n " + std::to_string(num_ranks) +
                              " " + ROUTEPACK_PROGRAM + " shuffle-check " + arguments + " >" +
                              folder.file("out") + " 2>" + folder.file("err");
  const int status = std::system(command.c_str());
  return {
      WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder.file("out")),
      read_file(folder.file("err"))};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kSizes =
    " --layers 2 --experts 12 --hidden 48 --ffn 20 --round-bytes 4096 --seed 5";

TEST(ShuffleCheck, VerifiesEveryByteAtSeveralShapes) {
  for (const auto& [ranks, shape] :
       {std::pair{1, "--ep 1"}, {3, "--ep 3"}, {4, "--ep 2 --edp 2"}}) {
    for (const char* mode : {"", " --per-layer --repeat 2"}) {
      SCOPED_TRACE(std::string(shape) + mode);
      const Outcome outcome = run(ranks, std::string(shape) + kSizes + mode);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      for (const char* part : {"moved: 12 of 24 experts", " GB/s", "high water", "verdict: ok"}) {
        EXPECT_TRUE(contains(outcome.out, part)) << part << "\n" << outcome.out;
      }
    }
  }
}

struct CheckedFault {
  const char* fault;
  const char* code;
};

void PrintTo(const CheckedFault& made, std::ostream* out) { *out << made.fault; }

class ShuffleCheckFault : public ::testing::TestWithParam<CheckedFault> {};

TEST_P(ShuffleCheckFault, IsReportedAndTheWeightsAreUnchanged) {
  const auto [fault, code] = GetParam();
  const Outcome outcome = run(3, std::string("--ep 3 --deadline 0.5 --fault ") + fault + kSizes);
  EXPECT_EQ(outcome.status, 4);
  EXPECT_TRUE(contains(outcome.out, "the weights are unchanged on all ranks")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, std::string("routepack: error [") + code)) << outcome.err;
  EXPECT_FALSE(contains(outcome.out, "verdict: ok"));
}

INSTANTIATE_TEST_SUITE_P(
    ShuffleCheck,
    ShuffleCheckFault,
    ::testing::Values(
        CheckedFault{"flip@1", "TRANSFER_FAILED"},
        CheckedFault{"drop@1", "TRANSFER_FAILED"},
        CheckedFault{"delay@1", "TRANSFER_FAILED"},
        CheckedFault{"mismatch", "PLAN_DISAGREEMENT"}
    ),
    [](const auto& made) {
      const std::string fault = made.param.fault;
      return fault.substr(0, fault.find('@'));
    }
);

TEST(ShuffleCheck, SaysWhichTransportIsUsedAndWhy) {
  const Outcome automatic = run(2, std::string("--ep 2 --transport auto") + kSizes);
  EXPECT_EQ(automatic.status, 0) << automatic.err;
  EXPECT_TRUE(
      contains(automatic.out, "GB/s over nccl") || contains(automatic.out, "not nccl: rank 0: ")
  ) << automatic.out;
  const Outcome unknown = run(1, std::string("--ep 1 --transport smoke") + kSizes);
  EXPECT_EQ(unknown.status, 2);
  EXPECT_TRUE(contains(unknown.err, "--transport is 'smoke', expected mpi|nccl|auto"));
}

TEST(ShuffleCheck, PerLayerSaysWhichLayersHaveMoved) {
  const Outcome outcome =
      run(2, std::string("--ep 2 --per-layer --deadline 0.5 --fault flip@0") + kSizes);
  EXPECT_EQ(outcome.status, 4);
  EXPECT_TRUE(contains(outcome.err, "layers at the new placement: none")) << outcome.err;
}

TEST(ShuffleCheck, ADeadRankEndsTheJob) {
  const Outcome outcome = run(2, std::string("--ep 2 --deadline 0.5 --fault die@0") + kSizes);
  EXPECT_NE(outcome.status, 0);
  EXPECT_FALSE(contains(outcome.out, "verdict: ok"));
}

// Not even the agreement comes: each rank says what its memory holds, and the job ends.
TEST(ShuffleCheck, ASilentRankEndsTheJobWithTheWeightsUnchanged) {
  const Outcome outcome = run(3, std::string("--ep 3 --deadline 0.4 --fault stall@1") + kSizes);
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_TRUE(
      contains(outcome.err, "the weights of rank 0 are unchanged") ||
      contains(outcome.err, "the weights of rank 1 are unchanged")
  ) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "no agreement within the deadline")) << outcome.err;
}

TEST(ShuffleCheck, RefusesWrongUsage) {
  for (const char* arguments :
       {"--ep 3 --layers 1 --experts 6 --hidden 4 --ffn 4",  // 2 ranks
        "--ep 2 --layers 1 --experts 5 --hidden 4 --ffn 4", "--ep 2 --layers 1 --experts 6",
        "--ep 2 --layers 1 --experts 6 --hidden 4 --ffn 4 --fault melt@1",
        "--ep 2 --layers 1 --experts 6 --hidden 4 --ffn 4 --fault flip@99",
        "--ep 2 --model no-such-model"}) {
    const Outcome outcome = run(2, arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_TRUE(contains(outcome.err, "routepack: error [")) << outcome.err;
  }
}

}  // namespace
}  // namespace routepack::shuffle
