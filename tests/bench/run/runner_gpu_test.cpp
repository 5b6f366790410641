// The runner's benchmarks of a GPU that is made up, and when its calls are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/runner_records.h"

namespace dlroof {
namespace {

using testing::Contains;
using testing::HasSubstr;

Workload OnGpu(const std::string& name) { return FakeWorkload(ParseBenchmarkName(name)); }

TEST(RunnerOfGpu, RecordsTheDevicesTimesNotTheHosts) {
  int opened = 0;
  const auto open = OpenWith([&](GpuClock&) { ++opened; });
  const auto records =
      Records({OnGpu("Fake/gpu/none/fwd/f32/n1"), OnGpu("Fake/gpu/none/fwd/f32/n2"),
               OnGpu("Fake/gpu/none/fwd/f32/n4")},
              {.threads = 2}, {open});
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(opened, 1);
  const auto& record = records[0];
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_EQ(record.threads, 1);
  for (const auto& repetition : record.repetitions) {
    EXPECT_NEAR(repetition.seconds, kFakeOnce, 1e-12);  // a mean over many iterations
    ASSERT_TRUE(repetition.gpu);
    EXPECT_DOUBLE_EQ(repetition.gpu->throughput_seconds.value(), kFakeBackToBack);
    EXPECT_DOUBLE_EQ(repetition.gpu->graph_seconds.value(), kFakeInGraph);
    EXPECT_GT(repetition.gpu->host_seconds.value(), 0);
    EXPECT_EQ(repetition.gpu->clock_hz, 1.7e9);
  }
  EXPECT_EQ(records[1].status, Status::kUnsupported);
}

// A call of 12 us fills a millisecond 84 times: one call alone, then what Google Benchmark keeps.
TEST(RunnerOfGpu, WhatGoogleBenchmarkWillNotKeepIsNotSampled) {
  int graphs = 0;
  const auto open = OpenWith([&](GpuClock& clock) {
    clock.graph = [&, graph = clock.graph](const Enqueue& call, int calls) {
      ++graphs;
      return graph(call, calls);
    };
  });
  const auto sampled = [&](std::optional<double> min_seconds) {
    graphs = 0;
    const auto record =
        RecordOf(OnGpu("Fake/gpu/none/fwd/f32/n1"), {}, {open, nullptr, {}, min_seconds});
    for (const auto& repetition : record.repetitions) EXPECT_TRUE(repetition.gpu);
    EXPECT_EQ(record.repetitions.size(), 2);
    return graphs;
  };
  // Google Benchmark also keeps what took five times as long by the wall clock.
  int fewest = sampled(0.001);
  for (int i = 0; i < 5 && fewest > 2; ++i) fewest = std::min(fewest, sampled(0.001));
  EXPECT_EQ(fewest, 2);
  EXPECT_GT(sampled(std::nullopt), 2);
}

// Heat halves the SMs' clock in the first six batches (two repetitions' worth; one's, where Google
// Benchmark runs a repetition twice): others follow, after pauses in which the GPU cools.
TEST(RunnerOfGpu, ThrottledRepetitionsAreReplaced) {
  int batches = 0;
  const auto open = OpenWith([&](GpuClock& clock) {
    clock.health = [] { return GpuHealth{.throttle = 0x20}; };
    clock.batch = [&, batch = clock.batch](const Enqueue& call, int calls,
                                           const std::function<void()>& meanwhile) {
      auto timed = batch(call, calls, meanwhile);
      timed.clock_hz = ++batches <= 6 ? 1e9 : 2e9;
      return timed;
    };
  });
  RunnerOptions options{open};
  options.min_seconds = 0.001;
  options.stop = StoppingRule{.repetitions = 7, .max_noise = 1, .max_seconds = 100};
  const auto record = RecordOf(OnGpu("Fake/gpu/none/fwd/f32/n1"), {}, options, 40);
  const auto throttled = [](const Repetition& r) { return r.gpu && r.gpu->clock_hz < 1.5e9; };
  EXPECT_GE(std::ranges::count_if(record.repetitions, throttled), 1);
  for (const auto& r : record.repetitions) EXPECT_TRUE(!throttled(r) || r.disturbed);
  EXPECT_EQ(std::ranges::count(record.repetitions, false, &Repetition::disturbed), 7);
}

TEST(RunnerOfGpu, SaysWhyACallHasNoGraphTime) {
  const auto open = OpenWith([](GpuClock& clock) {
    clock.graph = [](const Enqueue&, int) -> std::function<double()> {
      throw std::runtime_error("capture: not permitted");
    };
  });
  const auto record = RecordOf(OnGpu("Fake/gpu/none/fwd/f32/n1"), {}, {open});
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_THAT(record.counting,
              Contains(testing::Field(&CountingNote::text,
                                      "gpu.graph_seconds is not known: capture: not permitted")));
}

TEST(RunnerOfGpu, FlushesBeforeEveryColdCallAndTouchesAllButColdWeights) {
  std::string steps;
  const auto open = OpenWith([&](GpuClock& clock) {
    clock.flush = [&] { steps += 'f'; };
    clock.touch = [&](const void*, std::size_t bytes) { steps += bytes == 600 ? 't' : '?'; };
    clock.once = [&](const Enqueue&) {
      steps += 'c';
      return 1e-2;  // one iteration is enough
    };
  });
  const auto stepped = [&](const std::string& name, CacheState cache) {
    steps.clear();
    auto workload = OnGpu(name);
    workload.cache = cache;
    const auto record = RecordOf(workload, {}, {open});
    EXPECT_EQ(record.cache, std::string(Key(cache)));
    EXPECT_FALSE(record.evicted_bytes);  // how much of L2 was the call's is not known
    return steps;
  };
  EXPECT_EQ(stepped("Fake/gpu/none/fwd/f32/n1/cold", CacheState::kCold).substr(0, 4), "fcfc");
  EXPECT_EQ(stepped("Fake/gpu/none/fwd/f32/n1/cold-weights", CacheState::kColdWeights).substr(0, 6),
            "ftcftc");
  EXPECT_EQ(stepped("Fake/gpu/none/fwd/f32/n1", CacheState::kWarm).substr(0, 2), "cc");
}

TEST(RunnerOfGpu, RenewsWhatACallUsesUpBeforeEachTimedCall) {
  std::string steps;
  const auto open = OpenWith([&](GpuClock& clock) {
    clock.once = [&](const Enqueue&) {
      steps += 'c';
      return 1e-2;  // one iteration is enough
    };
  });
  auto workload = OnGpu("Fake/gpu/none/bwd/f32/n1");
  workload.prepare = [&](const RunSettings&) {
    auto call = FakeCall();
    call.renew = [&] { steps += 'r'; };
    return call;
  };
  Records({workload}, {.counters = "off"}, {open});
  EXPECT_EQ(steps.substr(0, 2), "rc");
  EXPECT_THAT(steps.substr(2), HasSubstr("rc"));
  EXPECT_THAT(steps, testing::Not(HasSubstr("cc")));
}

TEST(RunnerOfGpu, WhatRenewsACallGoesWithIt) {
  RunLog log;
  std::vector<Workload> workloads;
  for (const std::string problem : {"n1", "n4"}) {
    workloads.push_back(OnGpu("Fake/gpu/none/bwd/f32/" + problem));
    workloads.back().prepare = [&](const RunSettings&) {
      auto call = FakeCall();
      call.renew = [alive = std::make_shared<Alive>(log)] {};
      return call;
    };
  }
  Records(workloads, {.counters = "off"}, {FakeClock});
  EXPECT_EQ(log.most_alive, 1);
  EXPECT_EQ(log.alive, 0);
}

// n4 needs the room that n1 keeps until it is counted: n1 is given back and prepared again.
TEST(RunnerOfGpu, ACallIsKeptUntilItIsCountedUnlessAnotherNeedsItsRoom) {
  for (const bool room : {true, false}) {
    RunLog log;
    std::vector<Workload> workloads;
    for (const std::string problem : {"n1", "n4"}) {
      workloads.push_back(OnGpu("Fake/gpu/none/fwd/f32/" + problem));
      workloads.back().prepare = [&log, problem, room](const RunSettings&) {
        log.prepared.push_back(problem);
        if (!room && log.alive > 0) throw Unsupported("too little memory");
        auto call = FakeCall();
        call.renew = [alive = std::make_shared<Alive>(log)] {};
        return call;
      };
    }
    const auto records = Records(workloads, {}, {FakeClock});
    EXPECT_EQ(log.alive, 0);
    for (const auto& record : records) EXPECT_EQ(record.status, Status::kOk) << record.reason;
    const std::vector<std::string> kept = {"n1", "n4"},
                                   again = {"n1", "n4", "n4", "n1", "n1", "n4"};
    EXPECT_EQ(log.prepared, room ? kept : again);
  }
}

TEST(RunnerOfGpu, RefusesWhatCannotBeTimed) {
  auto threads = OnGpu("Fake/gpu/none/fwd/f32/n1/threads2");
  threads.threads = 2;
  auto weights = OnGpu("Fake/gpu/none/fwd/f32/n1/cold-weights");
  weights.cache = CacheState::kColdWeights;
  weights.prepare = [](const RunSettings&) {
    auto call = FakeCall();
    call.memory.clear();
    return call;
  };
  auto plain = OnGpu("Fake/gpu/none/fwd/f32/n1");
  plain.prepare = [](const RunSettings&) {
    auto call = FakeCall();
    call.enqueue = {};
    return call;
  };
  const auto records = Records({threads, weights, plain}, {}, {FakeClock});
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records[0].status, Status::kUnsupported);
  EXPECT_THAT(records[0].reason, HasSubstr("threads2"));
  EXPECT_EQ(records[1].status, Status::kUnsupported);
  EXPECT_THAT(records[1].reason, HasSubstr("weights"));
  EXPECT_EQ(records[2].status, Status::kFailed);
}

// A call of 10 ms: one iteration is enough. The second repetition breaks in its loop.
GpuClock BreakingClock(std::shared_ptr<int> calls, bool stays) {
  auto clock = FakeClock();
  clock.once = [calls](const Enqueue&) {
    if (++*calls > 1) throw std::runtime_error("illegal address");
    return 1e-2;
  };
  clock.recover = [stays] {
    if (stays) throw std::runtime_error("the driver says it again");
  };
  return clock;
}

// Preparing fails too after the failure, as where the context is gone.
Workload PreparedBefore(const std::string& name, const std::shared_ptr<int>& calls) {
  auto workload = OnGpu(name);
  workload.prepare = [calls](const RunSettings&) {
    if (*calls > 1) throw std::runtime_error("no memory can be had");
    return FakeCall();
  };
  return workload;
}

TEST(RunnerOfGpu, ALostGpuFailsWhatFollowsAndTheRecordsStay) {
  const auto calls = std::make_shared<int>(0);
  const auto open = [&] { return BreakingClock(calls, true); };
  RunLog log;
  const auto records = Records(
      {PreparedBefore("Fake/gpu/none/fwd/f32/n1", calls),
       PreparedBefore("Fake/gpu/none/fwd/f32/n4", calls), Fake("Fake/cpu/none/fwd/f32/n1", log)},
      {}, {open}, 5);
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records[0].status, Status::kFailed);
  EXPECT_THAT(records[0].reason, HasSubstr("illegal address"));
  EXPECT_EQ(*calls, 2);  // what failed is not tried again
  EXPECT_EQ(records[1].status, Status::kFailed);
  EXPECT_EQ(records[1].reason,
            "not run: the GPU is lost to this process since Fake/gpu/none/fwd/f32/n1: the driver "
            "says it again");
  EXPECT_EQ(records[2].status, Status::kOk) << records[2].reason;
}

