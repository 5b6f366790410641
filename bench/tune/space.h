// The settings of a benchmark on a CPU: the search space, teams of threads (how many, on which
// CPUs, how they wait), and how a process gets a setting.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baselines/tuning/tuning.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/process.h"
#include "counters/cpu/cpu.h"

namespace dlroof::tune {

struct SpaceRequest {
  bool precision = false;  // also choices that compute in a narrower type or round differently
  bool batch = false;      // also other batch sizes, compared by the time of an image or sequence
  // Environment variables, with values to try beside the default.
  std::vector<std::pair<std::string, std::vector<std::string>>> environment;
};

// The machine as far as the space depends on it.
struct TunedMachine {
  cpu::Cpu cpu;
  // The selected mode in /sys/kernel/mm/transparent_hugepage/enabled, if it can be read.
  std::optional<std::string> huge_pages;
  bool reserved_pages = false;  // hugetlbfs has pages
  bool taskset = false;         // taskset is in PATH
  std::set<std::string> fixed;  // variables that the user has set, which are not tuned
};
TunedMachine ThisMachine();

// Returns the coordinates of a benchmark, each with at least one choice. Options in the name are
// not changed. Throws BadInput for an invalid name and for a GPU benchmark.
std::vector<tuning::Coordinate> SpaceOf(const workload::BenchmarkName& name,
                                        const TunedMachine& machine, const SpaceRequest& request);
// Returns the coordinate of a variable and the values that the user requested.
tuning::Coordinate RequestedCoordinate(const std::string& variable,
                                       const std::vector<std::string>& values);

// Names of coordinates whose order a breakdown decides.
inline constexpr const char* kThreadsCoordinate = "threads";
inline constexpr const char* kIsaCoordinate = "instruction set";
inline constexpr const char* kPagesCoordinate = "huge pages";
inline constexpr const char* kAllocatorCoordinate = "allocator";

// A benchmark's process under a setting.
struct TunedBenchmark {
  workload::BenchmarkName name;
  Variables environment;            // in addition to this process's environment
  std::optional<std::string> cpus;  // "0,2", if fewer than all (syntax of taskset)
  double scale = 1;                 // [1] factor that makes its time comparable with the default's
};
TunedBenchmark UnderSetting(const workload::BenchmarkName& name, const tuning::Setting& setting);

// Returns the environment variables that apply this setting to another program, as far as possible.
Variables EnvironmentLines(const TunedBenchmark& benchmark);
// Returns the shell command that measures the benchmark.
std::string CommandLineOf(const TunedBenchmark& benchmark, const std::string& program);

// Returns the teams beside the default team, which has a thread on every allowed CPU, or `fixed`
// threads, on cores before second hardware threads. The knobs are "threads", "cpus" (syntax of
// taskset; only with `pin`), and OMP_WAIT_POLICY and GOMP_SPINCOUNT (only with `wait` and for teams
// of several threads).
std::vector<tuning::Choice> TeamChoices(const cpu::Cpu& cpu, std::optional<int> fixed, bool pin,
                                        bool wait);

}  // namespace dlroof::tune
