#include "synth/draws.hpp"

#include <cmath>

#include "base/check.hpp"

namespace routepack::synth {
namespace {

// ln 2 as a part of few bits, so that small multiples are exact, and the rest.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

}  // namespace

double portable_exp(double x) {
  RP_ASSERT(normal, x >= -700.0 && x <= 700.0, "exp of {} is out of range", x);
  const double halvings = std::floor(x / (kLn2High + kLn2Low) + 0.5);
  const double rest = (x - halvings * kLn2High) - halvings * kLn2Low;  // |rest| <= ln 2 / 2
  // Taylor series, Horner's scheme; the first term left out is below 2^-57.
  double sum = 1.0;
  for (int term = 14; term >= 1; --term) {
    sum = 1.0 + sum * rest / term;
  }
  return std::ldexp(sum, static_cast<int>(halvings));
}

double portable_log(double x) {
  RP_ASSERT(normal, std::isnormal(x) && x > 0.0, "log of {} is out of range", x);
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [1/2, 1)
  constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  if (mantissa < kSqrtHalf) {
    mantissa *= 2.0;
    --exponent;
  }
  // log m = 2 artanh s, s = (m-1)/(m+1), |s| < 0.172.
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = s * s;
  double sum = 0.0;
  for (int term = 23; term >= 1; term -= 2) {
    sum = sum * square + 2.0 / term;
  }
  return exponent * kLn2High + (s * sum + exponent * kLn2Low);
}

double draw_normal(const random::Stream& stream, std::uint32_t step, std::uint64_t index) {
  constexpr std::uint64_t kAttempts = 64;  // each is rejected with probability 1 - pi/4
  for (std::uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    const random::RandomBits block = stream.at(step, index * kAttempts + attempt);
    const double u = 2.0 * block.unit(0) - 1.0;
    const double v = 2.0 * block.unit(2) - 1.0;
    const double square = u * u + v * v;
    if (square < 1.0 && square > 0.0) {
      return u * std::sqrt(-2.0 * portable_log(square) / square);
    }
  }
  return 0.0;  // probability 1e-43
}

}  // namespace routepack::synth
