// The state of a program with benchmarks of its own: flags, devices, session, runner, and the
// benchmark that Google Benchmark is running.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/library/include/dlroof/benchmark.h"
#include "bench/runner/parts_of_run.h"
#include "bench/runner/run_context.h"
#include "bench/runner/runner.h"
#include "reporters/live/google_benchmark.h"

namespace dlroof::library {

// Converts the call's work. Throws BadInput for unknown pipes, levels, and numbers not in [0, inf[.
Work WorkOf(const Call& call);

class Program {
 public:
  static Program& Get();

  // Reads flags and opens devices. `own_main`: the program itself calls benchmark::Initialize.
  // Returns the arguments without dlroof's flags. Throws BadInput for invalid flags and devices.
  std::vector<std::string> Initialize(const std::vector<std::string>& args, bool own_main);
  const runner::BenchFlags& flags() const { return flags_; }

  // Throws BadInput if the flags select no benchmark, or the page's file cannot be written.
  void RefuseEmptySelection();
  // Reads the flags into flags_. Returns the arguments for Google Benchmark. Throws BadInput.
  std::vector<std::string> ReadFlags(std::vector<std::string> args);
  void Begin();  // lists the selected benchmarks and creates the runner, at the first call
  live::Session& session() { return *session_; }
  runner::RunReporters& reporters() { return *reporters_; }

  // Called by the reporters when Google Benchmark starts, and when benchmarks have ended.
  void HasBegun() { ended_.clear(); }
  void MarkEnded(const std::vector<benchmark::BenchmarkReporter::Run>& runs);
  // Counts the call of the benchmark to simulate, and exits. Returns if there is no such benchmark.
  void RunSimulated();
  bool IsSimulation() const { return simulated_.has_value(); }
  void Measure(benchmark::State& state, const Call& call, const detail::Callable& callable);

  // Returns the runs to report. Marks runs as failed if their call paused the timer, or if they
  // used a GPU without ->UseManualTime().
  std::vector<benchmark::BenchmarkReporter::Run> Checked(
      const std::vector<benchmark::BenchmarkReporter::Run>& runs) const;

 private:
  std::optional<Reason> ReasonAgainst(const benchmark::BenchmarkReporter::Run& run,
                                      const record::Repetition& repetition) const;
  // Returns the name of the running benchmark, or nullopt after the last. Derives it from how
  // many benchmarks have ended, because a State of Google Benchmark 1.7 does not contain it.
  std::optional<std::string> Running() const;
  workload::Workload WorkloadOf(const benchmark::State& state, const std::string& listed,
                                const Call& call, const detail::Callable& callable);
  std::function<workload::PreparedCall(const workload::RunSettings&)> PreparationOf(
      const Call& call, const detail::Callable& callable);
  void RunPass(benchmark::State& state, const workload::Workload& workload);
  void Time(benchmark::State& state, const workload::Workload& workload, const std::string& listed,
            const detail::Callable& callable);
  void SimulateCall(benchmark::State& state, const workload::Workload& workload);
  live::Passes Passes();
  // Runs all benchmarks again for one pass after the timing. Returns its results by benchmark name.
  template <class Result>
  std::map<std::string, Result> RunAgain(
      std::optional<Result> (runner::Runner::*pass)(const workload::Workload&));
  // Runs Google Benchmark with this flag and without --benchmark_out; then restores its flags.
  void RunWith(const char* flag, std::ostream* out);
  void List();  // sets names_

  bool initialized_ = false, own_main_ = false;
  std::string command_, program_;
  std::vector<std::string> restoring_;  // command line that ends RunWith
  runner::BenchFlags flags_;
  workload::RunSettings settings_;
  runner::Devices devices_;
  std::shared_ptr<gpu::GpuClock> gpu_;
  std::unique_ptr<runner::QuotaWatch> quota_;
  std::unique_ptr<live::Session> session_;
  std::unique_ptr<runner::Runner> runner_;
  std::unique_ptr<runner::RunReporters> reporters_;

  // Set if this process runs under valgrind, which counts one call: that call's benchmark.
  std::optional<std::string> simulated_;
  std::vector<std::string> names_;  // the selected benchmarks, as Google Benchmark lists them
  std::set<std::pair<std::int64_t, std::int64_t>> ended_;  // (family, instance) indices
  // The current pass; empty during the timing.
  std::function<void(const workload::Workload&)> pass_;
  std::set<std::string> passes_done_;  // benchmarks done in the current pass
  std::mutex mutex_;
  std::map<std::string, runner::Runner::Team> teams_;  // by name
};

}  // namespace dlroof::library
