// What the main function of every program does around its work, and its messages for unknown names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// Returns `run`'s exit code. Writes what it throws to standard error, after `name`, and returns 2
// for BadInput and for what the system refuses (memory, files), 70 for any other exception, which
// is a bug, and InterruptCode() for all of them after an interrupt. Returns 2 if standard output
// could not take all that was written: the disk is full, or standard output is closed (">&-").
// Before `run`, opens /dev/null in place of closed standard streams, so that no file of the program
// gets their numbers.
int RunProgram(const char* name, const std::function<int()>& run);

// Returns the candidate with the smallest edit distance to `name` (the first of several), where a
// swap of adjacent characters is one edit. Returns
// nullopt if the distance is more than a third of the longer name's length, rounded up.
std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& candidates);

// Returns the error message for an unknown name of a `kind` such as "command":
// "unknown command 'reprot'; did you mean 'report'? dlroof --help lists all".
std::string UnknownName(std::string_view kind, std::string_view name,
                        const std::optional<std::string>& nearest, std::string_view program);

}  // namespace dlroof
