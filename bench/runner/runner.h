// Runs workloads through Google Benchmark.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/runner/bench_flags.h"
#include "bench/runner/explain_pass.h"
#include "bench/runner/prepared_calls.h"
#include "bench/runner/run_context.h"
#include "bench/runner/timer.h"
#include "bench/workload/workload.h"
#include "counters/base/counter_manager.h"
#include "counters/cpu/clocks.h"
#include "counters/gpu/clock.h"
#include "reporters/live/google_benchmark.h"

namespace dlroof::runner {

// The protocol of an interleaved comparison, on the side of the measured process. The supervisor
// (bench/supervise) lets two processes measure alternately: only one process runs at a time, and
// slow periods of the machine affect both.
//
// The processes communicate over two pipes. This process writes "ready\n" before its first
// repetition and the number of iterations ("12\n") after each repetition. Before each repetition
// it reads one byte, which allows it to begin. Between repetitions the supervisor stops this
// process (SIGSTOP), so that its threads do not spin. This class does not close the descriptors.
class TurnClient {
 public:
  explicit TurnClient(TurnPipes pipes) : pipes_(pipes) {}

  // Waits for the permission to measure. Returns false if the supervisor wants no more repetitions.
  bool WaitForTurn();
  void EndTurn(double iterations);

 private:
  TurnPipes pipes_;
  bool ready_ = false;
};

struct RunnerOptions {
  GpuOpener open_gpu;                // called before the first GPU benchmark; may be empty
  live::Session* session = nullptr;  // gets all results; must outlive the benchmarks
  // Set in interleaved runs: each repetition waits for the supervisor and begins with untimed calls
  // that warm the caches.
  std::optional<TurnPipes> turns;
  // Returns the best known state of the cores that `threads` threads run on. May be empty.
  std::function<cpu::TeamState(int threads)> best_state;
  GpuTiming gpu;
  // Decides when a benchmark has enough repetitions; further ones are skipped. Absent: all run.
  std::optional<StoppingRule> stop;
  bool keep_noisy = false;  // use noisy repetitions, too
  // Google Benchmark alternates between benchmarks: a GPU call is stored between its repetitions.
  bool interleaved = false;
  bool own_seconds = false;  // records always have dlroof's times, never Google Benchmark's
  // Set in --dlroof_explain runs: profile the parallel regions of each call after its repetitions,
  // and run WatchedCalls::Explain after all benchmarks.
  std::optional<ExplainOptions> explain;
  int benchmarks = 0;           // number of benchmarks that run, for the progress of `explain`
  std::size_t repetitions = 0;  // most repetitions of a benchmark; 0: unknown
  EnergyPass energy;            // measured after all benchmarks were timed
  // Watches the quota of CPU time, if there is one; must outlive the benchmarks.
  const QuotaWatch* quota = nullptr;
};

// The state of one benchmark between calls of its function. Google Benchmark calls the function
// to find the iteration count, then once per repetition, possibly alternating with others.
struct BenchmarkState {
  workload::Workload workload;
  record::Record& record;       // its repetitions all have the same number of iterations
  bool verified = false;        // the output was compared with the reference
  bool verified_again = false;  // also after the last repetition, with new inputs
  std::optional<Counting> counting;
  double spent_seconds = 0;                    // [s] time of the repetitions and their pauses
  cpu::Throttling throttled;                   // by the CPU quota, during the repetitions
  std::optional<std::int64_t> calls_per_part;  // Timer::CallsPerPart
  std::optional<WatchedCalls> watched;         // profiles of the parallel regions
  double wall_seconds = 0;                     // [s] of all work for this benchmark
  bool started = false;                        // Google Benchmark's loop has begun
  bool failed = false;
  bool all_repetitions = false;  // set by Runner::UseAllRepetitions
  // The timed call's algorithm, to compare with when energy or counters are measured later.
  std::optional<std::string> timed_algorithm;
};

// Prepares, verifies, counts and times benchmarks in Google Benchmark's loop. Writes the records to
// the session; Google Benchmark gets copies of the numbers, for its files and other programs.
class Runner {
 public:
  Runner(workload::RunSettings settings, const RunnerOptions& options);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Times one repetition. First prepares the workload's call unless it is already prepared.
  void Run(benchmark::State& state, const workload::Workload& workload);
  // Runs one thread's part of a repetition of a benchmark with ->Threads(n). All threads call it
  // with the same `team`, each with its own `repeat`, which makes `calls` calls. The first thread
  // (State::thread_index) prepares the call before any thread is timed.
  struct Team {
    std::atomic<bool> skipped = false;
    std::mutex mutex;
    cpu::ClockReading others;    // sum of the other threads' clocks, guarded by `mutex`
    std::atomic<int> ended = 0;  // number of threads in `others`
  };
  void RunInTeam(benchmark::State& state, const workload::Workload& workload,
                 const std::function<void(std::int64_t calls)>& repeat, Team& team);
  // Ends this and all later repetitions of a benchmark without a measurement.
  void SkipRest(benchmark::State& state, const workload::Workload& workload);
  // Measures all repetitions that Google Benchmark runs, noisy or not, and ignores
  // RunnerOptions::stop: the program registered the benchmark with a number of repetitions.
  void UseAllRepetitions(const workload::Workload& workload);
  // Frees the prepared call. Call it while the objects that Workload::prepare uses still exist.
  void Forget();

