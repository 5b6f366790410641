// The short way through a large run file: records straight from the text, without a tree of all its
// JSON. For files as dlroof writes them.
#pragma once

#include <istream>
#include <optional>

#include "reporters/record/run_file.h"

namespace dlroof {

// What ReadRunFile (run_file.h) returns for the same file, in a tenth of its time and a few MB
// beside the result; absent for a file that is plain Google Benchmark's, cut off, wrong or unusual
// in any way, about which ReadRunFile has to say something. Throws BadInput only for what its
// machines and context are refused for.
std::optional<RunFile> ReadLargeRunFile(std::istream& in, const std::string& where,
                                        Keep keep = Keep::kAll);

}  // namespace dlroof
