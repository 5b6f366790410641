// Code shared by dlroof_bench and programs with benchmarks of their own (bench/library): devices,
// machines, context and reporters of a run.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu_loader/loader.h"
#include "bench/runner/bench_flags.h"
#include "bench/runner/runner.h"
#include "bench/workload/workload.h"
#include "ceilings/machine/machine.h"
#include "counters/base/json.h"
#include "reporters/live/google_benchmark.h"

namespace dlroof::runner {

// Calls benchmark::Initialize with the program's name and its arguments, which stay in static
// storage until the next call, because Google Benchmark stores the address of the name. Returns the
// arguments that Google Benchmark did not accept.
std::vector<std::string> InitializeBenchmark(std::vector<std::string> args);

// Throws BadInput if `path` is set and cannot be written. Call it before the measurement.
void CheckWritable(const std::optional<std::string>& path);

// The chosen devices, and the CUDA module, which is open if the run can use it.
struct Devices {
  gpu_loader::DeviceChoice choice;
  gpu_loader::GpuAccess gpu;
  bool HasGpu() const { return !gpu.reason; }
};

Devices FindDevices(const BenchFlags& flags);

// Throws BadInput for two files of one device, and for a file of a device that cannot be measured.
void CheckMachineFiles(const BenchFlags& flags, const Devices& devices);

// Returns a function that reports progress to the pipe of --dlroof_progress, or on stderr.
ProgressFunction ProgressOf(const BenchFlags& flags);

struct MachineNeeds {
  bool cpu = false, gpu = false;  // which devices have benchmarks
  std::vector<int> threads;       // thread counts of CPU benchmarks
  std::set<std::string> pipes;    // pipes that CPU benchmarks may use
};

// Returns the pipes, e.g. "bf16.matrix", that a CPU benchmark may use: fp32.vector (elementwise
// parts), those of the element types in `type` and, with an fpmath option, of narrower types.
std::set<std::string> NeededPipes(std::string_view type, std::string_view options);

// Returns the machines (ceilings) of the devices that have benchmarks; none if WithoutRoofs().
std::vector<machine::Machine> Machines(const BenchFlags& flags, const MachineNeeds& needs,
                                       const Devices& devices);

// Returns the settings of all calls. Throws BadInput for more threads than CPUs.
workload::RunSettings Settings(const BenchFlags& flags);

// Returns the run file's context.dlroof, to which the program adds its suites and limits.
nlohmann::json Context(const std::string& command, const BenchFlags& flags,
                       const workload::RunSettings& settings, const Devices& devices);

// Returns the options of a run with `benchmarks` benchmarks. `cpu_runs`: whether some of them run
// on a CPU. The result has pointers to `session` and `quota` (may be null).
RunnerOptions Options(const BenchFlags& flags, int benchmarks, bool cpu_runs,
                      const Devices& devices, live::Session& session, const QuotaWatch* quota);

// The reporters of a run: table or JSON to standard output, the file of --benchmark_out.
class RunReporters {
 public:
  // `quota` may be null; if not, the table says how often the quota stopped this process.
  RunReporters(live::Session& session, const BenchFlags& flags, const QuotaWatch* quota);

  benchmark::BenchmarkReporter* display();
  benchmark::BenchmarkReporter* file();  // null without --benchmark_out
  // Completes the file of --benchmark_out and writes the page of --dlroof_html; after an interrupt
  // leaves PATH.part and writes no page. Returns the exit code. Throws BadInput if a write failed.
  int End();

 private:
  live::Session& session_;
  const BenchFlags& flags_;
  live::TerminalReporter table_;
  live::RunFileReporter json_display_, json_file_;
  live::CsvFileReporter csv_file_;
  live::ConsoleFileReporter console_file_{benchmark::ConsoleReporter::OO_None};
};

}  // namespace dlroof::runner
