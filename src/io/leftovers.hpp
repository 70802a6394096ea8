// Unfinished output that must not outlive the process: names kept where a signal handler can read
// them, and a handler that removes what they stand for. Only a program installs the handler; in a
// library's host, names are kept and nothing else happens.
#pragma once

#include <string>

namespace routepack::io {

enum class LeftoverKind {
  kFile,    // unlinked
  kWindow,  // a folder: the files that a window may have are unlinked, then the folder itself
};

// A path that is to be removed if a signal ends the process while this object lives. Beyond a fixed
// number of them at once, and for paths longer than the system allows, nothing is kept.
class Leftover {
 public:
  Leftover(LeftoverKind kind, const std::string& path);
  ~Leftover();
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;

 private:
  int entry_;  // of the registry; -1: none
};

// While one lives, a signal of the handler below waits: it is acted on in the destructor. For a few
// renames that belong together.
class SignalPause {
 public:
  SignalPause();
  ~SignalPause();
  SignalPause(const SignalPause&) = delete;
  SignalPause& operator=(const SignalPause&) = delete;
};

// SIGHUP, SIGINT and SIGTERM remove every leftover and then end the process as they would have
// anyway, with the status of the signal. One of them that is ignored stays ignored. A process that
// has none ends `grace_milliseconds` later: mpirun may kill all ranks for good as soon as the first
// has ended, while another one is still at it.
void remove_leftovers_on_signals(int grace_milliseconds);

}  // namespace routepack::io
