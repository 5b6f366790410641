// Tools without a reader here: what a file of theirs is, and which export leads here.
#include <fmt/format.h>

#include <algorithm>

#include "reporters/imports/import.h"

namespace dlroof::imports {
namespace {

struct OtherTool {
  std::vector<std::string_view> words;  // which only this tool writes, all in its first lines
  std::string_view what;                // the file is
  std::string_view cure;                // {} is the file's path
  std::string_view columns;             // or: which of its columns are NAME, SECONDS and others
  std::string_view ending = {};         // of the path; alone, it tells the tool too
};

constexpr std::string_view kNsys =
    "it counts neither FLOPs nor bytes: profile with 'dlroof profile --gpu -- COMMAND', or with "
    "ncu "
    "and import its --csv";

const std::vector<OtherTool>& OtherTools() {
  static const std::vector<OtherTool> tools = {
      {{},
       "a report of Nsight Compute",
       "export it by 'ncu --import {} --csv --page raw > raw.csv' (any ncu of its version or "
       "later) "
       "and import raw.csv",
       "",
       ".ncu-rep"},
      {{}, "a report of Nsight Systems", kNsys, "", ".nsys-rep"},
      {{"SQLite format 3"}, "a database, as Nsight Systems exports it", kNsys, "", ".sqlite"},
      {{"Start (ns)", "Duration (ns)", "CorrId"},
       "a trace of Nsight Systems",
       kNsys,
       "Name and Duration (ns)"},
      {{"Total Time (ns)", "Instances"},
       "a table of Nsight Systems",
       kNsys,
       "Name, Avg (ns) and Instances (launches)"},
      {{"name,iterations,real_time,cpu_time,time_unit"},
       "Google Benchmark's CSV",
       "run the program with --benchmark_out=x.json and import that file",
       ""},
      {{"Time", "CPU", "Iterations", "\n-----"},
       "Google Benchmark's console table",
       "run the program with --benchmark_out=x.json and import that file",
       ""},
      {{"Device Name", "GPU Time (sec)"}, "nvbench's CSV", "run it with --json x.json", ""},
      {{"CPU Time (sec)", "Samples"}, "nvbench's CSV", "run it with --json x.json", ""},
      {{"OperationKind", "Disposition", "Runtime", "GFLOPs"},
       "a table of CUTLASS's profiler",
       "",
       "Operation, Runtime (ms), Flops (flops_<pipe>, such as flops_fp16.matrix) and Bytes "
       "(bytes_dram)"},
      {{"KernelName", "DurationNs"}, "a table of rocprof", "", "KernelName and DurationNs"},
      {{"TotalDurationNs", "AverageNs"},
       "a table of rocprof",
       "",
       "Name, AverageNs and Calls (launches)"},
      {{"Kernel_Name", "Start_Timestamp", "End_Timestamp"},
       "a table of rocprofv3",
       "",
       "Kernel_Name and End_Timestamp - Start_Timestamp (ns)"},
      {{"rocprofiler-sdk-tool"},
       "rocprofv3's JSON",
       "run rocprofv3 with --output-format csv",
       "Kernel_Name and End_Timestamp - Start_Timestamp (ns)"},
      {{"Intel(R) Advisor"},
       "a report of Intel Advisor",
       "",
       "Function Call Sites and Loops, Self Time, Self GFLOP (flops_<pipe>) and Self Memory (GB) "
       "(bytes_l1)"},
      {{"Function Call Sites and Loops", "Self Time"},
       "a report of Intel Advisor",
       "",
       "Function Call Sites and Loops, Self Time, Self GFLOP (flops_<pipe>) and Self Memory (GB) "
       "(bytes_l1)"},
      {{},
       "a project of Intel Advisor",
       "export it by 'advisor --report=survey --format=csv'",
       "Function Call Sites and Loops and Self Time",
       ".advixeexp"},
      {{"Region calls,CTR", "Runtime (RDTSC) [s],TSC"},
       "a table of likwid-mpirun",
       "import that of 'likwid-perfctr -O' in one process",
       "Region and Runtime (RDTSC) [s]"},
      {{"# started on "}, "a file of perf stat", "", "the command, its seconds and its counts"},
      {{"Performance counter stats for"},
       "a file of perf stat",
       "",
       "the command, its seconds and its counts"},
      {{",task-clock,"}, "a file of perf stat", "", "the command, its seconds and its counts"},
      {{"\"machine_info\"", "\"benchmarks\"", "\"stats\""},
       "pytest-benchmark's JSON",
       "",
       "fullname and median"},
      {{"\"results\"", "\"command\"", "\"mean\""},
       "hyperfine's JSON",
       "",
       "command and each of its times"},
      {{"BenchmarkDotNet"}, "BenchmarkDotNet's file", "", "FullName and Median (ns)"},
      {{"\"point_estimate\"", "\"confidence_interval\""},
       "Criterion's estimates",
       "",
       "the benchmark's folder and the median's point_estimate (ns)"},
      {{"<Catch2TestRun"}, "Catch2's XML", "", "the benchmark's name and its mean (ns)"},
      {{"benchmark name", "est run time"}, "Catch2's table", "", "benchmark name and mean"},
      {{"\"model_filename\"", "\"avg_ns\""},
       "llama-bench's JSON",
       "",
       "the test and each of samples_ns"},
      {{"\"jmhVersion\""}, "JMH's JSON", "", "benchmark and score"},
      {{"goos:", "ns/op"}, "Go's benchmarks", "", "the benchmark's name and ns/op"},
      {{"Self CPU %", "# of Calls"},
       "a table of PyTorch's profiler",
       "import its export_chrome_trace('trace.json')",
       ""},
      {{"\"frame\"", "\"metrics\"", "\"children\""},
       "a profile of Proton",
       "",
       "name, time (ns), count (launches), flops16 (flops_fp16.matrix) and bytes (bytes_dram)"},
      {{"MKL_VERBOSE "},
       "a log of oneMKL",
       "",
       "the call, its time, and 2 m n k (flops_<pipe>) of a product"},
      {{",Triton"},
       "a table of Triton's perf_report",
       "",
       "a size and its time from do_bench (ms)"},
      {{"\xFD"
        "7zXZ"},
       "packed by xz",
       "unpack it by 'xz -dk {}' and import that file",
       "",
       ".xz"},
      {{}, "packed by zstd", "unpack it by 'zstd -d {}' and import that file", "", ".zst"},
      {{}, "packed by bzip2", "unpack it by 'bzip2 -dk {}' and import that file", "", ".bz2"},
      {{}, "an archive", "unpack it by 'unzip {}' and import its file", "", ".zip"}};
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
    auto answer = fmt::format("{}: {}", tool.what, fmt::format(fmt::runtime(tool.cure), path));
    if (!tool.columns.empty())
      answer += fmt::format(
          "{}write {} as name and seconds in base units, with FLOPs and bytes, where they are "
          "known, "
          "as flops_<pipe> and bytes_<level>, and import that CSV",
          tool.cure.empty() ? "" : "; or ", tool.columns);
    return Reason{std::move(answer)};
  }
  return std::nullopt;
}

}  // namespace dlroof::imports
