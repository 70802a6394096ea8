// Lines on stderr. Reporting never fails a run: what a full or closed stream does not take is
// dropped, and nothing here throws.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace routepack::base {

inline void write_unchecked(std::FILE* stream, std::string_view text) noexcept {
  (void)std::fwrite(text.data(), 1, text.size(), stream);
  (void)std::fflush(stream);
}

// Formats and writes to stderr; line breaks are the caller's.
template <class... Args>
void report(fmt::format_string<Args...> text, Args&&... args) noexcept {
  try {
    write_unchecked(stderr, fmt::format(text, std::forward<Args>(args)...));
  } catch (...) {  // no memory for the text, so nothing can be said
  }
}

enum class Verbosity { kQuiet, kNormal, kVerbose };

// One line per phase, key=value, from the process that is told to speak.
class Log {
 public:
  Log() = default;
  Log(Verbosity verbosity, bool speaks) : verbosity_(verbosity), speaks_(speaks) {}

  template <class... Args>
  void info(fmt::format_string<Args...> text, Args&&... args) const {
    if (speaks_ && verbosity_ != Verbosity::kQuiet) {
      write(fmt::format(text, std::forward<Args>(args)...));
    }
  }
  template <class... Args>
  void detail(fmt::format_string<Args...> text, Args&&... args) const {
    if (speaks_ && verbosity_ == Verbosity::kVerbose) {
      write(fmt::format(text, std::forward<Args>(args)...));
    }
  }

 private:
  static void write(std::string_view line) { report("routepack: {}\n", line); }
  Verbosity verbosity_ = Verbosity::kQuiet;
  bool speaks_ = false;
};

}  // namespace routepack::base
