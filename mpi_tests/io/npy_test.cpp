#include "io/npy.hpp"

#include <gtest/gtest.h>

#include "random/stream.hpp"
#include "support/expect_error.hpp"
#include "support/test_window.hpp"

namespace routepack::io {
namespace {

using testing::expect_error;
using testing::npy_array;
using testing::npy_file;
using testing::npy_header;

// Aligned as a mapped file would be.
class Bytes {
 public:
  explicit Bytes(const std::string& text) : words_(text.size() / 8 + 1), size_(text.size()) {
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(words_.data()));
  }
  [[nodiscard]] std::span<const std::byte> get() const {
    return std::as_bytes(std::span(words_)).first(size_);
  }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t size_;
};

void expect_malformed(const std::string& file, const std::string& part_of_text) {
  SCOPED_TRACE(file.substr(0, 120));
  expect_error(ErrorCode::kFileMalformed, part_of_text, [&] {
    const Bytes bytes(file);
    (void)view_npy(bytes.get(), "x.npy");
  });
}

struct Dtype {
  const char* descr;
  NpyDtype dtype;
  const char* name;
  std::int64_t min;
  std::uint64_t max;
};

void PrintTo(const Dtype& dtype, std::ostream* out) { *out << dtype.descr; }

class IntegerDtype : public ::testing::TestWithParam<Dtype> {};

TEST_P(IntegerDtype, IsRead) {
  const Dtype& c = GetParam();
  const std::int64_t largest = c.max > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(c.max);
  const Bytes bytes(npy_array(c.descr, {3}, {c.min, 1, largest}));
  const NpyView view = view_npy(bytes.get(), "x.npy");
  EXPECT_EQ(view.dtype, c.dtype);
  EXPECT_EQ(name_of(view.dtype), c.name);
  EXPECT_EQ(max_of(view.dtype), c.max);
  EXPECT_EQ(is_signed(view.dtype), c.min < 0);
  EXPECT_EQ(view.shape, std::vector<std::int64_t>{3});
  EXPECT_EQ(view.num_elements(), 3);
  EXPECT_EQ(read_int64(view), (std::vector<std::int64_t>{c.min, 1, largest}));
}

INSTANTIATE_TEST_SUITE_P(
    Npy,
    IntegerDtype,
    ::testing::Values(
        Dtype{"|i1", NpyDtype::kInt8, "int8", -128, 127},
        Dtype{"|u1", NpyDtype::kUint8, "uint8", 0, 255},
        Dtype{"<i1", NpyDtype::kInt8, "int8", -128, 127},
        Dtype{"<i2", NpyDtype::kInt16, "int16", -32768, 32767},
        Dtype{"<u2", NpyDtype::kUint16, "uint16", 0, 65535},
        Dtype{"<i4", NpyDtype::kInt32, "int32", -2147483648LL, 2147483647},
        Dtype{"<u4", NpyDtype::kUint32, "uint32", 0, 4294967295ULL},
        Dtype{"<i8", NpyDtype::kInt64, "int64", INT64_MIN, INT64_MAX},
        Dtype{"<u8", NpyDtype::kUint64, "uint64", 0, UINT64_MAX}
    ),
    [](const auto& dtype) {
      const std::string_view descr = dtype.param.descr;
      return std::string(dtype.param.name) + (descr == "<i1" ? "OfLittleEndian" : "");
    }
);

TEST(Npy, RefusesNumbersThatNoInt64Holds) {
  const Bytes bytes(npy_array("<u8", {2}, {7, -1}));
  expect_error(ErrorCode::kNumberOutOfRange, "element 1 is 18446744073709551615", [&] {
    (void)read_int64(view_npy(bytes.get(), "x.npy"));
  });
}

TEST(Npy, ReadsVersion2AndUnusualSpelling) {
  const std::string data(12, '\1');
  const Bytes second(npy_file(npy_header("|u1", {3, 4}), data, 2));
  EXPECT_EQ(view_npy(second.get(), "x.npy").shape, (std::vector<std::int64_t>{3, 4}));
  const Bytes swapped(npy_file("{\"shape\":(12,),'fortran_order':False,\"descr\":\"|u1\"}", data));
  EXPECT_EQ(view_npy(swapped.get(), "x.npy").shape, std::vector<std::int64_t>{12});
  const Bytes scalar(npy_file(npy_header("|u1", {}), "\5"));
  EXPECT_EQ(read_int64(view_npy(scalar.get(), "x.npy")), std::vector<std::int64_t>{5});
  const Bytes empty(npy_array("<i8", {0, 7}, {}));
  EXPECT_EQ(view_npy(empty.get(), "x.npy").num_elements(), 0);
}

TEST(Npy, RefusesWhatIsNoIntegerArray) {
  const std::string eight(8, '\0');
  expect_malformed("", "is no .npy file");
  expect_malformed("PK\3\4 a zip archive", "is no .npy file");
  expect_malformed(npy_file(npy_header("<f8", {1}), eight), "no integer");
  expect_malformed(npy_file(npy_header("|b1", {8}), eight), "no integer");
  expect_malformed(npy_file(npy_header("<i3", {1}), eight), "no integer");
  expect_malformed(npy_file(npy_header("|O", {1}), eight), "no integer");
  expect_malformed(npy_file(npy_header(">i8", {1}), eight), "big endian");
  expect_malformed(npy_file(npy_header("", {1}), eight), "no integer");
  expect_malformed(
      npy_file("{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,), }", eight),
      "structured"
  );
  expect_malformed(
      npy_file("{'descr': '<i8', 'fortran_order': True, 'shape': (1,), }", eight), "Fortran order"
  );
  std::string third = npy_file(npy_header("<i8", {1}), eight, 2);
  third[6] = 3;
  expect_malformed(third, "npy version 3");
}

TEST(Npy, RefusesDataOfAnotherSize) {
  const std::string file = npy_array("<i8", {2, 2}, {1, 2, 3, 4});
  expect_malformed(file.substr(0, file.size() - 1), "needs 32 bytes of data, the file has 31");
  expect_malformed(file + "x", "needs 32 bytes of data, the file has 33");
  expect_malformed(npy_file(npy_header("<i8", {0}), "x"), "needs 0 bytes");
}

TEST(Npy, RefusesHostileHeaders) {
  const auto with = [](const std::string& shape) {
    return npy_file("{'descr': '<i8', 'fortran_order': False, 'shape': " + shape + ", }", "");
  };
  expect_malformed(with("(4294967296, 4294967296)"), "does not fit 64 bits");
  expect_malformed(with("(9223372036854775807, 2, 0)"), "does not fit 64 bits");
  expect_malformed(with("(2305843009213693952,)"), "does not fit 64 bits");  // times 8 bytes
  expect_malformed(with("(99999999999999999999,)"), "size of 0 to 2^63 - 1");
  expect_malformed(with("(-1,)"), "size of 0 to 2^63 - 1");
  expect_malformed(with("(1.5,)"), "tuple of at most 32");
  expect_malformed(with("(1)"), "not a number in brackets");
  expect_malformed(with("(1,,2)"), "size of 0");
  expect_malformed(with("(1 2)"), "tuple");
  expect_malformed(with("[1]"), "expected '('");
  expect_malformed(with("("), "npy header");
  std::string many = "(";
  for (int dimension = 0; dimension < 40; ++dimension) {
    many += "1,";
  }
  expect_malformed(with(many + ")"), "at most 32");
  expect_malformed(npy_file("{'descr': '<i8'}", ""), "is missing");
  expect_malformed(npy_file("{'descr': '<i8', 'descr': '<i8'}", ""), "repeated key 'descr'");
  expect_malformed(npy_file("{'descr': '<i8', 'evil': 1}", ""), "key 'evil'");
  expect_malformed(npy_file("{'descr: <i8}", ""), "without end");
  expect_malformed(npy_file("{'descr' '<i8'}", ""), "expected ':'");
  expect_malformed(npy_file("{'fortran_order': 0}", ""), "True or False");
  expect_malformed(npy_file("", ""), "expected '{'");
  expect_malformed(
      npy_file("{'descr': '<i8', 'fortran_order': False, 'shape': ()} x", ""), "text after"
  );
  expect_malformed(npy_file("{'fortran_order': Falsehood, 'shape': ()}", ""), "npy header");
  std::string long_header = npy_array("<i8", {1}, {1});
  long_header[8] = '\xff';
  long_header[9] = '\xff';
  expect_malformed(long_header, "claims 65535 bytes");
}

TEST(Npy, ReadsMisalignedData) {
  // A header of 65 bytes puts the data at byte 75.
  const std::string header = npy_header("<i8", {1});
  std::string text = header + std::string(65 - header.size(), ' ');
  std::string file = "\x93NUMPY";
  file += {'\1', '\0', static_cast<char>(text.size()), '\0'};
  file += text + std::string("\x05\0\0\0\0\0\0\0", 8);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(file));
  EXPECT_EQ(read_int64(view_npy(bytes, "x.npy")), std::vector<std::int64_t>{5});
}

