#include "bench/run/runner.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "bench/run/counting.h"
#include "bench/run/verified_call.h"
#include "bench/run/watched_workloads.h"
#include "bench/timing/cpu_timer.h"
#include "bench/timing/gpu_timer.h"
#include "counters/base/interrupt.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "reporters/record/run_file.h"
#include "reporters/record/work_counters.h"

namespace dlroof {
namespace {

// Longer than a call needs to fill the private caches of a core.
constexpr double kWarmUpSeconds = 0.002;
// [byte] Tensors of a GPU's calls that stay until they are counted.
constexpr double kMostKeptBytes = 4e9;

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
        energy_(options.energy),
        cpu_(options.best_state, options.interleaving != nullptr, options.keep_disturbed),
        gpu_(options.open_gpu, options.min_seconds) {}

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
      const auto timed = TimerOf(workload).Time(state, *call_, calls_of_part_.at(name));
      if (IsWatched(workload)) Watch(workload);
      Attach(state, workload, timed);
      if (interleaving_ != nullptr) interleaving_->EndTurn(static_cast<double>(state.iterations()));
      started_.insert(name);
      Remember(timed.repetition, WallSeconds() - begin, repeated_[name]);
      if (CountsLater(workload) || energy_.Measures(workload.name.device))
        timed_.emplace(prepared_, Timed{workload, call_->algorithm});
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

  IdlePowers MeasureIdle() { return IdlePowersOf(energy_, gpu_); }

  std::map<std::string, EnergyFound> MeasureEnergyOfTimed() {
    std::map<std::string, EnergyFound> found;
    Release();
    for (auto& [name, timed] : timed_) {
      if (StoppedByInterrupt()) break;
      try {
        Take(timed.workload);
        prepared_ = name;
        found[name] = EnergyOfCall(timed.workload, *call_, TimerOf(timed.workload), energy_);
        if (call_->algorithm != timed.algorithm)
          found[name] = {{}, "prepared again, it took another algorithm: " + call_->algorithm};
        Release();
      } catch (const std::exception& error) {
        found[name] = {{}, error.what()};
        Drop();
        TimerOf(timed.workload).Recover(name);
      }
    }
    prepared_.clear();
    return found;
  }

  std::map<std::string, ParallelTime> WatchAlone() {
    Release();
    prepared_.clear();
    return ParallelTimes(watched_, settings_);
  }

  std::map<std::string, Counting> CountTimed() {
    std::map<std::string, Counting> counted;
    Release();
    for (auto& [name, timed] : timed_) {
      if (StoppedByInterrupt()) break;
      if (!CountsLater(timed.workload)) continue;
      try {
        Take(timed.workload);
        auto& counting = counted[name] = Count(timed.workload, *call_, settings_.counters);
        if (call_->algorithm != timed.algorithm)
          counting.notes.push_back(
              {.text = "counted when it was prepared again, with another algorithm: " +
                       call_->algorithm});
      } catch (const std::exception& error) {
        counted[name].notes = {{.text = fmt::format("not counted: {}", error.what())}};
        TimerOf(timed.workload).Recover(name);
      }
      Drop();
    }
    prepared_.clear();
    return counted;
  }

 private:
  struct Timed {
    Workload workload;
    std::string algorithm;
    std::optional<PreparedCall> kept = {};  // to be counted without being prepared again
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

  Timer& TimerOf(const Workload& workload) {
    if (workload.name.device == "gpu") return gpu_;
    return cpu_;
  }

  bool IsWatched(const Workload& workload) const {
    return explain_ && workload.name.device == "cpu" && workload.cache == CacheState::kWarm;
  }

  // Watches the call that was timed.
  void Watch(const Workload& workload) {
    const auto name = ToText(workload.name);
    auto& [of, calls] = watched_[name];
    of = workload;
    calls.Add(*call_, threads_, calls_of_part_.at(name));
  }

  void Prepare(const Workload& workload) {
    const std::string name = ToText(workload.name);
    if (call_ && prepared_ == name) return;
    Release();
    Take(workload);
    PreparedCall& call = *call_;
    if (verified_.count(name) == 0) verified_[name] = VerifiedHow(call);
    if (counted_.count(name) == 0)
      counted_[name] = Count(workload, call, CountsLater(workload) ? "model" : settings_.counters);
    call.run();  // first-time work of the library stays out of the timing
    if (!calls_of_part_.contains(name)) calls_of_part_[name] = TimerOf(workload).CallsOfPart(call);
    prepared_ = name;
  }

