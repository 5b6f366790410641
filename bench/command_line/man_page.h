// Writes manual pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/command_line/description.h"
#include "bench/command_line/manual_text.h"

namespace dlroof::command_line {

struct ManPage {
  const Command& command;
  // DESCRIPTION, EXIT STATUS, ENVIRONMENT, FILES, EXAMPLES; and NAME, with one line that replaces
  // the description of the command.
  std::vector<ManualSection> sections;
  std::vector<std::string> see_also;  // names of other pages
};

struct Release {
  std::string_view version, date;  // "1.0.0", "2026-11-27"
};

// Returns the name of a command's page: "dlroof-cluster-script".
std::string PageName(const Command& command);

// Returns the page in section 1 as roff text with the macros of man(7), in ASCII and UTF-8.
std::string WriteManPage(const ManPage& page, const Release& release);

}  // namespace dlroof::command_line
