// Several run files of one machine as one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reporters/record/run_file.h"

namespace dlroof {

// Returns the records and ceilings of all files, by path; the context is the first one's. The first
// of two records of one name and number of threads counts, and the first of two sets of ceilings of
// one number of threads. Throws BadInput for files of different machines.
RunFile JoinedRun(std::vector<std::pair<std::string, RunFile>>&& files);

}  // namespace dlroof
