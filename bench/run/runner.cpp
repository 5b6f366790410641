#include "bench/run/runner.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "bench/run/counting.h"
#include "bench/run/evicted_spans.h"
#include "bench/run/gpu_timing.h"
#include "counters/base/interrupt.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/issue_rate.h"
#include "reporters/record/run_file.h"
#include "reporters/record/work_counters.h"

namespace dlroof {
namespace {

// Longer than it takes to fill the caches that are a core's own.
constexpr double kWarmUpSeconds = 0.002;

// Thrown when an output differs from the reference's.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Google Benchmark calls a body several times per benchmark (guesses of the iteration count, then
// repetitions); what is slow happens at the first call only. With random interleaving benchmarks
// alternate: memory is given back and made again, the verdict on the output is kept.
class Runner {
 public:
  Runner(RunSettings settings, RunnerMeans means)
      : settings_(std::move(settings)), means_(std::move(means)) {}

  void Run(benchmark::State& state, const Workload& workload) {
    const auto failed = failed_.find(ToText(workload.name));
    if (failed != failed_.end()) return Skip(state, workload, failed->second);
    try {
      Prepare(workload);
      if (means_.turns != nullptr) {
        if (!means_.turns->Take()) return Pass(state, workload);
        WarmUp(workload.cache);
      }
      Time(state, workload);
      Attach(state, workload);
      if (means_.turns != nullptr) means_.turns->Give(static_cast<double>(state.iterations()));
      started_.insert(ToText(workload.name));
      if (CountsLater(workload)) timed_.emplace(prepared_, Timed{workload, call_->algorithm});
    } catch (const Unsupported& error) {
      Fail(state, workload, kUnsupportedPrefix + std::string(error.what()));
    } catch (const WrongResult& error) {
      Fail(state, workload, kWrongPrefix + std::string(error.what()));
    } catch (const std::exception& error) {
      Fail(state, workload, error.what());
    }
  }

  // After an interrupt. Google Benchmark ends the program when one repetition of a benchmark fails
  // that had begun well, so its remaining ones pass in no time and are marked; a benchmark that has
  // not begun is skipped.
  void Pass(benchmark::State& state, const Workload& workload) {
    if (started_.count(ToText(workload.name)) == 0) {
      state.SkipWithError(kInterrupted);
      return;
    }
    for (auto _ : state) {
    }
    state.counters[kInterruptedCounter] = 1;
  }

  std::map<std::string, Counting> CountTimed() {
    std::map<std::string, Counting> counted;
    for (const auto& [name, timed] : timed_) {
      if (StoppedByInterrupt()) break;
      Release();
      try {
        call_ = Make(timed.workload);
        auto& counting = counted[name] = Count(timed.workload, *call_, settings_.counters);
        if (call_->algorithm != timed.algorithm)
          counting.said.push_back("counted when it was prepared again, with another algorithm: " +
                                  call_->algorithm);
      } catch (const std::exception& error) {
        counted[name].said = {fmt::format("not counted: {}", error.what())};
        LookAfterGpu(name);
      }
    }
    Release();
    prepared_.clear();
    return counted;
  }

 private:
  struct Timed {
    Workload workload;
    std::string algorithm;
  };

  void Prepare(const Workload& workload) {
    const std::string name = ToText(workload.name);
    if (call_ && prepared_ == name) return;
    Release();
    iterations_ = 0;
    PreparedCall call = Make(workload);
    if (verified_.count(name) == 0) verified_[name] = Verify(call);
    if (counted_.count(name) == 0)
      counted_[name] =
          Count(workload, call, CountsLater(workload) ? CounterChoice::kModel : settings_.counters);
    call.run();  // first-time work of the library stays out of the timing
    prepared_ = name;
    call_ = std::move(call);
  }

  // Ready to be called, in the state of the caches that the name asks for.
  PreparedCall Make(const Workload& workload) {
    threads_ = ThreadsOf(workload);
    if (OnGpu(workload)) {
      if (!lost_gpu_.empty()) throw std::runtime_error(lost_gpu_);
      OpenGpu();
    }
    Pin();
    PreparedCall call = workload.prepare(Settings());
    if (OnGpu(workload))
      gpu_cache_ = GpuCacheOf(call, workload.cache);
    else if (workload.cache != CacheState::kWarm)
      evicted_ = EvictedSpans(call, workload.cache);
    return call;
  }

  RunSettings Settings() const {
    RunSettings settings = settings_;
    settings.threads = threads_;
    return settings;
  }

  bool CountsLater(const Workload& workload) const {
    const auto choice = settings_.counters;
    return OnGpu(workload) && (choice == CounterChoice::kAuto || choice == CounterChoice::kCupti);
  }

  // The prepared call, and what was taken from it.
  void Release() {
    call_.reset();
    gpu_cache_ = {};
  }

  static bool OnGpu(const Workload& workload) { return workload.name.device == "gpu"; }

