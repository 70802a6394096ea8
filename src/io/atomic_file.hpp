// An output file that appears whole or not at all: written under a temporary name in the same
// folder, synced to disk, then renamed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace routepack {

class AtomicFile {
 public:
  // Throws USAGE, naming the path, where its folder is missing or cannot be written to, or where
  // the path is a folder. Symbolic links are followed, to a missing file too; a device or pipe is
  // written to directly, since renaming would replace it.
  explicit AtomicFile(const std::string& path);
  // Removes what was written unless commit() succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throws FILE_MALFORMED, naming the path, where the disk refuses (full, gone).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  void close_quietly();
  std::string path_;
  std::string temporary_;  // empty for a device
  int fd_ = -1;
};

// Throws what AtomicFile(path) would throw, and leaves nothing behind: lets a long run refuse a
// hopeless output path at its start.
void check_output_path(const std::string& path);

}  // namespace routepack
