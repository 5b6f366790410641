// The most similar known name for a misspelled one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// Returns the number of insertions, deletions, replacements and swaps of adjacent characters that
// turn one text into the other (optimal string alignment distance). [1]
int EditDistance(std::string_view from, std::string_view to);

// Returns the candidate with the smallest edit distance, the first of equals, if the distance is at
// most a third of the longer name, rounded up.
std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& candidates);

// Returns the sentence that refuses an unknown name of a `kind` such as "command":
// "unknown command 'reprot'; did you mean 'report'? dlroof --help lists all".
std::string UnknownName(std::string_view kind, std::string_view name,
                        const std::optional<std::string>& nearest, std::string_view program);

}  // namespace dlroof
