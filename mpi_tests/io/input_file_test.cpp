#include "io/input_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <utility>

#include "io/npy.hpp"
#include "support/expect_error.hpp"
#include "support/test_window.hpp"

namespace routepack::io {
namespace {

using testing::expect_error;
using testing::npy_array;
using testing::TempFolder;
using testing::write_file;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Gives a file the time that a write long after the opening would have left.
void set_changed_later(const std::string& path) {
  const std::array<timespec, 2> times = {
      {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 2, .tv_nsec = 5}}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
}

TEST(InputFile, ReadsByPosition) {
  const TempFolder folder;
  write_file(folder.file("a"), "hello");
  InputFile file(folder.file("a"));
  const InputFile moved(std::move(file));
  EXPECT_EQ(moved.path(), folder.file("a"));
  EXPECT_EQ(moved.size(), 5);
  std::array<std::byte, 3> part{};
  moved.read(1, part);
  EXPECT_EQ(text_of(part), "ell");
  moved.read(5, {});
  moved.advise_sequential(1, 2);
  moved.advise_sequential(5, 0);
  moved.check_unchanged();
}

TEST(InputFile, NamesWhatItCannotRead) {
  const TempFolder folder;
  write_file(folder.file("empty"), "");
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const auto expect = [&](const std::string& path, const std::string& text) {
    expect_error(ErrorCode::kFileMalformed, path, [&] { const InputFile file(path); });
    expect_error(ErrorCode::kFileMalformed, text, [&] { const InputFile file(path); });
    expect_error(ErrorCode::kFileMalformed, text, [&] { const FileCopy file(path); });
    expect_error(ErrorCode::kFileMalformed, text, [&] { const NpyFile file(path); });
  };
  expect(folder.file("missing"), "No such file");
  expect(folder.path(), "is a folder");
  expect(folder.file("empty"), "is empty");
  expect("/dev/null", "no regular file");
  expect(folder.file("pipe"), "no regular file");  // and does not wait for a writer
}

TEST(InputFile, NoticesEveryChange) {
  const TempFolder folder;
  const std::string path = folder.file("a");
  const auto expect_changed = [&](const std::string& text, const auto& change) {
    write_file(path, "hello");
    const InputFile file(path);
    file.check_unchanged();
    change();
    const std::string expected = path + " changed while it was read: " + text;
    expect_error(ErrorCode::kFileMalformed, expected, [&] { file.check_unchanged(); });
    expect_error(ErrorCode::kFileMalformed, expected, [&] { file.stamp().check_unchanged(); });
  };
  expect_changed("it had 5 bytes and has 2", [&] { std::filesystem::resize_file(path, 2); });
  expect_changed("it had 5 bytes and has 9", [&] { std::filesystem::resize_file(path, 9); });
  expect_changed("it was written to", [&] {
    write_file(path, "world");
    set_changed_later(path);
  });
  expect_changed("another file has taken its place", [&] {
    write_file(folder.file("b"), "hello");
    std::filesystem::rename(folder.file("b"), path);
  });
  expect_changed("No such file", [&] { std::filesystem::remove(path); });
}

TEST(InputFile, AFileThatHasBecomeShorterIsAnError) {
  const TempFolder folder;
  const std::string path = folder.file("a");
  write_file(path, "hello");
  const InputFile file(path);
  std::filesystem::resize_file(path, 2);
  std::array<std::byte, 4> part{};
  expect_error(
      ErrorCode::kFileMalformed, "changed while it was read: it had 5 bytes and ends at byte 2",
      [&] { file.read(1, part); }
  );
}

TEST(FileCopy, HoldsTheBytesAndMoves) {
  const TempFolder folder;
  write_file(folder.file("a"), "hello");
  FileCopy file(folder.file("a"));
  const FileCopy moved(std::move(file));
  std::filesystem::resize_file(folder.file("a"), 1);
  EXPECT_EQ(moved.path(), folder.file("a"));
  EXPECT_EQ(text_of(moved.bytes()), "hello");
  expect_error(ErrorCode::kFileMalformed, "changed", [&] { moved.stamp().check_unchanged(); });
}

TEST(FileCopy, RefusesFilesThatNobodyMeant) {
  const TempFolder folder;
  write_file(folder.file("a"), "x");
  std::filesystem::resize_file(folder.file("a"), (1LL << 30U) + 1);  // takes no space
  expect_error(ErrorCode::kFileMalformed, "1073741825 bytes, the limit is 1073741824", [&] {
    const FileCopy file(folder.file("a"));
  });
}

TEST(NpyFile, ReadsParts) {
  const TempFolder folder;
  write_file(folder.file("a.npy"), npy_array("<u2", {2, 3}, {1, 2, 3, 4, 5, 65535}));
  const NpyFile file(folder.file("a.npy"));
  EXPECT_EQ(file.dtype(), NpyDtype::kUint16);
  EXPECT_EQ(file.shape(), (std::vector<std::int64_t>{2, 3}));
  std::array<std::uint16_t, 2> part{};
  file.read(4, std::span<std::uint16_t>(part));
  EXPECT_EQ(part, (std::array<std::uint16_t, 2>{5, 65535}));
  file.advise_sequential(1, 5);
  file.check_unchanged();
}

TEST(NpyFile, RefusesWhatAViewRefuses) {
  const TempFolder folder;
  const std::string whole = npy_array("<i4", {3, 2}, {1, 2, 3, 4, 5, 6});
  for (std::size_t size = 1; size < whole.size(); ++size) {
    write_file(folder.file("a.npy"), whole.substr(0, size));
    std::string text;
    try {
      const FileCopy copy(folder.file("a.npy"));
      (void)view_npy(copy.bytes(), copy.path());
    } catch (const Error& error) {
      text = error.what();
    }
    ASSERT_FALSE(text.empty()) << size;
    expect_error(ErrorCode::kFileMalformed, text, [&] {
      const NpyFile file(folder.file("a.npy"));
    });
  }
}

class FileSampleTest : public ::testing::Test {
 protected:
  FileSample sample_of(const std::string& bytes) const {
    write_file(folder_.file("file"), bytes);
    return sample_file(InputFile(folder_.file("file")));
  }
  TempFolder folder_;
};

TEST_F(FileSampleTest, ASmallFileCountsWhole) {
  const std::string bytes = "some bytes of a file";
  const FileSample sample = sample_of(bytes);
  EXPECT_EQ(sample.bytes, 20);
  EXPECT_EQ(sample_of(bytes), sample);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string other = bytes;
    other[at] ^= 1;
    EXPECT_NE(sample_of(other), sample) << "byte " << at;
  }
}

TEST_F(FileSampleTest, ALargeFileCountsByItsEndsItsSizeAndBlocksBetween) {
  std::string bytes(std::size_t{5} << 20U, 'x');
  const FileSample sample = sample_of(bytes);
  for (const std::size_t at : {std::size_t{0}, bytes.size() - 1}) {
    std::string other = bytes;
    other[at] = 'y';
    EXPECT_NE(sample_of(other), sample) << "byte " << at;
  }
  EXPECT_NE(sample_of(bytes + "x"), sample);
  // The blocks are 16 KiB of every 80: a fifth of the file and more, wherever it differs.
  for (std::size_t at = 0; at < bytes.size(); at += bytes.size() / 5) {
    std::string other = bytes;
    other.replace(at, std::size_t{100} << 10U, std::size_t{100} << 10U, 'y');
    EXPECT_NE(sample_of(other), sample) << "from byte " << at;
  }
}

}  // namespace
}  // namespace routepack::io
