#include "bench/runner/runner.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include "bench/runner/prepared_calls.h"
#include "bench/timing/watched_calls.h"
#include "counters/base/process.h"
#include "counters/caches/callgrind.h"
#include "counters/cpu/clocks.h"
#include "reporters/record/work_counters.h"

namespace dlroof::runner {
namespace {

// Longer than a call needs to fill the private caches of a core.
constexpr double kWarmUpSeconds = 0.002;

void WriteTo(int to, const std::string& text) {
  // Text shorter than a pipe's buffer is written whole. A failure needs no answer: where the reader
  // is gone the next turn does not come.
  [[maybe_unused]] const auto written = write(to, text.data(), text.size());
}

// Thrown when an output differs from the reference's.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Compares with the reference. Returns how, for people. Throws WrongResult.
std::string VerifiedHow(const workload::PreparedCall& call) {
  const workload::Verification found = call.verify();
  if (!found.ok)
    throw WrongResult(fmt::format("differs from the reference: error {:.3g}, allowed {:.3g} ({})",
                                  found.max_error, found.tolerance, found.how));
  return fmt::format("{}, error {:.2g} of {:.2g} allowed", found.how, found.max_error,
                     found.tolerance);
}

// A workload whose parallel regions were watched while it was timed.
struct WatchedWorkload {
  workload::Workload workload;
  timing::WatchedCalls calls;
};

// Times the workload made for one thread, and counts its instructions: by hardware; else, where
// `step_seconds` is more than 0, by so many seconds of single steps, then by callgrind.
void AddSingleThreaded(const std::string& name, const workload::RunSettings& settings,
                       double step_seconds, WatchedWorkload& watched) {
  const auto call = watched.workload.prepare(settings);
  watched.calls.AddSingleThreaded(call, step_seconds);
  if (watched.calls.HasInstructions() || step_seconds <= 0) return;
  const auto counted = caches::SimulateInstructions(name, settings.seed, call.algorithm, call.isa);
  if (counted.count)
    watched.calls.SetInstructions(*counted.count);
  else
    watched.calls.AddInstructionsReason(counted.reason->text);
}

// Prepares, verifies, counts and times benchmarks, and attaches their results. Google Benchmark
// calls a body several times per benchmark (guesses of the iteration count, then repetitions), so
// slow steps happen in the first call only. With random interleaving, benchmarks alternate: memory
// is freed and made again, the verdict on the output is kept.
class Runner {
 public:
  Runner(workload::RunSettings settings, const RunnerOptions& options)
      : settings_(std::move(settings)),
        options_(options),
        calls_(settings_, {options.best_state, options.interleaving != nullptr, options.keep_noisy},
               {options.open_gpu, options.min_seconds}) {}

  void Run(benchmark::State& state, const workload::Workload& workload) {
    const auto name = workload::ToText(workload.name);
    const auto next = Next(repeated_[name]);
    if (failed_.contains(name) || !next.wanted) return SkipRest(state, workload);
    try {
      Prepare(workload);
      auto* const interleaving = options_.interleaving;
      if (interleaving != nullptr && !interleaving->WaitForTurn()) return SkipRest(state, workload);
      const double begin = cpu::WallSeconds();
      if (next.pause_seconds > 0) SleepSeconds(next.pause_seconds);
      if (interleaving != nullptr || next.pause_seconds > 0) WarmUp(workload.cache);
      const auto timed =
          calls_.TimerOf(workload).Time(state, calls_.Call(), calls_of_part_.at(name));
      if (IsWatched(workload)) Watch(workload);
      Attach(state, workload, timed);
      if (interleaving != nullptr) interleaving->EndTurn(static_cast<double>(state.iterations()));
      started_.insert(name);
      Remember(timed.repetition, cpu::WallSeconds() - begin, repeated_[name]);
      if (calls_.CountsLater(workload) || options_.energy.Measures(workload.name.device))
        timed_.emplace(prepared_, Timed{workload, calls_.Call().algorithm});
    } catch (const Unsupported& error) {
      Fail(state, workload, record::kUnsupportedPrefix + std::string(error.what()));
    } catch (const WrongResult& error) {
      Fail(state, workload, record::kWrongPrefix + std::string(error.what()));
    } catch (const std::exception& error) {
      Fail(state, workload, error.what());
    }
  }

