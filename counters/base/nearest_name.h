// Suggests a known name for a misspelled one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// [1] Returns the optimal string alignment distance: the smallest number of insertions, deletions,
// replacements and swaps of adjacent characters that turn one text into the other.
int EditDistance(std::string_view from, std::string_view to);

// Returns the candidate with the smallest edit distance to `name` (the first of several). Returns
// nullopt if the distance is more than a third of the longer name's length, rounded up.
std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& candidates);

// Returns the error message for an unknown name of a `kind` such as "command":
// "unknown command 'reprot'; did you mean 'report'? dlroof --help lists all".
std::string UnknownName(std::string_view kind, std::string_view name,
                        const std::optional<std::string>& nearest, std::string_view program);

}  // namespace dlroof
