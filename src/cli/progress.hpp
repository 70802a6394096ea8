// How far the search is, on stderr of one rank: a line that rewrites itself on a terminal, plain
// lines elsewhere.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "base/log.hpp"
#include "routepack/planner.hpp"

namespace routepack::cli {

enum class ProgressStyle { kNone, kRewrittenLine, kPlainLines };

// Only rank 0 speaks, and only to a terminal unless progress was asked for.
[[nodiscard]] ProgressStyle progress_style(
    bool is_root, base::Verbosity verbosity, bool asked_for, bool is_terminal
);
[[nodiscard]] bool stderr_is_terminal();

[[nodiscard]] std::string progress_line(const SearchProgress& progress);

class ProgressPrinter {
 public:
  // `stream` must outlive this.
  explicit ProgressPrinter(ProgressStyle style, std::FILE* stream = stderr);
  // Ends a rewritten line, so that what follows starts on a new one.
  ~ProgressPrinter();
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  // A terminal is written to ten times a second at most.
  void show(const SearchProgress& progress);

 private:
  ProgressStyle style_;
  std::FILE* stream_;
  bool line_is_open_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace routepack::cli
