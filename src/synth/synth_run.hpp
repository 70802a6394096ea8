// Makes a synthetic window with all MPI ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/communicator.hpp"
#include "synth/options.hpp"

namespace routepack::synth {

struct SynthRequest {
  SynthOptions window;
  std::string out;     // folder; on a file system that all ranks share
  bool force = false;  // write into a folder that holds other files
};

struct SynthSummary {
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  std::int64_t median_tokens = 0;
  std::int64_t longest_tokens = 0;
  std::int64_t bytes = 0;  // of the demand or the routes
};

// Called on rank 0 with the part of its samples that is done, from 0 to 1.
using SynthProgress = std::function<void(double)>;

// Collective. Every rank draws a contiguous share of the samples; the files do not depend on how
// many ranks there are. The folder appears whole or not at all.
// Throws USAGE and NUMBER_OUT_OF_RANGE as validate_synth and StagedWindow do.
[[nodiscard]] SynthSummary run_synth(
    const SynthRequest& request, const SynthProgress& progress, const comm::Communicator& comm
);

}  // namespace routepack::synth
