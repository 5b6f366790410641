#include "bench/run/runner.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "bench/run/counting.h"
#include "bench/run/prepared_calls.h"
#include "bench/run/verified_call.h"
#include "bench/run/watched_workloads.h"
#include "counters/base/interrupt.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "reporters/record/run_file.h"
#include "reporters/record/work_counters.h"

namespace dlroof {
namespace {

// Longer than a call needs to fill the private caches of a core.
constexpr double kWarmUpSeconds = 0.002;

// Prepares, verifies, counts and times benchmarks, and attaches their results. Google Benchmark
// calls a body several times per benchmark (guesses of the iteration count, then repetitions), so
// slow steps happen in the first call only. With random interleaving, benchmarks alternate: memory
// is freed and made again, the verdict on the output is kept.
class Runner {
 public:
  Runner(RunSettings settings, const RunnerOptions& options)
      : settings_(std::move(settings)),
        interleaving_(options.interleaving),
        stop_(options.stop),
        keep_disturbed_(options.keep_disturbed),
        explain_(options.explain),
        step_seconds_(options.step_seconds),
        energy_(options.energy),
        calls_(settings_,
               {options.best_state, options.interleaving != nullptr, options.keep_disturbed},
               {options.open_gpu, options.min_seconds}) {}

  void Run(benchmark::State& state, const Workload& workload) {
    const auto name = ToText(workload.name);
    const auto next = Next(repeated_[name]);
    if (failed_.contains(name) || !next.wanted) return SkipRest(state, workload);
    try {
      Prepare(workload);
      if (interleaving_ != nullptr && !interleaving_->WaitForTurn())
        return SkipRest(state, workload);
      const double begin = WallSeconds();
      if (next.pause_seconds > 0) SleepSeconds(next.pause_seconds);
      if (interleaving_ != nullptr || next.pause_seconds > 0) WarmUp(workload.cache);
      const auto timed =
          calls_.TimerOf(workload).Time(state, calls_.Call(), calls_of_part_.at(name));
      if (IsWatched(workload)) Watch(workload);
      Attach(state, workload, timed);
      if (interleaving_ != nullptr) interleaving_->EndTurn(static_cast<double>(state.iterations()));
      started_.insert(name);
      Remember(timed.repetition, WallSeconds() - begin, repeated_[name]);
      if (calls_.CountsLater(workload) || energy_.Measures(workload.name.device))
        timed_.emplace(prepared_, Timed{workload, calls_.Call().algorithm});
    } catch (const Unsupported& error) {
      Fail(state, workload, kUnsupportedPrefix + std::string(error.what()));
    } catch (const WrongResult& error) {
      Fail(state, workload, kWrongPrefix + std::string(error.what()));
    } catch (const std::exception& error) {
      Fail(state, workload, error.what());
    }
  }

  // Takes no time for the remaining repetitions of a benchmark, or for all of them.
  void SkipRest(benchmark::State& state, const Workload& workload) {
    EndLoop(state, ToText(workload.name));
    state.SkipWithError(kNotRun);
  }

  IdlePowers MeasureIdle() { return IdlePowersOf(energy_, calls_.Gpu()); }

  std::map<std::string, EnergyFound> MeasureEnergyOfTimed() {
    std::map<std::string, EnergyFound> found;
    Release();
    for (auto& [name, timed] : timed_) {
      if (StoppedByInterrupt()) break;
      try {
        calls_.Take(timed.workload);
        prepared_ = name;
        found[name] =
            EnergyOfCall(timed.workload, calls_.Call(), calls_.TimerOf(timed.workload), energy_);
        if (calls_.Call().algorithm != timed.algorithm)
          found[name] = {{},
                         "prepared again, it took another algorithm: " + calls_.Call().algorithm};
        Release();
      } catch (const std::exception& error) {
        found[name] = {{}, error.what()};
        calls_.Drop();
        calls_.TimerOf(timed.workload).Recover(name);
      }
    }
    prepared_.clear();
    return found;
  }

  std::map<std::string, ParallelTime> WatchAlone() {
    Release();
    prepared_.clear();
    return ParallelTimes(watched_, settings_, step_seconds_);
  }

