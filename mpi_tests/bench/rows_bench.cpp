// How often rows are certified, and how long that takes: rollout-like windows of every class.
// usage: rows_bench [windows a class]. One line a class: share certified, mean bound and packing in
// cells, mean rows above the bound, median and largest milliseconds.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "packing/bounds.hpp"
#include "packing/pack_rows.hpp"
#include "support/planted.hpp"

namespace routepack::testing {
namespace {

constexpr std::int64_t kCapacity = 16384;

struct WindowClass {
  int num_samples = 0;
  int dp = 0;
  double median_share = 0.0;  // of the capacity
  LongTail tail = LongTail::kClipped;
};

struct ClassResult {
  int num_certified = 0;
  double mean_bound_cells = 0.0;
  double mean_used_cells = 0.0;
  double mean_rows_above = 0.0;
  std::vector<double> milliseconds;
  std::set<std::string> kinds;  // of the bounds that certified
};

ClassResult run_class(const WindowClass& klass, int num_windows) {
  ClassResult result;
  for (int seed = 0; seed < num_windows; ++seed) {
    const PlantedWindow window = lognormal_window(
        klass.num_samples, klass.median_share * static_cast<double>(kCapacity), 0.8, kCapacity,
        klass.tail, planted_stream(static_cast<std::uint64_t>(seed), 7)
    );
    const PaddedLengths padded = pad_lengths(window.lengths, 1, kCapacity);
    const auto start = std::chrono::steady_clock::now();
    const PackedRows packed = pack_rows(padded, kCapacity, klass.dp, 1, {});
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    result.milliseconds.push_back(elapsed.count());
    const RowCertificate& certificate = packed.certificate;
    result.mean_bound_cells += static_cast<double>(certificate.bound.cells) / num_windows;
    result.mean_used_cells += static_cast<double>(packed.layout.num_cells()) / num_windows;
    result.mean_rows_above +=
        static_cast<double>(certificate.num_rows - certificate.lower_bound_rows) / num_windows;
    if (certificate.status == RowStatus::kCertified) {
      ++result.num_certified;
      result.kinds.insert(certificate.bound.kind);
    }
    (void)verify_bound(certificate.bound, padded, kCapacity);
  }
  std::sort(result.milliseconds.begin(), result.milliseconds.end());
  return result;
}

void print_table(int num_windows) {
  fmt::print(
      "{:>6} {:>4} {:>7} {:>8} {:>10} {:>10} {:>10} {:>7} {:>9} {:>9}  kinds\n", "N", "dp",
      "median", "tail", "certified", "bound", "cells", "above", "ms", "max ms"
  );
  for (const LongTail tail : {LongTail::kClipped, LongTail::kRedrawn}) {
    for (const int num_samples : {512, 2048, 8192}) {
      for (const int dp : {8, 64}) {
        for (const double share : {0.25, 0.5}) {
          const ClassResult result = run_class({num_samples, dp, share, tail}, num_windows);
          std::string kinds;
          for (const std::string& kind : result.kinds) {
            kinds += kind + " ";
          }
          fmt::print(
              "{:>6} {:>4} {:>6}C {:>8} {:>9.1f}% {:>10.2f} {:>10.2f} {:>7.3f} {:>9.2f} {:>9.2f}  "
              "{}\n",
              num_samples, dp, share, tail == LongTail::kClipped ? "clipped" : "redrawn",
              100.0 * result.num_certified / num_windows, result.mean_bound_cells,
              result.mean_used_cells, result.mean_rows_above,
              result.milliseconds[result.milliseconds.size() / 2], result.milliseconds.back(), kinds
          );
          std::fflush(stdout);
        }
      }
    }
  }
}

}  // namespace
}  // namespace routepack::testing

int main(int argc, char** argv) {
  const int num_windows = argc > 1 ? std::atoi(argv[1]) : 200;
  if (num_windows < 1) {
    fmt::print(stderr, "usage: rows_bench [windows a class, at least 1]\n");
    return 2;
  }
  routepack::testing::print_table(num_windows);
  return 0;
}