  // Takes no time for the remaining repetitions of a benchmark, or for all of them.
  void SkipRest(benchmark::State& state, const workload::Workload& workload) {
    EndLoop(state, workload::ToText(workload.name));
    state.SkipWithError(record::kNotRun);
  }

  energy::IdlePowers MeasureIdle() { return IdlePowersOf(options_.energy, calls_.Gpu()); }

  std::map<std::string, energy::EnergyResult> MeasureEnergyOfTimed() {
    std::map<std::string, energy::EnergyResult> found;
    Release();
    for (auto& [name, timed] : timed_) {
      if (StoppedByInterrupt()) break;
      try {
        calls_.Take(timed.workload);
        prepared_ = name;
        found[name] = EnergyOfCall(timed.workload, calls_.Call(), calls_.TimerOf(timed.workload),
                                   options_.energy);
        if (calls_.Call().algorithm != timed.algorithm)
          found[name] = {.reason = Reason{"prepared again, it took another algorithm: " +
                                          calls_.Call().algorithm}};
        Release();
      } catch (const std::exception& error) {
        found[name] = {.reason = Reason{error.what()}};
        calls_.Drop();
        calls_.TimerOf(timed.workload).Recover(name);
      }
    }
    prepared_.clear();
    return found;
  }

  // Waits until all is timed: another call of the same kind that was there while one is timed would
  // change where its buffers lie.
  std::map<std::string, ParallelTime> WatchSingleThreaded() {
    Release();
    prepared_.clear();
    auto settings = settings_;
    settings.threads = 1;
    std::map<std::string, ParallelTime> found;
    for (auto& [name, one] : watched_) {
      if (StoppedByInterrupt()) break;
      try {
        AddSingleThreaded(name, settings, options_.step_seconds, one);
      } catch (const std::exception&) {
        continue;  // its record keeps what was watched on all threads
      }
      if (const auto mean = one.calls.Mean()) found[name] = *mean;
    }
    return found;
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
    workload::Workload workload;
    std::string algorithm;
  };

  // Repetitions of a benchmark, all of one number of iterations.
  struct Repeated {
    std::vector<record::Repetition> repetitions;
    double seconds = 0;  // [s] that they took, with what precedes them
  };

  // Before a second call with as many iterations, Google Benchmark is guessing their number.
  timing::NextRepetition Next(const Repeated& so_far) const {
    if (!options_.stop || so_far.repetitions.size() < 2) return {};
    return timing::NextAfter(so_far.repetitions, so_far.seconds, *options_.stop, replacements_);
  }

  void Remember(const record::Repetition& repetition, double seconds, Repeated& so_far) {
    auto& all = so_far.repetitions;
    if (!all.empty() && all.back().iterations != repetition.iterations) so_far = {};
    all.push_back(repetition);
    so_far.seconds += seconds;
    if (options_.keep_noisy) return;
    record::MarkNoisy(all);
    if (options_.stop && all.size() > static_cast<std::size_t>(options_.stop->repetitions))
      replacements_.Add(!all.back().noisy);
  }

  bool IsWatched(const workload::Workload& workload) const {
    return options_.explain && workload.name.device == "cpu" &&
           workload.cache == workload::CacheState::kWarm;
  }

  // Watches the call that was timed.
  void Watch(const workload::Workload& workload) {
    const auto name = workload::ToText(workload.name);
    auto& [of, calls] = watched_[name];
    of = workload;
    calls.Add(calls_.Call(), calls_.Settings().threads, calls_of_part_.at(name));
  }

