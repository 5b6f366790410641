// The search space of a benchmark: its settings, on a CPU its teams of threads (how many, on which
// CPUs, how they wait), and the process that measures a setting.
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
  bool batch = false;      // also try other batch sizes, compared by the time per image
  // Environment variables to tune, each with the values to try beside the default.
  std::vector<std::pair<std::string, std::vector<std::string>>> environment;
};

// The properties of a machine on which the search space depends.
struct TunedMachine {
  cpu::Cpu cpu;
  // The mode in /sys/kernel/mm/transparent_hugepage/enabled; absent if it cannot be read.
  std::optional<std::string> huge_pages;
  bool reserved_pages = false;  // huge pages are reserved (hugetlbfs)
  bool taskset = false;         // taskset is in PATH
  std::set<std::string> fixed;  // variables set by the user, not tuned
};
TunedMachine ThisMachine();

// Returns the coordinates (parameters to tune) of a benchmark, each with at least one choice.
// Options in the benchmark's name stay as they are. On a GPU these are the options of the name
// (algorithm, layout, padding) and the requested ones. Throws BadInput for an invalid name.
std::vector<settings::Coordinate> SpaceOf(const workload::BenchmarkName& name,
                                          const TunedMachine& machine, const SpaceRequest& request);

inline constexpr const char* kThreadsCoordinate = "threads";
// A knob whose value is an option that the benchmark's name loses.
inline constexpr const char* kWithoutKnob = "without";

// How to run a benchmark under a setting.
struct TunedBenchmark {
  workload::BenchmarkName name;
  Variables environment;            // in addition to this process's environment
  std::optional<std::string> cpus;  // CPUs for taskset ("0,2"), if not all
  double scale = 1;  // [1] factor for its time, if its batch size is not the default's
};
TunedBenchmark UnderSetting(const workload::BenchmarkName& name, const settings::Setting& setting);

// Throws BadInput, which begins with `path`, if the setting of a file sets a variable of the
// environment that is no knob of the tuner and that the user did not request with this value: of
// LD_PRELOAD, the process would run what the file says.
void CheckVariables(const settings::Setting& setting, const SpaceRequest& request,
                    const std::string& path);

// Returns the environment variables that apply this setting, as far as possible, to any program.
Variables EnvironmentLines(const TunedBenchmark& benchmark);
// Returns the shell command that measures the benchmark, quoted.
std::string CommandLineOf(const TunedBenchmark& benchmark, const std::string& program);

// Returns the teams of threads to try beside the default team. The default team has a thread on
// every allowed CPU, or `fixed` threads, which occupy all cores before second hardware threads. The
// knobs are "threads", "cpus" (for taskset; only with `pin`), and OMP_WAIT_POLICY and
// GOMP_SPINCOUNT (only with `wait` and for teams of several threads).
std::vector<settings::Choice> TeamChoices(const cpu::Cpu& cpu, std::optional<int> fixed, bool pin,
                                          bool wait);

}  // namespace dlroof::tune
