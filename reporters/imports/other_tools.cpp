// Tools without a reader here: what a file of theirs is, and what leads here.
#include <fmt/format.h>

#include "reporters/imports/tool_tables.h"

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
constexpr std::string_view kOwnCsv =
    "write its names and times as columns name and seconds, FLOPs and bytes as flops_<pipe> and "
    "bytes_<level>, and import that CSV";
constexpr std::string_view kTriton = "a table of Triton's perf_report, which names no unit";
constexpr std::string_view kRocprof =
    "import that of 'rocprofv3 --kernel-trace --output-format csv'";
constexpr std::string_view kKernels =
    "import that of 'nsys stats --report cuda_gpu_kern_sum --format csv'";

const std::vector<OtherTool>& OtherTools() {
  static const std::vector<OtherTool> tools = {
      {{},
       "a report of Nsight Compute",
       "export it by 'ncu --import {} --csv --page raw > raw.csv' (any ncu of its version or "
       "later) and import raw.csv",
       ".ncu-rep"},
      {{}, "a report of Nsight Systems", kNsys, ".nsys-rep"},
      {{}, "a report of Nsight Systems", kNsys, ".qdrep"},
      {{"Total Time (", "Min ("}, "a table of Nsight Systems", kKernels},
      {{"QCount", "Kernel Name"}, "a table of Nsight Systems", kKernels},
      {{"\"GPU activities\"", "Time(%)"}, "a table of nvprof", kKernels},
      {{"CPU Time", "Module", "Function"}, "a report of Intel VTune", kOwnCsv},
      {{"Intel(R) Advisor"}, "a report of Intel Advisor", kOwnCsv},
      {{"Function Call Sites and Loops"}, "a report of Intel Advisor", kOwnCsv},
      {{"rocprofiler-sdk-tool"}, "rocprofv3's JSON", kRocprof},
      {{"\"Domain\"", "\"Function\""}, "a trace of rocprofv3's calls", kRocprof},
      {{"# Benchmark Results", "Samples"}, "nvbench's Markdown", "run it with --json x.json"},
      {{"| Command |", "Relative |"}, "hyperfine's Markdown", "use --export-json"},
      {{"Name (time in ", "Rounds"}, "pytest-benchmark's table", "use --benchmark-json=x.json"},
      {{"| model ", "t/s |"}, "llama-bench's table", "run it with -o json"},
      {{"\"counter-value\"", "\"event\""}, "perf stat's JSON", "use -x, instead of -j"},
      {{"Region calls,CTR", "Runtime (RDTSC) [s],TSC"},
       "a table of likwid-mpirun",
       "import that of 'likwid-perfctr -O' in one process"},
      {{"\"point_estimate\"", "\"confidence_interval\""}, "Criterion's estimates", kOwnCsv},
      {{"<Catch2TestRun"}, "Catch2's XML", kOwnCsv},
      {{"benchmark name", "est run time"}, "Catch2's table", kOwnCsv},
      {{"\"jmhVersion\""}, "JMH's JSON", kOwnCsv},
      {{"goos:", "ns/op"}, "Go's benchmarks", kOwnCsv},
      {{"-performance:", "Triton"}, kTriton, kOwnCsv},
      {{",Triton"}, kTriton, kOwnCsv},
      {{"Self CPU %", "# of Calls"},
       "a table of PyTorch's profiler",
       "import its export_chrome_trace('trace.json')"},
      {{"mkldnn_verbose,"},
       "a log of MKL-DNN 0.x, which has no types and so no work",
       "use oneDNN 1.0 or later"},
      {{"MKL_VERBOSE "}, "a log of oneMKL", kOwnCsv},
      {{"\"dlroof\"", "\"records\""}, "a run file", "'dlroof report {}' shows it"},
      {{}, "packed by bzip2", "unpack it by 'bzip2 -dk {}' and import that file", ".bz2"},
      {{}, "an archive", "unpack it by 'unzip {}' and import its file", ".zip"}};
  return tools;
}

}  // namespace

std::optional<Reason> ExportOfOtherTool(std::string_view path, std::string_view text) {
  for (const OtherTool& tool : OtherTools()) {
    const bool named = !tool.ending.empty() && path.ends_with(tool.ending);
    const bool written = !tool.words.empty() && HasAll(FirstOf(text), tool.words);
    if (!named && !written) continue;
    return Reason{fmt::format("{}: {}", tool.what, fmt::format(fmt::runtime(tool.cure), path))};
  }
  return std::nullopt;
}

}  // namespace dlroof::imports
