// One line per phase on stderr, key=value, from the process that is told to speak.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace routepack {

enum class Verbosity { kQuiet, kNormal, kVerbose };

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
  static void write(std::string_view line);
  Verbosity verbosity_ = Verbosity::kQuiet;
  bool speaks_ = false;
};

}  // namespace routepack
