// 128-bit content digests (XXH3) with a fixed byte order, for plans, agreement and transfers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace routepack::base {

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Digest&) const = default;
};

[[nodiscard]] Digest digest_of(std::span<const std::byte> bytes);

// 32 hex digits, high half first.
[[nodiscard]] std::string to_hex(const Digest& digest);

// Collects values little-endian, lengths included, so that [1][2,3] and [1,2][3] differ.
class DigestBuilder {
 public:
  template <class T>
  requires std::is_integral_v<T>
  void add(T value) {
    auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    for (int byte = 0; byte < 8; ++byte) {
      bytes_.push_back(static_cast<std::byte>(bits & 0xffU));
      bits >>= 8U;
    }
  }
  void add(double value);  // by its IEEE-754 bits
  template <class T>
  void add_all(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values) {
      add(value);
    }
  }
  [[nodiscard]] Digest finish() const { return digest_of(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace routepack::base
