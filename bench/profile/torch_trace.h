// dlroof profile --torch: starts torch.profiler in an unchanged program by a hook that Python
// imports at its start (torch_hook/sitecustomize.py), and reads its traces.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/operators.h"
#include "counters/base/process.h"
#include "reporters/imports/trace.h"
#include "reporters/logs/primitive_work.h"
#include "reporters/record/record.h"

namespace dlroof::profile {

// What the hook does in the program.
enum class HookTask {
  kProfile,  // runs torch.profiler
  kRanges,   // marks modules and operators as NVTX ranges
};

// Returns the variables that start the hook in every Python of the program, with `python_path` (the
// user's PYTHONPATH, or "") behind it. The hook writes its traces and notes to `folder`.
Variables TorchVariables(HookTask task, const std::filesystem::path& hook,
                         const std::string& folder, const std::string& python_path);

// Creates the folder. Returns TorchVariables of the hook that is installed with this program and of
// this process's PYTHONPATH. Throws BadInput if the hook is missing.
Variables PrepareTorchHook(HookTask task, const std::string& folder);

// Returns what the hook noted in a folder: sentences.
std::vector<std::string> TorchNotes(const std::string& folder);

struct TorchTrace {
  std::optional<imports::Trace> trace;  // read with keep_calls; absent if `remarks` say why
  std::vector<std::string> remarks;     // sentences: what the hook noted, why there is no trace
};

// Reads the traces that the hook wrote into the folder: those of the process with most operators,
// of which the last window that is not short: has at least half as many calls of modules (without
// any: bytes) as another. Never throws for a broken trace.
TorchTrace ReadTorchTrace(const std::string& folder);

// Returns a repetition for each call [s], or for each group of adjacent calls: at most 256. Calls
// of no time are left out.
std::vector<record::Repetition> RepetitionsOf(const std::vector<double>& seconds);

// Adds the modelled work of a call. `pipe` multiplies; without it `unknown` says why. `wide`: other
// FLOPs are of f64.
void AddWork(const logs::PrimitiveWork& found, const std::optional<std::string>& pipe, bool wide,
             std::string_view unknown, record::Record& record);

// Returns a record for each operator, with its work, in the order of `operators`. `isa` is oneDNN's
// name of the instruction set ("" if not known). The caller sets the names.
std::vector<record::Record> OperatorRecords(const imports::Trace& trace,
                                            const std::vector<programs::OperatorTime>& operators,
                                            const std::string& isa, std::optional<int> threads);

}  // namespace dlroof::profile
