// The parallel regions of a call, as a source that stands between a library and its threading
// runtime sees them.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace dlroof {

// Sums over the regions that began on one thread. The threads' times are those inside of the
// region's function, less what they waited at barriers in it.
struct RegionSums {
  double regions = 0;          // [1]
  double seconds = 0;          // [s] from each fork to its join
  double longest_seconds = 0;  // [s] of each region's slowest thread, its waits included
  double busy_seconds = 0;     // [s] of all threads

  bool operator==(const RegionSums&) const = default;
};

// One call, mean over the passes that saw it.
struct ParallelTime {
  double seconds = 0;  // [s] wall time of the call in these passes
  RegionSums regions;
  int threads = 1;   // [1] of the widest region; 1 where there was none
  double calls = 0;  // [1] that the passes made
  // [s] that all threads together waited for a CPU; absent: not known
  std::optional<double> run_delay_seconds;
  // [s] of one thread for all the elements to which the call applies functions (sigmoid, tanh),
  // by the library's own primitives; absent: there are none, or nobody knows
  std::optional<double> function_seconds;
  std::string source;  // "libgomp's entry points"

  bool operator==(const ParallelTime&) const = default;
};

struct RegionSource {
  std::string name;
  std::function<void()> begin;                      // forgets what was seen, and watches
  std::function<RegionSums(int& widest_team)> end;  // watches no more
};
// Called at namespace scope by a source. Returns true.
bool RegisterRegionSource(RegionSource source);
// Null where this build has no source.
const RegionSource* TheRegionSource();

}  // namespace dlroof
