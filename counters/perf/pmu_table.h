// Events of a micro-architecture's performance monitoring unit (PMU) that add up to FLOPs and
// bytes: data files (counters/perf/tables), each with its source.
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
  std::string name;          // as its vendor spells it
  std::string pmu = "cpu";   // of the kernel's PMUs, see IsDeviceOf
  std::uint64_t config = 0;  // umask << 8 | event, with AMD's upper event bits in 32..35

  bool operator==(const PmuEvent&) const = default;
};

// FLOPs of one pipe, or bytes of one level: the sum of events, each times its factor.
struct PmuQuantity {
  std::string pipe;            // empty for bytes
  std::optional<Level> level;  // absent for FLOPs
  bool alone = false;  // the events do not tell types apart: only where the call uses one pipe
  std::map<std::string, double> terms;  // [flop] or [byte] per count, by event

  std::string Name() const;  // "fp32.vector", "l2"
};

struct PmuTable {
  std::string name;    // for people
  std::string source;  // where the codes are from, what they do not count
  int slots = 4;       // general counters that a thread surely has
  std::map<std::string, PmuEvent> events;
  std::vector<PmuQuantity> quantities;
};

// "uncore_imc_3" and "uncore_imc" are devices of "uncore_imc"; "uncore_imc_free_running_0" is not:
// it has other events and refuses these.
bool IsDeviceOf(std::string_view pmu, std::string_view device);

// Returns the CPUs of a device's cpumask, "0-3,8".
std::vector<int> CpuList(const std::string& text);

// Returns the files of counters/perf/tables in the order of their names.
const std::vector<EmbeddedFile>& BuiltInPmuTables();

// The table of this CPU; absent where there is none. Throws std::logic_error where a built-in file
// is wrong (`where` names it): an unknown pipe, level or event, no source.
std::optional<PmuTable> PmuTableFor(const cpu::Cpu& cpu);
PmuTable PmuTableFromText(std::string_view text, const std::string& where);

}  // namespace dlroof::perf
