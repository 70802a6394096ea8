#include "synth/synth_run.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/digest.hpp"
#include "comm/collectives.hpp"
#include "io/window_reader.hpp"
#include "routepack/error.hpp"

namespace routepack::synth {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDemandDigest = "525254d115dfb162e25d1b820d89b115";

base::Digest digest_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  return base::digest_of(std::as_bytes(std::span(bytes)));
}

class SynthRun : public ::testing::Test {
 protected:
  // One folder for all ranks, named by rank 0.
  void SetUp() override {
    const std::int64_t owner = comm::broadcast_value(static_cast<std::int64_t>(getpid()), 0, comm_);
    folder_ = fs::temp_directory_path() / fmt::format("routepack-synth-{}", owner);
    if (comm_.is_root()) {
      fs::create_directory(folder_);
    }
    comm::barrier(comm_);
    request_.window.model = domain::find_preset("ling-3.0-tiny");
    request_.window.num_prompts = 3;
    request_.window.rollouts = 5;
    request_.window.length_median = 60.0;
    request_.window.prompt_median = 20.0;
    request_.window.length_max = 400;
    request_.out = (folder_ / "window").string();
  }
  void TearDown() override {
    comm::barrier(comm_);
    if (comm_.is_root()) {
      fs::remove_all(folder_);
    }
    comm::barrier(comm_);
  }

  std::string code_of_run() {
    try {
      static_cast<void>(run_synth(request_, {}, comm_));
    } catch (const Error& error) {
      return std::string(name_of(error.code()));
    }
    return "none";
  }
  std::size_t entries() {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator())
    );
  }
  // Rank 0 changes the file system while the others wait.
  void on_root(const std::function<void()>& change) {
    comm::barrier(comm_);
    if (comm_.is_root()) {
      change();
    }
    comm::barrier(comm_);
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  fs::path folder_;
  SynthRequest request_;
};

// The digests are constants: any number of ranks, compiler and build type writes these bytes.
TEST_F(SynthRun, CountsAreTheSameBytesAtAnyRankCount) {
  const SynthSummary summary = run_synth(request_, {}, comm_);
  EXPECT_EQ(summary.samples, 15);
  EXPECT_EQ(summary.bytes, 15 * 23 * 128 * 2);
  EXPECT_EQ(entries(), 1U);  // no temporary folder is left
  const io::WindowHeader window = io::open_window(request_.out);
  EXPECT_EQ(window.form, io::DemandForm::kCounts);
  EXPECT_EQ(window.lengths.size(), 15U);
  EXPECT_EQ(window.groups[14], 2);
  EXPECT_EQ(window.shape.name, "ling-3.0-tiny");
  EXPECT_EQ(
      base::to_hex(digest_of_file(folder_ / "window/lengths.npy")),
      "bd7e15c869e8f650a62ed9cdd82b60a1"
  );
  EXPECT_EQ(base::to_hex(digest_of_file(folder_ / "window/demand.npy")), kDemandDigest);
}

TEST_F(SynthRun, RoutesAreTheSameBytesAtAnyRankCount) {
  request_.window.form = WindowForm::kRoutes;
  request_.window.all_layers = true;
  const SynthSummary summary = run_synth(request_, {}, comm_);
  EXPECT_EQ(summary.bytes, (summary.tokens - summary.samples) * 24 * 8);
  const io::WindowHeader window = io::open_window(request_.out);
  const io::RouteFile routes(window);
  EXPECT_EQ(routes.view().axis_size, 24);
  EXPECT_EQ(routes.view().ids->dtype(), io::NpyDtype::kUint8);
  EXPECT_EQ(routes.view().num_routes(4), window.lengths[4] - 1);
  EXPECT_EQ(
      base::to_hex(digest_of_file(folder_ / "window/routed_experts.npy")),
      "c8cddf5916e8e591699e51dac57fb370"
  );
}

TEST_F(SynthRun, WidensTheDtypeWhereItMust) {
  request_.window.num_prompts = 1;
  request_.window.rollouts = 2;
  request_.window.length_max = 70'000;
  request_.window.capped_share = 1.0;
  EXPECT_EQ(run_synth(request_, {}, comm_).bytes, 2 * 23 * 128 * 4);
  request_.window.model = domain::find_preset("ling-3.0-flash");
  request_.window.form = WindowForm::kRoutes;
  request_.window.length_max = 100;
  const SynthSummary summary = run_synth(request_, {}, comm_);
  EXPECT_EQ(summary.bytes, 2 * 99 * 40 * 8 * 2);
  const io::WindowHeader window = io::open_window(request_.out);
  EXPECT_EQ(io::RouteFile(window).view().ids->dtype(), io::NpyDtype::kUint16);
}

TEST_F(SynthRun, ReplacesWindowsButNoOtherFolder) {
  EXPECT_EQ(code_of_run(), "none");
  request_.window.form = WindowForm::kRoutes;
  EXPECT_EQ(code_of_run(), "none");  // a window may be replaced
  on_root([this] { std::ofstream(folder_ / "window/notes.txt") << "kept"; });
  request_.window.form = WindowForm::kCounts;
  EXPECT_EQ(code_of_run(), "none");
  EXPECT_FALSE(fs::exists(folder_ / "window/routed_experts.npy"));
  EXPECT_TRUE(fs::exists(folder_ / "window/demand.npy"));
  EXPECT_TRUE(fs::exists(folder_ / "window/notes.txt"));
  on_root([this] { fs::remove(folder_ / "window/window.json"); });
  EXPECT_EQ(code_of_run(), "USAGE");
  EXPECT_FALSE(fs::exists(folder_ / "window/window.json"));
  request_.force = true;
  EXPECT_EQ(code_of_run(), "none");
  EXPECT_TRUE(fs::exists(folder_ / "window/notes.txt"));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(SynthRun, EveryRankFailsAndNothingIsLeft) {
  request_.window.length_max = 0;
  EXPECT_EQ(code_of_run(), "NUMBER_OUT_OF_RANGE");
  request_.window.length_max = 400;
  request_.out = (folder_ / "missing/window").string();
  EXPECT_EQ(code_of_run(), "USAGE");
  on_root([this] { std::ofstream(folder_ / "file") << "x"; });
  request_.out = (folder_ / "file").string();
  EXPECT_EQ(code_of_run(), "USAGE");
  EXPECT_EQ(entries(), 1U);  // the file
}

TEST_F(SynthRun, ReportsProgressUpToTheEnd) {
  std::vector<double> seen;
  static_cast<void>(run_synth(
      request_, [&seen](double part) { seen.push_back(part); }, comm_
  ));
  const std::size_t mine =
      comm_.is_root()
          ? static_cast<std::size_t>(comm::share_of(15, 0, comm_.num_mpi_ranks()).size())
          : 0;
  EXPECT_EQ(seen.size(), mine);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(seen.empty() ? 1.0 : seen.back(), 1.0);
}

}  // namespace
}  // namespace routepack::synth
