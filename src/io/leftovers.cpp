#include "io/leftovers.hpp"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "io/window_reader.hpp"

namespace routepack::io {
namespace {

// A name changes hands by its state: whoever moves it out of kKept owns it, the handler as well as
// the destructor, so that neither reads what the other writes.
enum State { kFree, kChanging, kKept };

struct Entry {
  std::atomic<int> state = kFree;
  LeftoverKind kind = LeftoverKind::kFile;
  std::array<char, PATH_MAX> path = {};
};

constexpr int kNumEntries = 16;
// Constant-initialized: a handler may run at any time, in any thread.
constinit std::array<Entry, kNumEntries> entries = {};
constinit std::atomic<int> pauses = 0;
constinit std::atomic<int> waiting_signal = 0;
constinit std::atomic<int> grace = 0;  // milliseconds
constinit std::atomic_flag is_ending = {};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::array kSignals = {SIGHUP, SIGINT, SIGTERM};

// Everything from here to handle() is called in the handler: async-signal-safe calls only.

bool take(Entry& entry) {
  int kept = kKept;
  return entry.state.compare_exchange_strong(kept, kChanging);
}

void remove_window(const std::array<char, PATH_MAX>& folder) {
  std::array<char, PATH_MAX> file = folder;
  const std::size_t length = std::strlen(folder.data());
  for (const std::string_view name : kWindowFiles) {
    if (length + 1 + name.size() < file.size()) {
      file[length] = '/';
      std::memcpy(&file[length + 1], name.data(), name.size());
      file[length + 1 + name.size()] = '\0';
      ::unlink(file.data());
    }
  }
  ::rmdir(folder.data());
}

// Returns whether there was one.
bool remove_all(LeftoverKind kind) {
  bool found = false;
  for (Entry& entry : entries) {
    if (!take(entry)) {
      continue;
    }
    if (entry.kind != kind) {
      entry.state = kKept;  // its turn comes, or has been
      continue;
    }
    found = true;
    if (kind == LeftoverKind::kFile) {
      ::unlink(entry.path.data());
    } else {
      remove_window(entry.path);
    }
  }
  return found;
}

void handle(int signal_number) {
  waiting_signal = signal_number;
  // A second signal, maybe in another thread, leaves the first one's handler to its work.
  if (pauses > 0 || is_ending.test_and_set()) {
    return;
  }
  const bool had_file = remove_all(LeftoverKind::kFile);  // files first: some lie in the folders
  const bool had_window = remove_all(LeftoverKind::kWindow);
  if (!had_file && !had_window) {
    ::poll(nullptr, 0, grace);
  }
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal_number, &plain, nullptr);
  ::raise(signal_number);  // blocked while it is handled: ends the process on return
}

}  // namespace

Leftover::Leftover(LeftoverKind kind, const std::string& path) : entry_(-1) {
  if (path.size() >= PATH_MAX) {
    return;
  }
  for (int at = 0; at < kNumEntries; ++at) {
    Entry& entry = entries[static_cast<std::size_t>(at)];
    int free = kFree;
    if (entry.state.compare_exchange_strong(free, kChanging)) {
      entry.kind = kind;
      std::memcpy(entry.path.data(), path.c_str(), path.size() + 1);
      entry.state = kKept;
      entry_ = at;
      return;
    }
  }
}

Leftover::~Leftover() {
  if (entry_ >= 0 && take(entries[static_cast<std::size_t>(entry_)])) {
    entries[static_cast<std::size_t>(entry_)].state = kFree;
  }
}

SignalPause::SignalPause() { ++pauses; }

SignalPause::~SignalPause() {
  // The handler writes waiting_signal before it reads pauses, and this the other way round: one of
  // the two sees the other.
  const int signal_number = --pauses == 0 ? waiting_signal.load() : 0;
  if (signal_number != 0) {
    ::raise(signal_number);
  }
}

void remove_leftovers_on_signals(int grace_milliseconds) {
  grace = grace_milliseconds;
  struct sigaction ours {};
  ours.sa_handler = handle;
  for (const int signal_number : kSignals) {
    ::sigaddset(&ours.sa_mask, signal_number);
  }
  for (const int signal_number : kSignals) {
    struct sigaction old {};
    if (::sigaction(signal_number, nullptr, &old) == 0 && old.sa_handler != SIG_IGN) {
      ::sigaction(signal_number, &ours, nullptr);
    }
  }
}

}  // namespace routepack::io