  // A GPU's work is started by one thread.
  int ThreadsOf(const Workload& workload) const {
    if (!OnGpu(workload)) return workload.threads > 0 ? workload.threads : settings_.threads;
    if (workload.threads > 1)
      throw Unsupported(
          fmt::format("threads{}: one thread of the host starts a GPU's work", workload.threads));
    return 1;
  }

  // Before the call is prepared: it makes the GPU the current one. Without a clock the benchmark
  // is one that cannot be prepared either, and says why.
  void OpenGpu() {
    if (!gpu_ && means_.open_gpu) gpu_ = means_.open_gpu();
  }

  // As many of the CPUs as there are threads.
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

  static std::string Verify(const PreparedCall& call) {
    const Verification found = call.verify();
    if (!found.ok)
      throw WrongResult(fmt::format("differs from the reference: error {:.3g}, allowed {:.3g} ({})",
                                    found.max_error, found.tolerance, found.how));
    return fmt::format("{}, error {:.2g} of {:.2g} allowed", found.how, found.max_error,
                       found.tolerance);
  }

  // Another process had the caches before. Cold calls empty them anyway.
  void WarmUp(CacheState cache) {
    if (cache != CacheState::kWarm) return;
    const double begin = WallSeconds();
    do call_->run();
    while (WallSeconds() - begin < kWarmUpSeconds);
  }

  // Once per benchmark; a source calls it as the timing will, cold where it is cold.
  Counting Count(const Workload& workload, const PreparedCall& call, CounterChoice choice) {
    RunSettings settings = Settings();
    settings.counters = choice;
    std::function<void()> ready;
    if (OnGpu(workload) && gpu_ && (workload.cache != CacheState::kWarm || call.renew))
      ready = [this] { MakeReady(*gpu_, gpu_cache_); };
    else if (!OnGpu(workload) && workload.cache != CacheState::kWarm)
      ready = [this] { Evict(evicted_); };
    return CountPrepared(workload, call, settings, ready);
  }

  void Time(benchmark::State& state, const Workload& workload) {
    gpu_sample_.reset();
    core_share_.reset();
    if (OnGpu(workload)) return TimeGpu(state);
    const auto before = LookAtCore();
    if (workload.cache != CacheState::kWarm)
      TimeCold(state);
    else
      TimeWarm(state);
    if (const auto after = LookAtCore()) core_share_ = std::min(before.value_or(*after), *after);
  }

  // The share of its core that the only thread gets. Two threads may share a core between them.
  // Where turns are taken both programs have the same neighbours.
  std::optional<double> LookAtCore() {
    if (threads_ != 1 || means_.turns != nullptr) return std::nullopt;
    if (!core_) core_.emplace(means_.issue_rate ? means_.issue_rate() : std::nullopt);
    const auto rate = MeasureIssueRate();
    return rate ? std::optional(core_->Of(*rate)) : std::nullopt;
  }

  void TimeWarm(benchmark::State& state) {
    const auto& run = call_->run;
    const ClockReading begin = ReadClocks();
    for (auto _ : state) run();
    spent_ = ReadClocks() - begin;
  }

  // Each call by itself, after its memory has left the caches and its threads have gathered.
  void TimeCold(benchmark::State& state) {
    const auto& run = call_->run;
    const auto gather = [] {
      for (const auto& library : AllLibraries()) library.gather();
    };
    spent_ = {};
    for (auto _ : state) {
      evicted_bytes_ = Evict(evicted_);
      const ClockReading spent = SpentBy(gather, run);
      state.SetIterationTime(spent.wall);
      spent_.thread_cpu += spent.thread_cpu;
      spent_.process_cpu += spent.process_cpu;
      if (spent.run_delay) spent_.run_delay = spent_.run_delay.value_or(0) + *spent.run_delay;
    }
  }

  // Google Benchmark looks for a number of iterations that takes long enough, with more of them
  // each time; its repetitions all have the number that it found. It keeps what took `min_seconds`
  // by our clock or five times that by its own; samples of anything much shorter would be thrown
  // away.
  bool IsAttempt(std::int64_t iterations, double seconds) {
    const bool more = iterations > std::exchange(iterations_, iterations);
    return more && means_.min_seconds && seconds < *means_.min_seconds / 2 &&
           spent_.wall < 2 * *means_.min_seconds;
  }

  // Each call by itself on an idle GPU; then what cannot be seen while they are timed.
  void TimeGpu(benchmark::State& state) {
    if (!gpu_ || !call_->enqueue)
      throw std::logic_error("a call on a GPU needs a clock and `enqueue`");
    double seconds = 0;
    const ClockReading begin = ReadClocks();
    for (auto _ : state) {
      const double once = TimeOnce(*gpu_, call_->enqueue, gpu_cache_);
      state.SetIterationTime(once);
      seconds += once;
    }
    spent_ = ReadClocks() - begin;
    if (IsAttempt(state.iterations(), seconds)) return;
    const auto iterations = static_cast<double>(state.iterations());
    gpu_sample_ = SampleGpu(*gpu_, call_->enqueue, seconds / iterations, gpu_cache_, why_no_graph_);
    gpu_sample_->host_seconds = spent_.wall / iterations;
  }

