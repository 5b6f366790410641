// Numbers in the output of a program. Pure.
#pragma once

#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::profile {

// Returns the expression (ECMAScript). Throws BadInput, which names `flag`: it is none, or has not
// exactly one group, which is the number.
std::regex NumberPattern(const std::string& flag, const std::string& text);

// Returns the numbers of all matches in the lines of the text, in their order. A match whose group
// is no finite number is left out, as is all beyond the first 4096 characters of a line.
std::vector<double> NumbersIn(std::string_view text, const std::regex& pattern);

}  // namespace dlroof::profile
