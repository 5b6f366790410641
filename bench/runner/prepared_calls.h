// Prepared calls: their owner, the counting of their work (once per benchmark, outside the timing),
// and the energy pass, which follows the timing of all benchmarks.
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

// Returns the call's closed forms (FLOPs, compulsory bytes) and the counts of the sources that
// `settings.counters` selects. `ready`, which may be empty, runs uncounted before each call that a
// source makes: it flushes the caches for a cold call. With kNoCounters no call is made.
Counting CountPrepared(const workload::Workload& workload, const workload::PreparedCall& call,
                       const workload::RunSettings& settings, const std::function<void()>& ready);

// Returns the bytes per memory level by the model of the call's loops on this CPU; nothing for a
// call without such a model. [byte]
std::map<Level, double> ModelledLevels(const workload::PreparedCall& call,
                                       workload::CacheState state, int threads,
                                       const std::vector<int>& cpus);

// Returns whether the chosen counters include hardware counters of a GPU.
bool MeansGpuCounters(const std::string& choice);

// Returns a warning for stderr if the source that `choice` names cannot count. A loaded GPU's
// source is queried when its first call is counted, and the record has its answer.
std::optional<std::string> CountersWarning(const std::string& choice);

// Returns the meter of a GPU's energy counter `joules`. If there is no counter, the meter has no
// source and says why.
energy::EnergyMeter GpuEnergy(const std::function<std::optional<double>()>& joules);

struct EnergyPass {
  // The CPU's meter, which may lack counters. Set only in --dlroof_energy runs, in which the energy
  // of GPUs is measured, too.
  std::optional<energy::EnergyMeter> cpu;
  std::optional<double> meter_seconds;  // [s] length of the window for the node's meter
  bool gpu_runs = false;                // the run has GPU benchmarks

  // Returns whether the pass has to prepare calls of `device` again.
  bool Measures(const std::string& device) const;
};

// Returns the idle power while this process sleeps: of the CPU during 1 s and, if the run has GPU
// benchmarks, of `gpu` during 2 s. Opens `gpu`. [W]
energy::IdlePowers IdlePowersOf(const EnergyPass& pass, timing::Timer& gpu);

// Returns the energy of one call from three windows of back-to-back calls, each of at least 0.5 s
// on a CPU and 2 s on a GPU, and the window for the node's meter. If something has to be done
// before each call, the result has only a reason.
energy::EnergyResult EnergyOfCall(const workload::Workload& workload,
                                  const workload::PreparedCall& call, const timing::Timer& timer,
                                  const EnergyPass& pass);

// Owns the prepared call, at most one at a time, and the calls that are stored until they are
// counted.
class PreparedCalls {
 public:
  PreparedCalls(workload::RunSettings settings, timing::CpuTimer cpu, timing::GpuTimer gpu)
      : settings_(std::move(settings)), cpu_(std::move(cpu)), gpu_(std::move(gpu)) {}

  timing::Timer& TimerOf(const workload::Workload& workload);
  timing::Timer& Gpu() { return gpu_; }
  // Returns whether the call is counted after all benchmarks were timed.
  bool CountsLater(const workload::Workload& workload);

  // Prepares the call or takes the stored one. If the call does not fit into memory, frees the
  // stored calls and tries again. Call Drop before. Throws what Workload::prepare throws.
  void Take(const workload::Workload& workload);
  // Stores the prepared call for the next Take of its name. Does nothing if no call is prepared, or
  // if the stored calls would need too much memory.
  void Store(const std::string& name);
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
  std::map<std::string, workload::PreparedCall> stored_;  // by name
  double stored_bytes_ = 0;                               // [byte] of their tensors
};

}  // namespace dlroof::runner
