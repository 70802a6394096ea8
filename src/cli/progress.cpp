#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace routepack::cli {

ProgressStyle progress_style(
    bool is_root, base::Verbosity verbosity, bool asked_for, bool is_terminal
) {
  if (!is_root || verbosity == base::Verbosity::kQuiet) {
    return ProgressStyle::kNone;
  }
  if (is_terminal) {
    return ProgressStyle::kRewrittenLine;
  }
  return asked_for ? ProgressStyle::kPlainLines : ProgressStyle::kNone;
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::string progress_line(const SearchProgress& progress) {
  return fmt::format(
      "{} stage={}/{} temperature={:.4g} best={:.4f} gap={:.3f}% moves_per_second={:.3g} "
      "seconds={:.1f}",
      progress.phase, progress.stage, progress.num_stages, progress.temperature, progress.best,
      100.0 * progress.gap, progress.moves_per_second, progress.seconds
  );
}

ProgressPrinter::ProgressPrinter(ProgressStyle style, std::FILE* stream)
    : style_(style), stream_(stream) {}

ProgressPrinter::~ProgressPrinter() {
  if (line_is_open_) {
    base::write_unchecked(stream_, "\n");
  }
}

void ProgressPrinter::show(const SearchProgress& progress) {
  switch (style_) {
    case ProgressStyle::kNone:
      return;
    case ProgressStyle::kPlainLines:
      base::write_unchecked(stream_, fmt::format("routepack: {}\n", progress_line(progress)));
      return;
    case ProgressStyle::kRewrittenLine: {
      const auto now = std::chrono::steady_clock::now();
      if (now < next_) {
        return;
      }
      next_ = now + std::chrono::milliseconds(100);
      // Erases what was longer before.
      base::write_unchecked(stream_, fmt::format("\r{}\x1b[K", progress_line(progress)));
      line_is_open_ = true;
      return;
    }
  }
}

}  // namespace routepack::cli
