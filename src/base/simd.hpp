// Kernels in GCC/Clang vector extensions: one body, inlined into a function for each instruction
// set, with vectors as wide as its registers (wider ones would live in memory). No file needs
// compile options of its own. Off x86-64 all levels are plain code.
//
// A kernel is a struct with `template <class Lanes> RP_INLINE static Result run(arguments)`;
// &Avx2Simd::run<Kernel> is then the function for that instruction set. Lanes pass by reference: by
// value they would ask for registers that the caller's own instruction set lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "routepack/simd.hpp"

#define RP_INLINE [[gnu::always_inline]] inline

#if defined(__x86_64__)
#define RP_TARGET_AVX2 [[gnu::target("avx2")]]
#define RP_TARGET_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]]
#else
#define RP_TARGET_AVX2
#define RP_TARGET_AVX512
#endif

namespace routepack::base {

// The widest level that this CPU runs.
[[nodiscard]] SimdLevel best_simd_level();

// What fills a register.
using Vector16 = std::uint32_t __attribute__((vector_size(16)));
using Vector32 = std::uint32_t __attribute__((vector_size(32)));
using Vector64 = std::uint32_t __attribute__((vector_size(64)));

template <class Lanes>
inline constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(std::uint32_t);

template <class Lanes>
RP_INLINE void load(Lanes& lanes, const std::uint32_t* from) {
  std::memcpy(&lanes, from, sizeof(Lanes));
}

// A negative number modulo 2^32.
template <class Lanes>
RP_INLINE void load(Lanes& lanes, const std::int32_t* from) {
  std::memcpy(&lanes, from, sizeof(Lanes));
}

RP_INLINE void load(Vector16& lanes, const std::uint16_t* from) {
  using Narrow = std::uint16_t __attribute__((vector_size(8)));
  Narrow narrow;
  std::memcpy(&narrow, from, sizeof(narrow));
  lanes = __builtin_convertvector(narrow, Vector16);
}

// Spelled out so that one instruction widens: with __builtin_convertvector g++ 12 goes by halves.
template <class Lanes, std::size_t... kLane>
RP_INLINE void widen(Lanes& lanes, const std::uint16_t* from, std::index_sequence<kLane...>) {
  lanes = Lanes{from[kLane]...};
}
RP_INLINE void load(Vector32& lanes, const std::uint16_t* from) {
  widen(lanes, from, std::make_index_sequence<8>{});
}
RP_INLINE void load(Vector64& lanes, const std::uint16_t* from) {
  widen(lanes, from, std::make_index_sequence<16>{});
}

template <class Lanes>
RP_INLINE void store(std::uint32_t* to, const Lanes& lanes) {
  std::memcpy(to, &lanes, sizeof(Lanes));
}

// Each lane becomes the larger of the two.
template <class Lanes>
RP_INLINE void raise(Lanes& lanes, const Lanes& other) {
  lanes = lanes > other ? lanes : other;
}

// The same registers as 64-bit sums.
using Wide16 = std::uint64_t __attribute__((vector_size(16)));
using Wide32 = std::uint64_t __attribute__((vector_size(32)));
using Wide64 = std::uint64_t __attribute__((vector_size(64)));

RP_INLINE std::int64_t sum_wide(const Wide16& wide) {
  return static_cast<std::int64_t>(wide[0] + wide[1]);
}

RP_INLINE std::int64_t sum_wide(const Wide32& wide) {
  return sum_wide(
      __builtin_shufflevector(wide, wide, 0, 1) + __builtin_shufflevector(wide, wide, 2, 3)
  );
}

RP_INLINE std::int64_t sum_wide(const Wide64& wide) {
  return sum_wide(
      __builtin_shufflevector(wide, wide, 0, 1, 2, 3) +
      __builtin_shufflevector(wide, wide, 4, 5, 6, 7)
  );
}

template <class Wide, class Lanes>
RP_INLINE std::int64_t sum_as(const Lanes* lanes, std::size_t count) {
  Wide sums = {};
  for (std::size_t at = 0; at < count; ++at) {
    Wide pairs;  // of lanes
    std::memcpy(&pairs, lanes + at, sizeof(Lanes));
    sums += (pairs & 0xffffffff) + (pairs >> 32);
  }
  return sum_wide(sums);
}

// Σ over all lanes of `count` registers, exact: they are widened before they are added.
RP_INLINE std::int64_t sum_lanes(const Vector16* lanes, std::size_t count) {
  return sum_as<Wide16>(lanes, count);
}
RP_INLINE std::int64_t sum_lanes(const Vector32* lanes, std::size_t count) {
  return sum_as<Wide32>(lanes, count);
}
RP_INLINE std::int64_t sum_lanes(const Vector64* lanes, std::size_t count) {
  return sum_as<Wide64>(lanes, count);
}

// The instruction sets.
struct PortableSimd {
  static constexpr const char* kName = "portable";
  template <class Kernel, class Result, class... Arguments>
  static Result run(Arguments... arguments) {
    return Kernel::template run<Vector16>(arguments...);
  }
};

struct Avx2Simd {
  static constexpr const char* kName = "avx2";
  template <class Kernel, class Result, class... Arguments>
  RP_TARGET_AVX2 static Result run(Arguments... arguments) {
    return Kernel::template run<Vector32>(arguments...);
  }
};

struct Avx512Simd {
  static constexpr const char* kName = "avx512";
  template <class Kernel, class Result, class... Arguments>
  RP_TARGET_AVX512 static Result run(Arguments... arguments) {
    return Kernel::template run<Vector64>(arguments...);
  }
};

// Calls `visit` with the instruction set of `level`, which the CPU must have.
template <class Visit>
decltype(auto) with_simd(SimdLevel level, Visit&& visit) {
  switch (level) {
    case SimdLevel::kAvx512:
      return visit(Avx512Simd{});
    case SimdLevel::kAvx2:
      return visit(Avx2Simd{});
    case SimdLevel::kPortable:
      break;
  }
  return visit(PortableSimd{});
}

}  // namespace routepack::base
