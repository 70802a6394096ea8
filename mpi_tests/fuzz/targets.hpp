// What the fuzzers feed, and what the replay of their corpus feeds again. A target takes any bytes;
// it lets through what must not happen: an exception that is no Error, a sanitizer's report, or
// Surprise where two ways to one answer differ.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "routepack/error.hpp"

namespace routepack::fuzz {

using Bytes = std::span<const std::byte>;

void fuzz_npy(Bytes bytes);        // an .npy file, in memory and on disk
void fuzz_window(Bytes bytes);     // the files of a window folder
void fuzz_routes(Bytes bytes);     // a well-formed window with strange routes, see routes.cpp
void fuzz_plan(Bytes bytes);       // a plan file
void fuzz_placement(Bytes bytes);  // a placement file
void fuzz_options(Bytes bytes);    // options of `plan`, one a line, then a configuration file

struct Target {
  std::string_view name;  // of its corpus and dictionary as well
  void (*run)(Bytes bytes);
};

inline constexpr Target kTargets[] = {
    {"npy", fuzz_npy},   {"window", fuzz_window},       {"routes", fuzz_routes},
    {"plan", fuzz_plan}, {"placement", fuzz_placement}, {"options", fuzz_options}};

class Surprise : public std::logic_error {
  using std::logic_error::logic_error;
};

inline void expect(bool condition, const std::string& what) {
  if (!condition) {
    throw Surprise(what);
  }
}

// Several files in one input, each but the last ended by this.
inline constexpr std::string_view kSeparator = "\n%%%\n";
[[nodiscard]] std::vector<std::string> split_files(Bytes bytes);

[[nodiscard]] inline std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A path in a folder of this process, which goes away with it.
[[nodiscard]] std::string scratch(const std::string& name);

// What an action returned, or the error that it ended with.
template <class T>
struct Outcome {
  std::optional<T> value;
  std::string error;  // code and text
};

template <class Action>
[[nodiscard]] auto outcome_of(const Action& action) -> Outcome<decltype(action())> {
  try {
    return {action(), ""};
  } catch (const Error& error) {
    expect(std::string_view(error.what()) != "", "an error without a text");
    return {std::nullopt, std::string(name_of(error.code())) + " " + error.what()};
  }
}

}  // namespace routepack::fuzz
