// `synth` through its options makes the window that the options say.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "cli/command.hpp"
#include "cli/option_parser.hpp"
#include "comm/collectives.hpp"
#include "domain/model.hpp"
#include "support/temp_folder.hpp"
#include "synth/synth_run.hpp"

namespace routepack::cli {
namespace {

namespace fs = std::filesystem;

// What is not given takes the defaults of SynthOptions.
TEST(SynthCommand, MakesTheWindowOfItsOptions) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::int64_t owner = comm::broadcast_value(static_cast<std::int64_t>(getpid()), 0, comm);
  const fs::path folder = fs::temp_directory_path() / fmt::format("routepack-command-{}", owner);
  if (comm.is_root()) {
    fs::create_directory(folder);
  }
  comm::barrier(comm);
  synth::SynthRequest request;
  request.window.model = domain::find_preset("ling-3.0-tiny");
  request.window.num_prompts = 3;
  request.window.rollouts = 5;
  request.window.length_median = 60.0;
  request.window.prompt_median = 20.0;
  request.window.length_max = 400;
  request.out = (folder / "library").string();
  static_cast<void>(synth::run_synth(request, {}, comm));
  Command command = synth_command();
  parse_options(
      command.options,
      {"--preset", "ling-3.0-tiny", "--samples", "15", "--rollouts", "5", "--length-median", "60",
       "--prompt-median", "20", "--length-max", "400", "--out", (folder / "command").string()}
  );
  command.run(comm);
  for (const char* file : {"demand.npy", "lengths.npy", "groups.npy"}) {
    EXPECT_EQ(
        testing::read_file((folder / "command" / file).string()),
        testing::read_file((folder / "library" / file).string())
    ) << file;
  }
  comm::barrier(comm);
  if (comm.is_root()) {
    fs::remove_all(folder);
  }
}

}  // namespace
}  // namespace routepack::cli
