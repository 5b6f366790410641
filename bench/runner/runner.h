// Runs workloads through Google Benchmark.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bench/runner/bench_flags.h"
#include "bench/runner/explain_pass.h"
#include "bench/runner/prepared_calls.h"
#include "bench/timing/gpu_timer.h"
#include "bench/timing/timer.h"
#include "bench/workload/workload.h"
#include "counters/counter_manager.h"
#include "counters/cpu/team_look.h"
#include "counters/gpu/clock.h"
#include "reporters/live/session.h"

namespace dlroof::runner {

// The measured process's side of an interleaved comparison. The supervisor (bench/supervise) lets
// two processes measure alternately: only one process runs at a time, and slow periods of the
// machine affect both.
//
// The processes communicate over two pipes. This process writes "ready\n" before its first
// repetition and the number of iterations ("12\n") after each repetition. Before each repetition
// it reads one byte, which allows it to begin. Between repetitions the supervisor stops this
// process (SIGSTOP), so that its threads do not spin. This class does not close the descriptors.
class TurnClient {
 public:
  explicit TurnClient(TurnPipes pipes) : pipes_(pipes) {}

  // Waits for the permission to measure. Returns false if no repetition is left.
  bool WaitForTurn();
  void EndTurn(double iterations);

 private:
  TurnPipes pipes_;
  bool ready_ = false;
};

// Options of a run beside its settings.
struct RunnerOptions {
  std::function<gpu::GpuClock()> open_gpu;  // called before the first GPU benchmark; may be empty
  // Set in interleaved runs; must outlive the benchmarks. Each repetition waits for the supervisor
  // and begins with untimed calls that warm the caches.
  TurnClient* turns = nullptr;
  // Returns the best known state of the cores on which `threads` threads run. May be empty.
  std::function<cpu::TeamState(int threads)> best_state;
  timing::GpuTiming gpu;
  // Decides when to stop; later repetitions of Google Benchmark are skipped.
  std::optional<timing::StoppingRule> stop;
  bool keep_noisy = false;  // use noisy repetitions, too
  // Set in --dlroof_explain runs: profile the parallel regions of each call after its repetitions,
  // and run ExplainCall after all benchmarks.
  std::optional<ExplainOptions> explain;
  int benchmarks = 0;  // number of benchmarks that run, for the progress of `explain`
  EnergyPass energy;   // measured after all benchmarks were timed
};

// Registers every workload with Google Benchmark under its name. A workload is prepared when its
// benchmark runs, at most one at a time, so a run needs only the memory of one benchmark.
//
// Returns the passes to run after the timing. The passes `alone` (single-threaded calls, for
// --dlroof_explain) and `energy` prepare each call again. The pass `count` prepares each GPU call
// again and reads its hardware counters. Run `count` last: once CUPTI is attached, kernel launches
// stay slower for the rest of the process.
live::Passes RegisterWorkloads(const std::vector<workload::Workload>& workloads,
                               const workload::RunSettings& settings,
                               const RunnerOptions& options = {});

// Returns whether the workload reports its own times to Google Benchmark (GPU events, or a clock
// that stops while caches are flushed), which then appends "/manual_time" to its name.
bool UsesManualTime(const workload::Workload& workload);

}  // namespace dlroof::runner
