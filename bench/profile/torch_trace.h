// dlroof profile --torch: starts torch.profiler in an unchanged program by a hook that Python
// imports at its start (torch_hook/sitecustomize.py), and reads its traces.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "baselines/programs/operators.h"
#include "counters/base/process.h"
#include "reporters/imports/trace.h"
#include "reporters/record/record.h"

namespace dlroof::profile {

// Returns the folder of the hook, which is installed with this program. Throws BadInput if it is
// missing.
std::filesystem::path TorchHookFolder();

// What the hook does in the program.
enum class HookTask {
  kProfile,  // runs torch.profiler
  kRanges,   // marks modules and operators as NVTX ranges
};

// Returns the variables that start the hook in every Python of the program, with `python_path` (the
// user's PYTHONPATH, or "") behind it. The hook writes its traces and notes to `folder`.
Variables TorchVariables(HookTask task, const std::filesystem::path& hook,
                         const std::string& folder, const std::string& python_path);

// Creates the folder. Returns TorchVariables with this process's PYTHONPATH.
Variables PrepareTorchHook(HookTask task, const std::string& folder);

// Returns what the hook noted in a folder: sentences.
std::vector<std::string> TorchNotes(const std::string& folder);

struct TorchTrace {
  std::optional<imports::Trace> trace;  // with its calls
  // [s] since 1970, all windows of its process in which the profiler ran
  std::vector<programs::TimeRange> windows;
  std::vector<std::string> remarks;  // sentences: what the hook noted, why there is no trace
};

// Reads the traces that the hook wrote into the folder: those of the process with most operators,
// of which the last window that is not short: has at least half as many calls of modules (without
// any: bytes) as another. Never throws for a broken trace.
TorchTrace ReadTorchTrace(const std::string& folder);

// Returns a record for each operator, with its work, in the order of `operators`. `isa` is oneDNN's
// name of the instruction set ("" if not known). The caller sets the names.
std::vector<record::Record> OperatorRecords(const imports::Trace& trace,
                                            const std::vector<programs::OperatorTime>& operators,
                                            const std::string& isa, std::optional<int> threads);

}  // namespace dlroof::profile