  // The passes after the timing, for one benchmark. They prepare the call again from `workload`,
  // and return nullopt if the pass was not requested or the benchmark was not timed.
  std::optional<ParallelTime> Explain(const workload::Workload& workload);
  std::optional<energy::EnergyResult> MeasureEnergy(const workload::Workload& workload);
  std::optional<Counting> CountLate(const workload::Workload& workload);

  // Runs one of these passes for all benchmarks until an interrupt, if they can be prepared outside
  // of Google Benchmark's loop. Returns the results by benchmark name.
  template <class Result>
  std::map<std::string, Result> OfAll(
      std::optional<Result> (Runner::*pass)(const workload::Workload&));
  void EndExplaining() { progress_.End(); }  // after Explain for all benchmarks

 private:
  BenchmarkState& StateOf(const workload::Workload& workload);
  cpu::Throttling Throttled() const;
  void Release();
  std::optional<Reason> PrepareAgain(const workload::Workload& workload,
                                     const std::function<void(bool same_algorithm)>& measure);
  bool IsStored(const workload::Workload& workload);
  void Store(const workload::Workload& workload);
  NextRepetition Next(const BenchmarkState& benchmark) const;
  void Remember(const record::Repetition& repetition, double seconds, BenchmarkState& benchmark);
  void Prepare(BenchmarkState& benchmark);
  void VerifyAgain(BenchmarkState& benchmark);
  void WarmUp(workload::CacheState cache);
  Counting Count(const workload::Workload& workload, const workload::PreparedCall& call,
                 const std::string& choice);
  void Attach(benchmark::State& state, BenchmarkState& benchmark, const TimedLoop& timed,
              double seconds);
  void Fail(benchmark::State& state, BenchmarkState& benchmark, const std::string& message);
  void DescribeFailed(bool is_wrong, record::Record& record) const;

  workload::RunSettings settings_;
  RunnerOptions options_;
  ExplainProgress progress_;
  std::optional<TurnClient> turns_;
  PreparedCalls calls_;
  std::map<std::string, BenchmarkState> benchmarks_;  // by name
  BenchmarkState* prepared_ = nullptr;                // the benchmark of the prepared call
};

// Registers every workload with Google Benchmark under its name. A workload is prepared when its
// benchmark runs, at most one at a time, so a run needs only the memory of one benchmark.
//
// Returns the passes beside the timing. `parallel` (single-threaded calls for --dlroof_explain) and
// `energy` prepare each call again. `count` prepares each GPU call again and reads its hardware
// counters. Run `count` last: launches stay slower once CUPTI is attached.
live::Passes RegisterWorkloads(const std::vector<workload::Workload>& workloads,
                               const workload::RunSettings& settings,
                               const RunnerOptions& options = {});

// Returns whether the workload reports its own times to Google Benchmark (GPU events, or a clock
// that stops while caches are flushed), which then appends "/manual_time" to its name.
bool UsesManualTime(const workload::Workload& workload);

}  // namespace dlroof::runner
