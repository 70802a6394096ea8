#include "io/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "io/output_file.hpp"

namespace routepack::io {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are used as they lie on disk");

constexpr std::string_view kMagic = "\x93NUMPY";

struct DtypeRow {
  NpyDtype dtype;
  std::string_view descr;
  std::string_view name;
};

constexpr std::array<DtypeRow, 8> kDtypes = {
    {{NpyDtype::kInt8, "|i1", "int8"},
     {NpyDtype::kInt16, "<i2", "int16"},
     {NpyDtype::kInt32, "<i4", "int32"},
     {NpyDtype::kInt64, "<i8", "int64"},
     {NpyDtype::kUint8, "|u1", "uint8"},
     {NpyDtype::kUint16, "<u2", "uint16"},
     {NpyDtype::kUint32, "<u4", "uint32"},
     {NpyDtype::kUint64, "<u8", "uint64"}}};

const DtypeRow& row_of(NpyDtype dtype) {
  const auto row = std::ranges::find(kDtypes, dtype, &DtypeRow::dtype);
  RP_ASSERT(light, row != kDtypes.end(), "dtype {} is none", static_cast<int>(dtype));
  return *row;
}

NpyDtype parse_dtype(const std::string& descr, const std::string& name) {
  for (const DtypeRow& row : kDtypes) {
    // One-byte types have no byte order: '|' and '<' mean the same there.
    if (descr == row.descr ||
        (descr.size() == 3 && descr[0] == '<' && descr.substr(1) == row.descr.substr(1))) {
      return row.dtype;
    }
  }
  RP_CHECK(
      descr.empty() || descr[0] != '>', ErrorCode::kFileMalformed,
      "{}: dtype '{}' is big endian, expected little endian", name, descr
  );
  base::fail(
      ErrorCode::kFileMalformed, "{}: dtype '{}' is no integer of 1, 2, 4 or 8 bytes", name, descr
  );
}

std::uint64_t read_little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t byte = bytes.size(); byte > 0; --byte) {
    value = value << 8U | std::to_integer<std::uint64_t>(bytes[byte - 1]);
  }
  return value;
}

// The dictionary in front of an array.
struct NpyHeader {
  std::string descr;  // e.g. "<i8"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Reads the few forms of Python literals that NumPy writes: strings, booleans, tuples of integers.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  NpyHeader header() {
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::int64_t>> shape;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = string();
      } else if (key == "fortran_order" && !fortran_order) {
        fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        refuse("unknown or repeated key '" + key + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) {
      refuse("text after the dictionary");
    }
    if (!descr || !fortran_order || !shape) {
      refuse("descr, fortran_order or shape is missing");
    }
    return NpyHeader{*descr, *fortran_order, *shape};
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    base::fail(ErrorCode::kFileMalformed, "{}: npy header, byte {}: {}", name_, at_, why);
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }

  bool accept(char symbol) {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == symbol) {
      ++at_;
      return true;
    }
    return false;
  }

  void expect(char symbol) {
    if (!accept(symbol)) {
      refuse(std::string("expected '") + symbol + "'");
    }
  }

  std::string string() {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') {
      refuse("expected a string (structured dtypes are not supported)");
    }
    const std::size_t begin = ++at_;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos ||
        text_.substr(begin, end - begin).find('\\') != std::string_view::npos) {
      refuse("a string without end or with an escape");
    }
    at_ = end + 1;
    return std::string(text_.substr(begin, end - begin));
  }

  bool boolean() {
    skip_spaces();
    for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return word == "True";
      }
    }
    refuse("expected True or False");
  }

  std::vector<std::int64_t> tuple() {
    constexpr std::size_t kMaxDimensions = 32;
    std::vector<std::int64_t> values;
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma || values.size() == kMaxDimensions) {
        refuse("expected a tuple of at most 32 integers");
      }
      values.push_back(integer());
      comma = accept(',');
    }
    if (values.size() == 1 && !comma) {
      refuse("expected a tuple, not a number in brackets");
    }
    return values;
  }

  std::int64_t integer() {
    skip_spaces();
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{} || value < 0) {
      refuse("expected a size of 0 to 2^63 - 1");
    }
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

