#include "bench/runner.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "counters/cache_eviction.h"
#include "counters/clocks.h"
#include "reporters/run_file.h"
#include "reporters/work_counters.h"

namespace dlroof {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

extern "C" void RequestStop(int) { stop_requested = true; }

// Thrown when an output differs from the reference's.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Google Benchmark calls a body several times per benchmark (guesses of the iteration count, then
// repetitions); what is slow happens at the first call only. With random interleaving benchmarks
// alternate: memory is given back and made again, the verdict on the output is kept.
class Runner {
 public:
  explicit Runner(RunSettings settings) : settings_(std::move(settings)) {}

  void Run(benchmark::State& state, const Workload& workload) {
    try {
      Prepare(workload);
      Time(state, workload.cache);
      Attach(state, workload);
      started_.insert(ToText(workload.name));
    } catch (const Unsupported& error) {
      Skip(state, workload, kUnsupportedPrefix + std::string(error.what()));
    } catch (const WrongResult& error) {
      Skip(state, workload, kWrongPrefix + std::string(error.what()));
    } catch (const std::exception& error) {
      Skip(state, workload, error.what());
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

 private:
  void Prepare(const Workload& workload) {
    const std::string name = ToText(workload.name);
    if (call_ && prepared_ == name) return;
    call_.reset();
    threads_ = workload.threads > 0 ? workload.threads : settings_.threads;
    Pin();
    RunSettings settings = settings_;
    settings.threads = threads_;
    PreparedCall call = workload.prepare(settings);
    if (workload.cache != CacheState::kWarm) FindSpans(call, workload.cache);
    if (verified_.count(name) == 0) verified_[name] = Verify(call);
    call.run();  // first-time work of the library stays out of the timing
    prepared_ = name;
    call_ = std::move(call);
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

  // What a cold call must not find in a cache.
  void FindSpans(const PreparedCall& call, CacheState cache) {
    evicted_.clear();
    for (const auto& region : call.memory)
      if (cache == CacheState::kCold || region.weights)
        evicted_.push_back({region.begin, region.bytes});
    if (evicted_.empty())
      throw Unsupported(fmt::format("{}: this call does not say where its {} lie", Key(cache),
                                    cache == CacheState::kCold ? "tensors" : "weights"));
  }

  static std::string Verify(const PreparedCall& call) {
    const Verification found = call.verify();
    if (!found.ok)
      throw WrongResult(fmt::format("differs from the reference: error {:.3g}, allowed {:.3g} ({})",
                                    found.max_error, found.tolerance, found.how));
    return fmt::format("{}, error {:.2g} of {:.2g} allowed", found.how, found.max_error,
                       found.tolerance);
  }

  void Time(benchmark::State& state, CacheState cache) {
    if (cache != CacheState::kWarm) return TimeCold(state);
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

  void Attach(benchmark::State& state, const Workload& workload) const {
    const auto iterations = static_cast<double>(state.iterations());
    if (workload.cache != CacheState::kWarm) {
      // Google Benchmark's own CPU time includes the eviction.
      state.counters[kMainCpuSecondsCounter] = spent_.thread_cpu / iterations;
      state.counters[kEvictedBytesCounter] = static_cast<double>(evicted_bytes_);
    }
    state.counters[kCpuSecondsCounter] = spent_.process_cpu / iterations;
    if (spent_.run_delay) state.counters[kRunDelayCounter] = *spent_.run_delay / iterations;
    state.counters[kThreadsCounter] = call_->threads > 0 ? call_->threads : threads_;
    state.counters[kSeedCounter] = settings_.seed;
    state.counters[kCacheCounter] = static_cast<double>(workload.cache);
    for (const auto& [key, value] : ToCounters(Provenance::kModelled, call_->modelled))
      state.counters[key] = value;
    state.SetLabel(ToLabel(call_->algorithm, call_->isa, verified_.at(prepared_), workload.repro));
  }

  void Skip(benchmark::State& state, const Workload& workload, const std::string& message) {
    call_.reset();
    state.SetLabel(ToLabel("", "", "", workload.repro));
    state.SkipWithError(message.c_str());
  }

  RunSettings settings_;
  std::vector<int> pinned_;          // CPUs, by thread
  int threads_ = 1;                  // of the prepared call
  std::vector<MemorySpan> evicted_;  // before each cold call
  std::int64_t evicted_bytes_ = 0;   // [byte] by the last eviction
  std::string prepared_;
  std::optional<PreparedCall> call_;
  std::map<std::string, std::string> verified_;
  std::set<std::string> started_;
  ClockReading spent_;
};

}  // namespace

void StopOnInterrupt() {
  // Kernels that a library generates may use the stack beyond what a signal spares: oneDNN 3.2's
  // sgemm did, and its loop counters were gone.
  static std::array<char, 1 << 16> other_stack;
  stack_t stack = {};
  stack.ss_sp = other_stack.data();
  stack.ss_size = other_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = RequestStop;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

bool StoppedByInterrupt() { return stop_requested; }

void RegisterWorkloads(const std::vector<Workload>& workloads, const RunSettings& settings) {
  auto runner = std::make_shared<Runner>(settings);
  for (const Workload& workload : workloads) {
    const auto body = [runner, workload](benchmark::State& state) {
      if (stop_requested)
        runner->Pass(state, workload);
      else
        runner->Run(state, workload);
    };
    auto* const registered = benchmark::RegisterBenchmark(ToText(workload.name).c_str(), body)
                                 ->Unit(benchmark::kMicrosecond);
    if (workload.cache == CacheState::kWarm)
      registered->UseRealTime();
    else
      registered->UseManualTime();
  }
}

}  // namespace dlroof
