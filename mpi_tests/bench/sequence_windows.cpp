#include "sequence_windows.hpp"

#include <algorithm>
#include <span>
#include <sstream>
#include <stdexcept>

#include "demand/load_window.hpp"
#include "synth/samples.hpp"

namespace routepack {
namespace {

WindowSlice synthesize(const synth::SynthOptions& options, const comm::Communicator& comm) {
  const synth::SampleRouting routing(options);
  const std::vector<synth::SampleTokens> lengths = synth::draw_lengths(options);
  const comm::Share share =
      comm::share_of(options.samples(), comm.mpi_rank(), comm.num_mpi_ranks());
  WindowSlice slice;
  slice.shape = {options.samples(),     options.model.moe_layers(), options.model.layers,
                 options.model.experts, options.model.top_k,        "sequence"};
  slice.first_sample = share.begin;
  for (std::int64_t sample = share.begin; sample < share.end; ++sample) {
    const synth::SampleTokens& tokens = lengths[static_cast<std::size_t>(sample)];
    const std::vector<std::uint32_t> counts = routing.counts(sample, tokens);
    slice.lengths.push_back(tokens.total());
    slice.demand.insert(slice.demand.end(), counts.begin(), counts.end());
  }
  return slice;
}

// Of `samples` of a whole window, the part of this rank.
WindowSlice pick(
    const WindowSlice& whole, std::span<const std::int32_t> samples, const comm::Communicator& comm
) {
  const auto row = static_cast<std::size_t>(whole.shape.num_moe_layers() * whole.shape.num_experts);
  const comm::Share share =
      comm::share_of(std::ssize(samples), comm.mpi_rank(), comm.num_mpi_ranks());
  WindowSlice slice;
  slice.shape = whole.shape;
  slice.shape.num_samples = std::ssize(samples);
  slice.first_sample = share.begin;
  for (std::int64_t number = share.begin; number < share.end; ++number) {
    const auto sample = static_cast<std::size_t>(samples[static_cast<std::size_t>(number)]);
    const auto first = whole.demand.begin() + static_cast<std::ptrdiff_t>(sample * row);
    slice.lengths.push_back(whole.lengths[sample]);
    slice.demand.insert(slice.demand.end(), first, first + static_cast<std::ptrdiff_t>(row));
  }
  return slice;
}

WindowPair split_window(
    const std::string& folder, std::uint64_t seed, const comm::Communicator& comm
) {
  const comm::Communicator self(MPI_COMM_SELF);
  const WindowSlice whole = demand::load_window(folder, self);
  const random::Stream stream{seed, random::Purpose::kTests, 0};
  const std::vector<std::int32_t> order =
      random::random_permutation(stream, 0, static_cast<std::int32_t>(whole.num_local()));
  const std::span all{order};
  const std::size_t half = order.size() / 2;
  return {pick(whole, all.first(half), comm), pick(whole, all.subspan(half), comm)};
}

}  // namespace

std::vector<SequenceCase> synthetic_cases() {
  return {
      {"deepseek-v2-lite", "", "deepseek-v2-lite", 64, 800, 1.1, 0, {.dp = 8, .ep = 8}, 8192},
      {"gpt-oss-20b", "", "gpt-oss-20b", 64, 800, 0.7, 0, {.dp = 16, .ep = 8}, 4096},
      {"qwen3-30b-a3b", "", "qwen3-30b-a3b", 64, 2000, 0.6, 0, {.dp = 32, .ep = 8}, 8192},
      {"ling-3.0-flash", "", "ling-3.0-flash", 64, 800, 1.1, 0, {.dp = 16, .ep = 8}, 8192},
      {"deepseek-v3", "", "deepseek-v3", 64, 1000, 0.7, 0, {.dp = 64, .ep = 32}, 4096},
  };
}

SequenceCase parse_case(const std::string& text) {
  std::istringstream fields(text);
  SequenceCase sequence;
  char colon = 0;
  std::getline(fields, sequence.folder, ':');
  fields >> sequence.topology.dp >> colon >> sequence.topology.ep >> colon >>
      sequence.capacity_tokens;
  if (!fields) {
    throw std::invalid_argument("'" + text + "' is not folder:dp:ep:capacity");
  }
  sequence.name = sequence.folder.substr(sequence.folder.find_last_of('/') + 1);
  return sequence;
}

WindowPair make_pair_of(
    const SequenceCase& sequence, std::uint64_t seed, const comm::Communicator& comm
) {
  if (!sequence.folder.empty()) {
    return split_window(sequence.folder, seed, comm);
  }
  synth::SynthOptions options;
  options.model = domain::find_preset(sequence.preset);
  options.model_seed = seed;
  options.num_prompts = sequence.num_prompts;
  options.length_median = sequence.length_median;
  options.popularity = synth::Popularity{synth::Popularity::Kind::kLognormal, sequence.popularity};
  options.length_max = sequence.capacity_tokens;
  options.drift = sequence.drift;
  options.seed = 2 * seed;
  WindowSlice before = synthesize(options, comm);
  options.seed = 2 * seed + 1;
  options.step = 1;
  return {std::move(before), synthesize(options, comm)};
}

}  // namespace routepack
