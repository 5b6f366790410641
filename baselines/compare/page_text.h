// Text in XML and Markdown, self-contained HTML pages without scripts, and badges: small SVG images
// with a label and a verdict for a README.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::compare {

// Escapes the text for attributes and elements. Characters that XML 1.0 (2.2) does not allow, even
// as references, become "\u0001": control characters but tab, newline, return; U+FFFE, U+FFFF.
std::string XmlText(std::string_view text);

// Escapes the text for a table's cell: Markdown and HTML are shown literally, newlines remain.
std::string MarkdownText(const std::string& text);

using Cells = std::vector<std::vector<std::string>>;  // the first row has the titles

void BeginPage(const std::string& title, std::ostream& out);
void EndPage(std::ostream& out);
// Writes `figure` (an SVG), or the sentence `reason` if `figure` is empty.
void WritePageFigure(const std::string& figure, const std::string& reason, std::ostream& out);
void WritePageTable(const std::string& title, const Cells& cells, std::ostream& out);
// `tag` is "ul" or "ol".
void WritePageList(const std::string& title, const char* tag, const std::vector<std::string>& items,
                   std::ostream& out);
// Writes an item of a list, "- text" or "12. text" by its mark, in lines of about 120 columns.
void WriteMarkdownItem(std::string_view mark, const std::string& text, std::ostream& out);
void WriteMarkdownTable(const Cells& cells, std::ostream& out);
// Returns the cells without characters that could control a terminal.
Cells PrintableCells(Cells cells);

enum class BadgeMood { kGood, kBad, kUnknown };

// Returns a self-contained SVG whose text can be selected and is also its title.
std::string BadgeSvg(std::string_view label, std::string_view text, BadgeMood mood);

}  // namespace dlroof::compare
