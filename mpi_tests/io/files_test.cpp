#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "io/atomic_file.hpp"
#include "support/expect_error.hpp"
#include "support/temp_folder.hpp"

namespace routepack {
namespace {

using testing::expect_error;
using testing::read_file;
using testing::TempFolder;
using testing::write_file;

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TempFolder folder;
  const std::string path = folder.file("out");
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("half");
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.num_entries(), 1U);  // the temporary name is gone
  AtomicFile file(path);
  file.write("new ");
  file.write("content");
  file.commit();
  EXPECT_EQ(read_file(path), "new content");
  EXPECT_EQ(folder.num_entries(), 1U);
}

TEST(AtomicFile, RefusesPathsThatCannotBeWritten) {
  const TempFolder folder;
  const auto expect = [](const std::string& path, const std::string& text) {
    expect_error(ErrorCode::kUsage, text, [&] { const AtomicFile file(path); });
    expect_error(ErrorCode::kUsage, text, [&] { check_output_path(path); });
  };
  expect(folder.file("missing/out"), "missing/out");
  expect(folder.path(), "is a folder");
  expect("", "is empty");
  write_file(folder.file("file"), "x");
  expect(folder.file("file/out"), "Not a directory");
  check_output_path(folder.file("fine"));
  EXPECT_EQ(folder.num_entries(), 1U);
}

TEST(AtomicFile, FollowsLinksAndLeavesPipesInPlace) {
  const TempFolder folder;
  write_file(folder.file("real"), "old");
  ASSERT_EQ(::symlink("real", folder.file("link").c_str()), 0);
  AtomicFile linked(folder.file("link"));
  linked.write("new");
  linked.commit();
  EXPECT_EQ(read_file(folder.file("real")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));

  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const int reader = ::open(folder.file("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  AtomicFile pipe(folder.file("pipe"));
  pipe.write("through");
  pipe.commit();
  std::array<char, 16> buffer{};
  EXPECT_EQ(::read(reader, buffer.data(), buffer.size()), 7);
  EXPECT_EQ(std::string(buffer.data()), "through");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(folder.file("pipe")));
}

TEST(AtomicFile, CreatesTheMissingFileOfALink) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("there"));
  const std::string link = folder.file("link");
  ASSERT_EQ(::symlink("there/hop", link.c_str()), 0);
  ASSERT_EQ(::symlink(folder.file("real").c_str(), folder.file("there/hop").c_str()), 0);
  check_output_path(link);
  EXPECT_FALSE(std::filesystem::exists(folder.file("real")));
  AtomicFile linked(link);
  linked.write("new");
  linked.commit();
  EXPECT_EQ(read_file(folder.file("real")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("there/hop")));
  EXPECT_EQ(folder.num_entries(), 3U);

  ASSERT_EQ(::symlink("missing/out", folder.file("nowhere").c_str()), 0);
  ASSERT_EQ(::symlink("round", folder.file("round").c_str()), 0);
  const auto expect = [&](const std::string& name, const std::string& text) {
    expect_error(ErrorCode::kUsage, text, [&] { check_output_path(folder.file(name)); });
    expect_error(ErrorCode::kUsage, text, [&] { const AtomicFile file(folder.file(name)); });
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file(name)));
  };
  expect("nowhere", "No such file");
  expect("round", "symbolic links");
}

// A reader would take the probe's close for the end of the output.
TEST(CheckOutputPath, DoesNotOpenAPipe) {
  const TempFolder folder;
  const std::string path = folder.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  check_output_path(path);
  pollfd hung_up = {reader, POLLIN, 0};
  EXPECT_EQ(::poll(&hung_up, 1, 0), 0);
  EXPECT_EQ(hung_up.revents, 0);
  ::close(reader);
}

}  // namespace
}  // namespace routepack
