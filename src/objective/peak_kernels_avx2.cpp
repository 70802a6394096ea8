#include <immintrin.h>

#include "objective/peak_kernels_impl.hpp"

namespace routepack {
namespace {

struct Avx2Simd {
  static constexpr std::size_t kMaxGroups = 2;
  struct Lanes {
    __m256i low;
    __m256i high;
  };
  static Lanes zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static Lanes load(const std::uint32_t* from) { return load_32(from); }
  static Lanes load(const std::int32_t* from) { return load_32(from); }
  static Lanes load(const std::uint16_t* from) {
    const auto* halves = reinterpret_cast<const __m128i*>(from);
    return {
        _mm256_cvtepu16_epi32(_mm_loadu_si128(halves)),
        _mm256_cvtepu16_epi32(_mm_loadu_si128(halves + 1))};
  }
  static void store(std::uint32_t* to, const Lanes& x) {
    auto* halves = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(halves, x.low);
    _mm256_storeu_si256(halves + 1, x.high);
  }
  static Lanes add(const Lanes& x, const Lanes& y) {
    return {_mm256_add_epi32(x.low, y.low), _mm256_add_epi32(x.high, y.high)};
  }
  static Lanes subtract(const Lanes& x, const Lanes& y) {
    return {_mm256_sub_epi32(x.low, y.low), _mm256_sub_epi32(x.high, y.high)};
  }
  static Lanes max(const Lanes& x, const Lanes& y) {
    return {_mm256_max_epu32(x.low, y.low), _mm256_max_epu32(x.high, y.high)};
  }
  static std::int64_t sum(const Lanes& x) {
    const __m256i odd_and_even = _mm256_set1_epi64x(0xffffffff);
    __m256i total =
        _mm256_add_epi64(_mm256_and_si256(x.low, odd_and_even), _mm256_srli_epi64(x.low, 32));
    total = _mm256_add_epi64(total, _mm256_and_si256(x.high, odd_and_even));
    total = _mm256_add_epi64(total, _mm256_srli_epi64(x.high, 32));
    const __m128i half =
        _mm_add_epi64(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
    return _mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1);
  }

 private:
  static Lanes load_32(const void* from) {
    const auto* halves = static_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
  }
};

}  // namespace

const PeakKernels kAvx2PeakKernels = make_kernels<Avx2Simd>("avx2");

}  // namespace routepack
