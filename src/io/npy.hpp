// NumPy .npy arrays, versions 1 and 2: C order, little endian, integers of 1 to 8 bytes.
// A view is of bytes in memory that somebody else owns; an NpyFile stays on disk and is read in
// parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "io/input_file.hpp"

namespace routepack::io {

enum class NpyDtype { kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64 };

[[nodiscard]] int bytes_of(NpyDtype dtype);
[[nodiscard]] bool is_signed(NpyDtype dtype);
[[nodiscard]] std::uint64_t max_of(NpyDtype dtype);
[[nodiscard]] std::string_view name_of(NpyDtype dtype);  // as NumPy spells it, e.g. "uint8"

template <class T>
[[nodiscard]] constexpr NpyDtype npy_dtype() {
  static_assert(std::is_integral_v<T> && sizeof(T) <= 8);
  constexpr bool kSigned = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return kSigned ? NpyDtype::kInt8 : NpyDtype::kUint8;
    case 2:
      return kSigned ? NpyDtype::kInt16 : NpyDtype::kUint16;
    case 4:
      return kSigned ? NpyDtype::kInt32 : NpyDtype::kUint32;
    default:
      return kSigned ? NpyDtype::kInt64 : NpyDtype::kUint64;
  }
}

// Calls action(T{}) with the C++ type of the dtype.
template <class Action>
decltype(auto) with_type_of(NpyDtype dtype, Action&& action) {
  switch (dtype) {
    case NpyDtype::kInt8:
      return action(std::int8_t{});
    case NpyDtype::kInt16:
      return action(std::int16_t{});
    case NpyDtype::kInt32:
      return action(std::int32_t{});
    case NpyDtype::kInt64:
      return action(std::int64_t{});
    case NpyDtype::kUint8:
      return action(std::uint8_t{});
    case NpyDtype::kUint16:
      return action(std::uint16_t{});
    case NpyDtype::kUint32:
      return action(std::uint32_t{});
    case NpyDtype::kUint64:
      break;
  }
  return action(std::uint64_t{});
}

struct NpyView {
  std::string name;  // for messages: the path
  NpyDtype dtype = NpyDtype::kInt64;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;  // exactly the elements, aligned to nothing

  [[nodiscard]] std::int64_t num_elements() const {
    return static_cast<std::int64_t>(data.size()) / bytes_of(dtype);
  }
};

// The array in `file`, the bytes of a whole .npy file. Throws FILE_MALFORMED, naming `name`, for
// anything else: another version, Fortran order, big endian, a dtype that is no integer, fewer or
// more bytes than the shape says, a shape that no memory can hold.
[[nodiscard]] NpyView view_npy(std::span<const std::byte> file, const std::string& name);

// An array on disk, of which only the header is in memory.
class NpyFile {
 public:
  // Throws FILE_MALFORMED as view_npy and InputFile do.
  explicit NpyFile(const std::string& path);

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] NpyDtype dtype() const { return dtype_; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }

  // Copies the elements from `first` on, in C order. Throws as InputFile::read does.
  template <class T>
  void read(std::int64_t first, std::span<T> into) const {
    RP_ASSERT(light, npy_dtype<T>() == dtype_, "{} holds {}", path(), name_of(dtype_));
    read_bytes(first * static_cast<std::int64_t>(sizeof(T)), std::as_writable_bytes(into));
  }
  // The same without its type; `offset` in bytes from the first element.
  void read_bytes(std::int64_t offset, std::span<std::byte> into) const {
    file_.read(data_begin_ + offset, into);
  }

  // Tells the kernel that the elements [begin, end) are about to be read from front to back.
  void advise_sequential(std::int64_t begin, std::int64_t end) const;
  void check_unchanged() const { file_.check_unchanged(); }

 private:
  InputFile file_;
  NpyDtype dtype_ = NpyDtype::kInt64;
  std::vector<std::int64_t> shape_;
  std::int64_t data_begin_ = 0;  // bytes in front of the elements
};

// All elements as int64. Throws NUMBER_OUT_OF_RANGE where a uint64 does not fit.
[[nodiscard]] std::vector<std::int64_t> read_int64(const NpyView& view);

// "(3, 4)", "(3,)", "()".
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

// The bytes in front of a version 1 array's elements; a multiple of 64.
[[nodiscard]] std::string make_npy_header(NpyDtype dtype, const std::vector<std::int64_t>& shape);

// Writes version 1, whole or not at all (AtomicFile). `values` in C order.
template <class T>
void write_npy(
    const std::string& path, std::span<const T> values, const std::vector<std::int64_t>& shape
);

}  // namespace routepack::io
