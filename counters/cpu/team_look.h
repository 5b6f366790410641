// Measures the cores that a team of threads runs on: each thread's share of its core's issue slots,
// and the distance between the cores. In a virtual machine both can change during a run, when
// another guest uses the sibling hardware thread or the host moves a virtual CPU to another socket,
// which no clock shows.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

namespace dlroof::cpu {

// One measurement of a team's cores.
struct TeamState {
  std::optional<double> issue_rate;  // [1/cycle] of the slowest thread (MeasureIssueRate)
  // [s] of a cache line from the first thread to the farthest thread and back
  std::optional<double> round_trip;

  bool operator==(const TeamState&) const = default;
};

// One thread's measurement.
struct IssueLook {
  double begin = 0, end = 0;   // [s] steady clock
  std::optional<double> rate;  // [1/cycle]
};

// Returns the lowest rate if all threads measured at the same time. Returns nullopt if they did
// not: a thread that was late or waited for a CPU left its core to a sibling in the team.
std::optional<double> TeamIssueRate(const std::vector<IssueLook>& looks);

class TeamLook {
 public:
  explicit TeamLook(int threads) : looks_(static_cast<std::size_t>(threads)) {}

  // Each thread calls this once. Waits up to 1 ms for the others. Ignores numbers beyond the team.
  void Measure(int thread);
  // Call this after all threads have measured.
  TeamState State() const { return {TeamIssueRate(looks_), farthest_}; }

 private:
  bool WaitsFor(const std::atomic<long>& line, long value) const;
  void Send();
  void Answer(std::size_t thread);

  std::vector<IssueLook> looks_;
  std::optional<double> farthest_;  // written by the first thread
  std::atomic<std::size_t> arrived_{0};
  alignas(64) std::atomic<long> sent_{0};
  alignas(64) std::atomic<long> answered_{0};
};

// [1] A measurement is noisy if a thread got less than this share of its core.
inline constexpr double kLeastCoreShare = 0.9;
// [1] A measurement is noisy if the best known round trip over its own is less than this. Round
// trips within a group of cores differ by a factor of two (50 to 115 ns); those between groups or
// sockets take 400 ns and more.
inline constexpr double kLeastLinkShare = 0.3;

// Returns the state with the higher issue rate or, if the rates are about equal, a state with the
// shorter round trip.
TeamState Better(const TeamState& one, const TeamState& other);

// Each in ]0, 1].
struct TeamShares {
  std::optional<double> core;  // [1] share of its core's issue slots that the slowest thread got
  std::optional<double> link;  // [1] the shortest known round trip over this one

  bool operator==(const TeamShares&) const = default;
};

// Compares the states of a team with the best state so far, without assumptions about the
// architecture. `best_known` is the best state of an earlier run.
class SharesOfBest {
 public:
  explicit SharesOfBest(const TeamState& best_known = {}) : best_known_(best_known) {}

  // Records two states and returns the lower shares of the two.
  TeamShares OfLower(const TeamState& before, const TeamState& after);
  // Returns the third best state, or the worst of fewer, so that one outlier does not count. Round
  // trips count only at the full issue rate: siblings of one core are near, but share it.
  TeamState Best() const;

 private:
  TeamState best_known_;
  std::vector<TeamState> looks_;
};

}  // namespace dlroof::cpu
