// Measures again what a comparison could not decide: in fresh processes, interleaved with the
// stored program where there is one, within a time budget.
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
  std::string base, contender;         // programs
  std::vector<std::string> arguments;  // of both
  std::vector<std::string> names;      // benchmarks to measure
  double budget_seconds = 0;           // [s] after this time no block begins
  double min_effect = 0.02;            // [1] of the stopping rule
};

// Two runs that were measured interleaved, and their comparison, which points into them.
struct Interleaved {
  compare::NamedRun base, contender;
  compare::CompareResult result;
};

// Measures two programs interleaved (supervise.h). Returns nothing if nothing was measured: the
// budget was too small, after an interrupt, or if a program lacks these benchmarks, of which `log`
// then says the reason. The object is new, since the comparison points into it.
std::unique_ptr<Interleaved> Interleave(const InterleavedRequest& request, std::ostream& log);

struct Settings {
  std::string program;                        // of the new run
  std::vector<std::string> arguments;         // of both programs
  std::optional<std::string> stored_program;  // of a stored run
  double budget_seconds = 600;                // [s] after this time nothing more is measured
};

// Compares a new run; compare::Compare or compare::CompareWithStored with its stored runs.
using CompareRun = std::function<compare::CompareResult(const compare::NamedRun& contender,
                                                        const compare::CompareOptions& options)>;

struct Settled {
  compare::CompareResult result;
  std::set<std::string> again;        // benchmarks that were measured again
  std::set<std::string> interleaved;  // those with a verdict from the interleaved measurement
  std::vector<std::string> unclear;   // a slowdown is still not excluded
  // Runs into which the result points.
  std::deque<compare::NamedRun> runs;
  std::vector<std::unique_ptr<Interleaved>> pairs;
};

// Compares `contender`, then measures again, most suspicious first, what history::UnclearNames
// returns, until nothing is unclear, the budget is spent or the user interrupts. With a stored
// program, the verdicts of the interleaved measurement replace the first ones. Without, NEW is
// measured in up to three more processes: a slower benchmark must be slower in the last one too,
// and the repetitions of all are judged together. `contender` must outlive the result.
Settled Settle(const compare::NamedRun& contender, const CompareRun& compare,
               const compare::CompareOptions& options, const Settings& settings, std::ostream& log);

}  // namespace dlroof::supervise
