// A JSON object of a file, read with errors that name the file and the key.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/input_file.hpp"

namespace routepack::io {

class JsonFields {
 public:
  // The object in a file. Throws FILE_MALFORMED where there is no such file or it holds no JSON
  // object, a key twice, or lists and objects more than 64 deep.
  [[nodiscard]] static JsonFields read(const std::string& path) { return read(FileCopy(path)); }
  [[nodiscard]] static JsonFields read(const FileCopy& file);

  // All throw FILE_MALFORMED where the key is missing or of another type, and the integers
  // NUMBER_OUT_OF_RANGE outside [min, max].
  [[nodiscard]] bool has(const char* key) const;
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t min, std::int64_t max) const;
  [[nodiscard]] std::vector<std::int64_t> integers(
      const char* key, std::int64_t min, std::int64_t max
  ) const;
  [[nodiscard]] std::vector<std::vector<std::int64_t>> integer_lists(
      const char* key, std::int64_t min, std::int64_t max
  ) const;
  // Lists of lists of integers.
  [[nodiscard]] std::vector<std::vector<std::vector<std::int64_t>>> integer_tables(
      const char* key, std::int64_t min, std::int64_t max
  ) const;
  [[nodiscard]] JsonFields object(const char* key) const;

 private:
  struct Value;  // keeps the JSON library out of this header
  JsonFields(std::shared_ptr<const Value> value, std::string where);
  std::shared_ptr<const Value> value_;
  std::string where_;
};

}  // namespace routepack::io
