#include "synth/synth_run.hpp"

#include <algorithm>
#include <optional>

#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "synth/window_files.hpp"

namespace routepack::synth {
namespace {

SynthSummary summarize(const SynthOptions& options, const std::vector<SampleTokens>& lengths) {
  std::vector<std::int64_t> totals;
  SynthSummary summary;
  for (const SampleTokens& tokens : lengths) {
    totals.push_back(tokens.total());
    summary.tokens += tokens.total();
  }
  std::ranges::sort(totals);
  summary.samples = static_cast<std::int64_t>(totals.size());
  summary.median_tokens = totals[totals.size() / 2];
  summary.longest_tokens = totals.back();
  summary.bytes = routing_array(options, lengths).bytes();
  return summary;
}

void write_share(
    const std::string& folder,
    const SynthOptions& options,
    const std::vector<SampleTokens>& lengths,
    const comm::Share& share,
    const SynthProgress& progress
) {
  SampleWriter writer(folder, options, lengths);
  for (std::int64_t sample = share.begin; sample < share.end; ++sample) {
    writer.write(sample);
    if (progress) {
      progress(static_cast<double>(sample + 1 - share.begin) / static_cast<double>(share.size()));
    }
  }
  writer.close();
}

}  // namespace

SynthSummary run_synth(
    const SynthRequest& request, const SynthProgress& progress, const comm::Communicator& comm
) {
  const SynthOptions& options = request.window;
  const std::vector<SampleTokens> lengths = comm::agree_on(
      [&options] {
        validate_synth(options);
        return draw_lengths(options);
      },
      comm
  );
  std::optional<StagedWindow> staged;  // rank 0 only
  comm::agree_on(
      [&] {
        if (comm.is_root()) {
          staged.emplace(request.out, request.force);
          create_window_files(staged->temporary(), options, lengths);
        }
      },
      comm
  );
  std::vector<char> folder;
  if (staged) {
    folder.assign(staged->temporary().begin(), staged->temporary().end());
  }
  folder = comm::broadcast(folder, 0, comm);
  comm::agree_on(
      [&] {
        write_share(
            {folder.begin(), folder.end()}, options, lengths,
            comm::share_of(
                static_cast<std::int64_t>(lengths.size()), comm.mpi_rank(), comm.num_mpi_ranks()
            ),
            comm.is_root() ? progress : SynthProgress{}
        );
      },
      comm
  );
  comm::agree_on(
      [&staged] {
        if (staged) {
          staged->commit();
        }
      },
      comm
  );
  return summarize(options, lengths);
}

}  // namespace routepack::synth