// Parses e.g. "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 4), }": the three keys, in
// any order, each once. Throws FILE_MALFORMED, naming `name`, for anything else.
NpyHeader parse_npy_header(std::string_view text, const std::string& name) {
  return HeaderParser(text, name).header();
}

constexpr std::size_t kMaxHeaderBytes = 1U << 20U;
constexpr std::size_t kMaxPreamble = 12;  // magic, version and the header's length

// Where the header's text lies in a file of `file_bytes` bytes that starts with `start`, which has
// to hold the preamble.
struct HeaderText {
  std::size_t begin = 0;
  std::size_t size = 0;
  [[nodiscard]] std::size_t end() const { return begin + size; }
};

HeaderText find_header(
    std::span<const std::byte> start, std::size_t file_bytes, const std::string& name
) {
  RP_CHECK(
      start.size() >= 10 && std::memcmp(start.data(), kMagic.data(), kMagic.size()) == 0,
      ErrorCode::kFileMalformed, "{} is no .npy file", name
  );
  const int version = std::to_integer<int>(start[6]);
  RP_CHECK(
      version == 1 || version == 2, ErrorCode::kFileMalformed,
      "{}: npy version {}, versions 1 and 2 are read", name, version
  );
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  RP_CHECK(start.size() >= begin, ErrorCode::kFileMalformed, "{}: the npy header is cut off", name);
  const std::uint64_t length = read_little_endian(start.subspan(8, length_bytes));
  RP_CHECK(
      length <= kMaxHeaderBytes && length <= file_bytes - begin, ErrorCode::kFileMalformed,
      "{}: the npy header claims {} bytes, the file has {}", name, length, file_bytes - begin
  );
  return {begin, static_cast<std::size_t>(length)};
}

std::int64_t count_bytes(const NpyHeader& header, NpyDtype dtype, const std::string& name) {
  // A size of 0 must not hide an overflow of the others from whoever strides over them.
  std::int64_t bytes = bytes_of(dtype);
  bool empty = false;
  for (const std::int64_t extent : header.shape) {
    empty = empty || extent == 0;
    RP_CHECK(
        extent == 0 || !__builtin_mul_overflow(bytes, extent, &bytes), ErrorCode::kFileMalformed,
        "{}: shape {} does not fit 64 bits", name, shape_text(header.shape)
    );
  }
  return empty ? 0 : bytes;
}

// Element type and shape of an array with this header and `data_bytes` bytes after it.
std::pair<NpyDtype, std::vector<std::int64_t>> parse_layout(
    std::span<const std::byte> text, std::size_t data_bytes, const std::string& name
) {
  NpyHeader header =
      parse_npy_header({reinterpret_cast<const char*>(text.data()), text.size()}, name);
  RP_CHECK(
      !header.fortran_order, ErrorCode::kFileMalformed, "{} is in Fortran order, expected C order",
      name
  );
  const NpyDtype dtype = parse_dtype(header.descr, name);
  const std::int64_t expected = count_bytes(header, dtype, name);
  RP_CHECK(
      std::cmp_equal(data_bytes, expected), ErrorCode::kFileMalformed,
      "{}: shape {} of {} needs {} bytes of data, the file has {}", name, shape_text(header.shape),
      name_of(dtype), expected, data_bytes
  );
  return {dtype, std::move(header.shape)};
}

}  // namespace

int bytes_of(NpyDtype dtype) { return row_of(dtype).descr[2] - '0'; }

bool is_signed(NpyDtype dtype) { return row_of(dtype).descr[1] == 'i'; }

