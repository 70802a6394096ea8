// Windows whose files change while they are counted.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "demand/count.hpp"
#include "demand/exact_routes.hpp"
#include "support/expect_error.hpp"
#include "support/test_window.hpp"

namespace routepack::demand {
namespace {

using testing::expect_error;
using testing::TempFolder;
using testing::TestWindow;

// Writes two values in turn over the last bytes of a file, in a thread, until it ends.
class Flipper {
 public:
  Flipper(const std::string& path, std::string first, std::string second)
      : thread_([this, path, values = std::array{std::move(first), std::move(second)}] {
          const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
          const ::off_t size = ::lseek(file, 0, SEEK_END);
          for (std::size_t turn = 0; !stop_; ++turn) {
            const std::string& value = values[turn % 2];
            const auto bytes = static_cast<::ssize_t>(value.size());
            EXPECT_EQ(::pwrite(file, value.data(), value.size(), size - bytes), bytes);
          }
          ::close(file);
        }) {}
  ~Flipper() {
    stop_ = true;
    thread_.join();
  }
  Flipper(const Flipper&) = delete;
  Flipper& operator=(const Flipper&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Counts while the last ids of the file flip between right and wrong ones: either is an answer, but
// what is counted was checked. The sums are over the experts, so an id beyond them would be
// missing.
template <class Count>
void expect_counted_or_refused(std::int64_t pairs, const Count& count) {
  int counted = 0;
  for (int repeat = 0; repeat < 300; ++repeat) {
    try {
      const CountedDemand demand = count();
      std::int64_t total = 0;
      for (const std::uint32_t entry : demand.demand) {
        total += entry;
      }
      EXPECT_EQ(total, pairs);
      ++counted;
    } catch (const Error& error) {
      EXPECT_TRUE(
          error.code() == ErrorCode::kExpertIdOutOfRange ||
          error.code() == ErrorCode::kNumberOutOfRange
      ) << error.what();
    }
  }
  ::testing::Test::RecordProperty("counted", counted);
}

constexpr std::int64_t kTokens = 2000;

// One sample, all of its tokens routed to experts 2 and 3 of 4.
TestWindow steady_routes() {
  TestWindow window{
      .moe_layers = {0},
      .num_layers = 1,
      .lengths = {kTokens},
      .dtype = "<u2",
      .axis = 1,
      .row_counts = {kTokens}};
  for (std::int64_t token = 0; token < kTokens; ++token) {
    window.ids.insert(window.ids.end(), {2, 3});
  }
  return window;
}

TEST(ChangingFile, RoutesAreCountedAsTheyWereChecked) {
  const TempFolder folder;
  steady_routes().write(folder.path());
  const io::WindowHeader header = io::open_window(folder.path());
  const io::RouteFile routes(header);
  const Flipper flipper(
      folder.file("routed_experts.npy"), std::string("\2\0\3\0", 4), std::string("\2\0\xff\xff", 4)
  );
  for (const auto count : {&count_routes, &count_routes_exact}) {
    expect_counted_or_refused(2 * kTokens, [&] { return count(routes.view(), {0, 1}); });
  }
}

TEST(ChangingFile, CountsAreConvertedAsTheyWereChecked) {
  const TempFolder folder;
  const TestWindow window{
      .moe_layers = {0},
      .num_layers = 1,
      .form = "counts",
      .lengths = {kTokens},
      .counts = {kTokens, 0, 0, kTokens}};
  window.write(folder.path());
  const io::WindowHeader header = io::open_window(folder.path());
  const io::CountFile counts(header);
  const Flipper flipper(
      folder.file("demand.npy"), std::string("\xd0\7\0\0", 4), std::string("\xff\xff\xff\xff", 4)
  );
  expect_counted_or_refused(2 * kTokens, [&] {
    return read_counts(header, counts.array(), {0, 1});
  });
}

TEST(ChangingFile, AShorterFileIsAnErrorOfBothPaths) {
  for (const auto count : {&count_routes, &count_routes_exact}) {
    const TempFolder folder;
    steady_routes().write(folder.path());
    const io::WindowHeader header = io::open_window(folder.path());
    const io::RouteFile routes(header);
    std::filesystem::resize_file(folder.file("routed_experts.npy"), 1000);
    expect_error(
        ErrorCode::kFileMalformed, "routed_experts.npy changed while it was read: it had",
        [&] {
          (void)count(routes.view(), {0, 1});
        }
    );
    expect_error(ErrorCode::kFileMalformed, "changed", [&] { routes.check_unchanged(); });
  }
}

TEST(ChangingFile, TheHeaderRemembersEveryFileThatItWasReadFrom) {
  for (const char* name : {"window.json", "lengths.npy", "row_offsets.npy"}) {
    const TempFolder folder;
    steady_routes().write(folder.path());
    const io::WindowHeader header = io::open_window(folder.path());
    header.check_unchanged();
    std::filesystem::resize_file(folder.file(name), 5000);
    expect_error(
        ErrorCode::kFileMalformed, std::string(name) + " changed while it was read: it had",
        [&] { header.check_unchanged(); }
    );
  }
}

}  // namespace
}  // namespace routepack::demand
