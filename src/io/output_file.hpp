// An output file that appears whole or not at all: written under a temporary name in the same
// folder, synced to disk, then renamed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/leftovers.hpp"

namespace routepack::io {

// FOLDER/.routepack-HOST-PID-RANDOM.KIND, for a file system that several hosts and containers may
// write to: what kill -9 leaves behind says whose it was. The caller still creates it exclusively.
// The name's length (at most 120 bytes) does not depend on what it will be renamed to.
[[nodiscard]] std::string temporary_path(const std::string& folder, std::string_view kind);

// The folder that a path lies in, "." where it has none.
[[nodiscard]] std::string folder_of(const std::string& path);

class AtomicFile {
 public:
  // Throws USAGE, naming the path, where its folder is missing or cannot be written to, or where
  // the path is a folder. Symbolic links are followed, to a missing file too; what can't be
  // replaced by renaming is written to directly: a device, a pipe, and a descriptor of this process
  // (/dev/stdout, /dev/fd/N). A file that is replaced hands on its mode and, where the system
  // permits, its owner and group.
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
  void create_temporary();
  void close_quietly();
  std::string path_;
  std::string temporary_;  // empty: path_ is written to directly
  std::optional<Leftover> leftover_;
  int fd_ = -1;
};

// Throws what AtomicFile(path) would throw, and leaves nothing behind: lets a long run refuse a
// hopeless output path at its start. Throws USAGE, naming both, where the path leads to one of
// `inputs`, files that the run reads, however either is spelled or linked.
void check_output_path(const std::string& path, const std::vector<std::string>& inputs = {});

}  // namespace routepack::io
