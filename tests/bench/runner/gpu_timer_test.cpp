#include "bench/runner/gpu_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fakes/fake_gpu.h"

namespace dlroof::runner {
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
  std::vector<int> queues;  // calls of each queue
};

fakes::FakeClock Logging(Log& log) {
  fakes::FakeClock clock;
  clock.once = [&log](const gpu::Enqueue&) {
    log.steps += "once ";
    return 1e-3;
  };
  clock.prepare = [&log](const gpu::L2State& l2) {
    if (l2.flush) log.steps += "flush ";
    for (const auto& [begin, bytes] : l2.touched)
      log.steps += "touch" + std::to_string(bytes) + " ";
  };
  clock.queued = [&log](const gpu::L2State&, const gpu::Enqueue& call, int calls) {
    for (int i = 0; i < calls; ++i) call(nullptr);
    log.queues.push_back(calls);
    return gpu::QueuedCalls{std::vector<double>(calls, 1e-4), 1.7e9};
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
  auto clock = Logging(log);
  const gpu::Enqueue nothing = [](void*) {};
  EXPECT_EQ(TimeOnce(clock, nothing, {}), 1e-3);
  EXPECT_EQ(log.steps, "once ");
  log.steps.clear();
  TimeOnce(clock, nothing, {.l2 = {.flush = true, .touched = {{nullptr, 7}, {nullptr, 9}}}});
  EXPECT_EQ(log.steps, "flush touch7 touch9 once ");
  log.steps.clear();  // what a call uses up is renewed before
  TimeOnce(clock, nothing, {.l2 = {.flush = true}, .renew = [&] { log.steps += "renew "; }});
  EXPECT_EQ(log.steps, "renew flush once ");
}

// Expects this reason for an absent time.
record::GpuSample Sampled(fakes::FakeClock clock, double seconds, const GpuCacheState& cache = {},
                          const std::optional<Reason>& expected = std::nullopt) {
  const auto [sample, reason] = SampleGpu(
      clock, [](void*) {}, seconds, cache);
  EXPECT_TRUE(reason == expected) << (reason ? reason->text : "no reason");
  return sample;
}

// Nine calls, three batches, three replays.
TEST(SampleGpu, RenewsWhatACallUsesUpBeforeEachSample) {
  Log log;
  int renewed = 0;
  Sampled(Logging(log), 1e-3, {.renew = [&] { ++renewed; }});
  EXPECT_EQ(renewed, 15);
}

TEST(SampleGpu, TakesTheKindsOfTimesInAnotherOrderEachTime) {
  std::set<std::string> orders;
  for (unsigned order = 0; order < 30; ++order) {
    std::string kinds;
    fakes::FakeClock clock;
    const auto first = [&](char kind) {
      if (kinds.empty() || kinds.back() != kind) kinds += kind;
    };
    clock.once = [&, once = clock.once](const gpu::Enqueue& call) {
      return first('c'), once(call);
    };
    clock.batch = [&, batch = clock.batch](const gpu::Enqueue& call, int calls, const auto& more) {
      return first('b'), batch(call, calls, more);
    };
    clock.graph = [&, graph = clock.graph](const gpu::Enqueue& call, int calls) {
      return first('g'), graph(call, calls);
    };
    SampleGpu(
        clock, [](void*) {}, 1e-5, {}, order);
    orders.insert(kinds);
  }
  EXPECT_EQ(orders.size(), 6) << "not all orders of three kinds";
}

TEST(SampleGpu, KeepsTheTimesApart) {
  Log log;
  const auto sample = Sampled(Logging(log), 1e-3);
  EXPECT_DOUBLE_EQ(sample.call_seconds.value(), 1e-3);
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
  const auto sample = Sampled(Logging(log), 1e-3, {.l2 = {.flush = true}});
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

TEST(CallsToQueue, FillsAMillisecondButNotTheLaunchQueue) {
  EXPECT_EQ(CallsToQueue(1e-4, 1), 10);
  EXPECT_EQ(CallsToQueue(1e-6, 1), 100);   // four entries of the queue each
  EXPECT_EQ(CallsToQueue(1e-6, 33), 11);   // an LSTM of 33 kernels
  EXPECT_EQ(CallsToQueue(1e-6, 5000), 1);  // more than the queue holds: one is tried
  EXPECT_EQ(CallsToQueue(1, 1), 1);
  EXPECT_LT(CallsToQueue(1e-6, std::nullopt), 100);
}

TEST(QueuedTimer, TimesExactlyAsManyCallsInQueuesThatFit) {
  Log log;
  auto clock = Logging(log);
  QueuedTimer timer(
      clock, [](void*) {}, {}, 1);
  ASSERT_TRUE(timer.CanQueue());
  const auto times = timer.Time(25);
  EXPECT_EQ(times.seconds.size(), 25);
  EXPECT_EQ(times.clock_hz, 1.7e9);
  EXPECT_THAT(log.queues, testing::ElementsAre(1, 10, 10, 5));
}

TEST(QueuedTimer, ACallThatWaitsForTheGpuCannotBeQueued) {
  fakes::FakeClock clock;
  int tried = 0;
  clock.queued = [&](const gpu::L2State&, const gpu::Enqueue&, int) {
    ++tried;
    return gpu::QueuedCalls{{1e-2}, std::nullopt, false};
  };
  const QueuedTimer timer(
      clock, [](void*) {}, {}, std::nullopt);
  EXPECT_FALSE(timer.CanQueue());
  EXPECT_EQ(tried, 3);
}

TEST(QueuedTimer, TimesAQueueThatBeganTooEarlyAgain) {
  fakes::FakeClock clock;
  int queue = 0;
  clock.queued = [&](const gpu::L2State&, const gpu::Enqueue&, int calls) {
    const bool early = ++queue == 3;
    return gpu::QueuedCalls{std::vector<double>(calls, early ? 1.0 : 1e-4), 1e9, !early};
  };
  QueuedTimer timer(
      clock, [](void*) {}, {}, 1);
  const auto times = timer.Time(25);
  EXPECT_EQ(times.seconds, std::vector<double>(25, 1e-4));
  clock.queued = [](const gpu::L2State&, const gpu::Enqueue&, int calls) {
    return gpu::QueuedCalls{std::vector<double>(calls, 1e-4), 1e9, false};
  };
  EXPECT_THROW(timer.Time(25), std::runtime_error);
}

// The clock falls from 1.9 to 1.5 GHz in two seconds and stays there.
TEST(LoadUntilSteady, LastsUntilTheClockHasSettledAndAtLeastThreeSeconds) {
  double now = 0;
  fakes::FakeClock clock;
  clock.batch = [&](const gpu::Enqueue&, int, const std::function<void()>&) {
    now += 0.01;
    return gpu::GpuBatch{0.01, std::max(1.9e9 - 0.1e9 * now, 1.5e9)};
  };
  const auto load = [&] {
    now = 0;
    return LoadUntilSteady(
        clock, [](void*) {}, 1e-3, {}, [&] { return now; });
  };
  EXPECT_GT(load(), 4);  // 4 s to 1.5 GHz, and the last second must agree
  EXPECT_LT(now, 6);
  clock.batch = [&](const gpu::Enqueue&, int, const std::function<void()>&) {
    now += 0.01;
    return gpu::GpuBatch{0.01, 1.5e9};
  };
  EXPECT_NEAR(load(), kMinLoadSeconds, 0.3);
  clock.batch = [&](const gpu::Enqueue&, int, const std::function<void()>&) {
    now += 0.3;
    return gpu::GpuBatch{0.3, std::fmod(now, 1) < 0.5 ? 1.5e9 : 1.7e9};
  };
  EXPECT_GE(load(), kMaxLoadSeconds);
}

}  // namespace
}  // namespace dlroof::runner
