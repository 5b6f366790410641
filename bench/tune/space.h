// The search space of a benchmark: options, environment variables and, on a CPU, teams of threads
// (number, CPUs, how they wait); and the process that measures a setting.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baselines/settings/tuning.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/process.h"
#include "counters/cpu/cpu.h"

namespace dlroof::tune {

struct SpaceRequest {
  bool precision = false;  // also try narrower types and other rounding
  bool batch = false;      // also try other batch sizes, compared by time per image
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
  std::set<std::string> fixed;  // variables set by the user: not tuned
};
TunedMachine ThisMachine();

// Returns the coordinates (parameters to tune) of a benchmark, each with at least one choice.
// Options in the benchmark's name are kept. On a GPU: options of the name (algorithm, layout,
// padding) and the requested coordinates. Throws BadInput for an invalid name.
std::vector<settings::Coordinate> SpaceOf(const workload::BenchmarkName& name,
                                          const TunedMachine& machine, const SpaceRequest& request);

inline constexpr const char* kThreadsCoordinate = "threads";
// Knob whose value is an option to remove from the benchmark's name.
inline constexpr const char* kWithoutKnob = "without";

// How to run a benchmark under a setting.
struct TunedBenchmark {
  workload::BenchmarkName name;
  Variables environment;            // added to this process's environment
  std::optional<std::string> cpus;  // CPU list for taskset ("0,2"); absent: all
  double scale = 1;  // [1] factor for the time if the batch size differs from the default's
};
TunedBenchmark UnderSetting(const workload::BenchmarkName& name, const settings::Setting& setting);

// Throws BadInput, beginning with `path`, if a setting from a file sets an environment variable
// that is neither a knob of the tuner nor requested by the user with this value. Otherwise a file
// could set LD_PRELOAD and execute code.
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

}  // namespace dlroof::tune
