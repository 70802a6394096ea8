#include <immintrin.h>

#include "objective/peak_kernels_impl.hpp"

namespace routepack {
namespace {

struct Avx512Simd {
  using Lanes = __m512i;
  static constexpr std::size_t kMaxGroups = 3;
  static Lanes zero() { return _mm512_setzero_si512(); }
  static Lanes load(const std::uint32_t* from) { return _mm512_loadu_si512(from); }
  static Lanes load(const std::int32_t* from) { return _mm512_loadu_si512(from); }
  static Lanes load(const std::uint16_t* from) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static void store(std::uint32_t* to, Lanes x) { _mm512_storeu_si512(to, x); }
  static Lanes add(Lanes x, Lanes y) { return _mm512_add_epi32(x, y); }
  static Lanes subtract(Lanes x, Lanes y) { return _mm512_sub_epi32(x, y); }
  static Lanes max(Lanes x, Lanes y) { return _mm512_max_epu32(x, y); }
  static std::int64_t sum(Lanes x) {
    const __m512i even = _mm512_and_si512(x, _mm512_set1_epi64(0xffffffff));
    return _mm512_reduce_add_epi64(_mm512_add_epi64(even, _mm512_srli_epi64(x, 32)));
  }
};

}  // namespace

const PeakKernels kAvx512PeakKernels = make_kernels<Avx512Simd>("avx512");

}  // namespace routepack
