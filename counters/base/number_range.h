// The numbers that can be: one table of ranges by key, for every reader of files.
#pragma once

#include <string>
#include <string_view>

namespace dlroof {

// Zero, and magnitudes between 1/kLargestNumber and kLargestNumber: no product or quotient of two
// such numbers overflows. Larger or smaller numbers are no quantity of any machine.
inline constexpr double kLargestNumber = 1e18;

struct NumberRange {
  std::string_view key;  // of the member; "_x": of every member whose key ends so
  double least, most;
  const char* what;  // "seconds of a call"

  bool Contains(double number) const;
  std::string Expected() const;  // "seconds of a call from 1e-10 to 100000"
};

// The first row that matches decides.
inline constexpr NumberRange kNumberRanges[] = {
    {"seconds", 1e-10, 1e5, "seconds of a call"},
    {"median", 1e-10, 1e5, "seconds of a call"},
    {"call_seconds", 1e-10, 1e5, "seconds of a call"},
    {"graph_seconds", 1e-10, 1e5, "seconds of a call"},
    {"queued_seconds", 1e-10, 1e5, "seconds of a call"},
    {"throughput_seconds", 1e-10, 1e5, "seconds of a call"},
    {"launch_seconds", 1e-10, 1e5, "seconds of a launch"},
    {"window_seconds", 1e-10, 1e5, "seconds"},
    {"alone_seconds", 1e-10, 1e5, "seconds of a call"},
    {"_seconds", 0, 1e9, "seconds"},
    {"round_trip", 1e-10, 1, "seconds of a round trip"},
    {"per_second", 1, kLargestNumber, "a rate per second"},
    {"_per_second", 1, kLargestNumber, "a rate per second"},
    {"_hz", 1e6, 1e11, "a clock in Hz"},
    {"core_share", 0, 10, "a share"},
    {"link_share", 0, 10, "a share"},
    {"_share", 0, 1, "a share"},
    {"bytes", 0, kLargestNumber, "bytes"},
    {"_bytes", 0, kLargestNumber, "bytes"},
    {"flops", 0, kLargestNumber, "FLOPs"},
    {"parts", 0, kLargestNumber, "FLOPs"},
    {"instructions", 0, kLargestNumber, "instructions"},
    {"_instructions", 0, kLargestNumber, "instructions"},
    {"all", 1, kLargestNumber, "instructions"},
    {"smallest", 0, kLargestNumber, "instructions"},
    {"iterations", 0, kLargestNumber, "a count"},
    {"calls", 1, kLargestNumber, "a count"},
    {"_calls", 0, kLargestNumber, "a count"},
    {"periods", 0, kLargestNumber, "a count"},
    {"throttled", 0, kLargestNumber, "a count"},
    {"regions", 0, kLargestNumber, "a count"},
    {"passes", 0, 1e9, "a count"},
    {"launches", 0, 1e9, "a count"},
    {"repetitions", 0, 1e9, "a count"},
    {"visits", 0, 1e9, "a count"},
    {"noisy", 0, 1e9, "a count"},
    {"clean", 0, 1e9, "a count"},
    {"registers", 0, 1e9, "a count"},
    {"cluster", 1, 1e9, "a count"},
    {"blocks", 0, 2e9, "a count"},
    {"block", 0, 1e6, "a number of a block"},
    {"threads", 1, 1e6, "a thread count"},
    {"num_cpus", 1, 1e6, "a count"},
    {"waves", 1e-9, 1e9, "waves"},
    {"seed", 0, 4294967295, "a seed"},
    {"rank", 0, 1e9, "an index"},
    {"kind", 0, 1e9, "an index"},
    {"node", 0, 1e9, "an index"},
    {"_index", 0, 1e9, "an index"},
    {"_cpus", 0, 1e6, "a number of CPUs"},
    {"_watts", 0, 1e9, "watts"},
    {"temperature_celsius", 1, 200, "degrees Celsius"},
    {"throttle", 0, 1e16, "a bit mask"},
    {"joules", 1e-12, 1e12, "joules"},
    {"domains", 1e-12, 1e12, "joules"},
    {"beside", 1e-12, 1e12, "joules"},
    {"doubling", 1e-6, 1e6, "a ratio"},
    {"spread", 0, 1e3, "a share"},
    {"drift", 0, 1, "a share"},
    {"scaling", 1e-9, 1e3, "a ratio"},  // threads that other programs keep from running
    {"per_cycle", 1e-6, 1e6, "a number per cycle"},
    {"per_cycle_expected", 1e-6, 1e6, "a number per cycle"},
    {"moved_per_named", 1e-3, 1e3, "a ratio"},
    {"issue_rate", 1e-3, 1e3, "instructions per cycle"},
    {"ratio", 1e-6, 1e6, "a ratio"},
    {"wall_over_clean", 1e-6, 1e6, "a ratio"},
    {"ratio_of_search", 1e-6, 1e6, "a ratio"},
    {"heuristic_over_best", 1e-6, 1e6, "a ratio"},
    {"executed_over_useful", 1e-6, 1e6, "a ratio"},
    {"deviation", 0, 1e6, "a share"}};
inline constexpr NumberRange kAnyNumber = {"", -kLargestNumber, kLargestNumber, ""};

// Returns the range of a member with this key. Of a key in parts ("modelled/bytes/dram") the last
// part that has a range decides. Keys without one have any number up to kLargestNumber.
constexpr const NumberRange& RangeOf(std::string_view key) {
  while (!key.empty()) {
    const auto slash = key.rfind('/');
    const auto part = key.substr(slash == std::string_view::npos ? 0 : slash + 1);
    for (const auto& range : kNumberRanges)
      if (part == range.key || (range.key.front() == '_' && part.ends_with(range.key)))
        return range;
    key = key.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return kAnyNumber;
}

}  // namespace dlroof
