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
  bool IsInitialized() const { return initialized_; }
  const runner::BenchFlags& flags() const { return flags_; }

  // Creates the session and the runner for the benchmarks that Google Benchmark lists. Further
  // calls do nothing. Throws BadInput.
  void Begin();
  live::Session& session() { return *session_; }
  runner::RunReporters& reporters() { return *reporters_; }

  // Called by the reporters: the benchmark `name` has ended.
  void HasEnded(const std::string& name);
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
  static std::optional<Reason> ReasonAgainst(const benchmark::BenchmarkReporter::Run& run);
  // Returns whether repetitions of several benchmarks alternate and this version of Google
  // Benchmark does not tell a benchmark its name.
  bool IsNameless(const benchmark::State& state) const;
  // Returns the name of the benchmark's record or, if IsNameless, its PlaceOf.
  std::string NameOf(const benchmark::State& state, const detail::Callable& callable) const;
  workload::Workload WorkloadOf(const std::string& name, const Call& call,
                                const detail::Callable& callable, int threads);
  void RunPass(benchmark::State& state, const workload::Workload& workload);
  void Time(benchmark::State& state, const workload::Workload& workload,
            const detail::Callable& callable);
  void SimulateCall(benchmark::State& state, const workload::Workload& workload);
  live::Passes Passes();
  // Runs all benchmarks once more, for a pass.
  void RunAgain(Mode mode);
  std::vector<std::string> ListedNames();

  bool initialized_ = false, own_main_ = false, interleaves_ = false;
  std::string command_, program_;
  runner::BenchFlags flags_;
  workload::RunSettings settings_;
  runner::Devices devices_;
  std::optional<gpu::GpuClock> gpu_;
  std::optional<runner::QuotaWatch> quota_;
  nlohmann::json limits_;
  std::optional<runner::TurnClient> turns_;
  std::unique_ptr<live::Session> session_;
  std::unique_ptr<runner::Runner> runner_;
  std::unique_ptr<runner::RunReporters> reporters_;

  Mode mode_ = Mode::kTime;
  std::string simulated_;           // the benchmark of Mode::kSimulate
  std::vector<std::string> names_;  // as Google Benchmark lists them
  std::size_t current_ = 0;         // index of the benchmark that runs
  PassResults passes_;
  std::set<std::string> passes_done_;  // names, in this pass
  std::mutex mutex_;
  std::map<std::string, runner::Runner::Team> teams_;  // by name
};

}  // namespace dlroof::library
