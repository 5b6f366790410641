// The text of a problem as keys and values: "n16c64_s2p0:1x0:1" has n 16, c 64, _s 2, _p 0:1x0:1.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reporters/roofline/op_words.h"

namespace dlroof {

struct ProblemPart {
  std::string key, value;
  std::size_t begin = 0, value_begin = 0, end = 0;  // in the text; the key's without its underscore
};
std::vector<ProblemPart> ProblemParts(std::string_view problem);

// Returns the texts that the problem may have with another value of this parameter, the likeliest
// first: an op has one text per problem, and leaves 1 out of some. A square image or kernel stays
// square, padding stays as it is.
std::vector<std::string> WithValue(std::string_view problem, const SweepWord& word,
                                   const std::string& value);

// Returns the keys that follow the parameter.
std::vector<std::string> Followers(const SweepWord& word);

}  // namespace dlroof
