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

// Returns the line without what others put behind it: padding of a terminal, and the rest of the
// JSON in which docker and journald store lines ("...,0.5\n","stream":"stdout"}).
std::string_view OfOneDnn(std::string_view line, std::size_t marker);

// Returns the text with lines that a terminal wrapped joined again, each followed by empty lines so
// that the others keep their numbers; or nullopt if none is wrapped. A wrapped line has the length
// of the longest line of an execution, and its rest follows without a marker. As evidence, one such
// line without a time must get one: programs print lines of their own after a long line.
std::optional<std::string> Unwrapped(std::string_view text);

// Reads an information line that is no template.
void ReadFacts(std::string_view fields, VerboseLog& log);

// Finds the main process of a log, and makes the calls of others primitives of their own.
void SetApart(VerboseLog& log);

}  // namespace dlroof::logs
