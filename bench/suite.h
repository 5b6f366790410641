// Suites: lists of benchmark names in text files, ours built into the program, others given by
// path.
#pragma once

#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// One name per line; "#" begins a comment, blank lines and spaces at both ends do not count.
// {a,b} stands for each of its choices, several lists for every combination (the last varies
// fastest); a choice may be empty, lists do not nest. Names come in the order of the file.
//
// Throws BadInput, "FILE: ..." or "FILE:LINE: ...", for a file that cannot be read, holds no name,
// is longer than 1 MiB or stands for more than 10,000 names; a brace that is not closed; a name
// that is there twice; and a name that MakeWorkload refuses (then with the column, in the expanded
// name where that is not the line). A name whose library this build lacks is kept.
std::vector<std::string> ReadSuite(std::istream& text, const std::string& file);

struct BuiltInSuite {
  std::string_view name;  // of its file in bench/suites, "paper_conv2d.txt"
  std::string_view text;
};

// In the order of their names.
const std::vector<BuiltInSuite>& BuiltInSuites();

}  // namespace dlroof
