// Prepares and stores calls, counts their work (once per benchmark, outside the timing), and
// measures their energy after all benchmarks were timed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/runner/timer.h"
#include "bench/workload/workload.h"
#include "counters/base/counter_manager.h"
#include "counters/energy/energy_meter.h"

namespace dlroof::runner {

// Returns the FLOPs and compulsory bytes of one call by formula, and the counts of the source that
// `settings.counters` selects. The source runs `ready` uncounted before each call, for example to
// flush the caches for a cold call; `ready` may be empty. With kNoCounters no call runs.
Counting CountPrepared(const workload::Workload& workload, const workload::PreparedCall& call,
                       const workload::RunSettings& settings, const std::function<void()>& ready);

// Returns whether --dlroof_counters=`choice` may read hardware counters of a GPU.
bool MeansGpuCounters(const std::string& choice);

struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Compares the call's output with the reference. While it is wrong, adds the algorithm to the
// call's `wrong_engines` and tries the library's next algorithm. Returns how the output was
// compared. Throws WrongResult if the output of every algorithm is wrong.
std::string VerifyCall(workload::PreparedCall& call);

// Verifies the call with inputs of another seed than `seed`. Returns a text for the record: that it
// was verified again, or why not. Throws WrongResult for a wrong output. Requires `new_inputs`.
std::string VerifyNewInputs(workload::PreparedCall& call, unsigned seed);

// Makes a call that was prepared again skip the algorithms that VerifyCall found wrong. Throws
// std::runtime_error if no algorithm is left.
void SkipWrongEngines(const std::vector<record::WrongEngine>& wrong, workload::PreparedCall& call);

// Returns a warning if the counter source `choice` cannot count, otherwise nullopt. Does not query
// a GPU's source: if that cannot count, the records of its calls say so.
std::optional<std::string> CountersWarning(const std::string& choice);

// Returns an energy meter that reads the GPU's energy counter `joules`. If the counter cannot be
// read, the meter has no source, only a reason.
energy::EnergyMeter GpuEnergy(const std::function<std::optional<double>()>& joules);

struct EnergyPass {
  // The CPU's energy meter, maybe without counters. Set in all --dlroof_energy runs, also on GPUs.
  std::optional<energy::EnergyMeter> cpu;

  // Returns whether the pass measures calls on `device`; they have to be prepared again for it.
  bool Measures(const std::string& device) const;
};

// Measures the energy of one call in three windows of back-to-back calls, each of at least 0.5 s on
// a CPU and 2 s on a GPU. For calls before which caches must be flushed, returns only a reason.
energy::EnergyResult EnergyOfCall(const workload::Workload& workload,
                                  const workload::PreparedCall& call, const Timer& timer,
                                  const EnergyPass& pass);

// Owns at most one prepared call, and stores further calls that are needed again.
class PreparedCalls {
 public:
  PreparedCalls(workload::RunSettings settings, CpuTimer cpu, GpuTimer gpu)
      : settings_(std::move(settings)), cpu_(std::move(cpu)), gpu_(std::move(gpu)) {}

  Timer& TimerOf(const workload::Workload& workload);
  // Returns whether the workload's call is counted after all benchmarks were timed, because reading
  // a GPU's hardware counters slows down later timings.
  bool CountsLater(const workload::Workload& workload) const;

  // Prepares the workload's call or reuses its stored call. If memory is short, frees all stored
  // calls and tries again. Call Drop before. Throws what Workload::prepare throws.
  void Take(const workload::Workload& workload);
  // Stores the prepared call under `name` for a later Take. Does nothing if no call is prepared, or
  // if the tensors of all stored calls would exceed 4 GB.
  void Store(const std::string& name);
  void Drop();  // frees the prepared call and the timers' state for it

  bool Holds() const { return call_.has_value(); }
  const workload::PreparedCall& Call() const { return *call_; }  // requires Holds()
  workload::PreparedCall& Call() { return *call_; }              // requires Holds()
  // Returns the run's settings with the number of threads of the prepared call.
  workload::RunSettings Settings() const;

 private:
  workload::PreparedCall Make(const workload::Workload& workload);
  void Pin();

  workload::RunSettings settings_;
  CpuTimer cpu_;
  GpuTimer gpu_;
  std::vector<int> pinned_;  // CPU of each thread
  int threads_ = 1;          // number of threads of the prepared call
  std::optional<workload::PreparedCall> call_;
  std::map<std::string, workload::PreparedCall> stored_;  // by name
  double stored_bytes_ = 0;                               // [byte] size of their tensors
};

}  // namespace dlroof::runner
