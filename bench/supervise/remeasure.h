// Measures benchmarks again that a comparison could not decide: in new processes, interleaved with
// the stored program if there is one, within a time budget.
#pragma once

#include <deque>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::supervise {

struct InterleavedRequest {
  std::string base, contender;         // paths of the two programs
  std::vector<std::string> arguments;  // for both programs
  std::vector<std::string> names;      // benchmarks to measure
  double budget_seconds = 0;           // [s] after this time no block begins
  double min_effect = 0.02;            // [1] of the stopping rule
};

// Two runs that were measured interleaved, and their comparison, which refers to both.
struct Interleaved {
  compare::NamedRun base, contender;
  compare::CompareResult result;
};

// Measures two programs interleaved (supervise.h). Returns null if nothing was measured: the budget
// was too small, the user interrupted, or a program lacks these benchmarks (with a message in
// `log`).
std::unique_ptr<Interleaved> Interleave(const InterleavedRequest& request, std::ostream& log);

struct Settings {
  std::string program;                        // program that measured the new run
  std::vector<std::string> arguments;         // for both programs
  std::optional<std::string> stored_program;  // program of a stored run
  double budget_seconds = 600;                // [s] after this time nothing more is measured
};

// Compares a new run with stored runs: calls compare::Compare or compare::CompareWithStored.
using CompareRun = std::function<compare::CompareResult(const compare::NamedRun& contender,
                                                        const compare::CompareOptions& options)>;

struct Settled {
  compare::CompareResult result;
  std::set<std::string> again;        // benchmarks that were measured again
  std::set<std::string> interleaved;  // benchmarks with a verdict of the interleaved measurement
  std::vector<std::string> unclear;   // benchmarks for which a slowdown is still not excluded
  // Runs to which the result refers.
  std::deque<compare::NamedRun> runs;
  std::vector<std::unique_ptr<Interleaved>> pairs;
};

// Compares `contender`, then measures the benchmarks of history::UnclearNames again, the most
// suspicious first, until none is unclear, the budget is spent or the user interrupts. With a
// stored program, verdicts of interleaved measurements replace the first verdicts. Without it,
// measures NEW up to three more times: the repetitions of all runs are judged together, and a
// slowdown must be confirmed by the last run. `contender` must outlive the result.
Settled Settle(const compare::NamedRun& contender, const CompareRun& compare,
               const compare::CompareOptions& options, const Settings& settings, std::ostream& log);

}  // namespace dlroof::supervise
