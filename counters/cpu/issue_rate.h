// Share of its core that a thread, or each thread of a team, gets. Two hardware threads share one
// core's issue slots; a virtual machine may not tell which of its CPUs do, or who runs on the other
// one.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

namespace dlroof {

// [1/cycle] independent integer additions that the calling thread starts now, over some 50 us:
// all that its core can start (4 on Intel's and AMD's cores of 2013 to 2023, then 5 or 6) when the
// core is its own, and about half where another hardware thread is busy on it. Additions go by the
// clock of a chain of multiplications (core_clock.h), which such a neighbour does not slow; the
// median of five pairs, so that an interrupt or a change of the clock spoils one. Absent on CPUs
// for which this program has no such loops.
std::optional<double> MeasureIssueRate();

// One thread's measurement.
struct IssueLook {
  double begin = 0, end = 0;   // [s] steady clock
  std::optional<double> rate;  // [1/cycle]
};

// Returns the lowest rate of threads that looked beside each other. Absent where they did not: a
// thread that came late, or waited for its CPU, left its core to a sibling of the team.
std::optional<double> TeamIssueRate(const std::vector<IssueLook>& looks);

// One look of a team.
class TeamLook {
 public:
  explicit TeamLook(int threads) : looks_(static_cast<std::size_t>(threads)) {}

  // Each thread calls it once. It waits a moment for the others; numbers beyond the team do
  // nothing.
  void Measure(int thread);
  // After all: as TeamIssueRate.
  std::optional<double> Rate() const { return TeamIssueRate(looks_); }

 private:
  std::vector<IssueLook> looks_;
  std::atomic<std::size_t> arrived_{0};
};

// [1] With less of its core a thread was disturbed.
inline constexpr double kLeastCoreShare = 0.9;

// The best of many looks that was met more than once: the third highest, or the lowest of fewer.
class BestIssueRate {
 public:
  void Add(double rate);  // [1/cycle] > 0
  std::optional<double> Value() const;

 private:
  std::vector<double> highest_;  // up to three, falling
};

// The share of its core that a thread gets, by comparison with the best that was ever seen: no
// number of an architecture is assumed. `best_known` [1/cycle] is that of an earlier measurement.
class CoreShare {
 public:
  explicit CoreShare(std::optional<double> best_known = std::nullopt) : best_known_(best_known) {}

  // [1] in ]0, 1], of `rate` [1/cycle] > 0, which counts among the looks.
  double Of(double rate);
  // The same of the lower rate of two looks; absent without a look.
  std::optional<double> OfLower(std::optional<double> before, std::optional<double> after);

 private:
  std::optional<double> best_known_;
  BestIssueRate seen_;
};

}  // namespace dlroof
