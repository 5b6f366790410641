#include "bench/runner.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>

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
      Time(state);
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
    if (!pinned_ && !settings_.cpus.empty()) {
      for (const auto& library : AllLibraries()) library.pin(settings_.cpus);
      pinned_ = true;
    }
    call_.reset();
    PreparedCall call = workload.prepare(settings_);
    if (verified_.count(name) == 0) verified_[name] = Verify(call);
    call.run();  // first-time work of the library stays out of the timing
    prepared_ = name;
    call_ = std::move(call);
  }

  static std::string Verify(const PreparedCall& call) {
    const Verification found = call.verify();
    if (!found.ok)
      throw WrongResult(fmt::format("differs from the reference: error {:.3g}, allowed {:.3g} ({})",
                                    found.max_error, found.tolerance, found.how));
    return fmt::format("{}, error {:.2g} of {:.2g} allowed", found.how, found.max_error,
                       found.tolerance);
  }

  void Time(benchmark::State& state) {
    const auto& run = call_->run;
    const ClockReading begin = ReadClocks();
    for (auto _ : state) run();
    spent_ = ReadClocks() - begin;
  }

  void Attach(benchmark::State& state, const Workload& workload) const {
    const auto iterations = static_cast<double>(state.iterations());
    state.counters[kCpuSecondsCounter] = spent_.process_cpu / iterations;
    if (spent_.run_delay) state.counters[kRunDelayCounter] = *spent_.run_delay / iterations;
    state.counters[kThreadsCounter] = call_->threads > 0 ? call_->threads : settings_.threads;
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
  bool pinned_ = false;
  std::string prepared_;
  std::optional<PreparedCall> call_;
  std::map<std::string, std::string> verified_;
  std::set<std::string> started_;
  ClockReading spent_;
};

}  // namespace

void StopOnInterrupt() {
  struct sigaction action = {};
  action.sa_handler = RequestStop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
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
    benchmark::RegisterBenchmark(ToText(workload.name).c_str(), body)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace dlroof
