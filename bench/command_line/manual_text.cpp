#include "bench/command_line/manual_text.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "counters/base/error.h"

namespace dlroof::command_line {
namespace {

bool IsTitle(std::string_view line) {
  return std::ranges::all_of(line, [](unsigned char c) { return std::isupper(c) || c == ' '; });
}

// Appends an indented line, or an empty one, to the text of an entry.
void AppendText(std::string_view line, bool& begins_paragraph, ManualEntry& entry) {
  if (line.empty()) {
    begins_paragraph = true;
    return;
  }
  line.remove_prefix(line.find_first_not_of(' '));
  if (begins_paragraph || entry.paragraphs.empty())
    entry.paragraphs.emplace_back(line);
  else
    entry.paragraphs.back().append(" ").append(line);
  begins_paragraph = false;
}

}  // namespace

std::vector<ManualSection> ReadManualText(std::string_view text, std::string_view name) {
  std::vector<ManualSection> sections;
  std::istringstream lines{std::string(text)};
  bool begins_paragraph = true;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const bool at_margin = !line.empty() && line.front() != ' ';
    if (at_margin && IsTitle(line)) {
      sections.push_back({line, {}});
      begins_paragraph = true;
      continue;
    }
    if (line.empty() && sections.empty()) continue;
    if (sections.empty())
      throw BadInput({.where = std::string(name), .line = number},
                     "expected a section's title in capitals before this text");
    auto& entries = sections.back().entries;
    if (at_margin) {
      entries.push_back({line, {}});
    } else {
      if (entries.empty() && !line.empty()) entries.emplace_back();
      if (!entries.empty()) AppendText(line, begins_paragraph, entries.back());
    }
  }
  return sections;
}

}  // namespace dlroof::command_line
