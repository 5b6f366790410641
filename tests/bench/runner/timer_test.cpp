#include "bench/runner/timer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fakes/fake_gpu.h"

namespace dlroof::runner {
namespace {

constexpr double kSeconds = 0.03;  // of a repetition

struct Course {
  std::vector<record::Repetition> repetitions;
  double seconds = 0, paused = 0;
  std::size_t Clean() const {
    return repetitions.size() -
           static_cast<std::size_t>(std::count_if(repetitions.begin(), repetitions.end(),
                                                  [](auto& one) { return one.noisy; }));
  }
};

// Repeats as the rule wants; `next` makes the repetition that begins at a time [s].
Course Follow(const StoppingRule& rule, const std::function<record::Repetition(double)>& next) {
  Course course;
  for (;;) {
    const auto wanted = NextAfter(course.repetitions, course.seconds, rule);
    if (!wanted.wanted || course.repetitions.size() > 1000) return course;
    course.paused += wanted.pause_seconds;
    course.seconds += wanted.pause_seconds;
    course.repetitions.push_back(next(course.seconds));
    course.seconds += kSeconds;
  }
}

record::Repetition Quiet(double) { return {.seconds = 1, .iterations = 1}; }
record::Repetition Busy(double) { return {.seconds = 2, .iterations = 1, .noisy = true}; }

TEST(RepetitionOfTeam, AddsTheThreadsAndDoesNotKnowARunDelayThatNoThreadKnows) {
  const auto both = RepetitionOfTeam({.wall = 6, .thread_cpu = 5, .run_delay = 1},
                                     {.wall = 7, .thread_cpu = 3, .run_delay = 2}, 4);
  EXPECT_EQ(both.seconds, 1.5);
  EXPECT_EQ(both.cpu_seconds, 2);
  EXPECT_FALSE(both.main_cpu_seconds);
  EXPECT_EQ(both.run_delay_seconds, 0.75);
  EXPECT_EQ(both.iterations, 4);
  EXPECT_FALSE(RepetitionOfTeam({.wall = 6}, {.wall = 7}, 4).run_delay_seconds);
}

TEST(StoppingRule, AQuietMachineRepeatsAsAskedForAndABusyOneEndsWithTheTime) {
  const auto quiet = Follow({}, Quiet);
  EXPECT_EQ(std::pair(quiet.repetitions.size(), quiet.paused), std::pair(std::size_t{9}, 0.0));
  const auto burst =
      Follow({}, [](double time) { return time > 0.1 && time < 0.4 ? Busy(time) : Quiet(time); });
  EXPECT_EQ(burst.Clean(), 9);
  EXPECT_GT(burst.repetitions.size(), 9);
  EXPECT_GT(burst.paused, 0);
  EXPECT_LT(burst.seconds, 2);
  const auto course = Follow({.max_seconds = 1}, Busy);
  EXPECT_EQ(course.Clean(), 0);
  EXPECT_GE(course.seconds, 1);
  EXPECT_LT(course.seconds, 1 + kSeconds + 0.1 + 1e-9);  // one repetition and the longest pause
  EXPECT_EQ(Follow({.repetitions = 20, .max_seconds = 0.1}, Busy).repetitions.size(), 20);
  EXPECT_EQ(Follow({.repetitions = 3, .max_seconds = 0}, Busy).repetitions.size(), 3);
  // Repetition i takes 1, 1.01, 1.02, ... s. After 9 the interval is 1.01 to 1.07: 3 % of the
  // median.
  const auto drifting = [](double time) {
    return record::Repetition{.seconds = 1 + time / kSeconds / 100, .iterations = 1};
  };
  EXPECT_EQ(Follow({.max_noise = 0.031}, drifting).repetitions.size(), 9);
  EXPECT_GE(Follow({.max_noise = 0.02}, drifting).seconds, 2);
  const auto three = Follow({.repetitions = 3}, [](double time) {
    return record::Repetition{.seconds = 1 + time, .iterations = 1};
  });
  EXPECT_EQ(three.repetitions.size(), 3);
}

// With half of the repetitions at 1 s and half at 1.2 s no number of them narrows the interval;
// with a tenth at 1.2 s the interval closes on 1 s.
TEST(StoppingRule, NoiseOfFewRepetitionsIsAveragedOutAndPausesDoubleWhileEachIsNoisy) {
  int count = 0;
  const auto some = [&](int of) {
    return [&count, of](double) {
      return record::Repetition{.seconds = ++count % of == 0 ? 1.2 : 1, .iterations = 1};
    };
  };
  EXPECT_GE(Follow({}, some(2)).seconds, 2);
  EXPECT_LT(Follow({}, some(10)).repetitions.size(), 20);
  std::vector<record::Repetition> done = {Busy(0)};
  EXPECT_EQ(NextAfter(done, 0, {}).pause_seconds, 2e-3);
  done.insert(done.end(), {Busy(0), Busy(0)});
  EXPECT_EQ(NextAfter(done, 0, {}).pause_seconds, 8e-3);
  for (int i = 0; i < 10; ++i) done.push_back(Busy(0));
  EXPECT_EQ(NextAfter(done, 0, {}).pause_seconds, 0.1);
  done.push_back(Quiet(0));
  EXPECT_EQ(NextAfter(done, 0, {}).pause_seconds, 0);
}

// 2 ms of 4 calls; the process waited `delay` of them.
cpu::ClockReading Part(double wall, double delay) {
  return {wall, wall - delay, wall - delay, delay};
}

TEST(RepetitionOfParts, IsOfTheCleanOnesOrOfAllWhereEachWasNoisy) {
  const auto repetition = RepetitionOfParts({Part(2e-3, 0), Part(6e-3, 4e-3), Part(3e-3, 0)}, 4);
  EXPECT_DOUBLE_EQ(repetition.seconds, 5e-3 / 8);
  EXPECT_DOUBLE_EQ(*repetition.main_cpu_seconds, 5e-3 / 8);
  EXPECT_EQ(repetition.run_delay_seconds, 0);
  EXPECT_DOUBLE_EQ(*repetition.cpu_seconds, 5e-3 / 8);
  EXPECT_EQ(repetition.iterations, 12);
  EXPECT_EQ(repetition.clean_calls, 8);
  // The OS updates the CPU time of other threads every few milliseconds.
  auto part = Part(2e-3, 0);
  part.process_cpu *= 2;
  EXPECT_FALSE(RepetitionOfParts({part, part}, 4).cpu_seconds);
  const auto noisy = RepetitionOfParts({Part(6e-3, 4e-3), Part(6e-3, 2e-3)}, 3);
  EXPECT_DOUBLE_EQ(noisy.seconds, 2e-3);
  EXPECT_DOUBLE_EQ(*noisy.run_delay_seconds, 1e-3);
  EXPECT_EQ(noisy.clean_calls, 6);
  std::vector<record::Repetition> one = {noisy};
  record::MarkNoisy(one);
  EXPECT_TRUE(one[0].noisy);
}

// Four calls of 50 us, of which the fourth waited; two of them are a part.
TEST(RepetitionOfCalls, LeavesOutThePartsInWhichACallWaitedAndOfFewIsTheirMean) {
  const std::vector<cpu::ClockReading> calls = {Part(5e-5, 0), Part(5e-5, 0), Part(5e-5, 0),
                                                Part(4.5e-4, 4e-4)};
  const auto whole = RepetitionOfCalls(calls, false);
  EXPECT_DOUBLE_EQ(whole.seconds, 1.5e-4);
  EXPECT_FALSE(whole.clean_calls);
  const auto parts = RepetitionOfCalls(calls, true);
  EXPECT_DOUBLE_EQ(parts.seconds, 5e-5);
  EXPECT_EQ(parts.clean_calls, 2);
  EXPECT_EQ(parts.iterations, 4);
  const auto few = RepetitionOfCalls({Part(1e-5, 0), Part(3e-5, 2e-5)}, true);
  EXPECT_DOUBLE_EQ(few.seconds, 2e-5);
  EXPECT_FALSE(few.clean_calls);
}

TEST(CallsToFill, AsManyAsFitAndAQueueFillsAMillisecond) {
  EXPECT_EQ(CallsToFill(1e-3, 5e-3, 1000), 5);
  EXPECT_EQ(CallsToFill(2e-3, 5e-3, 1000), 3);  // 2.5, rounded up
  EXPECT_EQ(CallsToFill(1, 5e-3, 1000), 1);
  EXPECT_EQ(CallsToFill(1e-9, 5e-3, 1000), 1000);
  EXPECT_EQ(CallsToFill(0, 5e-3, 1000), 1000);
  EXPECT_EQ(CallsToQueue(1e-4, 1), 10);
  EXPECT_EQ(CallsToQueue(1e-6, 1), 100);   // four entries of the queue each
  EXPECT_EQ(CallsToQueue(1e-6, 33), 11);   // an LSTM of 33 kernels
  EXPECT_EQ(CallsToQueue(1e-6, 5000), 1);  // more than the queue holds: one is tried
  EXPECT_EQ(CallsToQueue(1, 1), 1);
  EXPECT_LT(CallsToQueue(1e-6, std::nullopt), 100);
}

const gpu::Enqueue kNothing = [](void*) {};

// A clock that logs its calls.
struct Log {
  std::string steps;
  int batches = 0, calls_in_batch = 0;
  std::vector<int> queues, trains;  // calls of each queue, and of each graph that was launched
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
    ++log.batches;
    return gpu::GpuBatch{calls * 3e-3, std::nullopt};
  };
  clock.graph = [&log](const gpu::Enqueue&, int calls) {
    return [&log, calls] {
      log.trains.push_back(calls);
      return gpu::GpuBatch{3e-6 + calls * 5e-4, 1.7e9};
    };
  };
  return clock;
}

TEST(TimeOnce, EmptiesTheCachesBeforeEachCallAndThenWarmsWhatIsToBeWarm) {
  Log log;
  auto clock = Logging(log);
  EXPECT_EQ(TimeOnce(clock, kNothing, {}), 1e-3);
  EXPECT_EQ(log.steps, "once ");
  log.steps.clear();
  TimeOnce(clock, kNothing, {.l2 = {.flush = true, .touched = {{nullptr, 7}, {nullptr, 9}}}});
  EXPECT_EQ(log.steps, "flush touch7 touch9 once ");
  log.steps.clear();  // what a call uses up is renewed before
  TimeOnce(clock, kNothing, {.l2 = {.flush = true}, .renew = [&] { log.steps += "renew "; }});
  EXPECT_EQ(log.steps, "renew flush once ");
}

record::GpuSample Sampled(fakes::FakeClock clock, double seconds, const GpuCacheState& cache = {}) {
  return SampleGpu(clock, kNothing, seconds, cache);
}

// Nine calls, three batches.
TEST(SampleGpu, RenewsWhatACallUsesUpKeepsTimesApartAndReadsTheGpuUnderLoad) {
  Log log;
  int renewed = 0;
  Sampled(Logging(log), 1e-3, {.renew = [&] { ++renewed; }});
  EXPECT_EQ(renewed, 12);
  Log order;
  auto clock = Logging(order);
  const auto sample = Sampled(clock, 1e-3);
  EXPECT_DOUBLE_EQ(sample.call_seconds.value(), 1e-3);
  EXPECT_FALSE(sample.queued_seconds);
  EXPECT_EQ(order.batches, 3);
  EXPECT_EQ(order.calls_in_batch, 5);  // 5 ms of 1 ms
  QueuedTimer queued(clock, kNothing, {}, 1);
  EXPECT_DOUBLE_EQ(SampleGpu(clock, kNothing, 1e-3, {}, &queued).queued_seconds.value(), 1e-4);
  Log loaded;
  const auto under_load = Sampled(Logging(loaded), 1e-3);
  EXPECT_EQ(under_load.clock_hz, 1.6e9);  // NVML's, since no batch was long enough to count cycles
  EXPECT_EQ(under_load.power_watts, 500);
  EXPECT_EQ(under_load.throttle, 4);
  EXPECT_EQ(Sampled(fakes::FakeClock(), 1e-5).clock_hz, 1.7e9);
}

TEST(SampleGpu, ThrottlingIsAllThatTheDriverSpokeOfWhichIsAskedTwiceAboutALongCall) {
  Log log;
  auto clock = Logging(log);
  int asked = 0;
  clock.health = [&asked] {
    const std::uint64_t answers[] = {0x4, 0x20, 0};
    return gpu::GpuHealth{.throttle = answers[asked++ % 3]};
  };
  EXPECT_EQ(Sampled(clock, 1e-3).throttle, 0x24);
  asked = 0;
  clock.health = [&asked] { return gpu::GpuHealth{.throttle = asked++ == 0 ? 0U : 0x4U}; };
  EXPECT_EQ(Sampled(clock, 0.5).throttle, 0x4);
}

// What a train costs beside its calls, 3 us here, is in neither time.
TEST(RepeatedTimer, IsTheDifferenceOfTwoTrainsAndACallThatCannotBeCapturedIsQueued) {
  Log log;
  auto clock = Logging(log);
  int renewed = 0;
  RepeatedTimer timer(
      clock, {kNothing}, [&] { ++renewed; }, 1e-4, 1);
  ASSERT_TRUE(timer.CanRepeat());
  const auto times = timer.Time(1);
  ASSERT_EQ(times.seconds.size(), 3);
  for (const double seconds : times.seconds) EXPECT_NEAR(seconds, 5e-4, 1e-12);
  EXPECT_EQ(times.clock_hz, 1.7e9);
  EXPECT_THAT(log.trains, testing::ElementsAre(5, 10, 5, 10, 5, 10, 5, 10)) << "the first upload";
  EXPECT_EQ(renewed, 8);
  EXPECT_EQ(timer.calls(), 5);
  EXPECT_FALSE(timer.reason());
  EXPECT_EQ(timer.Time(75).seconds.size(), 5) << "15 calls in a pair";
  Log trains;
  auto slow = Logging(trains);
  slow.graph = [&trains](const gpu::Enqueue&, int calls) {
    return [&trains, calls] { return trains.trains.push_back(calls), gpu::GpuBatch{0.5 * calls}; };
  };
  RepeatedTimer long_timer(slow, {kNothing}, {}, 0.5, 1);
  EXPECT_EQ(long_timer.Time(1).seconds, std::vector<double>{0.5});
  EXPECT_THAT(trains.trains, testing::ElementsAre(1, 2, 1, 2));
  // A call of 9 us that no graph takes: trains in the stream, as long as the queue allows.
  fakes::FakeClock capturing;
  capturing.graph = [](const gpu::Enqueue&, int) -> std::function<gpu::GpuBatch()> {
    throw std::runtime_error("operation not permitted when stream is capturing");
  };
  std::vector<int> queues;
  int most = 20;
  capturing.batch = [&](const gpu::Enqueue&, int calls, const std::function<void()>&) {
    queues.push_back(calls);
    return gpu::GpuBatch{2e-6 + calls * 9e-6, std::nullopt, calls <= most};
  };
  RepeatedTimer queueing(capturing, {kNothing}, {}, 9e-6, 1);
  EXPECT_THAT(queues, testing::ElementsAre(100, 50, 24, 12));
  EXPECT_NEAR(queueing.Time(1).seconds.at(0), 9e-6, 1e-12);
  EXPECT_THAT(queueing.reason()->text,
              testing::HasSubstr("not permitted when stream is capturing"));
  EXPECT_EQ(queueing.calls(), 6);
  most = 0;  // it waits for the GPU
  EXPECT_FALSE(RepeatedTimer(capturing, {kNothing}, {}, 9e-6, 1).CanRepeat());
  EXPECT_THROW(queueing.Time(1), std::runtime_error);
}

TEST(QueuedTimer, TimesAsManyCallsInQueuesThatFitAndAgainWhatBeganTooEarly) {
  Log log;
  auto clock = Logging(log);
  QueuedTimer timer(clock, kNothing, {}, 1);
  ASSERT_TRUE(timer.CanQueue());
  const auto times = timer.Time(25);
  EXPECT_EQ(times.seconds.size(), 25);
  EXPECT_EQ(times.clock_hz, 1.7e9);
  EXPECT_THAT(log.queues, testing::ElementsAre(1, 10, 10, 5));
  fakes::FakeClock waiting;
  int tried = 0;
  waiting.queued = [&](const gpu::L2State&, const gpu::Enqueue&, int) {
    ++tried;
    return gpu::QueuedCalls{{1e-2}, std::nullopt, false};
  };
  const QueuedTimer refused(waiting, kNothing, {}, std::nullopt);
  EXPECT_FALSE(refused.CanQueue());
  EXPECT_EQ(tried, 3);
  fakes::FakeClock early;
  int queue = 0;
  early.queued = [&](const gpu::L2State&, const gpu::Enqueue&, int calls) {
    const bool too_early = ++queue == 3;
    return gpu::QueuedCalls{std::vector<double>(calls, too_early ? 1.0 : 1e-4), 1e9, !too_early};
  };
  QueuedTimer repeating(early, kNothing, {}, 1);
  EXPECT_EQ(repeating.Time(25).seconds, std::vector<double>(25, 1e-4));
  early.queued = [](const gpu::L2State&, const gpu::Enqueue&, int calls) {
    return gpu::QueuedCalls{std::vector<double>(calls, 1e-4), 1e9, false};
  };
  EXPECT_THROW(repeating.Time(25), std::runtime_error);
}

// The first clock falls from 1.9 to 1.5 GHz in four seconds and stays there.
TEST(LoadUntilSteady, LastsUntilTheClockHasSettledAndAtLeastThreeSeconds) {
  // Returns the seconds of load; batches take this long and have the clock of their end.
  const auto load = [](double batch_seconds, const std::function<double(double now)>& clock_hz) {
    double now = 0;
    fakes::FakeClock clock;
    clock.batch = [&](const gpu::Enqueue&, int, const std::function<void()>&) {
      now += batch_seconds;
      return gpu::GpuBatch{batch_seconds, clock_hz(now)};
    };
    return LoadUntilSteady(clock, kNothing, 1e-3, {}, [&] { return now; });
  };
  const double falling =
      load(0.01, [](double now) { return std::max(1.9e9 - 0.1e9 * now, 1.5e9); });
  EXPECT_GT(falling, 4);  // 4 s to 1.5 GHz, and the last second must agree
  EXPECT_LT(falling, 6);
  EXPECT_NEAR(load(0.01, [](double) { return 1.5e9; }), kMinLoadSeconds, 0.3);
  EXPECT_GE(load(0.3, [](double now) { return std::fmod(now, 1) < 0.5 ? 1.5e9 : 1.7e9; }),
            kMaxLoadSeconds);
}

}  // namespace
}  // namespace dlroof::runner
