// The state of a program with benchmarks of its own: flags, devices, session, runner, and the
// identity of the benchmark that Google Benchmark runs at the moment.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/library/include/dlroof/benchmark.h"
#include "bench/runner/parts_of_run.h"
#include "bench/runner/process_limits.h"
#include "bench/runner/runner.h"
#include "reporters/live/session.h"

namespace dlroof::library {

// What Measure does with a call.
enum class Mode {
  kTime,
  kSimulate,  // this process counts one call under valgrind
  kExplain,
  kEnergy,
  kCount  // passes after the timing
};

// Returns the work in the form that the counters have. Throws BadInput for an unknown pipe or level
// and for a number that is negative or not finite.
Work WorkOf(const Call& call);

// Adds a benchmark's results under the names that Google Benchmark reports.
struct PassResults {
  std::map<std::string, ParallelTime> parallel;
  std::map<std::string, energy::EnergyResult> energy;
  std::map<std::string, Counting> counts;
};

class Program {
 public:
  static Program& Get();

  // Reads flags and opens devices. `own_main`: the program calls benchmark::Initialize itself.
  // Returns the arguments without dlroof's flags. Throws BadInput.
  std::vector<std::string> Initialize(const std::vector<std::string>& args, bool own_main);
  const runner::BenchFlags& flags() const { return flags_; }

  // Lists the selected benchmarks. Throws BadInput if there are none to measure, or if a file of
  // the flags cannot be written.
  void RefuseEmptySelection();
  // Creates the session and the runner for the benchmarks that Google Benchmark lists. Further
  // calls do nothing. Throws BadInput.
  void Begin();
  live::Session& session() { return *session_; }
  runner::RunReporters& reporters() { return *reporters_; }

  // Called by the reporters: Google Benchmark begins with the first benchmark; a benchmark has
  // ended.
  void HasBegun() { ended_.clear(); }
  void MarkEnded(const std::vector<benchmark::BenchmarkReporter::Run>& runs);
  // Counts the call that this process was started for, and exits. Returns if there is no such
  // benchmark.
  void RunSimulated();
  bool IsSimulation() const { return mode_ == Mode::kSimulate; }
  void Measure(benchmark::State& state, const Call& call, const detail::Callable& callable);

  // Returns the runs to report. A run becomes a failed one if its call paused the timer, or if it
  // ran on a GPU without ->UseManualTime().
  std::vector<benchmark::BenchmarkReporter::Run> Checked(
      const std::vector<benchmark::BenchmarkReporter::Run>& runs) const;

 private:
  std::optional<Reason> ReasonAgainst(const benchmark::BenchmarkReporter::Run& run,
                                      const record::Repetition& repetition) const;
  // Returns the listed name of the benchmark that runs, since a State does not tell it: they run in
  // the order of the list. Returns nullopt after the last.
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
  // Runs all benchmarks once more, for a pass.
  void RunAgain(Mode mode);
  void List();  // sets names_

  bool initialized_ = false, own_main_ = false;
  std::string command_, program_;
  runner::BenchFlags flags_;
  workload::RunSettings settings_;
  runner::Devices devices_;
  std::shared_ptr<gpu::GpuClock> gpu_;
  std::optional<runner::QuotaWatch> quota_;
  std::optional<runner::TurnClient> turns_;
  std::unique_ptr<live::Session> session_;
  std::unique_ptr<runner::Runner> runner_;
  std::unique_ptr<runner::RunReporters> reporters_;

  Mode mode_ = Mode::kTime;
  std::string simulated_;                                  // the benchmark of Mode::kSimulate
  std::vector<std::string> names_;                         // as Google Benchmark lists them
  std::set<std::pair<std::int64_t, std::int64_t>> ended_;  // families and their instances
  PassResults passes_;
  std::set<std::string> passes_done_;  // names, in this pass
  std::mutex mutex_;
  std::map<std::string, runner::Runner::Team> teams_;  // by name
};

}  // namespace dlroof::library
