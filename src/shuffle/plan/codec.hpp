// Words and strings as bytes, for what ranks tell each other of themselves: registries, faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/check.hpp"

namespace routepack::shuffle {

class ByteWriter {
 public:
  template <class T>
  requires std::is_integral_v<T>
  void add(T value) {
    const auto word = static_cast<std::int64_t>(value);
    const auto* bytes = reinterpret_cast<const std::byte*>(&word);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(word));
  }
  void add(const std::string& text) {
    add(text.size());
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), bytes, bytes + text.size());
  }
  void add(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] std::int64_t word() {
    std::int64_t value = 0;
    std::memcpy(&value, next(sizeof(value)).data(), sizeof(value));
    return value;
  }
  template <class T>
  [[nodiscard]] T number() {
    return static_cast<T>(word());
  }
  [[nodiscard]] std::string text() {
    const std::span<const std::byte> bytes = next(number<std::size_t>());
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> next(std::size_t count) {
    RP_CHECK(
        count <= bytes_.size(), ErrorCode::kTransferFailed,
        "a rank's description of its tensors ends {} bytes early", count - bytes_.size()
    );
    const std::span<const std::byte> taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

  std::span<const std::byte> bytes_;
};

}  // namespace routepack::shuffle
