// What holds for the options of every command.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "cli/command.hpp"
#include "cli/option_parser.hpp"
#include "routepack/options.hpp"
#include "routepack/weights.hpp"
#include "shuffle/check/closed_form_state.hpp"
#include "synth/options.hpp"

namespace routepack::cli {
namespace {

using Defaults = std::map<std::string, std::string>;  // by option

template <class Number>
std::string text(Number number) {
  return fmt::format("{}", number);
}

Defaults plan_defaults() {
  const PlanOptions plan;
  return {
      {"tp", text(plan.topology.tp)},
      {"cp", text(plan.topology.cp)},
      {"pp", text(plan.topology.pp)},
      {"etp", text(plan.topology.etp)},
      {"row-multiple", text(plan.row_multiple)},
      {"pad-multiple", text(plan.pad_multiple)},
      {"samples-per-slot", "any"},
      {"oversize", "error"},
      {"cell-pad-multiple", text(plan.constraints.cell_pad_multiple)},
      {"pad-routes", "none"},
      {"placement", "free"},
      {"seed", text(plan.search.seed)},
      {"migration-cost-per-expert", text(plan.migration.cost_per_expert)},
      {"horizon-steps", text(plan.migration.horizon_steps)},
      {"max-moved-fraction", text(plan.migration.max_moved_fraction)}};
}

Defaults synth_defaults() {
  const synth::SynthOptions window;
  return {
      {"seed", text(window.seed)},
      {"rollouts", text(window.rollouts)},
      {"length-median", text(window.length_median)},
      {"length-between", text(window.length_between)},
      {"length-within", text(window.length_within)},
      {"length-max", text(window.length_max)},
      {"prompt-median", text(window.prompt_median)},
      {"capped-share", text(window.capped_share)},
      {"spread", text(window.spread)},
      {"share-prompt", text(window.share_prompt)},
      {"design-effect", text(window.design_effect)},
      {"pattern", std::string(synth::name_of(window.pattern))},
      {"pattern-ep", text(window.pattern_ep)},
      {"heat", text(window.heat)},
      {"step", text(window.step)},
      {"drift", text(window.drift)},
      {"form", "counts"}};
}

Defaults shuffle_check_defaults() {
  const ShuffleOptions shuffle;
  return {
      {"edp", text(shuffle::StateShape{}.edp)},
      {"round-bytes", text(shuffle.round_bytes)},
      {"seed", text(shuffle::StateShape{}.seed)},
      {"moved-fraction", "0.5"},
      {"deadline", text(shuffle.deadline_seconds)},
      {"repeat", "1"},
      {"transport", "mpi"}};
}

// With every run of spaces and line breaks as one space.
std::string unwrapped(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) {
    line += word + ' ';
  }
  return line;
}

TEST(CommandOptions, DefaultsAreThoseOfTheFields) {
  const std::map<std::string, Defaults> expected = {
      {"plan", plan_defaults()},
      {"demand", {}},
      {"place", {{"seed", "1"}}},
      {"synth", synth_defaults()},
      {"shuffle-check", shuffle_check_defaults()}};
  std::set<std::string> seen;
  for (const Command& command : commands()) {
    const std::string& name = command.options.command();
    SCOPED_TRACE(name);
    seen.insert(name);
    ASSERT_TRUE(expected.contains(name));
    Defaults shown;
    const std::string help = unwrapped(help_text(command.options));
    for (const Option& option : command.options.options()) {
      if (!option.default_value.empty()) {
        shown[option.long_name()] = option.default_value;
        const std::string note = fmt::format("(default {}", option.default_value);
        EXPECT_NE(help.find(unwrapped(option.help) + note), std::string::npos) << option.name;
      }
    }
    EXPECT_EQ(shown, expected.at(name));
  }
  EXPECT_EQ(seen.size(), expected.size());
}

// What is shown is what a user may write, and means the same.
TEST(CommandOptions, DefaultsMayBeGiven) {
  for (const Command& command : commands()) {
    for (const Option& option : command.options.options()) {
      if (!option.default_value.empty()) {
        EXPECT_EQ(option.value, option.default_value);
        EXPECT_EQ(option.set({option.default_value}), option.default_value)
            << command.options.command() << " --" << option.name;
      }
    }
  }
}

TEST(CommandOptions, NamesAreUniqueAndExplained) {
  for (const Command& command : commands()) {
    std::set<std::string> names;
    for (const Option& option : command.options.options()) {
      EXPECT_TRUE(names.insert(option.long_name()).second) << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_TRUE(static_cast<bool>(option.set)) << option.name;
    }
  }
}

TEST(CommandOptions, ContradictionsAreKnownAndMutual) {
  for (const Command& command : commands()) {
    std::map<std::string, Option> by_name;
    for (const Option& option : command.options.options()) {
      by_name.emplace(option.long_name(), option);
    }
    for (const auto& [name, option] : by_name) {
      for (const std::string& other : option.traits.contradicts) {
        ASSERT_TRUE(by_name.contains(other)) << name << " contradicts " << other;
        const std::vector<std::string>& back = by_name.at(other).traits.contradicts;
        EXPECT_NE(std::ranges::find(back, name), back.end()) << name << ", " << other;
      }
    }
  }
}

}  // namespace
}  // namespace routepack::cli
