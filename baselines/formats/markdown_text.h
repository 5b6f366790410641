// Text in Markdown.
#pragma once

#include <string>

namespace dlroof {

// Returns the text for a table's cell, between tags too: nothing in it is markup, a newline stays
// one.
std::string MarkdownText(const std::string& text);

}  // namespace dlroof
