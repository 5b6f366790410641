#include "bench/timing/gpu_timer.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "reporters/record/work_counters.h"

namespace dlroof {

int GpuTimer::Threads(const Workload& workload, int) const {
  if (workload.threads > 1)
    throw Unsupported(
        fmt::format("threads{}: one thread of the host starts a GPU's work", workload.threads));
  return 1;
}

// Makes the GPU the current one. A benchmark without a clock fails in its preparation, which has
// the reason.
void GpuTimer::Open() {
  if (!lost_.empty()) throw std::runtime_error(lost_);
  if (!clock_ && open_) clock_ = open_();
}

void GpuTimer::SetUp(const PreparedCall& call, CacheState cache, int) {
  iterations_ = 0;
  cache_ = GpuCacheOf(call, cache);
}

std::function<void()> GpuTimer::BeforeCall() const {
  if (!clock_ || (!cache_.flush && !cache_.renew)) return {};
  return [this] { MakeReady(*clock_, cache_); };
}

std::function<std::optional<double>()> GpuTimer::EnergyCounter() const {
  return clock_ ? clock_->energy_joules : std::function<std::optional<double>()>();
}

// Google Benchmark tries growing numbers of iterations until a repetition takes `min_seconds` by
// this clock, or five times as long by its own. All repetitions then have that number. Sampling the
// shorter attempts would be wasted.
bool GpuTimer::IsAttempt(std::int64_t iterations, double gpu_seconds, double host_seconds) {
  const bool more = iterations > std::exchange(iterations_, iterations);
  return more && min_seconds_ && gpu_seconds < *min_seconds_ / 2 &&
         host_seconds < 2 * *min_seconds_;
}

TimedLoop GpuTimer::Time(benchmark::State& state, const PreparedCall& call, std::int64_t) {
  if (!clock_ || !call.enqueue)
    throw std::logic_error("a call on a GPU needs a clock and `enqueue`");
  double seconds = 0;
  const ClockReading begin = ReadClocks();
  for (auto _ : state) {
    const double once = TimeOnce(*clock_, call.enqueue, cache_);
    state.SetIterationTime(once);
    seconds += once;
  }
  const ClockReading spent = ReadClocks() - begin;
  const auto iterations = static_cast<double>(state.iterations());
  TimedLoop timed{RepetitionOf(spent, iterations), ""};
  timed.repetition.seconds = seconds / iterations;
  if (IsAttempt(state.iterations(), seconds, spent.wall)) return timed;
  auto sample = SampleGpu(*clock_, call.enqueue, seconds / iterations, cache_, timed.note);
  sample.host_seconds = spent.wall / iterations;
  for (const auto& [key, value] : ToCounters(sample)) state.counters[key] = value;
  timed.repetition.gpu = std::make_shared<const GpuSample>(sample);
  return timed;
}

// Some failures of a GPU stay until the process ends. Later answers of that GPU say nothing about
// the benchmark that asks.
void GpuTimer::Recover(const std::string& name) {
  if (!clock_ || !lost_.empty()) return;
  try {
    clock_->recover();
  } catch (const std::exception& error) {
    lost_ =
        fmt::format("not run: the GPU is lost to this process since {}: {}", name, error.what());
  }
}

}  // namespace dlroof
