// The state of the cores that a team of threads runs on: each thread's share of its core's issue
// slots, and how far the cores are from each other. On a virtual machine both change while the
// program runs: a neighbour takes the other hardware thread, or the host moves a CPU to another
// socket, and no clock of the program tells.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

namespace dlroof::cpu {

// One look at a team's cores.
struct TeamState {
  std::optional<double> issue_rate;  // [1/cycle] of the worst thread (issue_rate.h)
  // [s] that a cache line takes from the first thread to another and back, the farthest thread's
  std::optional<double> round_trip;

  bool operator==(const TeamState&) const = default;
};

// One thread's measurement.
struct IssueLook {
  double begin = 0, end = 0;   // [s] steady clock
  std::optional<double> rate;  // [1/cycle]
};

// Returns the lowest rate of threads that looked beside each other. Absent where they did not: a
// thread that came late, or waited for its CPU, left its core to a sibling of the team.
std::optional<double> TeamIssueRate(const std::vector<IssueLook>& looks);

class TeamLook {
 public:
  explicit TeamLook(int threads) : looks_(static_cast<std::size_t>(threads)) {}

  // Each thread calls it once. It waits a moment for the others; numbers beyond the team do
  // nothing.
  void Measure(int thread);
  // After all.
  TeamState State() const { return {TeamIssueRate(looks_), farthest_}; }

 private:
  bool WaitsFor(const std::atomic<long>& line, long value) const;
  void Send();
  void Answer(std::size_t thread);

  std::vector<IssueLook> looks_;
  std::optional<double> farthest_;  // of the first thread alone
  std::atomic<std::size_t> arrived_{0};
  alignas(64) std::atomic<long> sent_{0};
  alignas(64) std::atomic<long> answered_{0};
};

// [1] With less of its core a thread was noisy.
inline constexpr double kLeastCoreShare = 0.9;
// [1] With less than this of the nearest round trip over its own a team was noisy. Cores of one
// group differ by a factor of two (50 to 115 ns), other groups and sockets are at 400 ns and more.
inline constexpr double kLeastLinkShare = 0.3;

// The better of two states: with more of the cores, or then with nearer threads.
TeamState Better(const TeamState& one, const TeamState& other);

// Each in ]0, 1].
struct TeamShares {
  std::optional<double> core;  // [1] of its core's issue slots that the worst thread got
  std::optional<double> link;  // [1] the nearest known round trip over this one

  bool operator==(const TeamShares&) const = default;
};

// Judges a team by the best that it was ever seen to have: no number of an architecture is
// assumed. `best_known` is that of an earlier measurement.
class SharesOfBest {
 public:
  explicit SharesOfBest(const TeamState& best_known = {}) : best_known_(best_known) {}

  // The lower shares of two looks, which count among those that were seen.
  TeamShares OfLower(const TeamState& before, const TeamState& after);
  // The best that was met more than once: the third best, or the worst of fewer. A round trip
  // counts where the cores are whole: siblings of one core are near, and share it.
  TeamState Best() const;

 private:
  TeamState best_known_;
  std::vector<TeamState> looks_;
};

}  // namespace dlroof::cpu
