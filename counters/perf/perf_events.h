// Hardware counters through Linux perf events: whether they are available, and counts of one call.
// Tests replace the kernel by a fake PerfBackend.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/counter_manager.h"
#include "counters/base/files.h"
#include "counters/base/work.h"
#include "counters/cpu/cpu.h"

namespace dlroof::perf {

// In place of "cpu": counts on the calling thread alone, not on all threads of this process.
inline constexpr const char* kThisThread = "this thread";

struct PmuEvent {
  std::string name;          // the vendor's name
  std::string pmu = "cpu";   // the kernel's name of the PMU (see IsDeviceOf), or kThisThread
  std::uint64_t config = 0;  // umask << 8 | event, with AMD's upper event bits in 32..35

  bool operator==(const PmuEvent&) const = default;
};

// FLOPs of one pipe, or bytes of one level: the sum of event counts times factors.
struct PmuQuantity {
  std::string pipe;                     // "fp32.vector"; set for FLOPs
  std::optional<Level> level;           // set for bytes of a level
  bool any_type = false;                // events count all operand types; for calls with one pipe
  std::map<std::string, double> terms;  // factor by event, [flop] or [byte] per count
};

struct PmuTable {
  std::string name;    // names of the CPUs, for the user
  std::string source;  // document with the event codes, and what they omit
  int slots = 4;       // general-purpose counters that a thread can always use
  std::map<std::string, PmuEvent> events;
  std::vector<PmuQuantity> quantities;
};

// Returns whether the kernel's PMU `device` is an instance of `pmu`. E.g. "uncore_imc_3" is one of
// "uncore_imc", but "uncore_imc_free_running_0", which has other events, is not.
bool IsDeviceOf(std::string_view pmu, std::string_view device);

// Returns the embedded files of counters/perf/tables, sorted by name.
const std::vector<EmbeddedFile>& BuiltInPmuTables();

// PmuTableFor returns the table for a CPU, or nullopt if there is none. Both functions throw
// BadInput if a table has an unknown pipe, level or event, or no source; the message begins with
// the table's name (`where`).
std::optional<PmuTable> PmuTableFor(const cpu::Cpu& cpu);
PmuTable PmuTableFromText(std::string_view text, const std::string& where);

struct PerfAnswer {
  int error = 0;                // errno of opening a cycle counter; 0 on success
  bool has_pmu = false;         // whether the kernel has a PMU for the CPU
  std::optional<int> paranoid;  // value of kernel.perf_event_paranoid
};

PerfAnswer AskPerf();

// Returns one sentence: that counters are available, or why they are not, and the cure. Pure.
std::string PerfSentence(const PerfAnswer& answer);

// Returns a clause: why the kernel rejects an event or a group with this errno. Pure.
std::string PerfOpenSentence(int error);

// A counter's values around one call, on one thread (core events) or one memory controller.
struct PerfReading {
  std::uint64_t begin = 0, end = 0;  // [1] value before and after the call
  std::uint64_t enabled = 0;         // [ns] time in which the event was enabled
  std::uint64_t running = 0;         // [ns] time in which it was on a counter (less if multiplexed)
};

// Thrown if the kernel rejects an event or a group of events.
struct PerfRefused : std::runtime_error {
  PerfRefused(int code, const std::string& sentence) : std::runtime_error(sentence), error(code) {}
  int error = 0;  // errno
};

// Counts the events as one group while `call` runs. Returns for each event one reading per thread
// or memory controller. Throws PerfRefused; its error is EINVAL or ENOSPC if the group does not fit
// the PMU.
using PerfBackend = std::function<std::vector<std::vector<PerfReading>>(
    const std::vector<PmuEvent>& events, const std::function<void()>& call)>;

// Returns the difference of a reading's two values. If the value decreased, the counter wrapped
// around at 48 bits (Intel and AMD cores, memory controllers) or at 64.
double Difference(const PerfReading& reading);

// Counts the table's quantities that apply to the call: bytes, and FLOPs of the call's pipes (if
// the request names none: of all pipes with events of their own). Each event's count is the median
// of three calls. Events of one PMU are counted in groups of `table.slots` events, or half as many
// if the kernel rejects a group. Adds a caveat for each event that is left out (rejected by the
// kernel, or on a counter for less than half of the call) and for each count that is scaled up (its
// event was on a counter for a part of the call).
Counted CountWithPerf(const PmuTable& table, const CountRequest& request,
                      const PerfBackend& backend);

// Where an event is counted: on a thread (0: the calling one) or, if `thread` is -1, on a CPU.
struct PerfPlace {
  std::uint32_t type;  // perf_event_attr::type
  pid_t thread;
  int cpu;
};
// Returns the threads or CPUs on which events of this PMU are counted. Throws PerfRefused if the
// kernel lacks the PMU.
std::vector<PerfPlace> PlacesOf(const std::string& pmu);

// The PerfBackend that calls perf_event_open(2). Counts core events in user space on each thread
// that exists when the call begins (an OpenMP thread pool exists by then). Counts events of uncore
// PMUs on the CPUs of their cpumask; these counts include other programs.
std::vector<std::vector<PerfReading>> CountInKernel(const std::vector<PmuEvent>& events,
                                                    const std::function<void()>& call);

// Returns the user-space instructions [1] that the calling thread executes in `call`. Returns
// nullopt if no hardware counter counts them or other programs shared the counter.
std::optional<double> CountInstructions(const std::function<void()>& call,
                                        const PerfBackend& backend = CountInKernel);

}  // namespace dlroof::perf
