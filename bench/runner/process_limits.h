// Limits of this process: errors if they would make results wrong, otherwise entries in the run
// file and warnings beside the results that they make noisy.
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
  // Starts counting.
  explicit QuotaWatch(cpu::CpuQuota quota, cpu::ReadText read);

  // Returns the counts since the construction, or zeros if they could not be read at both times.
  // Reads a file, which takes some 10 us.
  cpu::Throttling Read() const;
  // Returns a sentence with how often the quota stopped the process in `during`, nullopt if never.
  std::optional<Reason> Stopped(const cpu::Throttling& during) const;

 private:
  cpu::CpuQuota quota_;
  cpu::ReadText read_;
  std::optional<cpu::Throttling> begin_;  // absent: could not be read
};

}  // namespace dlroof::runner
