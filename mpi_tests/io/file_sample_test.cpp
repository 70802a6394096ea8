#include "io/file_sample.hpp"

#include <gtest/gtest.h>

#include "support/temp_folder.hpp"

namespace routepack {
namespace {

using testing::TempFolder;
using testing::write_file;

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
}  // namespace routepack
