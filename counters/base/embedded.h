// Files that the build links into the program (dlroof_embed in ci/rooms.cmake).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

struct EmbeddedFile {
  std::string_view name;  // without folder and extension
  std::string_view text;
  std::string_view sha256;  // 64 hexadecimal digits, of the text
};

// Returns the text of the named file. Throws std::out_of_range: there is none.
inline std::string_view TextOf(const std::vector<EmbeddedFile>& files, std::string_view name) {
  for (const auto& file : files)
    if (file.name == name) return file.text;
  throw std::out_of_range("no embedded file " + std::string(name));
}

}  // namespace dlroof
