// Runs workloads through Google Benchmark.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bench/runner/bench_flags.h"
#include "bench/runner/prepared_calls.h"
#include "bench/timing/timer.h"
#include "bench/workload/workload.h"
#include "counters/counter_manager.h"
#include "counters/cpu/team_look.h"
#include "counters/gpu/clock.h"
#include "reporters/live/session.h"

namespace dlroof::runner {

// The measured process's side of the turn protocol of an interleaved comparison: the supervisor
// (bench/supervise) lets two processes measure in turns, so that each has the machine to itself
// while it measures and slow periods of the machine hit both.
//
// The protocol runs over two pipes. The process writes "ready\n" before its first repetition and
// the number of iterations ("12\n") after each repetition; it reads one byte before each
// repetition. Between turns the supervisor stops the process (SIGSTOP), so that its threads do not
// spin. This class does not close the descriptors.
class TurnClient {
 public:
  explicit TurnClient(TurnPipes pipes) : pipes_(pipes) {}

  // Returns false when there are no more turns.
  bool WaitForTurn();
  void EndTurn(double iterations);

 private:
  TurnPipes pipes_;
  bool ready_ = false;
};

// Options of a run beside its settings.
struct RunnerOptions {
  std::function<gpu::GpuClock()> open_gpu;  // called before the first GPU benchmark; may be empty
  // Set in interleaved runs; must outlive the benchmarks. Each repetition waits for its turn and
  // begins with untimed calls that warm the caches again.
  TurnClient* turns = nullptr;
  // Returns the best known state of the cores of a team of `threads` threads. May be empty.
  std::function<cpu::TeamState(int threads)> best_state;
  std::optional<double> min_seconds;  // [s] least time of a repetition, of Google Benchmark
  // Skips the repetitions that Google Benchmark offers and the rule does not need.
  std::optional<timing::StoppingRule> stop;
  bool keep_noisy = false;  // judge no repetition for interference
  // Profile the parallel regions of each call after its repetitions, and time each call
  // single-threaded after all benchmarks.
  bool explain = false;
  // [s] CPU time for counting an explained call's instructions by single steps (then callgrind)
  // where the hardware does not count them. Set only in --dlroof_instructions runs.
  std::optional<double> step_seconds;
  EnergyPass energy;  // runs after all benchmarks were timed
};

// Registers every workload with Google Benchmark under its name. The benchmark's body prepares the
// workload; at most one workload is prepared at a time, so a run needs the memory of one benchmark.
//
// Returns the passes that follow the timing. `alone` (--dlroof_explain) and `energy` prepare each
// call again. `count` prepares each GPU call again and reads its hardware counters. Call `count`
// last: once CUPTI is attached, launches stay slower for the rest of the process.
live::Passes RegisterWorkloads(const std::vector<workload::Workload>& workloads,
                               const workload::RunSettings& settings,
                               const RunnerOptions& options = {});

// Returns whether the workload reports its own times to Google Benchmark (GPU events, or a clock
// that stops while caches are flushed), which then appends "/manual_time" to its name.
bool UsesManualTime(const workload::Workload& workload);

}  // namespace dlroof::runner