  void Attach(benchmark::State& state, const Workload& workload) const {
    const auto iterations = static_cast<double>(state.iterations());
    if (gpu_sample_)
      for (const auto& [key, value] : ToCounters(*gpu_sample_)) state.counters[key] = value;
    if (workload.cache != CacheState::kWarm && !OnGpu(workload)) {
      // Google Benchmark's own CPU time includes the eviction.
      state.counters[kMainCpuSecondsCounter] = spent_.thread_cpu / iterations;
      state.counters[kEvictedBytesCounter] = static_cast<double>(evicted_bytes_);
    }
    state.counters[kCpuSecondsCounter] = spent_.process_cpu / iterations;
    if (spent_.run_delay) state.counters[kRunDelayCounter] = *spent_.run_delay / iterations;
    if (core_share_) state.counters[kCoreShareCounter] = *core_share_;
    state.counters[kThreadsCounter] = call_->threads > 0 ? call_->threads : threads_;
    state.counters[kSeedCounter] = settings_.seed;
    if (call_->heuristic_over_best)
      state.counters[kHeuristicOverBestCounter] = *call_->heuristic_over_best;
    state.counters[kCacheCounter] = static_cast<double>(workload.cache);
    const Counting& counting = counted_.at(prepared_);
    for (const auto& [from, work] : counting.work)
      for (const auto& [key, value] : ToCounters(from, work)) state.counters[key] = value;
    auto said = counting.said;
    if (gpu_sample_ && !why_no_graph_.empty())
      said.push_back("gpu.graph_seconds is not known: " + why_no_graph_);
    state.SetLabel(
        ToLabel(call_->algorithm, call_->isa, verified_.at(prepared_), workload.repro, said));
  }

  // What failed once is not tried again: all its repetitions fail for the same reason.
  void Fail(benchmark::State& state, const Workload& workload, const std::string& message) {
    const auto name = ToText(workload.name);
    failed_[name] = message;
    Release();
    if (OnGpu(workload)) LookAfterGpu(name);
    Skip(state, workload, message);
  }

  // Some failures of a GPU stay until the process ends; nothing that it says afterwards is about
  // the benchmark that is asking.
  void LookAfterGpu(const std::string& name) {
    if (!gpu_ || !lost_gpu_.empty()) return;
    try {
      gpu_->recover();
    } catch (const std::exception& error) {
      lost_gpu_ =
          fmt::format("not run: the GPU is lost to this process since {}: {}", name, error.what());
    }
  }

  // Google Benchmark ends the program when repetitions of one benchmark differ in their iterations,
  // failed ones too: none where the loop has not begun, else all. After an error the loop passes in
  // no time.
  void Skip(benchmark::State& state, const Workload& workload, const std::string& message) {
    const auto name = ToText(workload.name);
    state.SetLabel(ToLabel("", "", "", workload.repro));
    state.SkipWithError(message.c_str());
    if (state.iterations() > 0) started_.insert(name);
    if (started_.count(name) == 0 || state.iterations() > 0) return;
    for (auto _ : state) {
    }
  }

  RunSettings settings_;
  RunnerMeans means_;
  std::optional<GpuClock> gpu_;  // from the first benchmark of a GPU on
  GpuCacheState gpu_cache_;      // before each call of the prepared benchmark
  std::int64_t iterations_ = 0;  // of the prepared benchmark's last run
  std::optional<GpuSample> gpu_sample_;
  std::string why_no_graph_;         // of the last sample
  std::vector<int> pinned_;          // CPUs, by thread
  int threads_ = 1;                  // of the prepared call
  std::vector<MemorySpan> evicted_;  // before each cold call
  std::int64_t evicted_bytes_ = 0;   // [byte] by the last eviction
  std::string prepared_;
  std::optional<PreparedCall> call_;
  std::map<std::string, std::string> verified_;
  std::map<std::string, Counting> counted_;
  std::set<std::string> started_;              // whose loop has begun
  std::map<std::string, std::string> failed_;  // why, by name
  std::string lost_gpu_;                       // why no GPU can be used any more; empty: it can
  std::map<std::string, Timed> timed_;         // and not yet counted
  ClockReading spent_;
  std::optional<CoreShare> core_;     // from the first look on
  std::optional<double> core_share_;  // of the last repetition
};

}  // namespace

bool UsesManualTime(const Workload& workload) {
  return workload.name.device == "gpu" || workload.cache != CacheState::kWarm;
}

std::function<std::map<std::string, Counting>()> RegisterWorkloads(
    const std::vector<Workload>& workloads, const RunSettings& settings, const RunnerMeans& means) {
  auto runner = std::make_shared<Runner>(settings, means);
  for (const Workload& workload : workloads) {
    const auto body = [runner, workload](benchmark::State& state) {
      if (StoppedByInterrupt())
        runner->Pass(state, workload);
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
  return [runner] { return runner->CountTimed(); };
}

}  // namespace dlroof
