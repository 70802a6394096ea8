// What the program leaves on disk: through pipes, over its own inputs, and when a signal ends it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

#include "support/random_window.hpp"

namespace routepack::cli {
namespace {

using testing::read_file;
using testing::TempFolder;
using testing::write_file;

const std::string kProgram = ROUTEPACK_PROGRAM;
const std::string kPlanOptions =
    " --dp 2 --ep 2 --capacity 64 --alpha 1 --beta 1 --sweeps 2 --chains 1 --threads 1 --quiet ";

// The exit status of a bash command.
int shell(const std::string& command) {
  const int status = std::system(fmt::format("exec bash -c '{}'", command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string mpirun(int ranks) { return fmt::format("{} -n {} ", ROUTEPACK_MPIEXEC, ranks); }

void write_window(const std::string& folder) {
  testing::Draws draws(3);
  testing::make_random_window({.num_samples = 9}, draws).window.write(folder);
}

TEST(ProgramOutput, GoesThroughPipesAsIntoAFile) {
  const TempFolder folder;
  write_window(folder.path());
  const std::string plan = kProgram + " plan " + folder.path() + kPlanOptions;
  const std::string into = " --out " + folder.file("plan.json");
  ASSERT_EQ(shell(plan + into), 0);
  const std::string text = read_file(folder.file("plan.json"));
  ASSERT_NE(text.find("\"digest\""), std::string::npos);
  const std::string copy = folder.file("copy");
  for (const std::string& command :
       {plan + " --out /dev/stdout | cat >" + copy, plan + " --out /dev/stdout >" + copy,
        plan + " --out >(cat >" + copy + "; echo >" + folder.file("done") + ")",
        mpirun(2) + plan + " --out /dev/stdout | cat >" + copy}) {
    std::filesystem::remove(copy);
    EXPECT_EQ(shell(command), 0) << command;
    for (int wait = 0; wait < 100 && read_file(copy) != text; ++wait) {  // for the reader
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(read_file(copy), text) << command;
  }
}

TEST(ProgramOutput, SparesWhatTheCommandReads) {
  const TempFolder folder;
  const std::string window = folder.file("window");
  std::filesystem::create_directory(window);
  write_window(window);
  std::filesystem::create_symlink("window/lengths.npy", folder.file("link"));
  const auto bytes_of = [&] {
    std::string bytes;
    for (const char* name :
         {"window.json", "lengths.npy", "row_offsets.npy", "routed_experts.npy"}) {
      bytes += read_file(window + "/" + name);
    }
    return bytes;
  };
  const std::string before = bytes_of();
  const auto refused = [&](const std::string& command) {
    const int status = shell(command + " 2>" + folder.file("err"));
    EXPECT_EQ(status, 2) << command;
    EXPECT_NE(read_file(folder.file("err")).find("error [USAGE] the output "), std::string::npos)
        << read_file(folder.file("err"));
  };
  const std::string plan = kProgram + " plan " + window + kPlanOptions + " --out ";
  refused(plan + window + "/window.json");
  refused(plan + window + "/../window/./routed_experts.npy");
  refused(mpirun(3) + plan + folder.file("link"));
  refused(kProgram + " demand " + window + " --out " + window + "/row_offsets.npy");
  EXPECT_EQ(bytes_of(), before);

  const std::string demand = folder.file("demand.npy");
  ASSERT_EQ(shell(kProgram + " demand " + window + " --quiet --out " + demand), 0);
  const std::string counted = read_file(demand);
  refused(kProgram + " place " + demand + " --ep 2 --out " + folder.path() + "/./demand.npy");
  EXPECT_EQ(read_file(demand), counted);

  // Its own placement was read whole; and a plan may lie in the window's folder.
  const std::string file = window + "/plan.json";
  EXPECT_EQ(shell(plan + file), 0);
  EXPECT_EQ(shell(plan + file + " --current-placement " + file), 0);
}

// Starts a command, waits until the folder has an entry, sends the signal, and expects the folder
// to be empty soon. Returns the status of waitpid.
int interrupt(const std::string& command, const TempFolder& folder, int signal_number) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", ("exec " + command + " >/dev/null 2>&1").c_str(), nullptr);
    ::_exit(127);
  }
  const auto settles = [](const std::function<bool()>& condition) {
    for (int wait = 0; wait < 2000 && !condition(); ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
  };
  EXPECT_TRUE(settles([&] { return folder.num_entries() == 1U; })) << command;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // well into the work
  ::kill(child, signal_number);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  // The ranks may end a little after mpirun.
  EXPECT_TRUE(settles([&] { return folder.num_entries() == 0U; })) << command;
  return status;
}

TEST(ProgramOutput, ASignalLeavesNothingBehind) {
  // Some GB, which no machine writes before the signal comes.
  const std::string synth =
      " synth --preset qwen3-30b-a3b --prompts 256 --rollouts 16 --form routes --out ";
  for (const int signal_number : {SIGHUP, SIGINT, SIGTERM}) {
    const TempFolder folder;
    const int status = interrupt(kProgram + synth + folder.file("window"), folder, signal_number);
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), signal_number);
  }
  for (const int signal_number : {SIGINT, SIGTERM}) {
    const TempFolder folder;
    interrupt(mpirun(2) + kProgram + synth + folder.file("window"), folder, signal_number);
  }
}

}  // namespace
}  // namespace routepack::cli
