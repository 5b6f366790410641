// Drivers of benchdnn, each of which times one op. An op's folder has its driver's options,
// problems and names, and hands them over in its Op row.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchdnn/options.h"
#include "bench/workload/benchmark_name.h"
#include "counters/work.h"

namespace dlroof::benchdnn {

struct BenchdnnName {
  std::string name;    // of our benchmark; empty: there is none
  std::string reason;  // why not: "3-D convolution"
};

struct BenchdnnProblem {
  std::string listed;  // as benchdnn lists it, without its name
  // Returns the benchmark that times the problem with these options.
  std::function<BenchdnnName(const BenchdnnChoice&)> name;
};

// A call of which benchdnn tells the FLOPs alone.
struct BenchdnnWork {
  std::map<Level, double> bytes;  // [byte] compulsory; empty: not known
  std::string type;               // that decides the pipe of its matrix part
};

struct BenchdnnDriver {
  std::string_view name;  // "conv"
  // In the order in which the driver nests its loops over them, the last innermost.
  std::span<const BenchdnnOption> options;
  bool has_match = false;  // --match leaves problems out
  // Returns true for a text that begins as a problem of this driver alone.
  bool (*begins_problem)(std::string_view text);
  // Throws BenchdnnRefusal.
  BenchdnnProblem (*read)(const std::string& text);
  // `name`: of a benchmark that BenchdnnProblem::name gave, or another driver of the same op.
  BenchdnnWork (*work)(const workload::BenchmarkName& name);
};

// Returns the drivers of all ops, in the order of the ops' names.
std::vector<const BenchdnnDriver*> BenchdnnDrivers();
// Returns null where there is none of this name.
const BenchdnnDriver* FindBenchdnnDriver(std::string_view name);
// Returns the driver whose problem a text begins like, else null.
const BenchdnnDriver* DriverOfProblem(std::string_view text);

}  // namespace dlroof::benchdnn