  // Makes the call, or takes the one that was kept. Where there is too little room for it beside
  // those that are kept, they are given back.
  void Take(const Workload& workload) {
    const auto timed = timed_.find(ToText(workload.name));
    if (timed != timed_.end() && timed->second.kept) {
      call_ = std::exchange(timed->second.kept, std::nullopt);
      kept_bytes_ -= Bytes(*call_);
      TimerOf(workload).SetUp(*call_, workload.cache, threads_);
      return;
    }
    try {
      call_ = Make(workload);
    } catch (const std::exception&) {
      if (kept_bytes_ == 0) throw;
      for (auto& [name, other] : timed_) other.kept.reset();
      kept_bytes_ = 0;
      call_ = Make(workload);
    }
  }

  static double Bytes(const PreparedCall& call) {
    double bytes = 1;  // so that no kept call counts as none
    for (const auto& region : call.memory) bytes += static_cast<double>(region.bytes);
    return bytes;
  }

  // Returns the call, ready in the state of the caches that the name asks for.
  PreparedCall Make(const Workload& workload) {
    Timer& timer = TimerOf(workload);
    threads_ = timer.Threads(workload, settings_.threads);
    timer.Open();
    Pin();
    PreparedCall call = workload.prepare(Settings());
    timer.SetUp(call, workload.cache, threads_);
    return call;
  }

  RunSettings Settings() const {
    RunSettings settings = settings_;
    settings.threads = threads_;
    return settings;
  }

  bool CountsLater(const Workload& workload) {
    return TimerOf(workload).CountsLast() && MeansGpuCounters(settings_.counters);
  }

  // Keeps the prepared call where it is to be counted later, or frees it.
  void Release() {
    const auto timed = timed_.find(prepared_);
    if (call_ && timed != timed_.end() && CountsLater(timed->second.workload) &&
        kept_bytes_ + Bytes(*call_) <= kMostKeptBytes) {
      kept_bytes_ += Bytes(*call_);
      timed->second.kept = std::exchange(call_, std::nullopt);
    }
    Drop();
  }

  // Frees the prepared call and what the timers took from it.
  void Drop() {
    call_.reset();
    cpu_.TearDown();
    gpu_.TearDown();
  }

  // Pins each thread to a CPU of its own.
  void Pin() {
    if (settings_.cpus.empty()) return;
    if (static_cast<size_t>(threads_) > settings_.cpus.size())
      throw Unsupported(
          fmt::format("threads{}: this process may use {} CPUs, and each thread "
                      "needs its own",
                      threads_, settings_.cpus.size()));
    const std::vector<int> cpus(settings_.cpus.begin(), settings_.cpus.begin() + threads_);
    if (cpus == pinned_) return;
    for (const auto& library : AllLibraries()) library.pin(cpus);
    pinned_ = cpus;
  }

  // Refills the caches after the other process's turn. Cold calls empty them anyway.
  void WarmUp(CacheState cache) {
    if (cache != CacheState::kWarm) return;
    const double begin = WallSeconds();
    do call_->run();
    while (WallSeconds() - begin < kWarmUpSeconds);
  }

  // Counts once per benchmark. A source calls as the timing does, cold where it is cold.
  Counting Count(const Workload& workload, const PreparedCall& call, const std::string& choice) {
    RunSettings settings = Settings();
    settings.counters = choice;
    return CountPrepared(workload, call, settings, TimerOf(workload).BeforeCall());
  }

  void Attach(benchmark::State& state, const Workload& workload, const TimedLoop& timed) const {
    for (const auto& [key, value] : ToCounters(timed.repetition)) state.counters[key] = value;
    if (keep_disturbed_) state.counters[kKeptCounter] = 1;
    state.counters[kThreadsCounter] = call_->threads > 0 ? call_->threads : threads_;
    state.counters[kSeedCounter] = settings_.seed;
    if (call_->heuristic_over_best)
      state.counters[kHeuristicOverBestCounter] = *call_->heuristic_over_best;
    state.counters[kCacheCounter] = static_cast<double>(workload.cache);
    const Counting& counting = counted_.at(prepared_);
    for (const auto& [from, work] : counting.work)
      for (const auto& [key, value] : ToCounters(from, work)) state.counters[key] = value;
    Record record{.algorithm = call_->algorithm, .isa = call_->isa};
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
    Drop();
    TimerOf(workload).Recover(name);
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
  EnergyPass energy_;
  CpuTimer cpu_;
  GpuTimer gpu_;
  std::vector<int> pinned_;  // CPUs, by thread
  int threads_ = 1;          // of the prepared call
  std::string prepared_;     // name
  std::optional<PreparedCall> call_;
  std::map<std::string, std::string> verified_;  // by name, as all that follow
  std::map<std::string, Counting> counted_;
  std::map<std::string, Repeated> repeated_;
  std::map<std::string, std::int64_t> calls_of_part_;
  WatchedWorkloads watched_;
  std::set<std::string> started_;  // whose loop has begun
  std::set<std::string> failed_;
  std::map<std::string, Timed> timed_;  // and not yet counted
  double kept_bytes_ = 0;               // [byte] tensors of the calls that are kept
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