  std::map<std::string, Counting> CountTimed() {
    std::map<std::string, Counting> counted;
    Release();
    for (auto& [name, timed] : timed_) {
      if (StoppedByInterrupt()) break;
      if (!calls_.CountsLater(timed.workload)) continue;
      try {
        calls_.Take(timed.workload);
        auto& counting = counted[name] = Count(timed.workload, calls_.Call(), settings_.counters);
        if (calls_.Call().algorithm != timed.algorithm)
          counting.notes.push_back(
              {.text = "counted when it was prepared again, with another algorithm: " +
                       calls_.Call().algorithm});
      } catch (const std::exception& error) {
        counted[name].notes = {{.text = fmt::format("not counted: {}", error.what())}};
        calls_.TimerOf(timed.workload).Recover(name);
      }
      calls_.Drop();
    }
    prepared_.clear();
    return counted;
  }

 private:
  struct Timed {
    Workload workload;
    std::string algorithm;
  };

  // Repetitions of a benchmark, all of one number of iterations.
  struct Repeated {
    std::vector<Repetition> repetitions;
    double seconds = 0;  // [s] that they took, with what precedes them
  };

  // Before a second call with as many iterations, Google Benchmark is guessing their number.
  NextRepetition Next(const Repeated& so_far) const {
    if (!stop_ || so_far.repetitions.size() < 2) return {};
    return NextAfter(so_far.repetitions, so_far.seconds, *stop_, replacements_);
  }

  void Remember(const Repetition& repetition, double seconds, Repeated& so_far) {
    auto& all = so_far.repetitions;
    if (!all.empty() && all.back().iterations != repetition.iterations) so_far = {};
    all.push_back(repetition);
    so_far.seconds += seconds;
    if (keep_disturbed_) return;
    MarkDisturbed(all);
    if (stop_ && all.size() > static_cast<std::size_t>(stop_->repetitions))
      replacements_.Add(!all.back().disturbed);
  }

  bool IsWatched(const Workload& workload) const {
    return explain_ && workload.name.device == "cpu" && workload.cache == CacheState::kWarm;
  }

  // Watches the call that was timed.
  void Watch(const Workload& workload) {
    const auto name = ToText(workload.name);
    auto& [of, calls] = watched_[name];
    of = workload;
    calls.Add(calls_.Call(), calls_.Settings().threads, calls_of_part_.at(name));
  }

  void Prepare(const Workload& workload) {
    const std::string name = ToText(workload.name);
    if (calls_.Holds() && prepared_ == name) return;
    Release();
    calls_.Take(workload);
    const PreparedCall& call = calls_.Call();
    if (verified_.count(name) == 0) verified_[name] = VerifiedHow(call);
    if (counted_.count(name) == 0)
      counted_[name] =
          Count(workload, call, calls_.CountsLater(workload) ? "model" : settings_.counters);
    call.run();  // first-time work of the library stays out of the timing
    if (!calls_of_part_.contains(name))
      calls_of_part_[name] = calls_.TimerOf(workload).CallsOfPart(call);
    prepared_ = name;
  }

  // Keeps the prepared call where it is to be counted later, or frees it.
  void Release() {
    const auto timed = timed_.find(prepared_);
    if (timed != timed_.end() && calls_.CountsLater(timed->second.workload)) calls_.Keep(prepared_);
    calls_.Drop();
  }

  // Refills the caches after the other process's turn. Cold calls empty them anyway.
  void WarmUp(CacheState cache) {
    if (cache != CacheState::kWarm) return;
    const double begin = WallSeconds();
    do calls_.Call().run();
    while (WallSeconds() - begin < kWarmUpSeconds);
  }

  // Counts once per benchmark. A source calls as the timing does, cold where it is cold.
  Counting Count(const Workload& workload, const PreparedCall& call, const std::string& choice) {
    RunSettings settings = calls_.Settings();
    settings.counters = choice;
    return CountPrepared(workload, call, settings, calls_.TimerOf(workload).BeforeCall());
  }

