// routepack COMMAND …, alone or under mpirun. One rank prints an error, every rank exits with its
// status.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "base/check.hpp"
#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/launch_check.hpp"
#include "cli/option_parser.hpp"
#include "cli/output.hpp"
#include "comm/agreement.hpp"
#include "io/leftovers.hpp"

namespace routepack::cli {
namespace {

constexpr int kInternalStatus = 4;

std::string overview() {
  std::string text = "usage: routepack COMMAND [options]\n\nCommands:\n";
  for (const Command& command : commands()) {
    text += fmt::format("  {:<14}{}\n", command.options.command(), command.options.summary());
  }
  return text + "\n`routepack COMMAND --help` lists a command's options.\n";
}

std::string version_text() { return "routepack " ROUTEPACK_VERSION "\n"; }

Command find_command(const std::string& name) {
  for (Command& command : commands()) {
    if (command.options.command() == name) {
      return std::move(command);
    }
  }
  base::fail(ErrorCode::kUsage, "there is no command '{}'; `routepack --help` lists them", name);
}

void print_once(const std::string& text, const comm::Communicator& comm) {
  if (comm.is_root()) {
    print_output("{}", text);
  }
}

// The ranks' own words, before anything that only some of them would do.
std::vector<comm::NamedEvidence> first_words(const std::vector<std::string>& arguments) {
  std::vector<comm::NamedEvidence> evidence = {{"the program's version", ROUTEPACK_VERSION}};
  if (!arguments.empty()) {
    evidence.push_back({"the command", arguments[0]});
  }
  return evidence;
}

void run(const std::vector<std::string>& arguments, const comm::Communicator& comm) {
  comm::agree_on_inputs(first_words(arguments), comm);
  RP_CHECK(
      !arguments.empty(), ErrorCode::kUsage, "a command is missing; `routepack --help` lists them"
  );
  if (arguments[0] == "--help" || arguments[0] == "--version") {
    print_once(arguments[0] == "--help" ? overview() : version_text(), comm);
    return;
  }
  Command command = find_command(arguments[0]);
  OptionTable& options = command.options;
  // Files of --config may be missing on some nodes only.
  comm::agree_on([&] { parse_options(options, {arguments.begin() + 1, arguments.end()}); }, comm);
  comm::agree_on_inputs(options.evidence(), comm);
  if (options.common().help || options.common().version) {
    print_once(options.common().help ? help_text(options) : version_text(), comm);
    return;
  }
  check_launch(options.writes_output(), comm);
  command.run(comm);
}

// Standard output is buffered: a full disk behind it shows here.
void flush_output() {
  RP_CHECK(
      std::fflush(stdout) == 0 && std::ferror(stdout) == 0, ErrorCode::kFileMalformed,
      "cannot write standard output: {}", std::generic_category().message(errno)
  );
}

// Paths and texts of files may hold line breaks; an error is one line.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char letter) { return std::iscntrl(letter) != 0; }, '?'
  );
  return text;
}

// A closed standard stream would be given away to the next file or socket that is opened, and what
// is written to the stream would land there. Held by something that cannot be written, it stays an
// error for standard output, and silence for stderr.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    while (::fcntl(stream, F_GETFD) < 0) {
      if (::open("/dev/null", O_RDONLY) < 0) {  // the lowest free descriptor: at most this one
        return;
      }
    }
  }
}

// mpirun gives the ranks one second after the signal, and less once one of them has ended.
void watch_signals() {
  constexpr int kGraceMilliseconds = 500;
  int num_ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  io::remove_leftovers_on_signals(num_ranks > 1 ? kGraceMilliseconds : 0);
}

int run_reporting_errors(const std::vector<std::string>& arguments) {
  try {
    const comm::Communicator comm(MPI_COMM_WORLD);
    try {
      run(arguments, comm);
      comm::agree_on(flush_output, comm);
      return 0;
    } catch (const Error& error) {  // agreed on: the same on every rank
      if (comm.is_root()) {
        base::report("routepack: error [{}] {}\n", name_of(error.code()), one_line(error.what()));
      }
      return exit_status_of(error.code());
    }
  } catch (const std::exception& error) {  // on this rank alone, others may wait for it
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    base::report("routepack: internal error on rank {}: {}\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, kInternalStatus);
    return kInternalStatus;
  }
}

}  // namespace
}  // namespace routepack::cli

int main(int argc, char** argv) {
  routepack::cli::hold_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is a failed write, not the job's end
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  routepack::cli::watch_signals();
  const int status = routepack::cli::run_reporting_errors({argv + 1, argv + argc});
  MPI_Finalize();
  return status;
}
