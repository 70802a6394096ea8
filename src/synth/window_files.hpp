// The files of a synthetic window (docs/formats.md, "Window"), in a folder that appears whole. One
// process owns the folder and creates the files, with everything but the demand or the routes; then
// all of them, on a file system that they share, fill in their own samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/leftovers.hpp"
#include "io/npy.hpp"
#include "synth/options.hpp"
#include "synth/samples.hpp"

namespace routepack::synth {

// Written beside its final place under a temporary name, then moved.
class StagedWindow {
 public:
  // Creates the temporary folder. Throws USAGE, naming the path, where the folder that will hold
  // it is missing, where `path` is no folder, or is a folder with files but no window and `force`
  // is not set.
  StagedWindow(const std::string& path, bool force);
  // Removes the temporary folder unless commit() succeeded.
  ~StagedWindow();
  StagedWindow(const StagedWindow&) = delete;
  StagedWindow& operator=(const StagedWindow&) = delete;

  [[nodiscard]] const std::string& temporary() const { return temporary_; }

  // Moves the window to its place. An older window there is replaced: its window.json goes first
  // and the new one comes last, so that a reader never meets a mixture. Files that belong to no
  // window stay.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  std::optional<io::Leftover> leftover_;
};

// An .npy file that several processes fill, each its own elements, in any order. One creates it at
// its full size: header and zeros. Throws FILE_MALFORMED, naming the path, where the disk refuses.
void create_npy(
    const std::string& path, io::NpyDtype dtype, const std::vector<std::int64_t>& shape
);

class NpySliceWriter {
 public:
  // Opens a file that create_npy made with the same dtype and shape.
  NpySliceWriter(
      const std::string& path, io::NpyDtype dtype, const std::vector<std::int64_t>& shape
  );
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

// The array that holds the routing: demand.npy, or routed_experts.npy.
struct RoutingArray {
  std::string file;
  io::NpyDtype dtype = io::NpyDtype::kUint16;
  std::vector<std::int64_t> shape;

  [[nodiscard]] std::int64_t bytes() const;
};

// Counts: [N, L, E] of uint16 where the longest sample allows it, else uint32. Routes:
// [Σ rows, A, k] of uint8 for up to 256 experts, else uint16.
[[nodiscard]] RoutingArray routing_array(
    const SynthOptions& options, const std::vector<SampleTokens>& lengths
);

// Writes window.json, lengths.npy, groups.npy and, for routes, row_offsets.npy into the folder, and
// creates the routing array, filled with zeros.
void create_window_files(
    const std::string& folder, const SynthOptions& options, const std::vector<SampleTokens>& lengths
);

// Fills in samples, in any order.
class SampleWriter {
 public:
  // `options` and `lengths` must outlive it.
  SampleWriter(
      const std::string& folder,
      const SynthOptions& options,
      const std::vector<SampleTokens>& lengths
  );
  void write(std::int64_t sample);
  void close() { file_.close(); }

 private:
  const SynthOptions& options_;
  const std::vector<SampleTokens>& lengths_;
  std::vector<std::int64_t> row_offsets_;  // [N+1], kRoutes only
  RoutingArray array_;
  NpySliceWriter file_;
  SampleRouting routing_;
};

}  // namespace routepack::synth
