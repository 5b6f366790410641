// Runs workloads through Google Benchmark.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bench/runner/prepared_calls.h"
#include "bench/timing/timer.h"
#include "bench/workload/workload.h"
#include "counters/counter_manager.h"
#include "counters/cpu/team_look.h"
#include "counters/gpu/clock.h"
#include "reporters/live/session.h"

namespace dlroof::runner {

// Interleaves the repetitions of this process with those of another one: each has the machine for
// itself while it measures, and slow periods of the machine hit both.
//
// The measured program's side of two pipes. It writes "ready\n" once, before its first repetition,
// and the number of iterations ("12\n") after each. It reads one byte per repetition. The
// supervisor stops this process (SIGSTOP) between its turns, so that its threads do not spin. The
// descriptors stay open.
class Interleaving {
 public:
  Interleaving(int from, int to) : from_(from), to_(to) {}

  // Returns false when there are no more turns.
  bool WaitForTurn();
  void EndTurn(double iterations);

 private:
  int from_, to_;
  bool ready_ = false;
};

// Options of a run beside its settings. Each may be absent.
struct RunnerOptions {
  std::function<gpu::GpuClock()> open_gpu;  // called before the first benchmark of a GPU
  // Outlives the benchmarks. Each repetition waits for its turn and begins with untimed calls, so
  // that caches are as warm as without the break.
  Interleaving* interleaving = nullptr;
  // The best known state of so many threads' cores; called when a benchmark runs.
  std::function<cpu::TeamState(int threads)> best_state;
  std::optional<double> min_seconds;  // [s] of a repetition, for Google Benchmark; absent: unknown
  // Skips the repetitions of Google Benchmark that it does not want; absent: all run.
  std::optional<timing::StoppingRule> stop;
  bool keep_noisy = false;  // no repetition is judged for interference
  // After each repetition its parallel regions are watched, and in the end each call alone.
  bool explain = false;
  // [s] of single steps that count an explained call's instructions; 0: only hardware counts them.
  double step_seconds = 0;
  EnergyPass energy;  // after all benchmarks were timed
};

// Registers every workload with Google Benchmark under its name. The benchmark's body prepares the
// workload; at most one is prepared at a time, so that memory in use is that of one benchmark.
// Returns the passes over what was timed. `alone`, of a run that explains, and `energy`, where it
// is measured, prepare each call again. `count` prepares each GPU call again and reads its hardware
// counters. Call it last: once CUPTI is attached, launches stay slower for the rest of the process.
live::Passes RegisterWorkloads(const std::vector<workload::Workload>& workloads,
                               const workload::RunSettings& settings,
                               const RunnerOptions& options = {});

// True if the workload's times come from a clock of its own (a GPU's, or one that stops while
// caches are emptied). Google Benchmark then appends "/manual_time" to its name.
bool UsesManualTime(const workload::Workload& workload);

}  // namespace dlroof::runner
