// Parts of the reader of logs: the syntax of a line, wrapped lines, processes. Private to the
// module.
#pragma once

#include "reporters/logs/verbose_log.h"

namespace dlroof::logs {

// The fields of a line after its operation.
struct LineParts {
  std::vector<std::string_view> fields;  // without the last one, the time
  std::string_view before;               // the text before the time, without the comma
  std::optional<double> milliseconds;    // [ms] if the last field is a number
};
LineParts PartsOf(std::string_view fields, const VerboseTemplate& names);

bool AreDigits(std::string_view text);

// Returns the text without blanks at its end.
std::string_view Trimmed(std::string_view text);

// Returns the line without text that others appended: padding of a terminal, and the rest of the
// JSON in which docker and journald store lines ("...,0.5\n","stream":"stdout"}).
std::string_view OfOneDnn(std::string_view line, std::size_t marker);

// Joins lines that a terminal wrapped, each followed by empty lines, so that later lines keep their
// numbers. Returns nullopt if no line is wrapped. A wrapped line has the length of the longest line
// of an execution, and is followed by lines without a marker. At least one such line must have a
// time only after joining, because a program may print its own lines after a long line.
std::optional<std::string> Unwrapped(std::string_view text);

// Reads an information line that is no template.
void ReadFacts(std::string_view fields, VerboseLog& log);

// Sets the main process of a log. Calls of other processes become primitives of their own.
void SetApart(VerboseLog& log);

}  // namespace dlroof::logs
