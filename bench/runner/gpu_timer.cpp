#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bench/runner/timer.h"
#include "counters/base/numbers.h"

namespace dlroof::runner {
namespace {

constexpr double kBatchSeconds = 5e-3;
constexpr int kMaxCalls = 1000;         // about the length of the GPU's launch queue
constexpr double kTrainSeconds = 5e-4;  // [s] shorter of two series of calls ("trains")
constexpr int kMaxTrain = 50;
constexpr int kPairs = 3;  // pairs of trains, fewer if a pair takes long
constexpr int kBatches = 3;
constexpr int kCallSamples = 9;          // timings of a call on an idle GPU
constexpr double kQueueSeconds = 1e-3;   // [s] of a queue: enough to read the SMs' clock
constexpr double kFlushSeconds = 5e-5;   // [s] about the time of a flush of L2
constexpr int kMaxQueuedLaunches = 400;  // half of the GPU's launch queue, with events and flushes
constexpr int kUnknownLaunches = 20;
constexpr int kTrials = 3;
constexpr int kMaxLost = 10;  // queues that the GPU began too early
constexpr int kEmptyCalls = 64;
constexpr double kLongSeconds = 0.1;  // [s] longer measurements are repeated less often
constexpr int kMaxCopies = 64;        // of the tensors of a cold call

void Renew(const GpuCacheState& cache) {
  if (cache.renew) cache.renew();
}

// Returns `later` with the throttle reasons of both readings.
gpu::GpuHealth Newer(const gpu::GpuHealth& earlier, gpu::GpuHealth later) {
  if (earlier.throttle) later.throttle = later.throttle.value_or(0) | *earlier.throttle;
  return later;
}

// Returns how to prepare the GPU for a call in the cache state `cache`. Throws Unsupported for cold
// weights if the call does not name its weights.
GpuCacheState GpuCacheOf(const workload::PreparedCall& call, workload::CacheState cache) {
  GpuCacheState state{.l2 = {.flush = cache != workload::CacheState::kWarm},
                      .renew = call.gpu ? call.gpu->renew : std::function<void()>()};
  if (cache != workload::CacheState::kColdWeights) return state;
  bool weights = false;
  for (const auto& region : call.memory) {
    weights = weights || region.weights;
    if (!region.weights) state.l2.touched.emplace_back(region.begin, region.bytes);
  }
  if (!weights)
    throw Unsupported("cold-weights: the addresses of this call's weights are not known");
  return state;
}

// Restores overwritten inputs and prepares L2 as `cache` requests, and waits until that is done.
void MakeReady(gpu::GpuClock& clock, const GpuCacheState& cache) {
  Renew(cache);
  if (cache.l2.flush || !cache.l2.touched.empty()) clock.Prepare(cache.l2);
}

// Returns calls on copies of all tensors (kCold) or of the weights (kColdWeights). Throws
// Unsupported if the call can only use its own tensors or needs too many copies, and the driver's
// message if the GPU has not enough memory.
Rotation RotationOf(gpu::GpuClock& clock, const workload::PreparedCall& call,
                    workload::CacheState cache) {
  if (!call.gpu->on_copies) throw Unsupported("the call can only use its own tensors");
  std::vector<workload::MemoryRegion> regions;
  double bytes = 0;
  for (const auto& region : call.memory)
    if (cache == workload::CacheState::kCold || region.weights) {
      regions.push_back(region);
      bytes += static_cast<double>(region.bytes);
    }
  const double copies = std::floor(2 * clock.L2Bytes() / bytes) + 2;
  if (copies > kMaxCopies)
    throw Unsupported("{:.0f} copies of its tensors would fill L2 twice, of at most {}", copies,
                      kMaxCopies);
  std::vector<std::shared_ptr<void>> owned;
  std::vector<gpu::Enqueue> calls;
  while (static_cast<double>(calls.size()) < copies) {
    std::map<const void*, void*> at;
    for (const auto& region : regions)
      at[region.begin] = owned.emplace_back(clock.Copy(region.begin, region.bytes)).get();
    calls.push_back(call.gpu->on_copies(at));
  }
  const auto count = static_cast<int>(calls.size());
  return {[owned = std::move(owned), calls = std::move(calls),
           next = std::size_t{0}](void* stream) mutable { calls[next++ % calls.size()](stream); },
          count};
}

}  // namespace

int CallsToFill(double seconds, double target_seconds, int most) {
  if (seconds * most <= target_seconds) return most;
  return std::clamp(static_cast<int>(std::ceil(target_seconds / seconds)), 1, most);
}

double TimeOnce(gpu::GpuClock& clock, const gpu::Enqueue& call, const GpuCacheState& cache) {
  MakeReady(clock, cache);
  return clock.Once(call);
}

int CallsToQueue(double seconds, std::optional<double> launches) {
  constexpr int kBeside = 3;  // [1] queued with each call's kernels: two events, a flush of L2
  const auto fit =
      static_cast<int>(kMaxQueuedLaunches / (launches.value_or(kUnknownLaunches) + kBeside));
  return CallsToFill(seconds, kQueueSeconds, std::max(fit, 1));
}

QueuedTimer::QueuedTimer(gpu::GpuClock& clock, gpu::Enqueue call, GpuCacheState cache,
                         std::optional<double> launches)
    : clock_(clock), call_(std::move(call)), cache_(std::move(cache)), launches_(launches) {
  for (int i = 0; i < kTrials && !seconds_; ++i) {
    Renew(cache_);
    const auto single = clock_.Queued(cache_.l2, call_, 1);
    if (single.queued) seconds_ = single.seconds.at(0);
  }
}

gpu::QueuedCalls QueuedTimer::Time(std::int64_t calls) {
  gpu::QueuedCalls all;
  std::vector<double> clocks;
  const double each = seconds_.value() + (cache_.l2.flush ? kFlushSeconds : 0);
  for (int lost = 0; static_cast<std::int64_t>(all.seconds.size()) < calls;) {
    const auto more = std::min<std::int64_t>(CallsToQueue(each, launches_),
                                             calls - static_cast<std::int64_t>(all.seconds.size()));
    Renew(cache_);
    const auto part = clock_.Queued(cache_.l2, call_, static_cast<int>(more));
    if (!part.queued) {
      // Queues fewer calls next time: a call may have more launches than expected.
      launches_ = 2 * launches_.value_or(kUnknownLaunches);
      if (++lost > kMaxLost)
        throw std::runtime_error(
            fmt::format("the GPU began before {} queued call{} had been launched, {} times", more,
                        more == 1 ? "" : "s", lost));
      continue;
    }
    all.seconds.insert(all.seconds.end(), part.seconds.begin(), part.seconds.end());
    if (part.clock_hz) clocks.push_back(*part.clock_hz);
  }
  if (!clocks.empty()) all.clock_hz = Median(clocks);
  return all;
}

RepeatedTimer::RepeatedTimer(gpu::GpuClock& clock, Rotation rotation, std::function<void()> renew,
                             double seconds, std::optional<double> launches)
    : rotation_(std::move(rotation)), renew_(std::move(renew)) {
  const auto& [call, copies] = rotation_;
  calls_ = (CallsToFill(seconds, kTrainSeconds, kMaxTrain) + copies - 1) / copies * copies;
  try {
    trains_ = {clock.Graph(call, calls_), clock.Graph(call, 2 * calls_)};
    for (const std::size_t train : {0, 1}) Run(train);  // uploads the graph
    return;
  } catch (const std::exception& error) {
    reason_ = Reason{fmt::format("the call is not in a CUDA graph: {}", error.what())};
  }
  if (copies > 1) return;
  for (calls_ = std::max(CallsToQueue(seconds, launches) / 2, 1);; calls_ /= 2) {
    for (const int times : {1, 2})
      trains_[times - 1] = [&clock, call = call, calls = times * calls_] {
        return clock.Batch(call, calls, {});
      };
    if (Run(1).queued) return;
    if (calls_ == 1) break;
  }
  trains_ = {};
}

gpu::GpuBatch RepeatedTimer::Run(std::size_t train) const {
  if (renew_) renew_();
  return trains_[train]();
}

gpu::QueuedCalls RepeatedTimer::Time(std::int64_t calls) {
  std::vector<double> clocks;
  const auto seconds = [&](std::size_t train) {
    for (int lost = 0; lost <= kMaxLost; ++lost) {
      const auto batch = Run(train);
      if (!batch.queued) continue;
      if (train == 1 && batch.clock_hz) clocks.push_back(*batch.clock_hz);
      return batch.seconds;
    }
    throw std::runtime_error(
        fmt::format("the GPU began before a train of calls was launched, {} times", kMaxLost + 1));
  };
  gpu::QueuedCalls all;
  for (std::int64_t pairs = 1; static_cast<std::int64_t>(all.seconds.size()) < pairs;) {
    const double shorter = seconds(0), longer = seconds(1);
    all.seconds.push_back((longer - shorter) / calls_);
    pairs = std::max<std::int64_t>(CallsToFill(shorter + longer, kLongSeconds, kPairs),
                                   calls / (3 * calls_));
  }
  if (!clocks.empty()) all.clock_hz = Median(clocks);
  return all;
}

record::GpuSample SampleGpu(gpu::GpuClock& clock, const gpu::Enqueue& call, double seconds,
                            const GpuCacheState& cache, QueuedTimer* queued) {
  std::vector<double> times, clocks;
  for (int i = CallsToFill(seconds, kLongSeconds, kCallSamples); i > 0; --i)
    times.push_back(TimeOnce(clock, call, cache));
  record::GpuSample sample{.call_seconds = Median(times)};
  if (queued != nullptr)
    sample.queued_seconds =
        Median(queued->Time(CallsToFill(seconds, kQueueSeconds, kMaxQueuedLaunches)).seconds);
  gpu::GpuHealth health;
  const int calls = CallsToFill(seconds, kBatchSeconds, kMaxCalls);
  // Several batches, because the driver reports a power limit only after a while.
  const int batches = seconds * calls > kLongSeconds ? 2 : kBatches;
  for (int i = 0; i < batches; ++i) {
    Renew(cache);
    const auto batch = clock.Batch(call, calls, [&] { health = Newer(health, clock.Health()); });
    if (batch.clock_hz) clocks.push_back(*batch.clock_hz);
  }
  // Prefers the mean clock by the SMs' cycle counts to the driver's clock, a sample of one moment.
  sample.clock_hz = clocks.empty() ? health.sm_clock_hz : Median(clocks);
  sample.default_clock_hz = clock.DefaultClockHz();
  sample.memory_clock_hz = health.memory_clock_hz;
  sample.power_watts = health.power_watts;
  sample.temperature_celsius = health.temperature_celsius;
  if (health.throttle) sample.throttle = static_cast<double>(*health.throttle);
  return sample;
}

double LoadUntilSteady(gpu::GpuClock& clock, const gpu::Enqueue& call, double seconds,
                       const GpuCacheState& cache, const std::function<double()>& now) {
  constexpr double kSlice = 0.25, kSettled = 0.01;  // [s] slice; [1] allowed difference
  constexpr std::size_t kSlices = 4;
  const int calls = CallsToFill(seconds, kBatchSeconds, kMaxCalls);
  std::vector<double> clocks;  // [1/s] of each slice
  const double begin = now();
  for (double at = 0; at < kMaxLoadSeconds;) {
    std::vector<double> slice;
    for (const double until = at + kSlice; at < until; at = now() - begin) {
      Renew(cache);
      if (const auto batch = clock.Batch(call, calls, {}); batch.clock_hz)
        slice.push_back(*batch.clock_hz);
    }
    if (!slice.empty()) clocks.push_back(Median(slice));
    if (at < kMinLoadSeconds || clocks.size() < kSlices) continue;
    const auto [least, most] = std::minmax_element(clocks.end() - kSlices, clocks.end());
    if (*most - *least <= kSettled * *most) return at;
  }
  return now() - begin;
}

int GpuTimer::Threads(const workload::Workload& workload, int) const {
  if (workload.threads.value_or(1) > 1)
    throw Unsupported("threads{}: a GPU benchmark has one host thread", *workload.threads);
  return 1;
}

// Makes the GPU current. Without `open_` there is no clock: preparing a call throws the reason.
void GpuTimer::Open() {
  if (lost_) throw std::runtime_error(lost_->text);
  if (clock_ || !open_) return;
  clock_ = open_();
}

void GpuTimer::SetUp(const workload::PreparedCall& call, workload::CacheState cache, int) {
  TearDown();
  cache_ = GpuCacheOf(call, cache);
  state_ = cache;
}

void GpuTimer::TearDown() {
  cache_ = {};
  queued_.reset();
  repeated_.reset();
  not_repeated_.reset();
  launches_.reset();
  steady_seconds_.reset();
  iterations_ = 0;
}

std::function<void()> GpuTimer::BeforeCall() const {
  if (!clock_ || (!cache_.l2.flush && !cache_.renew)) return {};
  return [this] { MakeReady(*clock_, cache_); };
}

std::vector<LaunchedKernel> GpuTimer::Kernels(const workload::PreparedCall& call) {
  if (!clock_ || !call.gpu) throw std::logic_error("a call on a GPU needs a clock");
  auto kernels = clock_->Kernels(call.gpu->enqueue);
  double launches = 0;
  for (const auto& kernel : kernels) launches += kernel.launches;
  launches_ = launches;
  return kernels;
}

std::function<std::optional<double>()> GpuTimer::EnergyCounter() const {
  if (!clock_) return {};
  return [clock = clock_] { return clock->EnergyJoules(); };
}

// Returns whether Google Benchmark will discard the repetition: it increases the number of
// iterations until a repetition takes `min_seconds` on the GPU's clock or five times `min_seconds`
// on the host's. Discarded repetitions are not sampled.
bool GpuTimer::IsAttempt(std::int64_t iterations, double gpu_seconds, double host_seconds) {
  const bool more = iterations > std::exchange(iterations_, iterations);
  const auto& least = options_.min_seconds;
  return more && least && gpu_seconds < *least / 2 && host_seconds < 2 * *least;
}

// Runs before a call's first repetition: finds out how to time it and, if `steady`, loads the GPU.
void GpuTimer::Begin(const workload::PreparedCall& call) {
  const auto& enqueue = call.gpu->enqueue;
  if (!empty_seconds_)
    empty_seconds_ = Median(QueuedTimer(
                                *clock_, [this](void* stream) { clock_->Empty(stream); }, {}, 1)
                                .Time(kEmptyCalls)
                                .seconds);
  queued_.emplace(*clock_, enqueue, cache_, launches_);
  const auto seconds =
      queued_->CanQueue() ? *queued_->Seconds() : TimeOnce(*clock_, enqueue, cache_);
  if (options_.steady)
    steady_seconds_ = LoadUntilSteady(*clock_, enqueue, seconds, cache_, options_.now);
  try {
    Repeat(call, seconds);
  } catch (const std::exception& error) {
    if (!cache_.l2.flush) throw;
    not_repeated_ = Reason{error.what()};
  }
}

// Sets `repeated_`, which times sequences of calls, or the reason `not_repeated_`. In a sequence,
// cold calls use copies of their tensors in turn.
void GpuTimer::Repeat(const workload::PreparedCall& call, double seconds) {
  auto rotation = cache_.l2.flush ? RotationOf(*clock_, call, state_) : Rotation{call.gpu->enqueue};
  repeated_.emplace(*clock_, std::move(rotation), cache_.renew, seconds, launches_);
  if (repeated_->CanRepeat()) return;
  not_repeated_ = repeated_->reason();
  repeated_.reset();
}

// Returns times of one call [s]: in trains if possible, else queued, else on the idle GPU.
gpu::QueuedCalls GpuTimer::TimeCalls(const gpu::Enqueue& enqueue, std::int64_t calls) {
  if (repeated_) return repeated_->Time(calls);
  if (queued_->CanQueue()) return queued_->Time(calls);
  gpu::QueuedCalls all;
  while (static_cast<std::int64_t>(all.seconds.size()) < calls)
    all.seconds.push_back(TimeOnce(*clock_, enqueue, cache_));
  return all;
}

std::optional<Reason> GpuTimer::NotInGraph() const {
  if (repeated_) return repeated_->reason();
  if (queued_->CanQueue() && cache_.l2.flush && not_repeated_)
    return Reason{fmt::format(
        "each cold call follows a flush of L2 and is between two events, which are in its time: {}",
        not_repeated_->text)};
  if (queued_->CanQueue()) return std::nullopt;
  return Reason{
      "the call cannot be queued: it waits for the GPU, or it launches more than the GPU's queue "
      "holds. Its time includes the launch"};
}

record::GpuSample GpuTimer::Sample(const gpu::Enqueue& enqueue, double seconds) {
  auto* const queued = repeated_ && queued_->CanQueue() ? &*queued_ : nullptr;
  auto sample = SampleGpu(*clock_, enqueue, seconds, cache_, queued);
  if (repeated_)
    (repeated_->reason() ? sample.stream_calls : sample.graph_calls) = repeated_->calls();
  else if (!queued_->CanQueue())
    sample.call_seconds.reset();
  sample.empty_seconds = empty_seconds_;
  sample.steady_seconds = steady_seconds_;
  return sample;
}

// Reports to Google Benchmark the median time of a call, multiplied by the number of calls.
TimedLoop GpuTimer::Time(benchmark::State& state, const workload::PreparedCall& call,
                         std::int64_t) {
  if (!clock_ || !call.gpu)
    throw std::logic_error("a call on a GPU needs a clock and GpuCapabilities");
  if (!queued_) Begin(call);
  const auto& enqueue = call.gpu->enqueue;
  // Discards a call: earlier work, such as batches of the last repetition, affects the first calls.
  if (queued_->CanQueue()) queued_->Time(1);
  gpu::QueuedCalls calls;
  const cpu::ClockReading begin = cpu::ReadClocks();
  for (auto _ : state)
    if (calls.seconds.empty())
      calls = TimeCalls(enqueue, static_cast<std::int64_t>(state.max_iterations));
  const cpu::ClockReading spent = cpu::ReadClocks() - begin;
  const auto iterations = static_cast<double>(state.iterations());
  TimedLoop timed{RepetitionOf(spent, iterations)};
  const double seconds = Median(calls.seconds);
  state.SetIterationTime(seconds * iterations);
  timed.repetition.seconds = seconds;
  if (IsAttempt(state.iterations(), seconds * iterations, spent.wall)) return timed;
  auto sample = Sample(enqueue, seconds);
  if (calls.clock_hz) sample.clock_hz = calls.clock_hz;
  if (const auto reason = NotInGraph()) timed.note = reason->text;
  sample.host_seconds = spent.wall / iterations;
  timed.repetition.gpu = std::make_shared<const record::GpuSample>(sample);
  return timed;
}

// Restores the GPU after a failure of `name`. After some failures this process cannot use the GPU
// any more. Later benchmarks then report this reason, because their own errors would be misleading.
void GpuTimer::Recover(const std::string& name) {
  if (!clock_ || lost_) return;
  try {
    clock_->Recover();
  } catch (const std::exception& error) {
    lost_ =
        Reason{fmt::format("not run: this process cannot use the GPU any more since {} failed: {}",
                           name, error.what())};
  }
}

}  // namespace dlroof::runner
