// dlroof profile and import LOG. A program that uses oneDNN: its log becomes a run file. With
// --gpu: a program's work on GPUs is traced, and its kernels are counted by Nsight Compute in a
// second run.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/program_summary.h"
#include "ceilings/machine/machine.h"
#include "counters/base/process.h"
#include "counters/gpu/table.h"
#include "reporters/imports/trace.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {

struct ProfileRequest {
  std::vector<std::string> command;
  std::string output = "profile.json";
  std::optional<std::string> log;  // file for oneDNN's lines
  // File, name or "none"; absent: this CPU's ceilings, of a GPU none.
  std::optional<std::string> machine;
  std::optional<int> threads, steps;   // see ProgramFacts
  bool pipe = false;                   // see ForegroundRequest
  std::optional<double> most_seconds;  // [s] then the program is ended
  // Run torch.profiler in it (torch_trace.h); of a GPU's program modules and operators become NVTX
  // ranges.
  bool torch = false;
};

// Runs the program, passes its output on unchanged, writes the run file and the log, and reports to
// `messages`. Returns the program's exit code, 128 plus the signal that ended the program, 127 if
// there is no such program, or 126 if it cannot be executed. Throws BadInput before the program
// starts if the machine is invalid. Reports later failures to `messages`.
int ProfileProgram(const ProfileRequest& request, std::ostream& messages);

struct GpuProfileRequest {
  ProfileRequest program;                   // without log, threads, pipe and complete
  std::optional<std::string> trace_folder;  // where trace files stay; absent: they are removed
  std::optional<std::string> stored_trace;  // folder with trace files to report, without a program
  double budget_seconds = 60;               // [s] that counting may take; 0: nothing is counted
  std::optional<std::string> chip;          // absent: detected
};

// As ProfileProgram. Returns 0 without a program.
int ProfileGpuProgram(const GpuProfileRequest& request, std::ostream& messages);

// Returns whether this build has the library that traces programs.
bool CanTraceGpuPrograms();

// Returns ncu in PATH, else in the folders where CUDA and Nsight Compute install it, newest first.
// Throws BadInput if there is none.
std::string FindNcu();

struct NcuRun {
  ChildResult ran;
  std::string table;
};
// Runs ncu with the program behind `arguments`; once more without whole names if it is too old for
// them. Throws BadInput with ncu's reason if it writes no table.
NcuRun RunNcu(gpu::NcuChoice choice, const std::vector<std::string>& metrics,
              const std::vector<std::string>& arguments);

// Facts about the program that its log does not contain. Unknown facts are absent.
struct ProgramFacts {
  std::optional<std::string> command;
  std::optional<double> wall_seconds;     // [s] from the program's start to its end
  std::optional<int> threads;             // of its library; replaces the log's number
  std::optional<int> steps;               // [1] equal steps; replaces the detected number
  const imports::Trace* trace = nullptr;  // of torch.profiler, with calls; null: none
};

// Returns whether the text has a line of oneDNN's verbose mode near its beginning.
bool LooksLikeOneDnnLog(std::string_view text);

// Returns a run file with a record for each distinct primitive of the text of a log, and a summary
// of the program under context.dlroof.program (see baselines/programs/program_report.h). Warns if
// `machine` has no ceilings for a thread count. Throws BadInput for a log without an executed
// primitive, unless there is a trace.
record::RunFile ProgramRun(const std::string& text, const std::string& log_path,
                           const ProgramFacts& facts,
                           const std::optional<machine::Machine>& machine, std::ostream& warnings);

}  // namespace dlroof::profile
