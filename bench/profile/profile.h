// dlroof profile and import LOG. A program that uses oneDNN: its log becomes a run file, with its
// longest primitives replayed standalone on request. With --gpu: a program's work on GPUs is
// traced, and its kernels are counted by Nsight Compute in a second run.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/program_summary.h"
#include "ceilings/machine/machine.h"
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
  std::optional<int> overhead_turns;   // [1] further runs without verbose mode, to compare
  std::optional<std::string> read;     // pattern of the number to compare; absent: wall time
  // Run torch.profiler in it (torch_trace.h); of a GPU's program modules and operators become NVTX
  // ranges.
  bool torch = false;
  // Called to add to the run file before it is written. May be empty.
  std::function<void(record::RunFile& run, std::ostream& messages)> complete = {};
};

// Runs the program, passes its output on unchanged, writes the run file and the log, and reports to
// `messages`. Returns the program's exit code, 128 plus the signal that ended the program, 127 if
// there is no such program, or 126 if it cannot be executed. Throws BadInput before the program
// starts if the machine or the pattern is invalid. Reports later failures to `messages`.
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

// Facts about the program that its log does not contain. Unknown facts are absent.
struct ProgramFacts {
  std::optional<std::string> command;
  std::optional<double> wall_seconds;             // [s] from the program's start to its end
  std::optional<int> threads;                     // of its library; replaces the log's number
  std::optional<int> steps;                       // [1] equal steps; replaces the detected number
  std::optional<double> line_seconds;             // [s] see ProgramSummary
  std::vector<programs::CpuSample> cpu_samples;   // while it ran; may be empty
  const imports::Trace* trace = nullptr;          // of torch.profiler, with calls; null: none
  std::vector<programs::TimeRange> windows = {};  // [s] in which torch.profiler ran
};

// Returns whether the text has a line of oneDNN's verbose mode near its beginning.
bool LooksLikeOneDnnLog(std::string_view text);

// Returns a run file with a record for each distinct primitive of the log, and a summary of the
// program under context.dlroof.program (see baselines/programs/program_report.h). Warns if
// `machine` has no ceilings for a thread count. Throws BadInput for a log without an executed
// primitive, unless there is a trace.
record::RunFile ProgramRun(const std::string& log_path, const ProgramFacts& facts,
                           const std::optional<machine::Machine>& machine, std::ostream& warnings);

struct ReplayRequest {
  int count = 0;        // [1] number of primitives
  std::string command;  // the dlroof command, for messages: "profile"
};

// Returns the indices in summary.primitives of the `count` longest primitives that have a
// benchmark, the longest first. Stores in longer primitives the reason why they have no benchmark.
std::vector<std::size_t> ChooseReplayed(int count, programs::ProgramSummary& summary);

// Adds the standalone times in `records` to the chosen primitives. `records` has two records for
// each primitive: one with its benchmark's name and one with "/cold" appended.
void AddStandaloneTimes(const record::RunFile& program, const std::vector<std::size_t>& chosen,
                        const std::vector<record::Record>& records,
                        programs::ProgramSummary& summary);

// Measures the primitives in one process, warm and cold, with the number of threads of the
// program's library. Those that are faster with cold caches are measured once more. Those that are
// slower in the program, which cold caches do not explain, are also measured beside a busy CPU and
// on half of the threads. Replaces context.dlroof.program of `run`, unless an interrupt ends the
// measurement. Throws BadInput if dlroof_bench fails.
void Replay(const ReplayRequest& request, record::RunFile& run, std::ostream& log);

}  // namespace dlroof::profile
