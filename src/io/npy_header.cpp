#include "io/npy_header.hpp"

#include <charconv>
#include <optional>

#include "base/check.hpp"

namespace routepack {
namespace {

// Reads the few forms of Python literals that NumPy writes: strings, booleans, tuples of integers.
class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

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
    fail(ErrorCode::kFileMalformed, "{}: npy header, byte {}: {}", name_, at_, why);
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

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& name) {
  return Parser(text, name).header();
}

}  // namespace routepack
