// The settings of a benchmark on a CPU: which there are, and how a process gets them.
//
// Teams of threads: how many, on which CPUs, and how they wait. Pure.
#pragma once

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
  bool precision = false;  // choices that compute in a narrower type, or round otherwise
  bool batch = false;      // other batch sizes, by the time of an image or sequence
  // Variables with values to try beside the default.
  std::vector<std::pair<std::string, std::vector<std::string>>> environment;
};

// The machine as far as the space depends on it.
struct TunedMachine {
  cpu::Cpu cpu;
  // The value in brackets of /sys/kernel/mm/transparent_hugepage/enabled; empty: not known.
  std::string huge_pages;
  bool reserved_pages = false;  // of hugetlbfs
  bool taskset = false;         // the program is in PATH
  std::set<std::string> fixed;  // variables of this process that are set already: no knobs
};
TunedMachine ThisMachine();

// Returns the coordinates of a benchmark, none of them empty. An option that the name has stays as
// it is. Throws BadInput for a name that is none, and for one of a GPU.
std::vector<tuning::Coordinate> SpaceOf(const workload::BenchmarkName& name,
                                        const TunedMachine& machine, const SpaceRequest& request);
// Returns the values that a user asks for of a variable.
tuning::Coordinate AskedFor(const std::string& variable, const std::vector<std::string>& values);

// Names of coordinates that a breakdown speaks of.
inline constexpr const char* kThreadsCoordinate = "threads";
inline constexpr const char* kIsaCoordinate = "instruction set";
inline constexpr const char* kPagesCoordinate = "huge pages";
inline constexpr const char* kAllocatorCoordinate = "allocator";

// A benchmark's process under a setting.
struct TunedBenchmark {
  workload::BenchmarkName name;
  Variables environment;  // beside its own
  std::string cpus;       // as taskset takes them: "0,2"; empty: all
  double scale = 1;       // [1] its time, times this, is comparable with the default's
};
TunedBenchmark UnderSetting(const workload::BenchmarkName& name, const tuning::Setting& setting);

// Returns the variables that give another program this setting, as far as variables can.
Variables EnvironmentLines(const TunedBenchmark& benchmark);
// Returns the shell command that measures it.
std::string CommandLineOf(const TunedBenchmark& benchmark, const std::string& program);

// Returns the teams besides the default one, which has a thread on every allowed CPU, or `fixed`
// threads, on cores before second hardware threads. Knobs: "threads", "cpus" (as
// taskset takes them; only where `pin`), and OMP_WAIT_POLICY and GOMP_SPINCOUNT (only where
// `wait`). A single thread waits for none.
std::vector<tuning::Choice> TeamChoices(const cpu::Cpu& cpu, std::optional<int> fixed, bool pin,
                                        bool wait);

}  // namespace dlroof::tune
