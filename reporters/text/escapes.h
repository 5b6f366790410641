// Escape sequences of a terminal.
#pragma once

#include <string>
#include <string_view>

namespace dlroof::text {

// Removes the sequences with which programs colour their output: ESC [ ... letter.
std::string WithoutEscapes(std::string_view text);

}  // namespace dlroof::text
