// Text for XML and Markdown, and badges (small SVG images with a label and a verdict).
#pragma once

#include <string>
#include <string_view>

namespace dlroof::document {

// Escapes text for XML content and attributes. Characters that XML 1.0 (2.2) forbids (control
// characters except tab, newline, return; U+FFFE, U+FFFF) become "\u0001" and so on.
std::string XmlText(std::string_view text);

// Escapes text for a table cell: Markdown and HTML appear literally; newlines are kept.
std::string MarkdownText(const std::string& text);

// Returns a Markdown list item "- text" or "12. text" (`mark`: "-" or "12."), in lines of about 120
// columns.
std::string MarkdownItem(std::string_view mark, const std::string& text);

// Returns a self-contained SVG badge with selectable text. `good`: green, otherwise red.
std::string BadgeSvg(std::string_view label, std::string_view text, bool good);

}  // namespace dlroof::document
