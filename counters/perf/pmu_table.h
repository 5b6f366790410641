// Tables of PMU (performance monitoring unit) events whose weighted sums are FLOPs and bytes. Each
// file in counters/perf/tables describes one micro-architecture, with its source.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"
#include "counters/base/work.h"
#include "counters/cpu/cpu.h"

namespace dlroof::perf {

struct PmuEvent {
  std::string name;          // the vendor's name
  std::string pmu = "cpu";   // the kernel's name of the PMU, see IsDeviceOf
  std::uint64_t config = 0;  // umask << 8 | event, with AMD's upper event bits in 32..35

  bool operator==(const PmuEvent&) const = default;
};

// FLOPs of one pipe, or bytes of one level: the sum of event counts times factors.
struct PmuQuantity {
  std::string pipe;                     // set for FLOPs
  std::optional<Level> level;           // set for bytes
  bool any_type = false;                // the events count all types: use for calls with one pipe
  std::map<std::string, double> terms;  // factor by event, [flop] or [byte] per count

  std::string Name() const;  // "fp32.vector", "l2"
};

struct PmuTable {
  std::string name;    // for the user
  std::string source;  // document with the event codes, and what they omit
  int slots = 4;       // general-purpose counters that a thread can always use
  std::map<std::string, PmuEvent> events;
  std::vector<PmuQuantity> quantities;
};

// Returns whether the kernel's PMU `device` is an instance of `pmu`: "uncore_imc" and
// "uncore_imc_3" are of "uncore_imc"; "uncore_imc_free_running_0" with other events is not.
bool IsDeviceOf(std::string_view pmu, std::string_view device);

// Returns the embedded files of counters/perf/tables, sorted by name.
const std::vector<EmbeddedFile>& BuiltInPmuTables();

// Returns the table for a CPU, or nullopt if there is none. Both functions throw std::logic_error
// that names the table (`where`) if it has an unknown pipe, level or event, or no source.
std::optional<PmuTable> PmuTableFor(const cpu::Cpu& cpu);
PmuTable PmuTableFromText(std::string_view text, const std::string& where);

}  // namespace dlroof::perf
