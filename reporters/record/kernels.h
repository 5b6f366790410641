// Records of a program's GPU kernels, as Nsight Compute and traces give them: each is the sum over
// all launches of one kernel, and its time is the sum of their durations, without any launch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporters/record/record.h"
#include "reporters/record/run_file.h"

namespace dlroof::record {

inline bool IsKernelSum(const Record& record) { return record.timed == timed::kKernels; }

// The name of a kernel's record, SET/KERNEL, in parts. The set, usually the program, may be empty.
struct KernelRecordName {
  std::string_view set, kernel;
};
KernelRecordName KernelNameOf(const Record& record);

// Returns whether this is the name of a kernel with which dlroof itself times the calls of a GPU.
bool IsClockKernel(std::string_view kernel);

// Removes the records of such kernels. Returns a sentence with their launches and time for the
// user, or nullopt if there were none.
std::optional<std::string> LeaveOutClockKernels(std::vector<Record>& records);

// Completes a run file of an older dlroof profile --gpu, or of an import from Nsight Compute, whose
// records do not say what their times are: marks them as sums of kernel durations, and removes
// dlroof's own kernels. Returns LeaveOutClockKernels' sentence. Changes no other file.
std::optional<std::string> CompleteOldKernels(RunFile& run);

}  // namespace dlroof::record
