// Hardware counters through perf events: whether they are available, and counting one call, with
// its events in groups that fit the PMU. Tests replace the kernel by a fake PerfBackend.
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

// The system's support for hardware counters.
struct PerfAnswer {
  int error = 0;                // errno of opening a cycle counter, or 0 on success
  bool has_pmu = false;         // the kernel has a CPU performance monitoring unit
  std::optional<int> paranoid;  // kernel.perf_event_paranoid
};

PerfAnswer AskPerf();

// Returns one sentence: that counters are available, or the cause and its cure. Pure.
std::string PerfSentence(const PerfAnswer& answer);

// Returns why the kernel refused an event or a group of events with this errno, as one clause.
// Pure.
std::string PerfOpenSentence(int error);

// One counter over one call, of one thread (core events) or of one unit (memory controllers).
struct PerfReading {
  std::uint64_t begin = 0, end = 0;  // [1] its value before and after
  std::uint64_t enabled = 0;         // [ns] that the event was enabled
  std::uint64_t running = 0;         // [ns] that the event was on a counter (less if multiplexed)
};

// The kernel refused an event or a group.
struct PerfRefused : std::runtime_error {
  PerfRefused(int code, const std::string& sentence) : std::runtime_error(sentence), error(code) {}
  int error = 0;  // errno
};

// Counts the events as one group while `call` runs. Returns the readings of each event, one per
// thread or unit. Throws PerfRefused, with EINVAL or ENOSPC if the group does not fit the PMU.
using PerfBackend = std::function<std::vector<std::vector<PerfReading>>(
    const std::vector<PmuEvent>& events, const std::function<void()>& call)>;

// Returns the count of one reading. A counter that went backwards wrapped around at 48 bits (Intel
// and AMD cores, memory controllers), or at 64.
double Difference(const PerfReading& reading);

// Counts the table's quantities that apply to the call: FLOPs of the call's pipes, and bytes. Each
// event's count is the median of three calls. Events of one PMU are counted in groups of the
// table's `slots`, or of half as many if the kernel refuses. Leaves out events that the kernel
// refuses or that were on a counter for less than half of the call, and scales those that were for
// less than all of it, each with a caveat.
Counted CountWithPerf(const PmuTable& table, const CountRequest& request,
                      const PerfBackend& backend);

// The PerfBackend of perf_event_open(2). Counts core events in user space on each thread that the
// process has when the call begins (an OpenMP pool exists by then). Counts events of other PMUs on
// the CPUs of their cpumask, for all programs.
std::vector<std::vector<PerfReading>> CountInKernel(const std::vector<PmuEvent>& events,
                                                    const std::function<void()>& call);

}  // namespace dlroof::perf
