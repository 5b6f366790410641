// Text in XML and Markdown, and badges: small SVG images with a label and a verdict for a README.
#pragma once

#include <string>
#include <string_view>

namespace dlroof::document {

// Escapes the text for attributes and elements. Characters that XML 1.0 (2.2) does not allow, even
// as references, become "\u0001": control characters but tab, newline, return; U+FFFE, U+FFFF.
std::string XmlText(std::string_view text);

// Escapes the text for a table's cell: Markdown and HTML are shown literally, newlines remain.
std::string MarkdownText(const std::string& text);

// Returns an item of a Markdown list, "- text" or "12. text" by its mark, in lines of about 120
// columns.
std::string MarkdownItem(std::string_view mark, const std::string& text);

// Returns a self-contained SVG whose text can be selected and is also its title.
std::string BadgeSvg(std::string_view label, std::string_view text, bool good);

}  // namespace dlroof::document