TEST(Npy, AnyDamageIsAnErrorOrAnArray) {
  const std::string whole = npy_array("<i4", {3, 2}, {1, 2, 3, 4, 5, 6});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    expect_malformed(whole.substr(0, size), "");
  }
  const random::Stream stream{5, random::Purpose::kTests, 0};
  int read = 0;
  for (std::uint64_t trial = 0; trial < 20'000; ++trial) {
    const random::RandomBits draw = stream.at(0, trial);
    std::string damaged = whole;
    for (std::size_t change = 0; change <= draw.below(0, 2); ++change) {
      const auto at = draw.below(1 + change, static_cast<std::uint32_t>(whole.size()));
      damaged[at] = static_cast<char>(draw.word(3) >> (8 * change) & 0xffU);
    }
    const Bytes bytes(damaged);
    try {
      const NpyView view = view_npy(bytes.get(), "x.npy");
      read += static_cast<int>(read_int64(view).size());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kFileMalformed) << error.what();
    }
  }
  EXPECT_GT(read, 0);  // damage to the data alone is none
}

TEST(Npy, WritesWhatItReads) {
  const testing::TempFolder folder;
  const std::vector<std::uint16_t> values = {1, 2, 3, 4, 5, 65535};
  write_npy(folder.file("a.npy"), std::span<const std::uint16_t>(values), {3, 2});
  const std::string file = testing::read_file(folder.file("a.npy"));
  EXPECT_EQ(
      file, npy_file(
                "{'descr': '<u2', 'fortran_order': False, 'shape': (3, 2), }",
                std::string("\1\0\2\0\3\0\4\0\5\0\xff\xff", 12)
            )
  );
  EXPECT_EQ(file.size() % 64, 12U);  // the data starts at a multiple of 64
  const Bytes bytes(file);
  EXPECT_EQ(
      read_int64(view_npy(bytes.get(), "a.npy")),
      std::vector<std::int64_t>(values.begin(), values.end())
  );
  const std::vector<std::int64_t> large = {INT64_MIN, INT64_MAX};
  write_npy(folder.file("b.npy"), std::span<const std::int64_t>(large), {2});
  EXPECT_EQ(
      testing::read_file(folder.file("b.npy")),
      npy_file(
          "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }",
          std::string("\0\0\0\0\0\0\0\x80\xff\xff\xff\xff\xff\xff\xff\x7f", 16)
      )
  );
  EXPECT_EQ(folder.num_entries(), 2U);
}

}  // namespace
}  // namespace routepack::io
