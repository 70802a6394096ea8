#include "io/npy.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "fuzz/targets.hpp"
#include "support/temp_folder.hpp"

namespace routepack::fuzz {
namespace {

struct Array {
  io::NpyDtype dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  bool operator==(const Array&) const = default;
};

Array from_memory(Bytes bytes) {
  // An allocation of exactly the size, so that a sanitizer sees what reads beyond it.
  const std::unique_ptr<std::byte[]> copy(new std::byte[bytes.size()]);
  std::ranges::copy(bytes, copy.get());
  const io::NpyView view = io::view_npy({copy.get(), bytes.size()}, "the array");
  const auto values = outcome_of([&] { return io::read_int64(view); });
  expect(
      !values.value || std::cmp_equal(values.value->size(), view.num_elements()),
      "read_int64 gives another number of elements than the array has"
  );
  return {view.dtype, view.shape, {view.data.begin(), view.data.end()}};
}

Array from_disk(Bytes bytes) {
  const std::string path = scratch("array.npy");
  testing::write_file(path, text_of(bytes));
  const io::NpyFile file(path);
  std::int64_t size = io::bytes_of(file.dtype());
  for (const std::int64_t extent : file.shape()) {
    size *= extent;
  }
  expect(size >= 0 && std::cmp_less_equal(size, bytes.size()), "the shape is larger than the file");
  std::vector<std::byte> data(static_cast<std::size_t>(size));
  file.read_bytes(0, data);
  file.check_unchanged();
  return {file.dtype(), file.shape(), data};
}

}  // namespace

void fuzz_npy(Bytes bytes) {
  const auto memory = outcome_of([&] { return from_memory(bytes); });
  const auto disk = outcome_of([&] { return from_disk(bytes); });
  // Only a view needs its elements aligned.
  const bool is_unaligned = memory.error.find("is not aligned") != std::string::npos;
  expect(
      memory.value == disk.value || (is_unaligned && disk.value),
      "an array in memory and the same on disk differ: '" + memory.error + "', '" + disk.error + "'"
  );
}

}  // namespace routepack::fuzz
