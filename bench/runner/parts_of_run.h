// The parts of a run that programs with operators of dlroof (dlroof_bench) and programs with
// benchmarks of their own (bench/library) have in common: devices, machines, context, reporters.
#pragma once

#include <functional>
#include <memory>
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
#include "counters/base/error.h"
#include "counters/base/json.h"
#include "reporters/live/google_benchmark.h"
#include "reporters/live/session.h"

namespace dlroof::runner {

// Returns pointers to the texts, as main gets them, with a null pointer at the end.
std::vector<char*> Pointers(std::vector<std::string>& args);

// Throws BadInput, before the measurement, if the file cannot be written. Google Benchmark would
// fail after the measurement, with another exit code.
void CheckWritable(const std::optional<std::string>& path);

// The chosen devices, and the CUDA module, which is open if the run can use it.
struct Devices {
  gpu_loader::DeviceChoice choice;
  gpu_loader::GpuAccess gpu;
  bool HasGpu() const { return !gpu.reason; }
};

Devices FindDevices(const BenchFlags& flags);

// Throws BadInput if a device has two files, or if a GPU has a file but no GPU can be used.
void CheckMachineFiles(const BenchFlags& flags, const Devices& devices);

// Returns a function that reports progress to the program that started this one, or on stderr.
ProgressFunction ProgressOf(const BenchFlags& flags);

// What the benchmarks of a run need of the machines' ceilings.
struct MachineNeeds {
  bool cpu = false, gpu = false;  // which devices have benchmarks
  std::vector<int> threads;       // [1] of CPU benchmarks
  std::set<std::string> pipes;    // under whose roofs CPU benchmarks may be placed
};

// Returns the plain pipes ("bf16.matrix") of a CPU whose roofs a benchmark of this type may need.
// `type` and `options` are those of its name. fp32.vector is always among them: elementwise parts
// use it. A type that is not known needs all pipes of the types that it contains.
std::set<std::string> NeededPipes(std::string_view type, std::string_view options);

// Returns the machines (ceilings) of all devices that have benchmarks.
std::vector<machine::Machine> Machines(const BenchFlags& flags, const MachineNeeds& needs,
                                       const Devices& devices);

// Throws BadInput for more threads than CPUs.
workload::RunSettings Settings(const BenchFlags& flags);

// Returns the run file's context without what only operators of dlroof have.
nlohmann::json Context(const std::string& command, const BenchFlags& flags,
                       const workload::RunSettings& settings, const Devices& devices);

// Returns the options of a run with `benchmarks` benchmarks, `gpu_runs` if any is on a GPU. They
// refer to `session` and `turns`.
RunnerOptions Options(const BenchFlags& flags, int benchmarks, bool cpu_runs, bool gpu_runs,
                      const Devices& devices, live::Session& session,
                      std::optional<TurnClient>& turns);

// The reporters of a run that write the table or JSON to standard output, and the file of
// --benchmark_out in its format.
class RunReporters {
 public:
  // `stopped` says what stopped this process that no waiting ends.
  RunReporters(live::Session& session, const BenchFlags& flags,
               std::function<std::optional<Reason>()> stopped);

  benchmark::BenchmarkReporter* display();
  benchmark::BenchmarkReporter* file();  // null without --benchmark_out
  // Throws BadInput if not all could be written. Writes the page of --dlroof_html. Returns the
  // run's exit code.
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
