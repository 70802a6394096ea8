// Number formats of a training run: what weights are kept in, computed in and optimized in.
#pragma once

#include <bit>
#include <cstdint>

namespace routepack::training {

// The upper half of a float, rounded to nearest, ties to even. No NaN is expected.
class Bfloat16 {
 public:
  Bfloat16() = default;
  explicit Bfloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    bits_ = static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16U);
  }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }

 private:
  std::uint16_t bits_ = 0;
};

// As trainers mix them: bf16 weights, fp32 master weights and moments.
struct MixedPrecision {
  using Weight = Bfloat16;
  using Real = float;
};
struct SinglePrecision {
  using Weight = float;
  using Real = float;
};
struct DoublePrecision {
  using Weight = double;
  using Real = double;
};

}  // namespace routepack::training
