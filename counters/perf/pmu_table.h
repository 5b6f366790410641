// Tables of PMU (performance monitoring unit) events that add up to FLOPs and bytes, one data file
// per micro-architecture in counters/perf/tables, each with its source.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"
#include "counters/cpu/cpu.h"
#include "counters/work.h"

namespace dlroof::perf {

struct PmuEvent {
  std::string name;          // as the vendor spells it
  std::string pmu = "cpu";   // the kernel's PMU, see IsDeviceOf
  std::uint64_t config = 0;  // umask << 8 | event, with AMD's upper event bits in 32..35

  bool operator==(const PmuEvent&) const = default;
};

// FLOPs of one pipe, or bytes of one level: the sum of events times their factors.
struct PmuQuantity {
  std::string pipe;            // set for FLOPs
  std::optional<Level> level;  // set for bytes
  bool any_type = false;       // the events count all types, so they need a call with one pipe
  std::map<std::string, double> terms;  // [flop] or [byte] per count, by event

  std::string Name() const;  // "fp32.vector", "l2"
};

struct PmuTable {
  std::string name;    // for people
  std::string source;  // the origin of the event codes, and what they do not count
  int slots = 4;       // general-purpose counters that a thread can always use
  std::map<std::string, PmuEvent> events;
  std::vector<PmuQuantity> quantities;
};

// Returns whether `device` belongs to `pmu`: "uncore_imc" and "uncore_imc_3" belong to
// "uncore_imc", "uncore_imc_free_running_0" does not, as it has other events.
bool IsDeviceOf(std::string_view pmu, std::string_view device);

// Parses a device's cpumask: "0-3,8".
std::vector<int> CpuList(const std::string& text);

// Returns the files of counters/perf/tables, sorted by name.
const std::vector<EmbeddedFile>& BuiltInPmuTables();

// Returns the table for a CPU, if there is one. Throws std::logic_error for an error in a built-in
// file, which `where` names: an unknown pipe, level or event, or no source.
std::optional<PmuTable> PmuTableFor(const cpu::Cpu& cpu);
PmuTable PmuTableFromText(std::string_view text, const std::string& where);

}  // namespace dlroof::perf
