// Runs the program itself, alone and under mpirun: exit statuses, and errors from one rank only.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "io/input_file.hpp"
#include "io/npy.hpp"
#include "support/random_window.hpp"

namespace routepack::cli {
namespace {

using testing::read_file;
using testing::TempFolder;
using testing::TestWindow;

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

Outcome run_command(const std::string& command) {
  const TempFolder folder;
  const int status =
      std::system((command + " >" + folder.file("out") + " 2>" + folder.file("err")).c_str());
  return {
      WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder.file("out")),
      read_file(folder.file("err"))};
}

// `num_ranks` 0: without mpirun.
Outcome run(const std::string& arguments, int num_ranks = 0) {
  const std::string launcher =
      num_ranks > 0 ? std::string(ROUTEPACK_MPIEXEC) + " -n " + std::to_string(num_ranks) + " "
                    : "";
  return run_command(launcher + ROUTEPACK_PROGRAM + " " + arguments);
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

// Reports are dropped, the work and its status are not.
TEST(Program, AFullOrClosedStderrChangesNothing) {
  const TempFolder folder;
  const TestWindow window{.form = "none", .lengths = {5, 6, 7, 8}};
  testing::write_file(
      folder.file("window.json"),
      R"({"format": "routepack-window/1", "num_experts": 0, "top_k": 0, "moe_layers": [], )"
      R"("num_layers": 1, "ep_demand": "none"})"
  );
  testing::write_file(folder.file("lengths.npy"), testing::npy_array("<i8", {4}, window.lengths));
  const std::string plan = folder.file("plan.json");
  const std::string words = std::string(ROUTEPACK_PROGRAM) + " plan " + folder.path() +
                            " --dp 2 --ep 1 --capacity 20 --alpha 1 --beta 1 --sweeps 20 --out ";
  std::string expected;
  for (const char* stream : {"2>/dev/null", "2>/dev/full", "2>&-", "2>&- <&-"}) {
    for (const char* report : {" --verbose ", " --progress "}) {
      const int status = std::system((words + plan + report + ">/dev/null " + stream).c_str());
      EXPECT_EQ(WEXITSTATUS(status), 0) << report << stream;
      expected = expected.empty() ? read_file(plan) : expected;
      EXPECT_EQ(read_file(plan), expected) << report << stream;
    }
    const int status = std::system((words + "/no/such/plan.json " + stream).c_str());
    EXPECT_EQ(WEXITSTATUS(status), 2) << stream;
  }
  const int status = std::system((words + plan + " >&- 2>" + folder.file("err")).c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_EQ(
      count_of(read_file(folder.file("err")), "[FILE_MALFORMED] cannot write standard output"), 1U
  );
}

TEST(Program, ARankThatIsLostEndsTheJobEvenWithoutStderr) {
  const Outcome outcome = run_command(
      std::string("timeout 60 ") + ROUTEPACK_MPIEXEC +
      " -n 2 sh -c '" ROUTEPACK_PROGRAM
      " shuffle-check --ep 2 --layers 2 --experts 12 --hidden 48 --ffn 20 --round-bytes 4096 "
      "--deadline 0.4 --fault stall@1 2>/dev/full'"
  );
  EXPECT_EQ(outcome.status, 4) << outcome.err;
}

// srun without PMIx: several programs of one rank, which would all write one file.
TEST(Program, SeveralLonePrograms) {
  const TempFolder folder;
  const std::string demand = folder.file("demand.npy");
  io::write_npy(
      demand, std::span<const std::int64_t>(std::vector<std::int64_t>{3, 1, 4, 1}), {1, 4}
  );
  const std::string words = std::string(ROUTEPACK_PROGRAM) + " place " + demand + " --ep 2 --quiet";
  const std::string out = " --out " + folder.file("p.json");
  const std::string step = "SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_PROCID=";
  const Outcome first = run_command(step + "0 " + words + out);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(count_of(first.err, "routepack: warning: SLURM_NTASKS=4"), 1U) << first.err;
  EXPECT_EQ(count_of(first.err, "\n"), 1U) << first.err;
  std::filesystem::remove(folder.file("p.json"));
  expect_error_line(
      run_command(step + "2 " + words + out), 2,
      "[USAGE] this is task 2 by the environment (SLURM_NTASKS=4)"
  );
  EXPECT_FALSE(std::filesystem::exists(folder.file("p.json")));
  EXPECT_EQ(run_command(step + "2 " + words).status, 0);  // standard output is its own
  const Outcome batch = run_command("SLURM_NTASKS=4 SLURM_PROCID=0 " + words + out);
  EXPECT_EQ(batch.status, 0);
  EXPECT_EQ(batch.err, "");
  const Outcome inner =
      run_command(step + "2 SLURM_STEP_NUM_TASKS=4 " + ROUTEPACK_MPIEXEC + " -n 2 " + words + out);
  EXPECT_EQ(inner.status, 0);
  EXPECT_EQ(count_of(inner.err, "routepack: warning"), 0U) << inner.err;
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

// One program a rank, each with its own arguments.
Outcome run_apart(const std::vector<std::string>& arguments_of_rank) {
  std::string line;
  for (const std::string& arguments : arguments_of_rank) {
    line += (line.empty() ? "" : " : ") + ("-n 1 " ROUTEPACK_PROGRAM " " + arguments);
  }
  return run_command(std::string(ROUTEPACK_MPIEXEC) + " " + line);
}

TEST(Program, RanksWithOtherWordsEndWithAnError) {
  const std::string sizes = "shuffle-check --ep 2 --layers 1 --experts 4 --hidden 4 --ffn 4";
  const auto expect_refused = [](const std::vector<std::string>& words, const std::string& text) {
    SCOPED_TRACE(text);
    expect_error_line(run_apart(words), 2, text);
  };
  const std::string start = "[INPUT_DISAGREEMENT] ";
  for (const std::string other : {"dance", "place", "--help", "--version"}) {
    expect_refused(
        {sizes, other}, start + "the command is shuffle-check on rank 0 and " + other + " on rank 1"
    );
  }
  expect_refused({sizes, ""}, start + "the command is shuffle-check on rank 0 and not given");
  expect_refused({"", sizes}, start + "the command is not given on rank 0 and shuffle-check");
  expect_refused({"dance", "dance"}, "[USAGE] there is no command 'dance'");
  expect_refused({sizes, sizes + " --nope"}, "[USAGE] shuffle-check: unrecognised option");
  expect_refused(
      {sizes, sizes + " --seed 2"}, start + "option seed is 1 on rank 0 and 2 on rank 1"
  );
  expect_refused(
      {sizes, sizes + " --per-layer"}, start + "option per-layer is not given on rank 0 and given"
  );
  expect_refused(
      {sizes + " --help", "shuffle-check --version"}, start + "option help is given on rank 0 and "
  );
}

TEST(Program, OptionsOfConfigurationFilesMustAgreeToo) {
  const TempFolder folder;
  testing::write_file(folder.file("one.cfg"), "seed = 3\nmoved-fraction = 0.5\n");
  testing::write_file(folder.file("other.cfg"), "seed = 4\n");
  const std::string sizes =
      "shuffle-check --ep 2 --layers 1 --experts 4 --hidden 4 --ffn 4 --quiet";
  expect_error_line(
      run_apart(
          {sizes + " --config " + folder.file("one.cfg"),
           sizes + " --config " + folder.file("other.cfg")}
      ),
      2, "[INPUT_DISAGREEMENT] option seed is 3 on rank 0 and 4 on rank 1"
  );
  // However it is spelled, and whatever a rank does alone.
  const Outcome same = run_apart(
      {sizes + " --config " + folder.file("one.cfg"),
       "shuffle-check --ep=2 --layers 1 --experts 4 --hidden 4 --ffn 4 --seed 3 --moved-fraction "
       "5e-1 --verbose"}
  );
  EXPECT_EQ(same.status, 0) << same.err;
}

// The same path leads to another file on each node.
TEST(Program, FilesOfEachRankMustAgree) {
  const TempFolder folder;
  for (const char* node : {"a", "b"}) {
    std::filesystem::create_directory(folder.file(node));
    io::write_npy(
        folder.file(node) + std::string("/demand.npy"),
        std::span<const std::int64_t>(std::vector<std::int64_t>{3, 1, 4, node[0] == 'a' ? 1 : 2}),
        {1, 4}
    );
  }
  testing::write_file(folder.file("a/now.json"), R"({"placement": [[0, 1, 2, 3]]})");
  testing::write_file(folder.file("b/now.json"), R"({"placement": [[3, 1, 2, 0]]})");
  const auto place = [&](const std::string& demand, const std::string& now) {
    return "place " + folder.file(demand) + "/demand.npy --ep 2 --current-placement " +
           folder.file(now) + "/now.json";
  };
  expect_error_line(
      run_apart({place("a", "a"), place("b", "a")}), 2,
      "[INPUT_DISAGREEMENT] the demand: entry 3 is 1 on rank 0 and 2 on rank 1"
  );
  expect_error_line(
      run_apart({place("a", "a"), place("a", "b")}), 2,
      "[INPUT_DISAGREEMENT] the current placement is one with digest"
  );
  std::filesystem::copy_file(folder.file("a/demand.npy"), folder.file("copy.npy"));
  const Outcome copies = run_apart(
      {place("a", "a"), "place " + folder.file("copy.npy") + " --ep 2 --current-placement " +
                            folder.file("a/now.json") + " --out " + folder.file("p.json")}
  );
  EXPECT_EQ(copies.status, 0) << copies.err;
}

// As in a container, whose /dev/shm has 64 MB: this has 9, and the window needs more.
TEST(Program, PlansWhereSharedMemoryIsSmall) {
  if (std::system("unshare -m true 2>/dev/null") != 0) {
    GTEST_SKIP() << "NOT CHECKED: no mount namespace here";
  }
  const TempFolder folder;
  ASSERT_EQ(
      run("synth --preset qwen3-30b-a3b --samples 2048 --length-median 60 --out " + folder.file("w")
      )
          .status,
      0
  );
  testing::write_file(
      folder.file("run.sh"), "mount -t tmpfs -o size=9m tmpfs /dev/shm && exec " ROUTEPACK_MPIEXEC
                             " -n 2 " ROUTEPACK_PROGRAM " plan " +
                                 folder.file("w") +
                                 " --dp 64 --ep 64 --capacity 16384 --alpha 1 --beta 1 --sweeps 1 "
                                 "--chains 1 --quiet --out " +
                                 folder.file("plan.json")
  );
  const Outcome outcome = run_command("timeout 200 unshare -m sh " + folder.file("run.sh"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder.file("plan.json")));
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
    const io::FileCopy file(out);
    const io::NpyView view = io::view_npy(file.bytes(), out);
    EXPECT_EQ(view.dtype, io::NpyDtype::kInt64);
    EXPECT_EQ(view.shape, (std::vector<std::int64_t>{2, 8}));
    EXPECT_EQ(io::read_int64(view), expected);
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
  io::write_npy(path, std::span<const std::int64_t>(demand), shape);
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
}  // namespace routepack::cli
