#include "cli/launch_check.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/check.hpp"
#include "base/log.hpp"
#include "comm/agreement.hpp"

namespace routepack::cli {
namespace {

struct Launcher {
  std::array<const char*, 3> sizes;  // tasks, the first that is set counts
  const char* task;
  const char* only_with;  // counts only where this is set, too; null: always
};

// From the inside out: a launcher inside another one sets its own variables and inherits the rest.
constexpr std::array<Launcher, 6> kLaunchers = {{
    {{"OMPI_COMM_WORLD_SIZE", nullptr, nullptr}, "OMPI_COMM_WORLD_RANK", nullptr},
    {{"MV2_COMM_WORLD_SIZE", nullptr, nullptr}, "MV2_COMM_WORLD_RANK", nullptr},
    {{"PMI_SIZE", nullptr, nullptr}, "PMI_RANK", nullptr},
    {{"PALS_SIZE", nullptr, nullptr}, "PALS_RANKID", nullptr},
    {{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"}, "SLURM_PROCID", "SLURM_STEP_ID"},
    {{nullptr, nullptr, nullptr}, "PMIX_RANK", nullptr},
}};

std::optional<int> number_of(const Environment& environment, const char* name) {
  const char* const text = name != nullptr ? environment(name) : nullptr;
  if (text == nullptr) {
    return std::nullopt;
  }
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

std::string with_value(const char* name, int value) { return fmt::format("{}={}", name, value); }

}  // namespace

std::optional<StrangeStart> find_strange_start(const Environment& environment, int num_mpi_ranks) {
  for (const Launcher& launcher : kLaunchers) {
    if (launcher.only_with != nullptr && environment(launcher.only_with) == nullptr) {
      continue;
    }
    const std::optional<int> task = number_of(environment, launcher.task);
    for (const char* name : launcher.sizes) {
      if (const std::optional<int> size = number_of(environment, name)) {
        return *size > num_mpi_ranks
                   ? std::optional(StrangeStart{with_value(name, *size), task.value_or(0)})
                   : std::nullopt;
      }
    }
    if (task && *task >= num_mpi_ranks) {
      return StrangeStart{with_value(launcher.task, *task), *task};
    }
  }
  return std::nullopt;
}

void check_launch(bool writes_output, const comm::Communicator& comm) {
  comm::agree_on(
      [&] {
        const std::optional<StrangeStart> start =
            comm.is_root()
                ? find_strange_start(
                      [](const char* name) { return std::getenv(name); }, comm.num_mpi_ranks()
                  )
                : std::nullopt;
        if (!start) {
          return;
        }
        RP_CHECK(
            start->task == 0 || !writes_output, ErrorCode::kUsage,
            "this is task {} by the environment ({}), but MPI has {} rank{} here: several programs "
            "that do not know of each other would write one output. Start it with mpirun, or srun "
            "--mpi=pmix",
            start->task, start->variable, comm.num_mpi_ranks(), comm.num_mpi_ranks() == 1 ? "" : "s"
        );
        base::report(
            "routepack: warning: {} in the environment, but MPI has {} rank{}: if the launcher was "
            "to start them all, it speaks another MPI's language (srun: --mpi=pmix), and each "
            "plans alone\n",
            start->variable, comm.num_mpi_ranks(), comm.num_mpi_ranks() == 1 ? "" : "s"
        );
      },
      comm
  );
}

}  // namespace routepack::cli
