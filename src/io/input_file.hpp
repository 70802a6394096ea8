// Files that are read while others may write them. Nothing is mapped: a file that shrinks under a
// mapping ends the process, and bytes that are checked in a mapping may be others when they are
// used. What is read is a private copy, and a file that changed meanwhile is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/digest.hpp"

namespace routepack::io {

// Which content a path led to when it was opened.
struct FileStamp {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;  // bytes
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;  // both: of the last change of the content

  bool operator==(const FileStamp&) const = default;

  // Throws FILE_MALFORMED, "changed while it was read", where the path now leads to another file,
  // or to one of another size or time of change. A write that keeps the size and falls into the
  // file system's clock tick (some milliseconds) of the opening is not seen.
  void check_unchanged() const;
};

// An open regular file, read by position.
class InputFile {
 public:
  // Throws FILE_MALFORMED, naming the path, for a file that is missing, unreadable, empty or no
  // regular file; does not wait for the writer of a pipe.
  explicit InputFile(const std::string& path);

  [[nodiscard]] const std::string& path() const { return stamp_.path; }
  [[nodiscard]] std::int64_t size() const { return stamp_.size; }  // bytes, when it was opened
  [[nodiscard]] const FileStamp& stamp() const { return stamp_; }

  // Fills `into` with the bytes from `offset` on, all within size(). Throws FILE_MALFORMED where
  // the file ends before that by now, or its device fails.
  void read(std::int64_t offset, std::span<std::byte> into) const;

  // Tells the kernel that this part is about to be read from front to back.
  void advise_sequential(std::int64_t offset, std::int64_t num_bytes) const;

  // Throws as the stamp does, also where the open file itself changed.
  void check_unchanged() const;

 private:
  class Descriptor {
   public:
    explicit Descriptor(const std::string& path);
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&&) = delete;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const { return value_; }

   private:
    int value_;
  };

  Descriptor descriptor_;
  FileStamp stamp_;
};

// A private copy of a whole small file.
class FileCopy {
 public:
  // Throws FILE_MALFORMED as InputFile does, for a file that changes meanwhile, and for one of
  // more than 1 GiB.
  explicit FileCopy(const std::string& path);

  [[nodiscard]] const std::string& path() const { return stamp_.path; }
  [[nodiscard]] const FileStamp& stamp() const { return stamp_; }
  // Aligned for any number; stays where it is when the object moves.
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {bytes_.get(), static_cast<std::size_t>(stamp_.size)};
  }

 private:
  FileStamp stamp_;
  std::unique_ptr<std::byte[]> bytes_;
};

// A fingerprint that costs the same whatever the file's size: its length and blocks of its bytes.
// Equal copies have equal ones; a difference outside the blocks is not seen.
struct FileSample {
  std::int64_t bytes = 0;  // of the whole file
  base::Digest digest;     // of the blocks
  bool operator==(const FileSample&) const = default;
};

// 64 blocks of 16 KiB at even distances, the first and the last included; a file of up to 1 MiB
// whole. Throws FILE_MALFORMED where the file shrinks while it is read.
[[nodiscard]] FileSample sample_file(const InputFile& file);

}  // namespace routepack::io
