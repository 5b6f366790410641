// Several run files of one machine as one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporters/record/run_file.h"

namespace dlroof::record {

// Returns the records and ceilings of all files, by path; the context is the first one's. The first
// of two records of one name and number of threads counts, and the first of two sets of ceilings of
// one number of threads. Throws BadInput for files of different machines.
RunFile JoinedRun(std::vector<std::pair<std::string, RunFile>>&& files);

// Returns the records of all files, each file's under a label of its own: the name of the file
// without folder and ".json", with a number where two are the same. The label stands behind the
// library of a record ("onednn@torch"), in its name too. The context is the first one's without
// its program; "dlroof.files" has the paths. Throws as JoinedRun.
RunFile SideBySide(std::vector<std::pair<std::string, RunFile>>&& files);

// Returns the label of a record of SideBySide; empty for another.
std::string_view LabelOf(const Record& record);

}  // namespace dlroof::record
