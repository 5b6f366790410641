// Parses small JSON files of other programs.
#pragma once

#include <string>

#include "counters/base/json_reader.h"

namespace dlroof::imports {

// Parses a JSON text as ParsedJson (json_reader.h) does, and also throws BadInput for an object
// that has a key twice, as files edited by hand have: one of the two values would be lost.
nlohmann::json ParsedUniqueJson(const std::string& text, const std::string& where);

}  // namespace dlroof::imports
