// A window folder that appears whole: written beside its final place under a temporary name, then
// moved. One process owns it; others may write into the temporary folder meanwhile.
#pragma once

#include <optional>
#include <string>

#include "io/leftovers.hpp"

namespace routepack {

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
  std::optional<Leftover> leftover_;
};

}  // namespace routepack
