// `dlroof profile` and `dlroof import LOG`. CPU: the oneDNN log of a program becomes a run file.
// GPU (--gpu): its work on GPUs is traced, and Nsight Compute counts its kernels in a second run.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/program_summary.h"
#include "ceilings/machine/machine.h"
#include "counters/base/process.h"
#include "counters/gpu/session.h"
#include "reporters/imports/import.h"
#include "reporters/logs/primitive.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {

struct ProfileRequest {
  std::vector<std::string> command;
  std::string output = "profile.json";
  std::optional<std::string> log;  // file for oneDNN's lines
  // Machine file, name or "none". Default: this CPU's ceilings; none for a GPU.
  std::optional<std::string> machine;
  std::optional<int> threads, steps;   // override detected numbers
  bool pipe = false;                   // use a pipe, not a socket (ForegroundRequest)
  std::optional<double> most_seconds;  // [s] the program is ended after this time
  // Run torch.profiler in the program. With --gpu: mark its modules and operators
  // as NVTX ranges.
  bool torch = false;
};

// Runs the program, passes its output on, writes run file and log, and reports to `messages`.
// Returns the program's exit code, 128 + the signal that ended it, 127 if not found, 126 if not
// executable. Throws BadInput for an invalid machine before it starts; reports later failures.
int ProfileProgram(const ProfileRequest& request, std::ostream& messages);

struct GpuProfileRequest {
  ProfileRequest program;                   // `log`, `threads` and `pipe` are ignored
  std::optional<std::string> trace_folder;  // folder for trace files; absent: they are deleted
  std::optional<std::string> stored_trace;  // folder of trace files to report, without a run
  double budget_seconds = 60;               // [s] limit for counting; 0: no counting
  std::optional<std::string> chip;          // "GH100"; absent: detected
};

// Runs a program and traces its work on GPUs, or reports a stored trace. Exit codes and exceptions
// are those of ProfileProgram; 0 for a stored trace.
int ProfileGpuProgram(const GpuProfileRequest& request, std::ostream& messages);

// Returns whether this build includes the library that traces GPU programs.
bool CanTraceGpuPrograms();

// Returns the path of ncu: from PATH, otherwise from the folders where CUDA and Nsight Compute
// install it, newest first. Throws BadInput if there is none.
std::string FindNcu();

struct NcuRun {
  ChildResult ran;
  std::string table;
};
// Runs ncu with the program in `arguments`; repeats it with short kernel names if ncu is too old
// for full ones. Throws BadInput with ncu's message if ncu writes no table.
NcuRun RunNcu(gpu::NcuChoice choice, const std::vector<std::string>& metrics,
              const std::vector<std::string>& arguments);

// Facts about the program that are not in its log; absent if unknown.
struct ProgramFacts {
  std::optional<std::string> command;
  std::optional<double> wall_seconds;  // [s] from start to end of the program
  std::optional<int> threads;          // of the library; overrides the log's number
  std::optional<int> steps;            // [1] number of equal steps; overrides the detected number
  const imports::Trace* trace = nullptr;  // by torch.profiler, read with calls; may be null
};

// Returns whether the text has a line of oneDNN's verbose mode near its start.
bool LooksLikeOneDnnLog(std::string_view text);

// Returns a run file with a record per distinct primitive in the log, and a summary of the program
// in context.dlroof.program (baselines/programs/program_report.h). Warns if `machine` has no
// ceilings for a thread count. Throws BadInput for a log without executions and no trace.
record::RunFile ProgramRun(const std::string& text, const std::string& log_path,
                           const ProgramFacts& facts,
                           const std::optional<machine::Machine>& machine, std::ostream& warnings);

// Imports output of benchdnn --mode=P: lines "perf,..." with the fields named by the preceding line
// "Output template: ", or benchdnn's default fields. The time is the average (%0time%), otherwise
// the minimum (%-time%), in ms. FLOPs are %Gops%; for convolutions benchdnn, too, counts only taps
// inside the image (conv::prb_t::count_ops, counters/base/work.h). The pipe follows from the
// implementation's name; if that has no instruction set and the type is narrower than f32, FLOPs
// are omitted with a remark in `counting`. If dlroof has such a benchmark, the record has its name
// and, if known, compulsory bytes; else benchdnn's text. Throws BadInput as described in import.h.
bool LooksLikeBenchdnnOutput(std::string_view text);
imports::Imported ImportBenchdnn(const std::string& text, const std::string& where);

// dlroof profile --torch: starts torch.profiler in an unmodified program through a hook that Python
// imports at startup (torch_hook/sitecustomize.py), and reads its traces.

// What the hook does in the program.
enum class HookTask {
  kProfile,  // runs torch.profiler
  kRanges,   // marks modules and operators as NVTX ranges
};

// Variables that start the hook in every Python process of the program, with `python_path` (the
// user's PYTHONPATH, or "") appended. The hook writes traces and notes to `folder`.
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
