// Output of a command.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace dlroof {

// Empty where it cannot be run.
inline std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 65536> part{};
  for (std::size_t read = 0; (read = fread(part.data(), 1, part.size(), pipe)) > 0;)
    output.append(part.data(), read);
  pclose(pipe);
  return output;
}

}  // namespace dlroof
