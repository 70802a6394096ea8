// Token routes in private memory: what is checked there is what is counted, whatever happens to the
// file meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/window_reader.hpp"

namespace routepack {

class RouteReader {
 public:
  // Reads ahead, up to about `buffer_bytes` at once and never past token `end_token` of the window.
  // `routes` must outlive it.
  RouteReader(const RouteView& routes, std::int64_t end_token, std::int64_t buffer_bytes);

  // Has these tokens in memory; the calls of ids() within them read nothing more.
  void hold(std::int64_t first, std::int64_t count) { (void)tokens(first, count); }

  // The ids of `count` tokens from `first` on, both counted over the window; valid until the next
  // call. T is the file's own type. Throws as InputFile::read does.
  template <class T>
  [[nodiscard]] std::span<const T> ids(std::int64_t first, std::int64_t count) {
    const std::span<const std::byte> bytes = tokens(first, count);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  [[nodiscard]] std::span<const std::byte> tokens(std::int64_t first, std::int64_t count);
  void load(std::int64_t first, std::int64_t count);

  const NpyFile& file_;
  std::int64_t bytes_per_token_;
  std::int64_t end_token_;
  std::int64_t ahead_;  // tokens
  std::unique_ptr<std::byte[]> buffer_;
  std::int64_t capacity_ = 0;  // tokens
  std::int64_t begin_ = 0;     // tokens [begin_, end_) are in the buffer
  std::int64_t end_ = 0;
};

}  // namespace routepack
