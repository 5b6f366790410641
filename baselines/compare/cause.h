// What changed between a benchmark's two records besides its time, to explain a change of its time;
// and residuals, the ratios of measured to predicted values. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/statistics/judge.h"
#include "reporters/record/record.h"

namespace dlroof::compare {

enum class ChangeKind { kAlgorithm, kFlops, kBytes, kLaunches, kClock, kNoisy, kRun };
std::string_view Key(ChangeKind kind);

struct Change {
  ChangeKind kind = ChangeKind::kAlgorithm;
  std::optional<Level> level;   // for kBytes
  std::optional<double> ratio;  // [1] NEW / BASE of a quantity
  std::string text;             // "dram bytes (measured) grew by 12.0 %, from 1.00 MB to 1.12 MB"
};

// [1] Repeated counts (counters, simulations) agree within this relative difference.
inline constexpr double kCounterTolerance = 0.05;

// Returns the changes, the best explanation first: algorithm, FLOPs per pipe, bytes per level,
// launches, clock, noisy repetitions. FLOPs, bytes and launches are compared by the most trusted
// provenance that both records have. The clocks are compared by a GPU's SMs in clean repetitions if
// both runs have them, otherwise by those at which the ceilings were measured. Machines may be
// null. Modelled FLOPs are compared only if both were counted by the same convention
// (`flops_alike`).
std::vector<Change> FindChanges(const record::Record& base, const machine::Machine* base_machine,
                                const record::Record& contender,
                                const machine::Machine* contender_machine, bool flops_alike = true);

// Returns the changes' texts in one line, or "unexplained: ..." if there are none. A change that
// should have had the opposite effect (slower, but fewer bytes) is listed like the others.
std::string CausesText(const std::vector<Change>& changes);

// Returns measured divided by predicted values [1] of one record: "time" (median of clean
// repetitions), and bytes by memory level ("dram"), measured by counters or else simulated, not
// modelled. Has only keys for which both values are known and above zero.
std::map<std::string, double> ResidualsOf(const record::Record& record);

// One residual that both records have.
struct Residual {
  std::string of;                  // "time", "l1", "l2", "dram"
  double base = 1, contender = 1;  // [1] measured / predicted
  bool moved = false;              // time: verdict faster or slower; bytes: by > kCounterTolerance
  bool worse = false;              // moved away from 1

  // "dram residual (measured over predicted) grew from 1.02 to 1.31"
  std::string Text() const;
};

// Returns the residuals that both records have. `time` is the verdict on the ratio of measured to
// predicted times; if it is not set, the residual of the time is left out.
std::vector<Residual> CompareResiduals(const record::Record& base, const record::Record& contender,
                                       std::optional<statistics::Verdict> time);

// The mean of all benchmarks' residuals of one kind.
struct ResidualMean {
  double base = 0, contender = 0;  // [1] mean of |measured / predicted - 1|
  int benchmarks = 0;              // [1] with this residual in both runs
};

void AddTo(std::map<std::string, ResidualMean>& means, const std::vector<Residual>& residuals);

// Returns "residuals (measured over predicted, mean distance from 1): dram 2.0 % -> 5.1 % (9
// benchmarks)", or "" for no residuals.
std::string Describe(const std::map<std::string, ResidualMean>& means);

}  // namespace dlroof::compare
