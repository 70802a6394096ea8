// Runs the program itself, alone and under mpirun: exit statuses, and errors from one rank only.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "io/input_file.hpp"
#include "io/npy.hpp"
#include "support/random_window.hpp"

namespace routepack {
namespace {

using testing::read_file;
using testing::TempFolder;
using testing::TestWindow;

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

// `num_ranks` 0: without mpirun.
Outcome run(const std::string& arguments, int num_ranks = 0) {
  const TempFolder folder;
  const std::string launcher =
      num_ranks > 0 ? std::string(ROUTEPACK_MPIEXEC) + " -n " + std::to_string(num_ranks) + " "
                    : "";
  const std::string command = launcher + ROUTEPACK_PROGRAM + " " + arguments + " >" +
                              folder.file("out") + " 2>" + folder.file("err");
  const int status = std::system(command.c_str());
  return {
      WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder.file("out")),
      read_file(folder.file("err"))};
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

void expect_error_line(const Outcome& outcome, int status, const std::string& start) {
  EXPECT_EQ(outcome.status, status);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(count_of(outcome.err, "routepack: error ["), 1U) << outcome.err;
  EXPECT_EQ(count_of(outcome.err, "routepack: error " + start), 1U) << outcome.err;
}

TEST(Program, ExplainsItself) {
  const Outcome help = run("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("  demand "), std::string::npos) << help.out;
  EXPECT_EQ(run("--version").out, "routepack " ROUTEPACK_VERSION "\n");
  const Outcome demand = run("demand --help", 2);
  EXPECT_EQ(demand.status, 0);
  EXPECT_EQ(count_of(demand.out, "usage: routepack demand WINDOW"), 1U) << demand.out;
}

TEST(Program, RefusesWhatItDoesNotKnow) {
  expect_error_line(run(""), 2, "[USAGE] a command is missing");
  expect_error_line(run("dance"), 2, "[USAGE] there is no command 'dance'");
  expect_error_line(run("demand x --out y --nope", 3), 2, "[USAGE] demand");
  expect_error_line(
      run("demand /no/such --out y.npy", 3), 2, "[FILE_MALFORMED] cannot open /no/such"
  );
  expect_error_line(
      run("demand x --out /no/such/y.npy", 2), 2, "[USAGE] cannot write /no/such/y.npy"
  );
}

TEST(Program, AnErrorIsOneLineWhateverItQuotes) {
  const Outcome outcome = run("demand '/no\nsuch' --out y.npy", 2);
  expect_error_line(outcome, 2, "[FILE_MALFORMED] cannot open /no?such");
}

TEST(Program, FailsWhereStandardOutputIsFull) {
  const TempFolder folder;
  const std::string command =
      std::string(ROUTEPACK_PROGRAM) + " --help >/dev/full 2>" + folder.file("err");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_EQ(
      count_of(read_file(folder.file("err")), "[FILE_MALFORMED] cannot write standard output"), 1U
  );
}

TEST(Program, DemandIsTheSameAtAnyRankCount) {
  const TempFolder folder;
  testing::Draws draws(3);
  const testing::RandomWindow made = testing::make_random_window({.num_samples = 9}, draws);
  made.window.write(folder.path());
  std::vector<std::int64_t> expected(16, 0);
  for (std::size_t at = 0; at < made.demand.size(); ++at) {
    expected[at % 16] += made.demand[at];
  }
  std::int64_t tokens = 0;
  for (const std::int64_t length : made.window.lengths) {
    tokens += length;
  }
  const std::string summary = fmt::format(
      "{{\"samples\": 9, \"tokens\": {}, \"unrouted_tokens\": {}, \"moe_layers\": 2, \"experts\": "
      "8}}\n",
      tokens, made.unrouted_tokens
  );
  for (const int ranks : {0, 1, 2, 3}) {
    const std::string out = folder.file("demand" + std::to_string(ranks) + ".npy");
    const Outcome outcome = run("demand " + folder.path() + " --out " + out, ranks);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, summary);
    const FileCopy file(out);
    const NpyView view = view_npy(file.bytes(), out);
    EXPECT_EQ(view.dtype, NpyDtype::kInt64);
    EXPECT_EQ(view.shape, (std::vector<std::int64_t>{2, 8}));
    EXPECT_EQ(read_int64(view), expected);
  }
}

TEST(Program, AFaultyWindowLeavesNoFile) {
  const TempFolder folder;
  const TestWindow window{
      .moe_layers = {0},
      .num_layers = 1,
      .lengths = {2, 2},
      .axis = 1,
      .row_counts = {1, 1},
      .ids = {0, 1, 2, 2}};
  window.write(folder.path());
  const std::size_t entries = folder.num_entries();
  expect_error_line(
      run("demand " + folder.path() + " --out " + folder.file("d.npy"), 3), 2,
      "[DUPLICATE_EXPERT_IN_ROW] sample 1, token 0, layer 0"
  );
  EXPECT_EQ(folder.num_entries(), entries);
}

std::string write_demand(
    const TempFolder& folder,
    const std::vector<std::int64_t>& demand,
    const std::vector<std::int64_t>& shape
) {
  const std::string path = folder.file("demand.npy");
  write_npy(path, std::span<const std::int64_t>(demand), shape);
  return path;
}

TEST(Program, PlacesTheSameAtAnyRankAndThreadCount) {
  const TempFolder folder;
  const std::string demand =
      write_demand(folder, {0, 0, 0, 0, 0, 0, 5, 5, 4, 3, 3, 0, 9, 9, 9, 9, 0, 0}, {3, 6});
  testing::write_file(
      folder.file("now.json"),
      R"({"placement": [[5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4, 5], [0, 2, 3, 5, 1, 4]]})"
  );
  const std::string arguments =
      "place " + demand + " --ep 2 --current-placement " + folder.file("now.json");
  // No load and balanced pairs stay; the middle layer (heaviest rank 14) needs one swap for 10.
  const std::string expected =
      "{\"placement\": [\n  [5, 4, 3, 2, 1, 0],\n  [0, 1, 5, 3, 4, 2],\n  [0, 2, 3, 5, 1, 4]\n ],\n"
      " \"peak\": [0, 10, 18],\n \"lower_bound\": [0, 10, 18],\n \"moved_experts\": 2}\n";
  EXPECT_EQ(run(arguments).out, expected);
  for (const int ranks : {1, 2, 3, 4}) {
    const std::string out = folder.file("placement" + std::to_string(ranks) + ".json");
    const Outcome outcome =
        run(arguments + (ranks == 2 ? " --threads 4096" : " --threads 2") + " --out " + out, ranks);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(
        outcome.out,
        "{\"moe_layers\": 3, \"experts\": 6, \"proven_optimal_layers\": 3, \"moved_experts\": 2}\n"
    );
    EXPECT_EQ(read_file(out), expected);
  }
}

TEST(Program, PlaceRefusesDemandThatCannotBe) {
  const TempFolder folder;
  const std::string out = " --out " + folder.file("placement.json");
  std::string demand = write_demand(folder, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, {1, 10});
  expect_error_line(run("place " + demand + " --ep 4" + out, 3), 2, "[EXPERTS_NOT_DIVISIBLE] 10");
  expect_error_line(run("place " + demand + " --ep 0" + out), 2, "[NUMBER_OUT_OF_RANGE] --ep");
  expect_error_line(run("place " + demand + out), 2, "[USAGE] place needs --ep");
  testing::write_file(folder.file("other.json"), R"({"placement": [[0, 1, 2, 3]]})");
  expect_error_line(
      run("place " + demand + " --ep 2 --current-placement " + folder.file("other.json") + out), 2,
      "[FILE_MALFORMED]"
  );
  demand = write_demand(folder, {3, 1, 4, 1}, {4});
  expect_error_line(run("place " + demand + " --ep 2" + out), 2, "[FILE_MALFORMED] " + demand);
  demand = write_demand(folder, {3, 1, 4, -1}, {1, 4});
  expect_error_line(
      run("place " + demand + " --ep 2" + out, 2), 2, "[NUMBER_OUT_OF_RANGE] demand of expert 3"
  );
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  demand = write_demand(folder, {kHuge, kHuge, 0, 0}, {1, 4});
  expect_error_line(
      run("place " + demand + " --ep 2" + out), 2, "[NUMBER_OUT_OF_RANGE] demand of layer 0"
  );
  demand = write_demand(folder, {}, {3, 0});
  expect_error_line(
      run("place " + demand + " --ep 2" + out), 2, "[NUMBER_OUT_OF_RANGE] num_experts is 0"
  );
  EXPECT_EQ(folder.num_entries(), 2U);  // the two inputs
}

}  // namespace
}  // namespace routepack
