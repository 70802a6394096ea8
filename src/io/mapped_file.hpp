// A whole file, mapped read-only: a rank touches, and so reads, only the pages it needs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace routepack {

class MappedFile {
 public:
  // Throws FILE_MALFORMED, naming the path, for a file that is missing, unreadable, empty or no
  // regular file.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Stays where it is when the object moves.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // Tells the kernel that `part` of bytes() is about to be read from front to back.
  void advise_sequential(std::span<const std::byte> part) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace routepack
