// The kernel's small files: one line each, read anew each time.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dlroof {

// Returns the file's text without spaces at its end, of at most 127 bytes; `error` is errno, 0
// where it could be read.
std::string ReadKernelFile(const std::filesystem::path& path, int& error);

// [J] of a file that has a whole number of microjoules. Throws BadInput: it cannot be read, where
// that is not allowed with the `cure`; or it has another text.
double ReadMicrojoules(const std::filesystem::path& path, const std::string& cure);

// Returns the numbers of "0-3,8".
std::vector<int> CpuList(const std::string& text);

}  // namespace dlroof
