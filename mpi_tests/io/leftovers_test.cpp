// Processes that are ended by a signal in the middle of their output.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "io/leftovers.hpp"
#include "io/output_file.hpp"
#include "io/window_reader.hpp"
#include "support/temp_folder.hpp"
#include "synth/window_files.hpp"

namespace routepack::io {
namespace {

using testing::read_file;
using testing::TempFolder;
using testing::write_file;

constexpr int kNoSignal = 77;  // exit status of a child that should have been ended

// The status of a forked process that installs the handler and then runs `action`.
int status_of_child(const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    remove_leftovers_on_signals(0);
    action();
    ::_exit(kNoSignal);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

class LeftoversOfSignal : public ::testing::TestWithParam<int> {};

TEST_P(LeftoversOfSignal, AreRemovedAndTheSignalEndsTheProcess) {
  const int signal_number = GetParam();
  const TempFolder folder;
  write_file(folder.file("out"), "old");
  const int status = status_of_child([&] {
    AtomicFile file(folder.file("out"));
    file.write("half");
    AtomicFile other(folder.file("other"));
    const synth::StagedWindow window(folder.file("window"), false);
    for (const char* name : kWindowFiles) {
      write_file(window.temporary() + "/" + name, "half");
    }
    AtomicFile inside(window.temporary() + "/window.json");
    if (folder.num_entries() != 4U) {
      ::_exit(1);
    }
    ::raise(signal_number);
  });
  EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), signal_number);
  EXPECT_EQ(read_file(folder.file("out")), "old");
  EXPECT_EQ(folder.num_entries(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Signals,
    LeftoversOfSignal,
    ::testing::Values(SIGHUP, SIGINT, SIGTERM),
    [](const auto& signal) { return std::string("SIG") + ::sigabbrev_np(signal.param); }
);

TEST(Leftovers, WhatIsFinishedStays) {
  const TempFolder folder;
  std::string name;
  const int status = status_of_child([&] {
    for (int round = 0; round < 100; ++round) {  // more than are kept at once
      AtomicFile file(folder.file("out"));
      file.write("new");
      file.commit();
      synth::StagedWindow window(folder.file("window"), false);
      write_file(window.temporary() + "/window.json", "new");
      window.commit();
    }
    std::vector<std::unique_ptr<AtomicFile>> files;
    for (int file = 0; file < 40; ++file) {
      files.push_back(std::make_unique<AtomicFile>(folder.file("other")));
    }
    files.clear();
    const AtomicFile last(folder.file("other"));
    ::raise(SIGTERM);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_file(folder.file("out")), "new");
  EXPECT_EQ(read_file(folder.file("window/window.json")), "new");
  EXPECT_EQ(folder.num_entries(), 2U);
}

TEST(Leftovers, APausedSignalComesAfterTheWork) {
  const TempFolder folder;
  const int status = status_of_child([&] {
    const AtomicFile file(folder.file("out"));
    {
      const SignalPause outer;
      {
        const SignalPause inner;
        ::raise(SIGTERM);
      }
      write_file(folder.file("done"), "whole");
    }
    write_file(folder.file("late"), "x");
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_EQ(read_file(folder.file("done")), "whole");
  EXPECT_EQ(folder.num_entries(), 1U);
}

TEST(Leftovers, AnIgnoredSignalStaysIgnored) {
  const TempFolder folder;
  ASSERT_NE(::signal(SIGHUP, SIG_IGN), SIG_ERR);  // as nohup does
  const int status = status_of_child([&] {
    AtomicFile file(folder.file("out"));
    ::raise(SIGHUP);
    file.write("whole");
    file.commit();
  });
  ASSERT_NE(::signal(SIGHUP, SIG_DFL), SIG_ERR);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kNoSignal);
  EXPECT_EQ(read_file(folder.file("out")), "whole");
}

}  // namespace
}  // namespace routepack::io
