// A fingerprint of a file that costs the same whatever its size: its length and blocks of its
// bytes. Equal copies have equal ones; a difference outside the blocks is not seen.
#pragma once

#include <cstdint>

#include "base/digest.hpp"
#include "io/input_file.hpp"

namespace routepack {

struct FileSample {
  std::int64_t bytes = 0;  // of the whole file
  Digest digest;           // of the blocks
  bool operator==(const FileSample&) const = default;
};

// 64 blocks of 16 KiB at even distances, the first and the last included; a file of up to 1 MiB
// whole. Throws FILE_MALFORMED where the file shrinks while it is read.
[[nodiscard]] FileSample sample_file(const InputFile& file);

}  // namespace routepack
