#include "bench/command_line/flag_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dlroof::command_line {

std::string WriteFlagTable(const std::vector<Command>& programs) {
  std::string text;
  for (const auto& program : programs)
    for (const Command* command : WithSubcommands(program))
      for (const auto& argument : command->arguments) {
        const char* takes = argument.type.empty() ? "nothing" : argument.many ? "values" : "value";
        text += fmt::format("{}\t{}\t{}\t{}", command->Path(), fmt::join(argument.names, ","),
                            takes, argument.required ? "required" : "optional");
        if (!argument.choices.empty())
          text += fmt::format("\t{}", fmt::join(argument.choices, ","));
        text += '\n';
      }
  return text;
}

}  // namespace dlroof::command_line
