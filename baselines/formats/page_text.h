// Text in XML and Markdown, and the frame of plain pages: no scripts, nothing loaded.
//
// A badge: a small picture for a README, a label and a verdict.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::formats {

// Returns the text for an attribute's quotes or between tags. XML 1.0 (2.2) has no control
// characters but tab, newline and return, not even as references, and no U+FFFE and U+FFFF. These
// become "\u0001".
std::string XmlText(std::string_view text);

// Returns the text for a table's cell, between tags too: nothing in it is markup, a newline stays
// one.
std::string MarkdownText(const std::string& text);

using Cells = std::vector<std::vector<std::string>>;  // the first row has the titles

void BeginPage(const std::string& title, std::ostream& out);
void EndPage(std::ostream& out);
// An SVG of gnuplot's, or where it is empty the sentence why there is none.
void WritePageFigure(const std::string& figure, const std::string& why_not, std::ostream& out);
void WritePageTable(const std::string& title, const Cells& cells, std::ostream& out);
// `tag`: "ul" or "ol".
void WritePageList(const std::string& title, const char* tag, const std::vector<std::string>& items,
                   std::ostream& out);
void WriteMarkdownTable(const Cells& cells, std::ostream& out);
// Returns the cells as a terminal can show them.
Cells PrintableCells(Cells cells);

enum class BadgeMood { kGood, kBad, kUnknown };

// SVG with its text as text and as a title; nothing is loaded.
std::string BadgeSvg(std::string_view label, std::string_view text, BadgeMood mood);

// "3 slower" (bad), "no regression" or "2 faster" (good), "cannot say" (unknown).
std::string BadgeSvg(const compare::CompareResult& result);

}  // namespace dlroof::formats
