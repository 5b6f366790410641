// Reads the texts of manual pages that cannot be derived from a program's flags.
//
// A line in capitals begins a section. Any other line at the left margin is a term: an exit code, a
// file, or in EXAMPLES a command. Indented lines are text, in paragraphs separated by empty lines:
//
//   EXIT STATUS
//   2
//     Bad input. One sentence on standard error says what was expected.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlroof::command_line {

struct ManualEntry {
  std::string term;  // empty: the paragraphs stand alone
  std::vector<std::string> paragraphs;
};

struct ManualSection {
  std::string title;  // "EXAMPLES"
  std::vector<ManualEntry> entries;
};

// Throws BadInput, with `name` and the line, for a text before the first section.
std::vector<ManualSection> ReadManualText(std::string_view text, std::string_view name);

}  // namespace dlroof::command_line
