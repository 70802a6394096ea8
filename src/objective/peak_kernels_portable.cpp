#include <algorithm>
#include <array>

#include "objective/peak_kernels_impl.hpp"

namespace routepack {
namespace {

struct PortableSimd {
  using Lanes = std::array<std::uint32_t, 16>;
  static constexpr std::size_t kMaxGroups = 1;
  static Lanes zero() { return {}; }
  template <class T>
  static Lanes load(const T* from) {
    Lanes lanes;
    for (std::size_t lane = 0; lane < 16; ++lane) {
      lanes[lane] = static_cast<std::uint32_t>(from[lane]);
    }
    return lanes;
  }
  static void store(std::uint32_t* to, const Lanes& lanes) {
    std::copy(lanes.begin(), lanes.end(), to);
  }
  static Lanes add(const Lanes& x, const Lanes& y) {
    Lanes lanes;
    for (std::size_t lane = 0; lane < 16; ++lane) {
      lanes[lane] = x[lane] + y[lane];
    }
    return lanes;
  }
  static Lanes subtract(const Lanes& x, const Lanes& y) {
    Lanes lanes;
    for (std::size_t lane = 0; lane < 16; ++lane) {
      lanes[lane] = x[lane] - y[lane];
    }
    return lanes;
  }
  static Lanes max(const Lanes& x, const Lanes& y) {
    Lanes lanes;
    for (std::size_t lane = 0; lane < 16; ++lane) {
      lanes[lane] = x[lane] > y[lane] ? x[lane] : y[lane];
    }
    return lanes;
  }
  static std::int64_t sum(const Lanes& x) {
    std::int64_t total = 0;
    for (const std::uint32_t value : x) {
      total += value;
    }
    return total;
  }
};

}  // namespace

const PeakKernels kPortablePeakKernels = make_kernels<PortableSimd>("portable");

}  // namespace routepack
