// Access to hardware counters through perf events: available, or the reason and its cure.
//
// Counting one call with hardware counters: which events go together, how often the call runs, what
// the readings add up to. The kernel is behind a function, so that all of it is tested without one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "counters/counter_manager.h"
#include "counters/perf/pmu_table.h"

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

// One counter over one call, on one thread (core events) or of one unit (memory controllers).
struct PerfReading {
  std::uint64_t begin = 0, end = 0;  // [1] its value before and after
  std::uint64_t enabled = 0;         // [ns] that it was asked to count
  std::uint64_t running = 0;         // [ns] that it did count; less where it had to share
};

// The kernel refused an event or a group.
struct PerfRefused : std::runtime_error {
  PerfRefused(int code, const std::string& sentence) : std::runtime_error(sentence), error(code) {}
  int error = 0;  // errno
};

// Counts the events together while `call` runs: for each event its readings, one per thread or
// unit. Throws PerfRefused, with EINVAL or ENOSPC where they do not fit together.
using PerfBackend = std::function<std::vector<std::vector<PerfReading>>(
    const std::vector<PmuEvent>& events, const std::function<void()>& call)>;

// Returns the count of one reading. A counter that went backwards wrapped around at 48 bits (Intel
// and AMD cores, memory controllers), or at 64.
double Difference(const PerfReading& reading);

// The quantities of the table that this call can have: FLOPs of its own pipes (all vector ones of
// the table, so that a part is not taken for the whole), bytes. Each event's count is the median of
// three calls. Events of one PMU go together, as many as the table's `slots`; where the kernel
// finds that too many, half as many. Events that it refuses are absent, with a sentence in
// `doubts`; so are events that counted for less than half of their time, and those that counted for
// less than all are scaled, with a sentence.
Counted CountWithPerf(const PmuTable& table, const CountRequest& request,
                      const PerfBackend& backend);

// A PerfBackend: perf_event_open(2). Core events are counted in user space on each thread that this
// process has when the call begins (an OpenMP pool is there by then), those of other PMUs on the
// CPUs that their cpumask names, for every program there.
std::vector<std::vector<PerfReading>> CountInKernel(const std::vector<PmuEvent>& events,
                                                    const std::function<void()>& call);

}  // namespace dlroof::perf
