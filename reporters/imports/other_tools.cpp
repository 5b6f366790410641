// Tools without a reader here: what a file of theirs is, and what leads here.
#include <fmt/format.h>

#include <algorithm>

#include "reporters/imports/import.h"

namespace dlroof::imports {
namespace {

struct OtherTool {
  std::vector<std::string_view> words;  // which only this tool writes, all in its first lines
  std::string_view what;                // the file is
  std::string_view cure;                // {} is the file's path
  std::string_view ending = {};         // of the path; alone, it tells the tool too
};

constexpr std::string_view kNsys =
    "it counts neither FLOPs nor bytes: profile with 'dlroof profile --gpu -- COMMAND', or with "
    "ncu and import its --csv";
constexpr std::string_view kJson = "run the program with --benchmark_out=x.json and import it";
constexpr std::string_view kOwnCsv =
    "write its names, times, FLOPs and bytes as a CSV of dlroof's own (importing.md)";

const std::vector<OtherTool>& OtherTools() {
  static const std::vector<OtherTool> tools = {
      {{},
       "a report of Nsight Compute",
       "export it by 'ncu --import {} --csv --page raw > raw.csv' (any ncu of its version or "
       "later) and import raw.csv",
       ".ncu-rep"},
      {{}, "a report of Nsight Systems", kNsys, ".nsys-rep"},
      {{"SQLite format 3"}, "a database, as Nsight Systems exports it", kNsys, ".sqlite"},
      {{"Start (ns)", "Duration (ns)", "CorrId"}, "a trace of Nsight Systems", kNsys},
      {{"Total Time (ns)", "Instances"}, "a table of Nsight Systems", kNsys},
      {{"name,iterations,real_time,cpu_time,time_unit"}, "Google Benchmark's CSV", kJson},
      {{"Time", "CPU", "Iterations", "\n-----"}, "Google Benchmark's console table", kJson},
      {{"Device Name", "GPU Time (sec)"}, "nvbench's CSV", "run it with --json x.json"},
      {{"CPU Time (sec)", "Samples"}, "nvbench's CSV", "run it with --json x.json"},
      {{"OperationKind", "Runtime", "GFLOPs"}, "a table of CUTLASS's profiler", kOwnCsv},
      {{"KernelName", "DurationNs"}, "a table of rocprof", kOwnCsv},
      {{"TotalDurationNs", "AverageNs"}, "a table of rocprof", kOwnCsv},
      {{"Kernel_Name", "Start_Timestamp", "End_Timestamp"}, "a table of rocprofv3", kOwnCsv},
      {{"Intel(R) Advisor"}, "a report of Intel Advisor", kOwnCsv},
      {{"# started on "}, "a file of perf stat", kOwnCsv},
      {{"Performance counter stats for"}, "a file of perf stat", kOwnCsv},
      {{"\"machine_info\"", "\"benchmarks\""}, "pytest-benchmark's JSON", kOwnCsv},
      {{"Self CPU %", "# of Calls"},
       "a table of PyTorch's profiler",
       "import its export_chrome_trace('trace.json')"},
      {{"MKL_VERBOSE "}, "a log of oneMKL", kOwnCsv},
      {{}, "packed by xz", "unpack it by 'xz -dk {}' and import that file", ".xz"},
      {{}, "packed by zstd", "unpack it by 'zstd -d {}' and import that file", ".zst"},
      {{}, "packed by bzip2", "unpack it by 'bzip2 -dk {}' and import that file", ".bz2"},
      {{}, "an archive", "unpack it by 'unzip {}' and import its file", ".zip"}};
  return tools;
}

}  // namespace

std::optional<Reason> ExportOfOtherTool(std::string_view path, std::string_view text) {
  constexpr std::size_t kSearched = 1 << 16;  // [byte]
  const auto first = text.substr(0, kSearched);
  for (const OtherTool& tool : OtherTools()) {
    const bool named = !tool.ending.empty() && path.ends_with(tool.ending);
    const bool written = !tool.words.empty() && std::ranges::all_of(tool.words, [&](auto word) {
      return first.find(word) != first.npos;
    });
    if (!named && !written) continue;
    return Reason{fmt::format("{}: {}", tool.what, fmt::format(fmt::runtime(tool.cure), path))};
  }
  return std::nullopt;
}

}  // namespace dlroof::imports
