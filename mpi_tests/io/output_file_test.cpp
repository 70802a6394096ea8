#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "io/output_file.hpp"
#include "support/expect_error.hpp"
#include "support/temp_folder.hpp"

namespace routepack::io {
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

// What shells make of `--out /dev/stdout | cmd`, of `--out >(cmd)`, and some services of stdout.
TEST(AtomicFile, WritesToItsOwnOpenDescriptors) {
  std::array<int, 2> ends{};
  for (const bool is_socket : {false, true}) {
    ASSERT_EQ(
        is_socket ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) : ::pipe(ends.data()), 0
    );
    for (const std::string folder :
         {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/../../fd/./"}) {
      const std::string path = folder + std::to_string(ends[1]);
      check_output_path(path);
      AtomicFile file(path);
      file.write("through");
      file.commit();
      std::array<char, 16> buffer{};
      EXPECT_EQ(::read(ends[0], buffer.data(), buffer.size()), 7) << path;
      EXPECT_EQ(std::string(buffer.data()), "through");
    }
    EXPECT_EQ(::write(ends[1], "open", 4), 4);
    if (!is_socket) {
      const std::string path = "/dev/fd/" + std::to_string(ends[0]);
      expect_error(ErrorCode::kUsage, path, [&] { check_output_path(path); });
      expect_error(ErrorCode::kUsage, path, [&] { const AtomicFile file(path); });
    }
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

// The plan stands where the shell's redirection stands, and what is printed next comes after it.
TEST(AtomicFile, WritesBehindWhatItsDescriptorHolds) {
  const TempFolder folder;
  const int out = ::open(folder.file("out").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(out, 0);
  ASSERT_EQ(::write(out, "before ", 7), 7);
  ASSERT_EQ(
      ::symlink(("/proc/self/fd/" + std::to_string(out)).c_str(), folder.file("link").c_str()), 0
  );
  check_output_path(folder.file("link"));
  AtomicFile file(folder.file("link"));
  file.write("plan ");
  file.commit();
  ASSERT_EQ(::write(out, "after", 5), 5);
  EXPECT_EQ(read_file(folder.file("out")), "before plan after");
  // A file without a name can be written to as well.
  std::filesystem::remove(folder.file("out"));
  AtomicFile nameless(folder.file("link"));
  nameless.write("!");
  nameless.commit();
  EXPECT_EQ(::lseek(out, 0, SEEK_CUR), 18);
  EXPECT_EQ(folder.num_entries(), 1U);
  ::close(out);
}

struct stat status_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status;
}

TEST(AtomicFile, KeepsTheModeAndTheOwnerOfWhatItReplaces) {
  const TempFolder folder;
  const std::string path = folder.file("out");
  const bool gives_away = ::geteuid() == 0;
  for (const mode_t mode : {0600U, 0666U, 0640U, 0755U}) {
    write_file(path, "old");
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    if (gives_away) {
      ASSERT_EQ(::chown(path.c_str(), 1234, 4321), 0);
    }
    const struct stat old = status_of(path);
    check_output_path(path);
    AtomicFile file(path);
    file.write("new");
    file.commit();
    const struct stat now = status_of(path);
    EXPECT_EQ(now.st_mode, old.st_mode);
    EXPECT_EQ(now.st_uid, old.st_uid);
    EXPECT_EQ(now.st_gid, old.st_gid);
    EXPECT_NE(now.st_ino, old.st_ino);
    EXPECT_EQ(read_file(path), "new");
  }
  const mode_t mask = ::umask(027);
  AtomicFile fresh(folder.file("fresh"));
  fresh.commit();
  ::umask(mask);
  EXPECT_EQ(status_of(folder.file("fresh")).st_mode & 0777U, 0640U);
}

TEST(AtomicFile, WritesNamesAsLongAsTheSystemAllows) {
  const TempFolder folder;
  const std::string longest(255, 'x');
  check_output_path(folder.file(longest));
  AtomicFile file(folder.file(longest));
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder.file(longest)), "new");
  EXPECT_EQ(folder.num_entries(), 1U);
  const std::string longer = folder.file(longest + "x");
  expect_error(ErrorCode::kUsage, "too long", [&] { check_output_path(longer); });
  expect_error(ErrorCode::kUsage, "too long", [&] { const AtomicFile other(longer); });
}

TEST(AtomicFile, TemporaryNamesSayWhoseTheyAreAndNeverRepeat) {
  const TempFolder folder;
  std::array<char, 64> host{};
  ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
  AtomicFile first(folder.file("out"));
  AtomicFile second(folder.file("out"));  // as of another container with the same process id
  EXPECT_EQ(folder.num_entries(), 2U);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename();
    EXPECT_EQ(name.substr(0, 11), ".routepack-") << name;
    EXPECT_NE(name.find(std::string(host.data()).substr(0, 1)), std::string::npos) << name;
    EXPECT_NE(name.find(fmt::format("-{}-", ::getpid())), std::string::npos) << name;
    EXPECT_EQ(name.substr(name.size() - 4), ".tmp") << name;
  }
  first.write("first");
  second.write("second");
  first.commit();
  EXPECT_EQ(read_file(folder.file("out")), "first");
  second.commit();
  EXPECT_EQ(read_file(folder.file("out")), "second");
  EXPECT_EQ(folder.num_entries(), 1U);
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

TEST(CheckOutputPath, SparesTheInputsHoweverTheyAreSpelled) {
  const TempFolder folder;
  write_file(folder.file("input"), "precious");
  write_file(folder.file("other"), "x");
  std::filesystem::create_directory(folder.file("sub"));
  ASSERT_EQ(::symlink("input", folder.file("link").c_str()), 0);
  ASSERT_EQ(::symlink(folder.path().c_str(), folder.file("sub/up").c_str()), 0);
  for (const std::string name : {"input", "link", "sub/../input", "sub/up/input", "sub/up/link"}) {
    const auto refuse = [&](const std::string& input) {
      expect_error(ErrorCode::kUsage, "would overwrite the input " + input, [&] {
        check_output_path(folder.file(name), {folder.file("missing"), input});
      });
    };
    refuse(folder.file("input"));
    refuse(folder.file("link"));
  }
  check_output_path(folder.file("other"), {folder.file("input"), folder.file("missing")});
  check_output_path(folder.file("missing"), {folder.file("input"), folder.file("missing")});
  EXPECT_EQ(read_file(folder.file("input")), "precious");
}

}  // namespace
}  // namespace routepack::io
