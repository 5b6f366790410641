// Text in XML and Markdown, plain HTML pages (without scripts, self-contained), and badges: small
// pictures with a label and a verdict for a README.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::formats {

// Escapes the text for attributes and elements. XML 1.0 (2.2) has no control characters but tab,
// newline and return, not even as references, and no U+FFFE and U+FFFF: these become "\u0001".
std::string XmlText(std::string_view text);

// Escapes the text for a table's cell: nothing in it is markup (nor HTML), a newline stays one.
std::string MarkdownText(const std::string& text);

using Cells = std::vector<std::vector<std::string>>;  // the first row has the titles

void BeginPage(const std::string& title, std::ostream& out);
void EndPage(std::ostream& out);
// Writes an SVG of gnuplot, or without one the sentence `reason`.
void WritePageFigure(const std::string& figure, const std::string& reason, std::ostream& out);
void WritePageTable(const std::string& title, const Cells& cells, std::ostream& out);
// `tag` is "ul" or "ol".
void WritePageList(const std::string& title, const char* tag, const std::vector<std::string>& items,
                   std::ostream& out);
void WriteMarkdownTable(const Cells& cells, std::ostream& out);
// Returns the cells with the characters that a terminal can show.
Cells PrintableCells(Cells cells);

enum class BadgeMood { kGood, kBad, kUnknown };

// Returns a self-contained SVG whose text is selectable and also its title.
std::string BadgeSvg(std::string_view label, std::string_view text, BadgeMood mood);

// "3 slower" (bad), "no regression" or "2 faster" (good), "cannot say" (unknown).
std::string BadgeSvg(const compare::CompareResult& result);

}  // namespace dlroof::formats
