// What limits this process: refused where it would make a run wrong, told in the run file and
// beside the results where it makes one noisy.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "counters/base/error.h"
#include "counters/cpu/process_limits.h"

namespace dlroof::runner {

// Throws BadInput if a variable binds OpenMP's threads (OMP_PROC_BIND, OMP_PLACES,
// GOMP_CPU_AFFINITY). With any of these, OpenMP binds the program to one CPU before main, and other
// CPUs appear to be forbidden. dlroof pins threads itself.
void RefusePinning(const cpu::Environment& environment = cpu::ProcessEnvironment());

// Throws BadInput if OMP_THREAD_LIMIT allows fewer than `threads` threads: a oneDNN primitive on
// fewer threads than it was made for computes a wrong result.
void RefuseThreadLimit(int threads,
                       const cpu::Environment& environment = cpu::ProcessEnvironment());

// Returns context.dlroof.limits: [{"limit": "cpu_quota", "found", "effect"}, ...], or null.
nlohmann::json LimitsContext(const std::vector<cpu::Limit>& limits);

// Watches how often the quota of CPU time stops this process's control group.
class QuotaWatch {
 public:
  // Counts from now on.
  explicit QuotaWatch(cpu::CpuQuota quota, cpu::ReadText read);

  // Returns the counts since the construction. Zeros if they cannot be read now, or could not be
  // read then. Reads a file, which takes some 10 us.
  cpu::Throttling Read() const;
  // Returns how often the quota stopped the process in `during`, or nullopt if it did not.
  std::optional<Reason> Stopped(const cpu::Throttling& during) const;

 private:
  cpu::CpuQuota quota_;
  cpu::ReadText read_;
  std::optional<cpu::Throttling> begin_;  // absent: could not be read
};

}  // namespace dlroof::runner
