// An .npy file that several processes fill, each its own elements. One creates it at its full size;
// then all of them, on a file system that they share, write in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/npy.hpp"

namespace routepack {

// Header and zeros. Throws FILE_MALFORMED, naming the path, where the disk refuses.
void create_npy(const std::string& path, NpyDtype dtype, const std::vector<std::int64_t>& shape);

class NpySliceWriter {
 public:
  // Opens a file that create_npy made with the same dtype and shape.
  NpySliceWriter(const std::string& path, NpyDtype dtype, const std::vector<std::int64_t>& shape);
  ~NpySliceWriter();
  NpySliceWriter(const NpySliceWriter&) = delete;
  NpySliceWriter& operator=(const NpySliceWriter&) = delete;

  // Writes the elements from number `first` on; `elements` are of the file's dtype.
  void write(std::int64_t first, std::span<const std::byte> elements);
  // Has the bytes on disk and reports what the disk refused.
  void close();

 private:
  std::string path_;
  std::int64_t element_bytes_;
  std::int64_t header_bytes_;
  int fd_ = -1;
};

}  // namespace routepack
