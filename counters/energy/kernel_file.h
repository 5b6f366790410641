// The kernel's small files: one line each, read anew each time.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dlroof {

// Returns the file's text without spaces at its end, of at most 127 bytes; `error` is errno, 0
// where it could be read.
std::string ReadKernelFile(const std::filesystem::path& path, int& error);

// Returns the numbers of "0-3,8".
std::vector<int> CpuList(const std::string& text);

}  // namespace dlroof
