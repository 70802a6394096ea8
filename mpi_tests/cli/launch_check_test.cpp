#include "cli/launch_check.hpp"

#include <gtest/gtest.h>

#include <map>

namespace routepack::cli {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<StrangeStart> find(const Variables& variables, int num_mpi_ranks) {
  return find_strange_start(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      num_mpi_ranks
  );
}

void expect_strange(const Variables& variables, const std::string& variable, int task) {
  const std::optional<StrangeStart> start = find(variables, 1);
  ASSERT_TRUE(start.has_value()) << variable;
  EXPECT_EQ(start->variable, variable);
  EXPECT_EQ(start->task, task);
}

TEST(LaunchCheck, KnowsEveryLauncherThatStartedMoreTasksThanMpiHas) {
  expect_strange(
      {{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "2"}}, "SLURM_NTASKS=4", 2
  );
  expect_strange(
      {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "0"}},
      "SLURM_STEP_NUM_TASKS=8", 0
  );
  expect_strange({{"PMI_SIZE", "4"}, {"PMI_RANK", "1"}}, "PMI_SIZE=4", 1);
  expect_strange({{"PMI_SIZE", "4"}}, "PMI_SIZE=4", 0);
  expect_strange(
      {{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}}, "OMPI_COMM_WORLD_SIZE=4", 3
  );
  expect_strange({{"MV2_COMM_WORLD_SIZE", "2"}}, "MV2_COMM_WORLD_SIZE=2", 0);
  expect_strange({{"PALS_SIZE", "2"}, {"PALS_RANKID", "1"}}, "PALS_SIZE=2", 1);
  expect_strange({{"PMIX_RANK", "3"}}, "PMIX_RANK=3", 3);  // alone, and yet not the first
}

TEST(LaunchCheck, IsSilentWhereMpiHasThemAll) {
  EXPECT_FALSE(find({}, 1));
  EXPECT_FALSE(find({{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "2"}}, 4));
  EXPECT_FALSE(find({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "0"}}, 4));
  EXPECT_FALSE(find({{"PMIX_RANK", "0"}}, 1));
}

// A program alone in a batch script, in an allocation of many tasks.
TEST(LaunchCheck, ABatchScriptIsNoStep) {
  EXPECT_FALSE(find({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}, 1));
  // Nor is a step of one task in it.
  EXPECT_FALSE(
      find({{"SLURM_STEP_ID", "3"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "4"}}, 1)
  );
}

// mpirun's daemons are a Slurm step of one task a node, and ranks inherit its variables.
TEST(LaunchCheck, TheInnermostLauncherCounts) {
  const Variables variables = {
      {"OMPI_COMM_WORLD_SIZE", "2"},
      {"OMPI_COMM_WORLD_RANK", "1"},
      {"SLURM_STEP_ID", "0"},
      {"SLURM_STEP_NUM_TASKS", "3"},
      {"SLURM_PROCID", "2"}};
  EXPECT_FALSE(find(variables, 2));
  expect_strange(variables, "OMPI_COMM_WORLD_SIZE=2", 1);
}

TEST(LaunchCheck, IgnoresWhatIsNoNumber) {
  EXPECT_FALSE(find({{"PMI_SIZE", "many"}, {"PMI_RANK", ""}}, 1));
  EXPECT_FALSE(find({{"PMI_SIZE", "99999999999999"}}, 1));
  EXPECT_FALSE(find({{"PMI_SIZE", "4 "}}, 1));
}

}  // namespace
}  // namespace routepack::cli
