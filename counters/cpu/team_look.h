// Measures the cores that a team of threads runs on: the share of its core's issue slots that each
// thread gets, and the communication latency between the cores. In a virtual machine both can
// change during a run: another guest may use the sibling hardware thread, or the host may move a
// virtual CPU to another socket. No clock shows such a change.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

namespace dlroof::cpu {

// One measurement of a team's cores.
struct TeamState {
  std::optional<double> issue_rate;  // [1/cycle] MeasureIssueRate of the slowest thread
  // [s] Round trip of a cache line between the first thread and the thread farthest from it.
  std::optional<double> round_trip;

  bool operator==(const TeamState&) const = default;
};

// One thread's measurement of its issue rate.
struct IssueLook {
  double begin = 0, end = 0;   // [s] of the measurement, steady clock
  std::optional<double> rate;  // [1/cycle]
};

// Returns the lowest issue rate of the team's threads. Returns nullopt if the measurements did not
// overlap: while one thread waits, its sibling on the same core measures too high a rate.
std::optional<double> TeamIssueRate(const std::vector<IssueLook>& looks);

class TeamLook {
 public:
  explicit TeamLook(int threads) : looks_(static_cast<std::size_t>(threads)) {}

  // Each thread of the team calls Measure once. The call waits up to 1 ms for the other threads.
  // Ignores thread numbers beyond the team.
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

// [1] A measurement is noisy if a thread got less than this share of its core's issue slots.
inline constexpr double kMinCoreShare = 0.9;
// [1] A measurement is noisy if shortest known round trip / its own round trip is less than this.
// Round trips within a group of cores differ by a factor of two (50 to 115 ns); round trips between
// groups or sockets take 400 ns and more.
inline constexpr double kMinLinkShare = 0.3;

// Returns the state with the higher issue rate or, if the rates differ by less than a tenth, the
// higher rate with the shorter round trip.
TeamState Better(const TeamState& first, const TeamState& other);

// A team's state relative to the best known state; each value is in ]0, 1].
struct TeamShares {
  std::optional<double> core;  // [1] issue rate divided by the best issue rate
  std::optional<double> link;  // [1] shortest known round trip divided by this round trip

  bool operator==(const TeamShares&) const = default;
};

// Compares the states of a team with the best state so far; assumes nothing about the CPU's
// architecture. `best_known` is the best state of an earlier run.
class SharesOfBest {
 public:
  explicit SharesOfBest(const TeamState& best_known = {}) : best_known_(best_known) {}

  // Records the states before and after a measurement and returns the lower of their shares.
  TeamShares OfLower(const TeamState& before, const TeamState& after);
  // Returns the better of `best_known` (ignored if no measured rate reached kMinCoreShare of it)
  // and the third best measured rate and round trip (the worst of fewer than three), so that
  // outliers do not count. Uses only round trips that were measured at the full issue rate, because
  // sibling threads on one core have a short round trip.
  TeamState Best() const;

 private:
  TeamState best_known_;
  std::vector<TeamState> looks_;
};

}  // namespace dlroof::cpu
