// What the main function of every program does around its work.
#pragma once

#include <functional>

namespace dlroof {

// Returns `run`'s exit code. Writes what it throws to standard error, after `name`, and returns 2
// for BadInput and 1 for any other exception. Returns 2 if standard output could not take all that
// was written: the disk is full, or standard output is closed (">&-"). Before `run`, opens
// /dev/null in place of closed standard streams, so that no file of the program gets their numbers.
int RunProgram(const char* name, const std::function<int()>& run);

}  // namespace dlroof
