// Text that need not be UTF-8, such as file names out of archives of other systems, in JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dlroof::text {

// Returns the text with each byte that is not UTF-8 as "\xE4". Valid UTF-8 is unchanged.
std::string EscapedBytes(std::string_view text);

// Applies EscapedBytes to all strings and keys of `json`, which JSON can then be written from.
void EscapeBytes(nlohmann::json& json);

}  // namespace dlroof::text
