// dlroof compare --across-programs: the same model in two programs.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// A format that verdicts do not have.
inline constexpr std::string_view kProgramsOnlyFormat = "csv";

std::vector<std::string> ProgramFormats();

// Reads two run files of programs and writes them side by side. Throws BadInput: a file is no
// program's, or the format is not for programs.
void ComparePrograms(const std::string& a, const std::string& b, const std::string& format,
                     std::ostream& out);

}  // namespace dlroof
