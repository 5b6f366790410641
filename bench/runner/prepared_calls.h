// Work of one prepared call, by the counter manager's sources: once per benchmark, outside the
// timing.
//
// The pass that reads energy counters around calls, after all benchmarks were timed.
//
// Owner of the call that is prepared, one at a time, and of those that wait to be counted.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/timing/cpu_timer.h"
#include "bench/timing/gpu_timer.h"
#include "bench/timing/timer.h"
#include "bench/workload/workload.h"
#include "counters/counter_manager.h"
#include "counters/energy/energy_meter.h"

namespace dlroof::runner {

// The call's closed forms (FLOPs, compulsory bytes), and beside them what the sources of
// `settings.counters` say. `ready` comes before each call that a source makes and is not counted
// (flushes caches for a cold call); may be empty. Takes no time with kNoCounters.
Counting CountPrepared(const workload::Workload& workload, const workload::PreparedCall& call,
                       const workload::RunSettings& settings, const std::function<void()>& ready);

// As the model sees this call on this CPU.
std::map<Level, double> ModelledLevels(const workload::PreparedCall& call,
                                       workload::CacheState state, int threads,
                                       const std::vector<int>& cpus);

// Returns whether calls are counted on the GPU itself with this choice.
bool MeansGpuCounters(const std::string& choice);

// One sentence for stderr where the source that `choice` names cannot count; else empty. A
// loaded GPU's source is asked when its first call is counted, and its answer is in the record.
std::string CountersSentence(const std::string& choice);

// The meter of a GPU's own counter; without one its reason.
energy::EnergyMeter GpuEnergy(const std::function<std::optional<double>()>& joules);

struct EnergyPass {
  std::optional<energy::EnergyMeter> cpu;  // which may be none; absent: no counter is read, a GPU's
                                           // neither
  std::optional<double> meter_seconds;     // [s] of a window for a node's meter; absent: none
  bool gpu_runs = false;                   // a benchmark of a GPU is to be measured

  // Returns whether the pass has to prepare calls of `device` again.
  bool Measures(const std::string& device) const;
};

// [W] during a second in which this process sleeps: of the CPU, and where a GPU's benchmarks are
// measured of `gpu`, which is opened, during two.
energy::IdlePowers IdlePowersOf(const EnergyPass& pass, timing::Timer& gpu);

// Returns the energy of one call: three windows of at least 0.5 s on a CPU, 2 s on a GPU, in which
// calls follow each other; then the window for a meter. Absent with a reason where something has to
// be done before each call.
energy::EnergyResult EnergyOfCall(const workload::Workload& workload,
                                  const workload::PreparedCall& call, const timing::Timer& timer,
                                  const EnergyPass& pass);

class PreparedCalls {
 public:
  PreparedCalls(workload::RunSettings settings, timing::CpuTimer cpu, timing::GpuTimer gpu)
      : settings_(std::move(settings)), cpu_(std::move(cpu)), gpu_(std::move(gpu)) {}

  timing::Timer& TimerOf(const workload::Workload& workload);
  timing::Timer& Gpu() { return gpu_; }
  // Returns whether the call's counters wait until all is timed.
  bool CountsLater(const workload::Workload& workload);

  // Prepares the call, or takes the one that was kept. Where there is too little module for it
  // beside those that are kept, they are freed. Drop precedes it. Throws as Workload::prepare.
  void Take(const workload::Workload& workload);
  // Keeps the prepared call for the next Take of its name. Without a call, or without module for
  // its tensors, it does nothing.
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
  double kept_bytes_ = 0;                               // [byte] their tensors
};

}  // namespace dlroof::runner
