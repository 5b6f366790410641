// One run of dlroof_bench with --dlroof_explain.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "counters/base/folders.h"

namespace dlroof {

struct ExplainRequest {
  std::string command;             // of dlroof, for messages: "explain"
  std::vector<std::string> names;  // of benchmarks
  std::string bench;               // the program; empty: dlroof_bench beside this one
  std::string machine;             // machine file of the roofs; empty: cached, or measured now
  std::string output;              // run file; empty: in `folder`
  std::vector<std::string> arguments = {};  // more of them for dlroof_bench
};

// Measures the benchmarks of these names, after a sentence in `log`; returns the run file's path,
// empty after an interrupt. Throws BadInput: a name is none, or the program fails.
std::string MeasureExplained(const ExplainRequest& request, const TemporaryFolder& folder,
                             std::ostream& log);

}  // namespace dlroof
