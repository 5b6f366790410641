// Owner of the call that is prepared, one at a time, and of those that wait to be counted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/timing/cpu_timer.h"
#include "bench/timing/gpu_timer.h"
#include "bench/workload/workload.h"

namespace dlroof::runner {

class PreparedCalls {
 public:
  PreparedCalls(workload::RunSettings settings, timing::CpuTimer cpu, timing::GpuTimer gpu)
      : settings_(std::move(settings)), cpu_(std::move(cpu)), gpu_(std::move(gpu)) {}

  timing::Timer& TimerOf(const workload::Workload& workload);
  timing::Timer& Gpu() { return gpu_; }
  // Returns whether the call's counters wait until all is timed.
  bool CountsLater(const workload::Workload& workload);

  // Prepares the call, or takes the one that was kept. Where there is too little room for it beside
  // those that are kept, they are freed. Drop precedes it. Throws as Workload::prepare.
  void Take(const workload::Workload& workload);
  // Keeps the prepared call for the next Take of its name. Without a call, or without room for its
  // tensors, it does nothing.
  void Keep(const std::string& name);
  // Frees the prepared call and what the timers took from it.
  void Drop();

  bool Holds() const { return call_.has_value(); }
  const workload::PreparedCall& Call() const { return *call_; }  // Holds() only
  // The run's settings, with the threads of the prepared call.
  workload::RunSettings Settings() const;

 private:
  workload::PreparedCall Make(const workload::Workload& workload);
  void Pin();

  workload::RunSettings settings_;
  timing::CpuTimer cpu_;
  timing::GpuTimer gpu_;
  std::vector<int> pinned_;  // CPUs, by thread
  int threads_ = 1;          // of the prepared call
  std::optional<workload::PreparedCall> call_;
  std::map<std::string, workload::PreparedCall> kept_;  // by name
  double kept_bytes_ = 0;                     // [byte] their tensors
};

}  // namespace dlroof::runner
