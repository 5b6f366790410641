#include "bench/timing/gpu_timer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/numbers.h"
#include "counters/gpu/clock.h"
#include "reporters/record/work_counters.h"

namespace dlroof::timing {
namespace {

constexpr double kBatchSeconds = 5e-3;
constexpr int kMostCalls = 1000;  // about the length of the GPU's launch queue
constexpr double kGraphSeconds = 2e-3;
constexpr int kMostNodes = 100;
constexpr int kSamples = 3;
constexpr double kLongSeconds = 0.1;  // [s] longer batches are sampled once

void Renew(const GpuCacheState& cache) {
  if (cache.renew) cache.renew();
}

int SamplesOf(double batch_seconds) { return batch_seconds > kLongSeconds ? 1 : kSamples; }

// Returns the later health with the throttle reasons of both.
gpu::GpuHealth Newer(const gpu::GpuHealth& earlier, gpu::GpuHealth later) {
  if (earlier.throttle) later.throttle = later.throttle.value_or(0) | *earlier.throttle;
  return later;
}

// The driver is queried at the beginning of a long call, before a power limit shows. Its answer
// right after the call still reports the limit, and idleness, which is dropped.
gpu::GpuHealth WithPowerLimit(gpu::GpuHealth during, const gpu::GpuHealth& after) {
  if (after.throttle)
    during.throttle = gpu::KeepPowerLimit(during.throttle.value_or(0), *after.throttle);
  return during;
}

// Returns the graph time of a call, or nothing and adds the reason if no graph can be captured.
std::optional<double> GraphSeconds(const gpu::GpuClock& clock, const gpu::Enqueue& call,
                                   double seconds, const GpuCacheState& cache,
                                   std::vector<std::string>& reasons) {
  const int calls = CallsToFill(seconds, kGraphSeconds, kMostNodes);
  std::function<double()> replay;
  try {
    replay = clock.graph(call, calls);
  } catch (const std::exception& error) {
    reasons.push_back(fmt::format("gpu.graph_seconds is not known: {}", error.what()));
    return std::nullopt;
  }
  replay();  // uploads the graph
  std::vector<double> times;
  for (int i = SamplesOf(seconds * calls); i > 0; --i) {
    Renew(cache);
    times.push_back(replay() / calls);
  }
  return Median(times);
}

}  // namespace

int CallsToFill(double seconds, double target_seconds, int most) {
  if (seconds * most <= target_seconds) return most;
  return std::clamp(static_cast<int>(std::ceil(target_seconds / seconds)), 1, most);
}

GpuCacheState GpuCacheOf(const workload::PreparedCall& call, workload::CacheState cache) {
  GpuCacheState state{.flush = cache != workload::CacheState::kWarm,
                      .touched = {},
                      .renew = call.gpu ? call.gpu->renew : std::function<void()>()};
  if (cache != workload::CacheState::kColdWeights) return state;
  bool weights = false;
  for (const auto& region : call.memory) {
    weights = weights || region.weights;
    if (!region.weights) state.touched.push_back(region);
  }
  if (!weights)
    throw Unsupported("cold-weights: the addresses of this call's weights are not known");
  return state;
}

void MakeReady(const gpu::GpuClock& clock, const GpuCacheState& cache) {
  Renew(cache);
  if (cache.flush) clock.flush();
  for (const auto& region : cache.touched) clock.touch(region.begin, region.bytes);
}

double TimeOnce(const gpu::GpuClock& clock, const gpu::Enqueue& call, const GpuCacheState& cache) {
  MakeReady(clock, cache);
  return clock.once(call);
}

SampledGpu SampleGpu(const gpu::GpuClock& clock, const gpu::Enqueue& call, double seconds,
                     const GpuCacheState& cache) {
  const int calls = CallsToFill(seconds, kBatchSeconds, kMostCalls);
  gpu::GpuHealth health;
  std::vector<double> times, clocks;
  bool queued = true;
  for (int i = SamplesOf(seconds * calls); i > 0; --i) {
    Renew(cache);
    const auto batch = clock.batch(call, calls, [&] { health = Newer(health, clock.health()); });
    times.push_back(batch.seconds / calls);
    queued = queued && batch.queued;
    if (batch.clock_hz) clocks.push_back(*batch.clock_hz);
  }
  if (times.size() == 1) health = WithPowerLimit(health, clock.health());
  SampledGpu sampled;
  auto& sample = sampled.sample;
  std::vector<std::string> reasons;
  if (!cache.flush) {
    sample.graph_seconds = GraphSeconds(clock, call, seconds, cache, reasons);
    if (queued)
      sample.throughput_seconds = Median(times);
    else
      reasons.push_back(fmt::format(
          "gpu.throughput_seconds is not known: the GPU began before {} calls were launched",
          calls));
  }
  if (!reasons.empty()) sampled.reason = Reason{fmt::format("{}", fmt::join(reasons, "; "))};
  // The SMs count their clock over the whole batch; the driver samples one moment.
  sample.clock_hz = clocks.empty() ? health.sm_clock_hz : Median(clocks);
  sample.default_clock_hz = clock.default_clock_hz;
  sample.memory_clock_hz = health.memory_clock_hz;
  sample.power_watts = health.power_watts;
  sample.temperature_celsius = health.temperature_celsius;
  if (health.throttle) sample.throttle = static_cast<double>(*health.throttle);
  return sampled;
}

int GpuTimer::Threads(const workload::Workload& workload, int) const {
  if (workload.threads.value_or(1) > 1)
    throw Unsupported("threads{}: a GPU benchmark has one host thread", *workload.threads);
  return 1;
}

// Makes the GPU the current one. Without a clock the benchmark fails when it is prepared, with the
// reason.
void GpuTimer::Open() {
  if (lost_) throw std::runtime_error(lost_->text);
  if (!clock_ && open_) clock_ = open_();
}

void GpuTimer::SetUp(const workload::PreparedCall& call, workload::CacheState cache, int) {
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

// Returns whether Google Benchmark will discard the repetition: it tries growing numbers of
// iterations until a repetition takes `min_seconds` by this clock or five times as long by its own.
// Such attempts are not sampled.
bool GpuTimer::IsAttempt(std::int64_t iterations, double gpu_seconds, double host_seconds) {
  const bool more = iterations > std::exchange(iterations_, iterations);
  return more && min_seconds_ && gpu_seconds < *min_seconds_ / 2 &&
         host_seconds < 2 * *min_seconds_;
}

TimedLoop GpuTimer::Time(benchmark::State& state, const workload::PreparedCall& call,
                         std::int64_t) {
  if (!clock_ || !call.gpu)
    throw std::logic_error("a call on a GPU needs a clock and GpuCapabilities");
  double seconds = 0;
  const cpu::ClockReading begin = cpu::ReadClocks();
  for (auto _ : state) {
    const double once = TimeOnce(*clock_, call.gpu->enqueue, cache_);
    state.SetIterationTime(once);
    seconds += once;
  }
  const cpu::ClockReading spent = cpu::ReadClocks() - begin;
  const auto iterations = static_cast<double>(state.iterations());
  TimedLoop timed{RepetitionOf(spent, iterations), std::nullopt};
  timed.repetition.seconds = seconds / iterations;
  if (IsAttempt(state.iterations(), seconds, spent.wall)) return timed;
  auto [sample, reason] = SampleGpu(*clock_, call.gpu->enqueue, seconds / iterations, cache_);
  if (reason) timed.note = reason->text;
  sample.host_seconds = spent.wall / iterations;
  for (const auto& [key, value] : record::ToCounters(sample)) state.counters[key] = value;
  timed.repetition.gpu = std::make_shared<const record::GpuSample>(sample);
  return timed;
}

// Some failures of a GPU last until the process ends; later errors then do not concern the
// benchmark that meets them.
void GpuTimer::Recover(const std::string& name) {
  if (!clock_ || lost_) return;
  try {
    clock_->recover();
  } catch (const std::exception& error) {
    lost_ =
        Reason{fmt::format("not run: this process cannot use the GPU any more since {} failed: {}",
                           name, error.what())};
  }
}

}  // namespace dlroof::timing
