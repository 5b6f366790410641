// Files of tools without a reader here: the sentence that names the export which works.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "reporters/imports/import.h"

namespace dlroof::imports {
namespace {

struct OtherTool {
  std::string_view ending;                // of the file's name; may be empty
  std::vector<std::string_view> columns;  // words of the first lines that only this tool writes
  std::string_view answer;                // {} is the file
};

const std::vector<OtherTool>& OtherTools() {
  static const std::vector<OtherTool> tools = {
      {".ncu-rep",
       {},
       "a report of Nsight Compute: export it by 'ncu --import {} --csv --page raw > raw.csv' (any "
       "ncu of its version or later) and import raw.csv"},
      {".nsys-rep",
       {},
       "a report of Nsight Systems, which counts neither FLOPs nor bytes: profile with 'dlroof "
       "profile --gpu -- COMMAND', or with ncu, and import its --csv"},
      {"",
       {"OperationKind", "Disposition", "Runtime", "GFLOPs"},
       "a table of CUTLASS's profiler: write its columns Operation, Runtime (ms), Flops and Bytes "
       "as "
       "name, seconds, flops_<pipe> (such as flops_fp16.matrix) and bytes_dram in base units, and "
       "import that CSV"},
      {"",
       {"KernelName", "DurationNs"},
       "a table of rocprof: write its columns KernelName and DurationNs as name and seconds, and "
       "FLOPs and bytes from its counters as flops_<pipe> and bytes_dram, and import that CSV"},
      {"",
       {"Kernel_Name", "Start_Timestamp", "End_Timestamp"},
       "a table of rocprofv3: write its columns Kernel_Name and End_Timestamp - Start_Timestamp "
       "(ns) "
       "as name and seconds, and FLOPs and bytes from its counters as flops_<pipe> and bytes_dram, "
       "and import that CSV"},
      {"",
       {"Intel(R) Advisor"},
       "a report of Intel Advisor: write its columns Function Call Sites and Loops, Self Time, "
       "Self "
       "GFLOP and Self Memory (GB) as name, seconds, flops_<pipe> and bytes_l1 in base units, and "
       "import that CSV"},
      {"",
       {"Function Call Sites and Loops", "Self Time"},
       "a report of Intel Advisor: write its columns Function Call Sites and Loops, Self Time, "
       "Self "
       "GFLOP and Self Memory (GB) as name, seconds, flops_<pipe> and bytes_l1 in base units, and "
       "import that CSV"},
      {".advixeexp",
       {},
       "a project of Intel Advisor: export it by 'advisor --report=survey --format=csv', and write "
       "name, seconds, flops_<pipe> and bytes_l1 in base units"}};
  return tools;
}

}  // namespace

std::optional<Reason> ExportOfOtherTool(std::string_view path, std::string_view text) {
  constexpr std::size_t kSearched = 1 << 16;  // [byte]
  const auto first = text.substr(0, kSearched);
  for (const OtherTool& tool : OtherTools()) {
    const bool named = !tool.ending.empty() && path.ends_with(tool.ending);
    const bool written =
        !tool.columns.empty() && std::ranges::all_of(tool.columns, [&](std::string_view word) {
          return first.find(word) != std::string_view::npos;
        });
    if (named || written) return Reason{fmt::format(fmt::runtime(tool.answer), path)};
  }
  return std::nullopt;
}

}  // namespace dlroof::imports
