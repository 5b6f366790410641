// dlroof profile --gpu: traces the GPU work of an unchanged program, counts its kernels by Nsight
// Compute in a second run, and reports it on a machine's roofs.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "counters/gpu/table.h"

namespace dlroof::profile {

struct GpuProfileRequest {
  std::vector<std::string> command;
  std::string output = "profile.json";
  std::optional<std::string> machine;       // file or name; absent or "none": no roofs
  std::optional<int> steps;                 // [1] equal steps of the program; absent: detected
  std::optional<std::string> trace_folder;  // where trace files stay; absent: they are removed
  std::optional<std::string> stored_trace;  // folder with trace files to report, without a program
  std::optional<double> duration_seconds;   // [s] after which the program is ended
  double budget_seconds = 60;               // [s] that counting may take; 0: nothing is counted
  std::optional<std::string> chip;          // absent: detected
  std::optional<int> overhead_turns;        // [1] further runs without the trace, to compare
  std::optional<std::string> read;          // pattern of the number to compare; absent: wall time
  bool torch = false;                       // PyTorch's modules and operators become NVTX ranges
};

// Returns ncu in PATH, else in the folders where CUDA and Nsight Compute install it, newest first.
// Throws BadInput if there is none.
std::string FindNcu();

// Returns whether this build has the library that traces programs.
bool CanTraceGpuPrograms();

// Runs the program, passes its output on unchanged, writes the run file, and reports to `messages`.
// Returns the program's exit code, 128 plus the signal that ended it, 127 if there is no such
// program, 126 if it cannot be executed, or 0 without a program. Throws BadInput before the program
// starts if a file is invalid; reports later failures to `messages`.
int ProfileGpuProgram(const GpuProfileRequest& request, std::ostream& messages);

}  // namespace dlroof::profile
