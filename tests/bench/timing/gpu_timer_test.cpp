#include "bench/timing/gpu_timer.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/fakes/fake_gpu.h"

namespace dlroof::timing {
namespace {

TEST(CallsToFill, TakesAsManyAsFitAndAtLeastOne) {
  EXPECT_EQ(CallsToFill(1e-3, 5e-3, 1000), 5);
  EXPECT_EQ(CallsToFill(2e-3, 5e-3, 1000), 3);  // 2.5, rounded up
  EXPECT_EQ(CallsToFill(1, 5e-3, 1000), 1);
  EXPECT_EQ(CallsToFill(1e-9, 5e-3, 1000), 1000);
  EXPECT_EQ(CallsToFill(0, 5e-3, 1000), 1000);
}

// A clock that logs its calls.
struct Log {
  std::string steps;
  int batches = 0, replays = 0, nodes = 0, calls_in_batch = 0;
};

gpu::GpuClock Logging(Log& log) {
  gpu::GpuClock clock = fakes::FakeClock();
  clock.once = [&log](const gpu::Enqueue&) {
    log.steps += "once ";
    return 1e-3;
  };
  clock.flush = [&log] { log.steps += "flush "; };
  clock.touch = [&log](const void*, std::size_t bytes) {
    log.steps += "touch" + std::to_string(bytes) + " ";
  };
  clock.batch = [&log](const gpu::Enqueue& call, int calls,
                       const std::function<void()>& while_running) {
    while_running();
    call(nullptr);
    log.calls_in_batch = calls;
    // 4, 2, 3 ms of one call: the median is 3 ms.
    const double each[] = {4e-3, 2e-3, 3e-3};
    return gpu::GpuBatch{calls * each[log.batches++ % 3], std::nullopt};
  };
  clock.graph = [&log](const gpu::Enqueue&, int calls) -> std::function<double()> {
    log.nodes = calls;
    return [&log, calls] { return calls * (++log.replays == 1 ? 1.0 : 5e-4); };
  };
  return clock;
}

TEST(TimeOnce, EmptiesTheCachesBeforeEachCallAndThenWarmsWhatIsToBeWarm) {
  Log log;
  const auto clock = Logging(log);
  const gpu::Enqueue nothing = [](void*) {};
  EXPECT_EQ(TimeOnce(clock, nothing, {}), 1e-3);
  EXPECT_EQ(log.steps, "once ");
  log.steps.clear();
  TimeOnce(clock, nothing, {.flush = true, .touched = {{nullptr, 7}, {nullptr, 9}}});
  EXPECT_EQ(log.steps, "flush touch7 touch9 once ");
  log.steps.clear();  // what a call uses up is renewed before
  TimeOnce(clock, nothing, {.flush = true, .renew = [&] { log.steps += "renew "; }});
  EXPECT_EQ(log.steps, "renew flush once ");
}

// Expects this reason for an absent time.
record::GpuSample Sampled(const gpu::GpuClock& clock, double seconds,
                          const GpuCacheState& cache = {},
                          const std::optional<Reason>& expected = std::nullopt) {
  const auto [sample, reason] = SampleGpu(
      clock, [](void*) {}, seconds, cache);
  EXPECT_TRUE(reason == expected) << (reason ? reason->text : "no reason");
  return sample;
}

// Three batches, three replays.
TEST(SampleGpu, RenewsWhatACallUsesUpBeforeEachSample) {
  Log log;
  Sampled(Logging(log), 1e-3, {.renew = [&] { log.steps += "renew "; }});
  EXPECT_EQ(log.steps, "renew renew renew renew renew renew ");
}

TEST(SampleGpu, KeepsTheThreeTimesApart) {
  Log log;
  const auto sample = Sampled(Logging(log), 1e-3);
  EXPECT_DOUBLE_EQ(sample.throughput_seconds.value(), 3e-3);
  EXPECT_DOUBLE_EQ(sample.graph_seconds.value(), 5e-4);  // not the first replay, which uploads
  EXPECT_EQ(log.batches, 3);
  EXPECT_EQ(log.calls_in_batch, 5);  // 5 ms of 1 ms
  EXPECT_EQ(log.nodes, 2);           // 2 ms of 1 ms
  EXPECT_EQ(log.replays, 4);
}

TEST(SampleGpu, ALongCallIsNotRepeatedForItsOwnSake) {
  Log log;
  Sampled(Logging(log), 0.5);
  EXPECT_EQ(log.batches, 1);
  EXPECT_EQ(log.replays, 2);
}

TEST(SampleGpu, AColdCallHasNoThroughputButAClock) {
  Log log;
  const auto sample = Sampled(Logging(log), 1e-3, {.flush = true});
  EXPECT_FALSE(sample.throughput_seconds);
  EXPECT_FALSE(sample.graph_seconds);
  EXPECT_EQ(sample.clock_hz, 1.6e9);  // NVML's, since no batch was long enough to count cycles
  EXPECT_EQ(sample.power_watts, 500);
  EXPECT_EQ(sample.throttle, 4);
}

TEST(SampleGpu, ThrottlingIsAllThatTheDriverSpokeOf) {
  Log log;
  auto clock = Logging(log);
  int asked = 0;
  clock.health = [&asked] {
    const std::uint64_t answers[] = {0x4, 0x20, 0};
    return gpu::GpuHealth{.throttle = answers[asked++ % 3]};
  };
  EXPECT_EQ(Sampled(clock, 1e-3).throttle, 0x24);
}

TEST(SampleGpu, ThePowerLimitOfALongCallIsSeenAtItsEndAndIdlenessIsNot) {
  Log log;
  auto clock = Logging(log);
  int asked = 0;
  clock.health = [&asked] { return gpu::GpuHealth{.throttle = asked++ == 0 ? 0 : 0x5}; };
  EXPECT_EQ(Sampled(clock, 0.5).throttle, 0x4);
}

TEST(SampleGpu, TheCyclesThatSmsCountedWinOverTheDriversWord) {
  EXPECT_EQ(Sampled(fakes::FakeClock(), 1e-5).clock_hz, 1.7e9);
}

TEST(SampleGpu, ACallThatCannotBeCapturedHasNoGraphTimeAndSaysWhy) {
  Log log;
  auto clock = Logging(log);
  clock.graph = [](const gpu::Enqueue&, int) -> std::function<double()> {
    throw std::runtime_error("operation not permitted when stream is capturing");
  };
  const auto sample =
      Sampled(clock, 1e-3, {},
              Reason{"gpu.graph_seconds is not known: operation not permitted when stream is "
                     "capturing"});
  EXPECT_TRUE(sample.throughput_seconds);
  EXPECT_FALSE(sample.graph_seconds);
}

// The host launches more than the GPU queues: launches would be timed with the calls.
TEST(SampleGpu, ABatchThatBeganTooEarlyHasNoThroughputAndSaysWhy) {
  Log log;
  auto clock = Logging(log);
  clock.batch = [plain = clock.batch, n = 0](const gpu::Enqueue& call, int calls,
                                             const std::function<void()>& meanwhile) mutable {
    auto batch = plain(call, calls, meanwhile);
    batch.queued = ++n != 2;
    return batch;
  };
  const auto sample =
      Sampled(clock, 1e-3, {},
              Reason{"gpu.throughput_seconds is not known: the GPU began before 5 calls were "
                     "launched"});
  EXPECT_FALSE(sample.throughput_seconds);
  EXPECT_EQ(sample.graph_seconds, 5e-4);
}

}  // namespace
}  // namespace dlroof::timing