TEST(RunnerOfGpu, AFailureThatPassesIsOneBenchmarks) {
  const auto calls = std::make_shared<int>(0);
  const auto open = [&] { return BreakingClock(calls, false); };
  const auto other = OnGpu("Fake/gpu/none/fwd/f32/n4");
  const auto records =
      Records({PreparedBefore("Fake/gpu/none/fwd/f32/n1", calls), other}, {}, {open});
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].status, Status::kFailed);
  EXPECT_EQ(records[1].status, Status::kFailed);
  EXPECT_EQ(records[1].reason, "illegal address");  // its own
  EXPECT_EQ(*calls, 3);
}

// CUPTI leaves launches slower behind: no call may be timed after the first was counted.
TEST(RunnerOfGpu, CountsAfterTheLastCallWasTimed) {
  static std::string steps;
  [[maybe_unused]] static const bool registered =
      RegisterCounterSource({"decree", "gpu", Provenance::kMeasured,
                             [] {
                               steps += 'a';
                               return std::string();
                             },
                             [](const CountRequest& request) -> Counted {
                               if (request.name.ends_with("n5"))
                                 throw std::runtime_error("the counter broke");
                               steps += 'c';
                               Counted counted;
                               counted.work.bytes[Level::kDram] = 4711;
                               counted.how = "by decree";
                               counted.kernels = {{"gemm", 2}};
                               return counted;
                             }});
  const auto open = OpenWith([](GpuClock& clock) {
    clock.once = [](const Enqueue&) {
      steps += 't';
      return 1e-2;
    };
  });
  steps.clear();
  std::vector<Workload> workloads;
  for (const char* problem : {"n1", "n4", "n5"})
    workloads.push_back(OnGpu(std::string("Fake/gpu/none/fwd/f32/") + problem));
  const auto records = Records(workloads, {.counters = "decree"}, {open});
  ASSERT_EQ(records.size(), 3);
  EXPECT_GT(steps.find_first_of("ac"), steps.find_last_of('t')) << steps;
  EXPECT_EQ(std::count(steps.begin(), steps.end(), 'c'), 2) << steps;
  EXPECT_EQ(records[0].work.at(Provenance::kMeasured).bytes.at(Level::kDram), 4711);
  EXPECT_EQ(records[1].work.at(Provenance::kMeasured).bytes.at(Level::kDram), 4711);
  EXPECT_EQ(records[1].work.at(Provenance::kModelled).flops.at("fp32.vector"), 1e6);
  EXPECT_EQ(records[1].kernels, (std::vector<LaunchedKernel>{{"gemm", 2}}));
  EXPECT_FALSE(records[2].work.contains(Provenance::kMeasured));
  EXPECT_THAT(records[2].counting,
              Contains(testing::Field(&CountingNote::text, HasSubstr("the counter broke"))));
  EXPECT_EQ(records[2].status, Status::kOk);
}

}  // namespace
}  // namespace dlroof