  void Attach(benchmark::State& state, const Workload& workload, const TimedLoop& timed) const {
    for (const auto& [key, value] : ToCounters(timed.repetition)) state.counters[key] = value;
    if (keep_disturbed_) state.counters[kKeptCounter] = 1;
    state.counters[kThreadsCounter] =
        calls_.Call().threads > 0 ? calls_.Call().threads : calls_.Settings().threads;
    state.counters[kSeedCounter] = settings_.seed;
    if (calls_.Call().heuristic_over_best)
      state.counters[kHeuristicOverBestCounter] = *calls_.Call().heuristic_over_best;
    state.counters[kCacheCounter] = static_cast<double>(workload.cache);
    const Counting& counting = counted_.at(prepared_);
    for (const auto& [from, work] : counting.work)
      for (const auto& [key, value] : ToCounters(from, work)) state.counters[key] = value;
    Record record{.algorithm = calls_.Call().algorithm, .isa = calls_.Call().isa};
    record.verified = verified_.at(prepared_);
    record.repro = workload.repro;
    record.counting = counting.notes;
    if (!timed.note.empty()) record.counting.push_back({.text = timed.note});
    record.kernels = counting.kernels;
    if (const auto watched = watched_.find(prepared_); watched != watched_.end())
      if (record.parallel = watched->second.calls.Mean(); !record.parallel)
        record.unwatched = watched->second.calls.WhyNot();
    state.SetLabel(ToLabel(record));
  }

  // Remembers the failure: all repetitions would fail for the same reason.
  void Fail(benchmark::State& state, const Workload& workload, const std::string& message) {
    const auto name = ToText(workload.name);
    failed_.insert(name);
    calls_.Drop();
    calls_.TimerOf(workload).Recover(name);
    state.SetLabel(ToLabel({.repro = workload.repro}));
    if (state.iterations() > 0) started_.insert(name);
    EndLoop(state, name);
    state.SkipWithError(message.c_str());
  }

  // Google Benchmark ends the program when repetitions of one benchmark differ in their iterations,
  // failed ones too: none where the loop has not begun, else all.
  void EndLoop(benchmark::State& state, const std::string& name) {
    if (started_.count(name) == 0 || state.iterations() > 0) return;
    while (state.KeepRunningBatch(calls_of_part_.at(name))) {
    }
  }

  RunSettings settings_;
  Interleaving* interleaving_;
  std::optional<StoppingRule> stop_;
  Replacements replacements_;
  bool keep_disturbed_;
  bool explain_;
  double step_seconds_;  // [s]
  EnergyPass energy_;
  PreparedCalls calls_;
  std::string prepared_;                         // name
  std::map<std::string, std::string> verified_;  // by name, as all that follow
  std::map<std::string, Counting> counted_;
  std::map<std::string, Repeated> repeated_;
  std::map<std::string, std::int64_t> calls_of_part_;
  WatchedWorkloads watched_;
  std::set<std::string> started_;  // whose loop has begun
  std::set<std::string> failed_;
  std::map<std::string, Timed> timed_;  // whose energy or counters are asked for later
};

}  // namespace

bool UsesManualTime(const Workload& workload) {
  return workload.name.device == "gpu" || workload.cache != CacheState::kWarm;
}

Passes RegisterWorkloads(const std::vector<Workload>& workloads, const RunSettings& settings,
                         const RunnerOptions& options) {
  auto runner = std::make_shared<Runner>(settings, options);
  for (const Workload& workload : workloads) {
    const auto body = [runner, workload](benchmark::State& state) {
      if (StoppedByInterrupt())
        runner->SkipRest(state, workload);
      else
        runner->Run(state, workload);
    };
    auto* const registered = benchmark::RegisterBenchmark(ToText(workload.name).c_str(), body)
                                 ->Unit(benchmark::kMicrosecond);
    if (UsesManualTime(workload))
      registered->UseManualTime();
    else
      registered->UseRealTime();
  }
  Passes passes{.count = [runner] { return runner->CountTimed(); }};
  if (options.explain) passes.alone = [runner] { return runner->WatchAlone(); };
  if (options.energy.cpu) passes.idle = [runner] { return runner->MeasureIdle(); };
  if (options.energy.cpu || options.energy.meter_seconds)
    passes.energy = [runner] { return runner->MeasureEnergyOfTimed(); };
  return passes;
}

}  // namespace dlroof
