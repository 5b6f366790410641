// The command `dlroof tune`. The search space of a benchmark has options, environment variables
// and, on a CPU, teams of threads (number, CPUs, how they wait). A process measures a setting.
#pragma once

#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baselines/settings/tuning.h"
#include "bench/workload/workload.h"
#include "counters/base/process.h"
#include "counters/cpu/cpu.h"
#include "reporters/document/document.h"

namespace dlroof::tune {

struct SpaceRequest {
  bool precision = false;  // also tries narrower types and other rounding
  // Environment variables to tune, with the values to try besides the default.
  std::vector<std::pair<std::string, std::vector<std::string>>> environment;
};

// Properties of the machine that affect the search space.
struct TunedMachine {
  cpu::Cpu cpu;
  // Mode in /sys/kernel/mm/transparent_hugepage/enabled; absent if unreadable.
  std::optional<std::string> huge_pages;
  bool reserved_pages = false;  // huge pages are reserved (hugetlbfs)
  bool taskset = false;         // the program taskset is in PATH
  std::set<std::string> fixed;  // variables that the user has set: not tuned
};
TunedMachine ThisMachine();

// Returns the coordinates (groups of knobs to tune) of a benchmark, each with at least one choice.
// Options in the benchmark's name stay. A GPU's benchmark has only options of its name (algorithm,
// layout, padding) and the coordinates of `request`. Throws BadInput for an invalid name.
std::vector<settings::Coordinate> SpaceOf(const workload::BenchmarkName& name,
                                          const TunedMachine& machine, const SpaceRequest& request);

inline constexpr const char* kThreadsCoordinate = "threads";

// How to run a benchmark under a setting.
struct TunedBenchmark {
  workload::BenchmarkName name;
  Variables environment;            // added to this process's environment
  std::optional<std::string> cpus;  // CPU list for taskset ("0,2"); absent: all
};
// Throws BadInput if the benchmark cannot have the setting.
TunedBenchmark UnderSetting(const workload::BenchmarkName& name, const settings::Setting& setting);

// Throws BadInput, beginning with `path`, if a file's setting has an environment variable that is
// no knob of the tuner and not requested with this value: LD_PRELOAD could execute a file's code.
void CheckVariables(const settings::Setting& setting, const SpaceRequest& request,
                    const std::string& path);

// Returns environment variables that apply this setting, as far as possible, to any program.
Variables EnvironmentLines(const TunedBenchmark& benchmark);
// Returns the quoted shell command that measures the benchmark.
std::string CommandLineOf(const TunedBenchmark& benchmark, const std::string& program);

// Returns the teams of threads to try besides the default team. The default has a thread on every
// allowed CPU, or `fixed` threads that occupy all cores before second hardware threads. Knobs:
// "threads", "cpus" (for taskset; only with `pin`), and OMP_WAIT_POLICY and GOMP_SPINCOUNT (only
// with `wait` and several threads).
std::vector<settings::Choice> TeamChoices(const cpu::Cpu& cpu, std::optional<int> fixed, bool pin,
                                          bool wait);

struct BenchTrialRequest {
  std::string program;           // path of dlroof_bench
  workload::BenchmarkName name;  // with the default setting
  double timeout_seconds = 60;   // [s] for each response of a process
};

// Returns a function that measures a block: on a CPU with a new process per setting, interleaved,
// on a GPU by MeasureOnGpu. The result of a failed process has the reason.
settings::MeasureBlock BenchTrials(const BenchTrialRequest& request);

// [s] Time of starting a process, and of measuring a setting in it, on an H100.
inline constexpr double kGpuProcessSeconds = 1.9, kGpuSettingSeconds = 0.34;

// A block of a GPU benchmark. MeasureOnGpu sets `results` and `seconds` of the block.
struct GpuBlock {
  workload::BenchmarkName name;  // with the default setting
  settings::TrialBlock* block;
};
// Measures the settings of all blocks with `program`, dlroof_bench, those with the same environment
// variables in one process with their repetitions in random order. A process may take
// `timeout_seconds` [s] plus 3 x kGpuSettingSeconds per setting. Returns false after an interrupt.
bool MeasureOnGpu(const std::string& program, double timeout_seconds,
                  const std::vector<GpuBlock>& blocks);

// Benchmarks [begin, end) that are tuned together: one on the CPU, or several on the GPU, where a
// process measures a block of each of them.
struct TunedGroup {
  std::size_t begin, end;
  // [s] expected on a GPU, if all benchmarks of the group have a gain to confirm; 0 on a CPU
  double seconds = 0;
};
// Returns the groups of GPU benchmarks, the first of which has the index `first`. `settings`:
// number of settings in the first block of each benchmark.
std::vector<TunedGroup> GroupsOnGpu(std::size_t first, const std::vector<std::size_t>& settings);

struct TuneRequest {
  std::vector<std::string> names;    // names of benchmarks
  std::optional<std::string> bench;  // path of dlroof_bench (supervise::BenchProgram)
  std::string output = "tune.json";
  bool resume = false;
  bool compare_with_itself = false;  // A/A test: tries settings that change nothing
  double budget_seconds = 120;       // [s] per benchmark; with `resume`, a larger budget continues
  double timeout_seconds = 60;       // [s] for each response of a process
  double min_effect = 0.02;          // [1] smaller relative gains are ignored
  std::uint64_t seed = 1;
  SpaceRequest space;
};

// Tunes benchmarks one by one, then those of a GPU in the groups of GroupsOnGpu, and writes
// `output` after each block. Returns the exit code: 0; 1 if a benchmark fails with its default
// settings; InterruptCode() after an interrupt. Throws BadInput for invalid names, if `output` has
// an unfinished tuning and `resume` is false, and if `resume` finds the tuning of another request.
int TuneBenchmarks(const TuneRequest& request, std::ostream& log, std::ostream& out);

// Measures each tuning's best setting against the default again, if the tuning has a total effect,
// and adds the new effect to the file. Returns the exit code: 0; 3 if a gain is not confirmed;
// InterruptCode() after an interrupt.
int VerifyTunings(const std::string& path, const TuneRequest& request, std::ostream& log,
                  std::ostream& out);

// Returns the report of a tuning: the steps from default to best setting with their speedups, other
// choices tried, and settings to copy. `program`: dlroof_bench's path in the shown command line.
document::List ReportOf(const settings::Tuning& tuning, const std::string& program);

void ShowTunings(const std::string& path, std::ostream& out);

}  // namespace dlroof::tune
