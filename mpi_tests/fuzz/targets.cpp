#include "fuzz/targets.hpp"

#include "support/temp_folder.hpp"

namespace routepack::fuzz {

std::vector<std::string> split_files(Bytes bytes) {
  const std::string text = text_of(bytes);
  std::vector<std::string> files;
  std::size_t begin = 0;
  for (std::size_t end = text.find(kSeparator); end != std::string::npos;
       end = text.find(kSeparator, begin)) {
    files.push_back(text.substr(begin, end - begin));
    begin = end + kSeparator.size();
  }
  files.push_back(text.substr(begin));
  return files;
}

std::string scratch(const std::string& name) {
  static const testing::TempFolder folder;
  return folder.file(name);
}

}  // namespace routepack::fuzz