  void Prepare(const workload::Workload& workload) {
    const std::string name = workload::ToText(workload.name);
    if (calls_.Holds() && prepared_ == name) return;
    Release();
    calls_.Take(workload);
    const workload::PreparedCall& call = calls_.Call();
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
  void WarmUp(workload::CacheState cache) {
    if (cache != workload::CacheState::kWarm) return;
    const double begin = cpu::WallSeconds();
    do calls_.Call().run();
    while (cpu::WallSeconds() - begin < kWarmUpSeconds);
  }

  // Counts once per benchmark. A source calls as the timing does, cold where it is cold.
  Counting Count(const workload::Workload& workload, const workload::PreparedCall& call,
                 const std::string& choice) {
    workload::RunSettings settings = calls_.Settings();
    settings.counters = choice;
    return CountPrepared(workload, call, settings, calls_.TimerOf(workload).BeforeCall());
  }

  void Attach(benchmark::State& state, const workload::Workload& workload,
              const timing::TimedLoop& timed) const {
    for (const auto& [key, value] : record::ToCounters(timed.repetition))
      state.counters[key] = value;
    if (options_.keep_noisy) state.counters[record::kNoiseIgnoredCounter] = 1;
    state.counters[record::kThreadsCounter] =
        calls_.Call().threads.value_or(calls_.Settings().threads);
    state.counters[record::kSeedCounter] = settings_.seed;
    if (calls_.Call().heuristic_over_best)
      state.counters[record::kHeuristicOverBestCounter] = *calls_.Call().heuristic_over_best;
    state.counters[record::kCacheCounter] = static_cast<double>(workload.cache);
    const Counting& counting = counted_.at(prepared_);
    for (const auto& [from, work] : counting.work)
      for (const auto& [key, value] : record::ToCounters(from, work)) state.counters[key] = value;
    record::Record record{.algorithm = calls_.Call().algorithm, .isa = calls_.Call().isa};
    record.verified = verified_.at(prepared_);
    record.repro = workload.repro;
    record.counting = counting.notes;
    if (!timed.note.empty()) record.counting.push_back({.text = timed.note});
    record.kernels = counting.kernels;
    if (const auto watched = watched_.find(prepared_); watched != watched_.end())
      if (record.parallel = watched->second.calls.Mean(); !record.parallel)
        record.unwatched_reason = Reason{watched->second.calls.WhyNot()};
    state.SetLabel(record::ToLabel(record));
  }

  // Remembers the failure: all repetitions would fail for the same reason.
  void Fail(benchmark::State& state, const workload::Workload& workload,
            const std::string& message) {
    const auto name = workload::ToText(workload.name);
    failed_.insert(name);
    calls_.Drop();
    calls_.TimerOf(workload).Recover(name);
    state.SetLabel(record::ToLabel({.repro = workload.repro}));
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

  workload::RunSettings settings_;
  RunnerOptions options_;
  timing::Replacements replacements_;
  PreparedCalls calls_;
  std::string prepared_;                         // name
  std::map<std::string, std::string> verified_;  // by name, as all that follow
  std::map<std::string, Counting> counted_;
  std::map<std::string, Repeated> repeated_;
  std::map<std::string, std::int64_t> calls_of_part_;
  std::map<std::string, WatchedWorkload> watched_;
  std::set<std::string> started_;  // whose loop has begun
  std::set<std::string> failed_;
  std::map<std::string, Timed> timed_;  // whose energy or counters are asked for later
};

}  // namespace

bool Interleaving::WaitForTurn() {
  if (!ready_) WriteTo(to_, "ready\n");
  ready_ = true;
  char turn = 0;
  ssize_t got = 0;
  do got = read(from_, &turn, 1);
  while (got < 0 && errno == EINTR);
  return got == 1;
}

void Interleaving::EndTurn(double iterations) { WriteTo(to_, fmt::format("{:.0f}\n", iterations)); }

bool UsesManualTime(const workload::Workload& workload) {
  return workload.name.device == "gpu" || workload.cache != workload::CacheState::kWarm;
}

live::Passes RegisterWorkloads(const std::vector<workload::Workload>& workloads,
                               const workload::RunSettings& settings,
                               const RunnerOptions& options) {
  auto runner = std::make_shared<Runner>(settings, options);
  for (const workload::Workload& workload : workloads) {
    const auto body = [runner, workload](benchmark::State& state) {
      if (StoppedByInterrupt())
        runner->SkipRest(state, workload);
      else
        runner->Run(state, workload);
    };
    auto* const registered =
        benchmark::RegisterBenchmark(workload::ToText(workload.name).c_str(), body)
            ->Unit(benchmark::kMicrosecond);
    if (UsesManualTime(workload))
      registered->UseManualTime();
    else
      registered->UseRealTime();
  }
  live::Passes passes{.count = [runner] { return runner->CountTimed(); }};
  if (options.explain) passes.parallel = [runner] { return runner->WatchSingleThreaded(); };
  if (options.energy.cpu) passes.idle = [runner] { return runner->MeasureIdle(); };
  if (options.energy.cpu || options.energy.meter_seconds)
    passes.energy = [runner] { return runner->MeasureEnergyOfTimed(); };
  return passes;
}

}  // namespace dlroof::runner
