// Access to hardware counters through perf events: available, or the reason and its cure.
#pragma once

#include <optional>
#include <string>

namespace dlroof::perf {

// The system's answer.
struct PerfAnswer {
  int error = 0;                // errno of opening a cycle counter; 0: it opened
  bool has_pmu = false;         // the kernel knows a CPU performance monitoring unit
  std::optional<int> paranoid;  // kernel.perf_event_paranoid
};

PerfAnswer AskPerf();

// One sentence: available, or the exact cause and its cure. Pure.
std::string PerfSentence(const PerfAnswer& answer);

// Why the kernel refused one event or group of them, from errno: one clause. Pure.
std::string PerfOpenSentence(int error);

}  // namespace dlroof::perf
