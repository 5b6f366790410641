// `dlroof profile` and `dlroof import LOG` convert a program's oneDNN log to a run file. `dlroof
// profile --gpu` traces its work on GPUs; Nsight Compute counts its kernels in a second run.
#pragma once

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
  // Machine file, name of a known machine or "none". Absent: this CPU; with --gpu: none.
  std::optional<std::string> machine;
  std::optional<int> threads, steps;   // override detected numbers
  bool pipe = false;                   // use a pipe, not a socket (ForegroundRequest)
  std::optional<double> most_seconds;  // [s] the program is ended after this time
  // Run torch.profiler in the program; with --gpu: mark modules and operators as NVTX ranges.
  bool torch = false;
};

// Runs the program, passes its output on, writes run file and log, and reports to `messages`.
// Returns the program's exit code, 128 + the signal that ended it, 127 if it was not found, 126 if
// it is not executable, or 0 if it was ended after most_seconds. Throws BadInput for an invalid
// request before the program starts. If the log cannot be written, says so and reports nothing.
int ProfileProgram(const ProfileRequest& request, std::ostream& messages);

inline constexpr double kCountingSeconds = 60;  // [s] default of budget_seconds

struct GpuProfileRequest {
  ProfileRequest program;                   // `log`, `threads` and `pipe` are ignored
  std::optional<std::string> trace_folder;  // folder for trace files; absent: they are deleted
  std::optional<std::string> stored_trace;  // folder of trace files to report, without a run
  // [s] Time limit for counting kernels, kCountingSeconds by default. With 0 none is counted.
  std::optional<double> budget_seconds;
  std::optional<std::string> chip;  // e.g. "GH100"; unset: that of this machine's GPU
};

// Runs a program and traces its work on GPUs, or reports a stored trace. Returns the program's exit
// code as ExitCodeOf does, or 0 for a stored trace. Throws BadInput for an invalid request.
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
// Runs ncu; `arguments` end with the program's command. Throws BadInput with ncu's message if ncu
// writes no table.
NcuRun RunNcu(gpu::NcuChoice choice, const std::vector<std::string>& metrics,
              const std::vector<std::string>& arguments);

// Facts about the program that are not in its log; absent if unknown.
struct ProgramFacts {
  std::optional<std::string> command;
  std::optional<double> wall_seconds;  // [s] from start to end of the program
  // [1] Part of this machine's CPU time that other programs used while the program ran.
  std::optional<double> others_share;
  std::optional<int> threads;  // of the library; overrides the log's number
  std::optional<int> steps;    // [1] number of equal steps; overrides the detected number
  const imports::Trace* trace = nullptr;  // of torch.profiler, with calls; may be null
};

// Returns whether the first 1 MiB of the text has a line of oneDNN's verbose mode.
bool LooksLikeOneDnnLog(std::string_view text);

// Returns a run file with a record per distinct primitive in the log, and a summary of the program
// in context.dlroof.program (baselines/programs/program_report.h). Warns if `machine` has no
// ceilings for a thread count. Throws BadInput for a log without executions and no trace.
record::RunFile ProgramRun(const std::string& text, const std::string& log_path,
                           const ProgramFacts& facts,
                           const std::optional<machine::Machine>& machine, std::ostream& warnings);

// Imports output of benchdnn --mode=P: lines "perf,..." with the fields that the preceding line
// "Output template: " names, or benchdnn's default fields. The time is the average (%0time%),
// otherwise the minimum (%-time%), in ms. FLOPs are %Gops%; for convolutions benchdnn, as dlroof,
// counts only taps inside the image (conv::prb_t::count_ops). The pipe follows from the name of the
// implementation; if the name has no instruction set and the type is narrower than f32, FLOPs are
// left out with a note in `counting`. If dlroof has the same benchmark, the record has its name
// and, if known, compulsory bytes; otherwise its name is benchdnn's text.
bool LooksLikeBenchdnnOutput(std::string_view text);
imports::Imported ImportBenchdnn(const std::string& text, const std::string& where);

// dlroof profile --torch: starts torch.profiler in an unmodified program through a hook that Python
// imports at startup (torch_hook/sitecustomize.py), and reads its traces.

enum class HookTask {
  kProfile,  // runs torch.profiler
  kRanges,   // marks modules and operators as NVTX ranges
};

// Creates the folder, to which the hook writes. Returns environment variables that start the hook
// in every Python process of the program; the hook's folder precedes the user's PYTHONPATH. Throws
// BadInput if the hook is not installed.
Variables PrepareTorchHook(HookTask task, const std::string& folder);

// Returns the notes (sentences) that the hook wrote to the folder.
std::vector<std::string> TorchNotes(const std::string& folder);

struct TorchTrace {
  std::optional<imports::Trace> trace;  // with calls; if absent, `remarks` say why
  std::vector<std::string> remarks;     // the hook's notes; why there is no trace
};

// Reads one of the traces that the hook wrote to the folder, a file per process and time window.
// Takes the process with the largest file, and its last window with at least half as many module
// calls (without modules: bytes) as its fullest window. Does not throw for a malformed trace.
TorchTrace ReadTorchTrace(const std::string& folder);

// Returns a repetition per call, or per group of successive calls so that there are at most 256.
// `seconds`: [s] time of each call. Omits groups with a time of 0.
std::vector<record::Repetition> RepetitionsOf(const std::vector<double>& seconds);

// Adds the modelled work of a call to `record`. `pipe` executes matrix products; if it is absent,
// FLOPs are left out with the reason `unknown`. `wide`: elementwise FLOPs are f64, else f32.
void AddWork(const logs::PrimitiveWork& found, const std::optional<std::string>& pipe, bool wide,
             std::string_view unknown, record::Record& record);

// Returns a record without a name per operator, with its work, in the order of `operators`. `isa`:
// oneDNN's name of the instruction set, "" if unknown.
std::vector<record::Record> OperatorRecords(const imports::Trace& trace,
                                            const std::vector<programs::OperatorTime>& operators,
                                            const std::string& isa, std::optional<int> threads);

}  // namespace dlroof::profile