std::uint64_t max_of(NpyDtype dtype) {
  return std::numeric_limits<std::uint64_t>::max() >>
         (64 - 8 * bytes_of(dtype) + (is_signed(dtype) ? 1 : 0));
}

std::string_view name_of(NpyDtype dtype) { return row_of(dtype).name; }

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0])
                           : fmt::format("({})", fmt::join(shape, ", "));
}

NpyView view_npy(std::span<const std::byte> file, const std::string& name) {
  const HeaderText text = find_header(file, file.size(), name);
  NpyView view;
  view.name = name;
  view.data = file.subspan(text.end());
  std::tie(view.dtype, view.shape) =
      parse_layout(file.subspan(text.begin, text.size), view.data.size(), name);
  return view;
}

NpyFile::NpyFile(const std::string& path) : file_(path) {
  const auto file_bytes = static_cast<std::size_t>(file_.size());
  std::vector<std::byte> start(std::min(kMaxPreamble, file_bytes));
  file_.read(0, start);
  const HeaderText text = find_header(start, file_bytes, path);
  std::vector<std::byte> header(text.size);
  file_.read(static_cast<std::int64_t>(text.begin), header);
  std::tie(dtype_, shape_) = parse_layout(header, file_bytes - text.end(), path);
  data_begin_ = static_cast<std::int64_t>(text.end());
}

void NpyFile::advise_sequential(std::int64_t begin, std::int64_t end) const {
  const std::int64_t element_bytes = bytes_of(dtype_);
  file_.advise_sequential(data_begin_ + begin * element_bytes, (end - begin) * element_bytes);
}

std::vector<std::int64_t> read_int64(const NpyView& view) {
  return with_type_of(view.dtype, [&](auto type) {
    using T = decltype(type);
    std::vector<std::int64_t> read(static_cast<std::size_t>(view.num_elements()));
    for (std::size_t at = 0; at < read.size(); ++at) {
      T value{};
      std::memcpy(&value, &view.data[at * sizeof(T)], sizeof(T));
      RP_CHECK(
          std::in_range<std::int64_t>(value), ErrorCode::kNumberOutOfRange,
          "{}: element {} is {}, the limit is 2^63 - 1", view.name, at, value
      );
      read[at] = static_cast<std::int64_t>(value);
    }
    return read;
  });
}

std::string make_npy_header(NpyDtype dtype, const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kAlignment = 64;  // of the data, as NumPy itself pads
  constexpr std::size_t kPreamble = 10;   // magic, version, length
  std::string header = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", row_of(dtype).descr,
      shape_text(shape)
  );
  header.resize(base::round_up(kPreamble + header.size() + 1, kAlignment) - kPreamble - 1, ' ');
  header.push_back('\n');
  std::string start(kMagic);
  start += {
      '\1', '\0', static_cast<char>(header.size() & 0xffU), static_cast<char>(header.size() >> 8U)};
  return start + header;
}

template <class T>
void write_npy(
    const std::string& path, std::span<const T> values, const std::vector<std::int64_t>& shape
) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    elements = base::checked_multiply(elements, extent, "array shape");
  }
  RP_ASSERT(
      light, std::cmp_equal(elements, values.size()), "{} values for shape {}", values.size(),
      shape_text(shape)
  );
  AtomicFile file(path);
  file.write(make_npy_header(npy_dtype<T>(), shape));
  file.write(std::as_bytes(values));
  file.commit();
}

template void write_npy<
    std::
        int64_t>(const std::string&, std::span<const std::int64_t>, const std::vector<std::int64_t>&);
template void write_npy<
    std::
        uint8_t>(const std::string&, std::span<const std::uint8_t>, const std::vector<std::int64_t>&);
template void write_npy<
    std::
        uint16_t>(const std::string&, std::span<const std::uint16_t>, const std::vector<std::int64_t>&);
template void write_npy<
    std::
        uint32_t>(const std::string&, std::span<const std::uint32_t>, const std::vector<std::int64_t>&);

}  // namespace routepack::io
