// dlroof profile --torch: starts torch.profiler in an unmodified program through a hook that Python
// imports at startup (torch_hook/sitecustomize.py), and reads its traces.
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

// Returns the variables that start the hook in every Python process of the program, with
// `python_path` (the user's PYTHONPATH, or "") appended. The hook writes traces and notes to
// `folder`.
Variables TorchVariables(HookTask task, const std::filesystem::path& hook,
                         const std::string& folder, const std::string& python_path);

// Creates the folder. Returns TorchVariables for the installed hook and this process's PYTHONPATH.
// Throws BadInput if the hook is not installed.
Variables PrepareTorchHook(HookTask task, const std::string& folder);

// Returns the notes (sentences) that the hook wrote to the folder.
std::vector<std::string> TorchNotes(const std::string& folder);

struct TorchTrace {
  std::optional<imports::Trace> trace;  // read with keep_calls; absent for a reason in `remarks`
  std::vector<std::string> remarks;     // sentences: notes of the hook, why there is no trace
};

// Reads a trace that the hook wrote to the folder: of the process with the largest file, the last
// window with at least half as many module calls (without modules: bytes) as the process's window
// with the most. Does not throw for a malformed trace.
TorchTrace ReadTorchTrace(const std::string& folder);

// Returns a repetition per call [s], or per group of successive calls so that there are at most
// 256. Omits groups with a time of 0.
std::vector<record::Repetition> RepetitionsOf(const std::vector<double>& seconds);

// Adds the modelled work of a call. `pipe` executes the matrix products; if absent, `unknown` is
// the reason. `wide`: elementwise FLOPs are f64, otherwise f32.
void AddWork(const logs::PrimitiveWork& found, const std::optional<std::string>& pipe, bool wide,
             std::string_view unknown, record::Record& record);

// Returns a record per operator with its work, in the order of `operators`. `isa`: oneDNN's name of
// the instruction set, "" if unknown. The caller sets the names.
std::vector<record::Record> OperatorRecords(const imports::Trace& trace,
                                            const std::vector<programs::OperatorTime>& operators,
                                            const std::string& isa, std::optional<int> threads);

}  // namespace dlroof::profile
