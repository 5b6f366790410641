// What a kill leaves of a JSON file: a prefix.
#pragma once

#include <optional>
#include <string>

namespace dlroof {

// The longest prefix that ends after a whole element of a top-level array, with the brackets closed
// again. Absent when `text` is whole (then a syntax error in it is an error, not a cut) or holds no
// such element.
std::optional<std::string> MendCutJson(const std::string& text);

}  // namespace dlroof
