// The runner's benchmarks of a GPU that is made up, when its calls are counted, and wrong results.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "bench/runner/prepared_calls.h"
#include "reporters/roofline/roofline.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/runner_records.h"

namespace dlroof::runner {
namespace {

using testing::Contains, testing::ElementsAre, testing::HasSubstr, testing::MatchesRegex,
    testing::StartsWith;

constexpr const char* kCall = "Fake/gpu/none/fwd/f32/n1";

// A made-up call on a GPU, as `change` leaves it.
workload::Workload OnGpu(const std::string& name,
                         const std::function<void(workload::PreparedCall&)>& change = {}) {
  auto workload = fakes::FakeWorkload(workload::ParseBenchmarkName(name));
  if (change)
    workload.prepare = [change](const workload::RunSettings&) {
      auto call = fakes::FakeCall();
      change(call);
      return call;
    };
  return workload;
}

// Calls that can neither be captured nor be queued one behind the other.
void NeverRepeats(fakes::FakeClock& clock) {
  clock.graph = [](const gpu::Enqueue&, int) -> std::function<gpu::GpuBatch()> {
    throw std::runtime_error("capture: not permitted");
  };
  clock.batch = [](const gpu::Enqueue&, int calls, const std::function<void()>&) {
    return gpu::GpuBatch{calls * fakes::kFakeOnce, std::nullopt, false};
  };
}

TEST(RunnerOfGpu, KnowsTheKernelsWithoutCounters) {
  const auto uncounted = fakes::RecordOf(OnGpu(kCall), {.counters = "off"}, {fakes::OpenFake});
  ASSERT_EQ(uncounted.kernels.size(), 1);
  EXPECT_EQ(uncounted.kernels[0].facts->waves, 0.5);
  EXPECT_EQ(uncounted.work.at(Provenance::kMeasured).launches, 1);
  const auto forbidden = fakes::OpenWith([](fakes::FakeClock& clock) {
    clock.kernels = []() -> std::vector<LaunchedKernel> {
      throw std::runtime_error("capture: not permitted");
    };
  });
  const auto broken = fakes::RecordOf(OnGpu(kCall), {.counters = "off"}, {forbidden});
  EXPECT_TRUE(broken.kernels.empty());
  EXPECT_FALSE(broken.work.contains(Provenance::kMeasured));
  EXPECT_THAT(broken.counting,
              Contains(testing::Field(&CountingNote::text,
                                      "the call's kernels are not known: capture: not permitted")));
}

TEST(RunnerOfGpu, ACallThatWaitsIsTimedWithItsLaunchAndSaysSo) {
  const auto open = fakes::OpenWith([](fakes::FakeClock& clock) {
    NeverRepeats(clock);
    // The empty kernel comes first and can be queued.
    clock.queued = [queues = 0](const gpu::L2State&, const gpu::Enqueue&, int calls) mutable {
      return gpu::QueuedCalls{std::vector<double>(calls, 1e-6), 1e9, ++queues <= 2};
    };
  });
  const auto record = fakes::RecordOf(OnGpu(kCall), {}, {open});
  EXPECT_EQ(record.status, record::Status::kOk) << record.reason;
  EXPECT_EQ(record.timed, record::timed::kCall);
  ASSERT_FALSE(record.repetitions.empty());
  EXPECT_NEAR(record.repetitions[0].seconds, fakes::kFakeOnce, 1e-12);
  EXPECT_FALSE(record.repetitions[0].gpu->call_seconds);
  EXPECT_THAT(record.counting, Contains(testing::Field(&CountingNote::text,
                                                       HasSubstr("the call cannot be queued"))));
}

TEST(RunnerOfGpu, SteadyRunsLoadTheGpuFirst) {
  double now = 0;
  RunnerOptions options{fakes::OpenWith([&](fakes::FakeClock& clock) {
    clock.batch = [&now, batch = clock.batch](const gpu::Enqueue& call, int,
                                              const std::function<void()>& meanwhile) {
      now += 0.01;
      return batch(call, 1, meanwhile);
    };
  })};
  options.gpu = {.min_seconds = 0.001, .steady = true, .now = [&] { return now; }};
  const auto record = fakes::RecordOf(OnGpu(kCall), {}, options);
  EXPECT_TRUE(record::IsSteady(record));
  EXPECT_GE(now, runner::kMinLoadSeconds);
}

// Heat halves the SMs' clock in the first trains: other repetitions follow, after pauses in which
// the GPU cools.
TEST(RunnerOfGpu, ThrottledRepetitionsAreReplaced) {
  int trains = 0;
  const auto open = fakes::OpenWith([&](fakes::FakeClock& clock) {
    clock.health = [] { return gpu::GpuHealth{.throttle = 0x20}; };
    clock.graph = [&](const gpu::Enqueue&, int calls) {
      return [&, calls] {
        return gpu::GpuBatch{calls * fakes::kFakeInGraph, ++trains <= 40 ? 1e9 : 2e9};
      };
    };
  });
  RunnerOptions options{open};
  options.gpu.min_seconds = 0.001;
  options.stop = runner::StoppingRule{.repetitions = 7, .max_noise = 1, .max_seconds = 100};
  const auto record = fakes::RecordOf(OnGpu(kCall), {}, options, 40);
  const auto throttled = [](const record::Repetition& r) {
    return r.gpu && r.gpu->clock_hz < 1.5e9;
  };
  EXPECT_GE(std::ranges::count_if(record.repetitions, throttled), 1);
  for (const auto& r : record.repetitions) EXPECT_TRUE(!throttled(r) || r.noisy);
  EXPECT_EQ(std::ranges::count(record.repetitions, false, &record::Repetition::noisy), 7);
}

TEST(RunnerOfGpu, FlushesBeforeEveryColdCallAndTouchesAllButColdWeights) {
  std::string steps;
  const auto open = fakes::OpenWith([&](fakes::FakeClock& clock) {
    clock.queued = [&](const gpu::L2State& l2, const gpu::Enqueue&, int calls) {
      if (l2.flush) steps += 'f';
      for (const auto& [begin, bytes] : l2.touched) steps += bytes == 600 ? 't' : '?';
      steps += 'c';
      return gpu::QueuedCalls{std::vector<double>(calls, 1e-2), 1e9};
    };
  });
  const auto stepped = [&](workload::CacheState cache) {
    steps.clear();
    const bool warm = cache == workload::CacheState::kWarm;
    auto workload = OnGpu(warm ? kCall : fmt::format("{}/{}", kCall, Key(cache)));
    workload.cache = cache;
    const auto record = fakes::RecordOf(workload, {}, {open});
    EXPECT_EQ(record.cache, std::string(workload::Key(cache)));
    EXPECT_FALSE(record.evicted_bytes);  // how much of L2 was the call's is not known
    return steps;
  };
  const auto cold = stepped(workload::CacheState::kCold);
  EXPECT_EQ(cold.substr(cold.find('f'), 4), "fcfc") << "after the empty kernel";
  EXPECT_THAT(stepped(workload::CacheState::kColdWeights), HasSubstr("cftcftc"));
  EXPECT_THAT(stepped(workload::CacheState::kWarm), testing::Not(HasSubstr("f")));
}

// The tensors have 600 byte and 400 byte of weights, L2 2000 byte: 4000 / 1000 + 2 copies of all,
// or 4000 / 400 + 2 copies of the weights exceed it twice between two calls on one copy.
TEST(RunnerOfGpu, ColdCallsInAGraphUseCopiesInTurnOrAreQueuedWithAReason) {
  std::vector<std::size_t> copied;  // [byte]
  std::vector<const void*> used;
  const auto open = fakes::OpenWith([&](fakes::FakeClock& clock) {
    clock.copy = [&, copy = clock.copy](const void* begin, std::size_t bytes) {
      copied.push_back(bytes);
      return copy(begin, bytes);
    };
  });
  const auto timed = [&](workload::CacheState cache,
                         const std::function<void(workload::PreparedCall&)>& change) {
    copied.clear(), used.clear();
    auto workload = OnGpu("Fake/gpu/none/fwd/f32/n1/cold", [&](workload::PreparedCall& call) {
      call.gpu->on_copies = [&](const std::map<const void*, void*>& copies) {
        return [&used, copy = copies.rbegin()->second](void*) { used.push_back(copy); };
      };
      change(call);
    });
    workload.cache = cache;
    return fakes::RecordOf(workload, {}, {open});
  };
  const auto keep = [](workload::PreparedCall&) {};
  for (const auto& [cache, copies] :
       {std::pair(workload::CacheState::kCold, 6), {workload::CacheState::kColdWeights, 12}}) {
    const auto record = timed(cache, keep);
    EXPECT_EQ(record.timed, record::timed::kGraph);
    const auto& repetition = record.repetitions.front();
    EXPECT_NEAR(repetition.seconds, fakes::kFakeInGraph, 1e-12);
    EXPECT_DOUBLE_EQ(repetition.gpu->queued_seconds.value(), fakes::kFakeQueued);
    EXPECT_EQ(repetition.gpu->graph_calls, 48);  // 46 of 11 us in 0.5 ms, and whole turns
    const std::vector<std::size_t> weights = {400}, all = {600, 400};
    EXPECT_THAT(copied, testing::IsSupersetOf(copies == 6 ? all : weights));
    ASSERT_GE(used.size(), 3 * 48U);
    EXPECT_EQ((std::set<const void*>(used.begin(), used.begin() + copies).size()), copies);
    for (std::size_t i = copies; i < used.size(); ++i) EXPECT_EQ(used[i], used[i - copies]);
  }
  const auto expect_queued = [&](const char* reason, const auto& change) {
    const auto record = timed(workload::CacheState::kCold, change);
    EXPECT_EQ(record.timed, record::timed::kDevice);
    EXPECT_NEAR(record.repetitions.front().seconds, fakes::kFakeQueued, 1e-12);
    EXPECT_THAT(record.counting, Contains(testing::Field(&CountingNote::text, HasSubstr(reason))));
  };
  expect_queued("own tensors", [](auto& call) { call.gpu->on_copies = {}; });
  expect_queued("402 copies of its tensors", [](auto& call) { call.memory = {{&call, 10}}; });
  expect_queued("out of memory", [](auto& call) {
    call.gpu->on_copies = [](const auto&) -> gpu::Enqueue {
      throw std::runtime_error("cudaMalloc: out of memory");
    };
  });
}

TEST(RunnerOfGpu, RenewsWhatACallUsesUpBeforeEachQueueTrainAndCall) {
  std::string steps;
  const auto open = fakes::OpenWith([&](fakes::FakeClock& clock) {
    clock.queued = [&](const gpu::L2State&, const gpu::Enqueue&, int calls) {
      steps += 'c';
      return gpu::QueuedCalls{std::vector<double>(calls, 1e-2), 1e9};
    };
    clock.once = [&](const gpu::Enqueue&) {
      steps += 'c';
      return 1e-2;  // one iteration is enough
    };
    clock.graph = [&](const gpu::Enqueue&, int calls) {
      return [&, calls] { return steps += 'c', gpu::GpuBatch{calls * 1e-2}; };
    };
  });
  const auto workload = OnGpu("Fake/gpu/none/bwd/f32/n1", [&](workload::PreparedCall& call) {
    call.gpu->renew = [&] { steps += 'r'; };
  });
  fakes::Records({workload}, {.counters = "off"}, {open});
  const auto calls = steps.substr(steps.find('r'));  // the empty kernel comes before
  EXPECT_EQ(calls.substr(0, 4), "rcrc");
  EXPECT_THAT(calls, testing::Not(HasSubstr("cc")));
}

// n4 needs the module that n1 keeps until it is counted: n1 is given back and prepared again.
TEST(RunnerOfGpu, ACallIsKeptUntilItIsCountedUnlessAnotherNeedsItsRoom) {
  for (const bool available : {true, false}) {
    fakes::RunLog log;
    std::vector<workload::Workload> workloads;
    for (const std::string problem : {"n1", "n4"})
      workloads.push_back(OnGpu("Fake/gpu/none/fwd/f32/" + problem,
                                [&log, problem, available](workload::PreparedCall& call) {
                                  log.prepared.push_back(problem);
                                  if (!available && log.alive > 0)
                                    throw Unsupported("too little memory");
                                  call.gpu->renew = [alive = std::make_shared<fakes::Alive>(log)] {
                                  };
                                }));
    const auto records = fakes::Records(workloads, {}, {fakes::OpenFake});
    EXPECT_EQ(log.alive, 0);
    for (const auto& record : records)
      EXPECT_EQ(record.status, record::Status::kOk) << record.reason;
    const std::vector<std::string> kept = {"n1", "n4"},
                                   again = {"n1", "n4", "n4", "n1", "n1", "n4"};
    EXPECT_EQ(log.prepared, available ? kept : again);
  }
}

// A call of a library with three algorithms, of which the first `wrong` compute a wrong result.
void UseWrongAlgorithms(int wrong, workload::PreparedCall& call) {
  const auto at = std::make_shared<int>(0);
  call.algorithm = "engine 0";
  call.verify = [at, wrong] {
    const bool ok = *at >= wrong;
    return workload::Verification{ok, ok ? 0.5 : 6780 + *at, 1, "all 8 outputs"};
  };
  call.next_algorithm = [at](workload::PreparedCall& changed) {
    changed.algorithm = fmt::format("engine {}", ++*at);
    changed.modelled.launches = *at;
    return *at < 3;
  };
}

workload::Workload WithWrongAlgorithms(int wrong) {
  return OnGpu(kCall, [wrong](workload::PreparedCall& call) { UseWrongAlgorithms(wrong, call); });
}

TEST(RunnerOfGpu, TimesTheFirstAlgorithmWithARightResultAndNamesAndSkipsTheWrongOnes) {
  const auto record = fakes::RecordOf(WithWrongAlgorithms(2), {}, {fakes::OpenFake});
  EXPECT_EQ(record.work.at(Provenance::kModelled).launches, 2) << record.reason;
  EXPECT_EQ(record.wrong_engines.size(), 2U);
  // Two benchmarks that Google Benchmark interleaves are prepared again and again.
  auto call = fakes::FakeCall();
  UseWrongAlgorithms(2, call);
  SkipWrongEngines({{"engine 0", "wrong"}, {"engine 1", "wrong"}}, call);
  EXPECT_EQ(call.algorithm, "engine 2");
  EXPECT_EQ(call.wrong_engines.size(), 2U);
  SkipWrongEngines({{"engine 0", "wrong"}, {"engine 1", "wrong"}}, call);  // a stored call
  EXPECT_EQ(call.algorithm, "engine 2");
}

TEST(RunnerOfGpu, AWrongOrFailedRecordKeepsItsAlgorithm) {
  const auto all = fakes::RecordOf(WithWrongAlgorithms(9), {}, {fakes::OpenFake});
  EXPECT_THAT(fakes::Statuses({all}), ElementsAre(StartsWith("wrong: ")));
  EXPECT_EQ(all.algorithm, "engine 0");
  EXPECT_THAT(all.reason, HasSubstr("error 6.78e+03, allowed 1"));
  EXPECT_EQ(all.wrong_engines.size(), 3U);
  const auto only = OnGpu(kCall, [](workload::PreparedCall& call) {
    UseWrongAlgorithms(1, call);
    call.next_algorithm = {};
  });
  const auto record = fakes::RecordOf(only, {}, {fakes::OpenFake});
  EXPECT_EQ(record.status, record::Status::kWrong);
  EXPECT_EQ(record.algorithm, "engine 0");
  EXPECT_TRUE(record.wrong_engines.empty());
  const auto open = fakes::OpenWith([](fakes::FakeClock& clock) {
    clock.once = [](const gpu::Enqueue&) -> double { throw std::runtime_error("illegal address"); };
  });
  const auto failed = fakes::RecordOf(WithWrongAlgorithms(1), {}, {open});
  EXPECT_EQ(failed.status, record::Status::kFailed);
  EXPECT_EQ(failed.algorithm, "engine 1");
  EXPECT_EQ(failed.wrong_engines.size(), 1U);
}

TEST(RunnerOfGpu, RefusesWhatCannotBeTimed) {
  auto threads = OnGpu("Fake/gpu/none/fwd/f32/n1/threads2");
  threads.threads = 2;
  auto weights =
      OnGpu("Fake/gpu/none/fwd/f32/n1/cold-weights", [](auto& call) { call.memory.clear(); });
  weights.cache = workload::CacheState::kColdWeights;
  const auto plain = OnGpu(kCall, [](auto& call) { call.gpu.reset(); });
  const auto records = fakes::Records({threads, weights, plain}, {}, {fakes::OpenFake});
  EXPECT_THAT(fakes::Statuses(records),
              ElementsAre(MatchesRegex("unsupported: .*threads2.*"),
                          MatchesRegex("unsupported: .*weights.*"), StartsWith("failed: ")));
}

// A call of 10 ms: one iteration is enough. The second repetition breaks in its loop.
std::shared_ptr<gpu::GpuClock> BreakingClock(std::shared_ptr<int> calls, bool stays) {
  auto clock = fakes::OpenFake();
  NeverRepeats(*clock);
  // The empty kernel's trial and time come first, then the call's trial and its first queue.
  clock->queued = [calls, queues = 0](const gpu::L2State&, const gpu::Enqueue&, int n) mutable {
    if (++queues > 4 && ++*calls > 1) throw std::runtime_error("illegal address");
    return gpu::QueuedCalls{std::vector<double>(n, 1e-2), 1e9};
  };
  clock->recover = [stays] {
    if (stays) throw std::runtime_error("the driver says it again");
  };
  return clock;
}

// Preparing fails too after the failure, as where the context is gone.
workload::Workload PreparedBefore(const std::string& name, const std::shared_ptr<int>& calls) {
  return OnGpu(name, [calls](workload::PreparedCall&) {
    if (*calls > 1) throw std::runtime_error("no memory can be had");
  });
}

TEST(RunnerOfGpu, ALostGpuFailsWhatFollowsButAFailureThatPassesIsOneBenchmarks) {
  const auto calls = std::make_shared<int>(0);
  const auto open = [&] { return BreakingClock(calls, true); };
  fakes::RunLog log;
  const auto records = fakes::Records(
      {PreparedBefore(kCall, calls), PreparedBefore("Fake/gpu/none/fwd/f32/n4", calls),
       fakes::Fake("Fake/cpu/none/fwd/f32/n1", log)},
      {}, {open}, 5);
  EXPECT_THAT(fakes::Statuses(records),
              ElementsAre(MatchesRegex("failed: .*illegal address.*"),
                          "failed: not run: this process cannot use the GPU any more since "
                          "Fake/gpu/none/fwd/f32/n1 failed: the driver says it again",
                          "ok"));
  EXPECT_EQ(*calls, 2);  // what failed is not tried again
  const auto passing = std::make_shared<int>(0);
  const auto open_passing = [&] { return BreakingClock(passing, false); };
  const auto other = OnGpu("Fake/gpu/none/fwd/f32/n4");
  const auto passed = fakes::Records({PreparedBefore(kCall, passing), other}, {}, {open_passing});
  EXPECT_THAT(fakes::Statuses(passed),
              ElementsAre(StartsWith("failed: "), "failed: illegal address"));  // its own
  EXPECT_EQ(*passing, 3);
}

// CUPTI leaves launches slower behind: no call may be timed after the first was counted.
TEST(RunnerOfGpu, CountsAfterTheLastCallWasTimed) {
  static std::string steps;
  [[maybe_unused]] static const bool registered =
      RegisterCounterSource({"decree", "gpu", Provenance::kMeasured,
                             [] {
                               steps += 'a';
                               return std::optional<Reason>();
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
  const auto open = fakes::OpenWith([](fakes::FakeClock& clock) {
    clock.queued = [](const gpu::L2State&, const gpu::Enqueue&, int calls) {
      steps += 't';
      return gpu::QueuedCalls{std::vector<double>(calls, 1e-2), 1e9};
    };
  });
  steps.clear();
  std::vector<workload::Workload> workloads;
  for (const char* problem : {"n1", "n4", "n5"})
    workloads.push_back(OnGpu(std::string("Fake/gpu/none/fwd/f32/") + problem));
  const auto records = fakes::Records(workloads, {.counters = "decree"}, {open});
  ASSERT_EQ(records.size(), 3);
  EXPECT_GT(steps.find_first_of("ac"), steps.find_last_of('t')) << steps;
  EXPECT_EQ(std::count(steps.begin(), steps.end(), 'c'), 2) << steps;
  EXPECT_EQ(records[0].work.at(Provenance::kMeasured).bytes.at(Level::kDram), 4711);
  EXPECT_EQ(records[1].work.at(Provenance::kMeasured).bytes.at(Level::kDram), 4711);
  EXPECT_EQ(records[1].work.at(Provenance::kModelled).flops.at("fp32.vector"), 1e6);
  EXPECT_EQ(records[1].kernels, (std::vector<LaunchedKernel>{{"gemm", 2}}));
  EXPECT_EQ(records[0].work.at(Provenance::kMeasured).launches, 1);  // of the graph
  EXPECT_TRUE(records[2].work.at(Provenance::kMeasured).bytes.empty());
  EXPECT_THAT(records[2].counting,
              Contains(testing::Field(&CountingNote::text, HasSubstr("the counter broke"))));
  EXPECT_EQ(records[2].status, record::Status::kOk);
}

// Results that are right before the timing and wrong after it, and a clock that lies.
enum class Fault { kNone, kReturnsStored, kLeavesStored, kBreaks };

// A library that squares a number. Its first calls are right; with a fault, later ones are not.
struct Square {
  Fault fault = Fault::kNone;
  double x = 3, y = 0;
  std::optional<double> stored{};
  int calls = 0;

  void Run() {
    constexpr int kBreaksAt = 100;
    if (stored && fault == Fault::kLeavesStored) return;
    if (!stored || fault != Fault::kReturnsStored) stored = x * x;
    y = *stored;
    if (fault == Fault::kBreaks && ++calls > kBreaksAt) y += 1;
  }
};

workload::Workload Squaring(Fault fault) {
  fakes::RunLog log;
  auto workload = fakes::Fake("Fake/cpu/none/fwd/f32/n1", log);
  workload.prepare = [fault](const workload::RunSettings&) {
    const auto square = std::make_shared<Square>(Square{fault});
    workload::PreparedCall call{.run = [square] { square->Run(); }, .algorithm = "fake"};
    call.verify = [square] {
      square->Run();
      const bool ok = square->y == square->x * square->x;
      return workload::Verification{ok, ok ? 0.0 : 7.0, 1, "all 1 outputs"};
    };
    call.new_inputs = [square](unsigned seed) {
      square->x = 4 + seed % 7;
      square->y = std::numeric_limits<double>::quiet_NaN();
    };
    return call;
  };
  return workload;
}

TEST(Runner, FindsAResultThatIsStoredOrBreaksWhileItIsTimed) {
  RunnerOptions all{.repetitions = 3}, until_content{.keep_noisy = true};
  until_content.stop = runner::StoppingRule{.repetitions = 3, .max_noise = 1e9, .max_seconds = 100};
  for (const auto& options : {all, until_content}) {
    const int offered = options.stop ? 10 : 3;
    const auto right = fakes::RecordOf(Squaring(Fault::kNone), {}, options, offered);
    EXPECT_EQ(right.status, record::Status::kOk) << right.reason;
    EXPECT_EQ(right.verified,
              "all 1 outputs, error 0 of 1 allowed; again after the timing, with other inputs");
    for (const auto fault : {Fault::kReturnsStored, Fault::kLeavesStored, Fault::kBreaks}) {
      const auto wrong = fakes::RecordOf(Squaring(fault), {}, options, offered);
      EXPECT_EQ(wrong.status, record::Status::kWrong);
      EXPECT_THAT(wrong.reason, HasSubstr("after the timing, with other inputs: differs from the"));
    }
  }
}

TEST(Runner, SaysThatTheMemoryOfASecondVerificationDoesNotSuffice) {
  auto workload = Squaring(Fault::kReturnsStored);
  workload.prepare = [prepare = workload.prepare](const workload::RunSettings& settings) {
    auto call = prepare(settings);
    call.new_inputs = [](unsigned) { throw Unsupported("too little memory"); };
    return call;
  };
  const auto record = fakes::RecordOf(workload, {}, {.repetitions = 2});
  EXPECT_EQ(record.status, record::Status::kOk) << record.reason;
  EXPECT_THAT(record.verified, HasSubstr("not again after the timing: too little memory"));
}

// Of 1e6 flop and 1e5 byte, 1 us each on the fake's roofs.
TEST(RunnerOfGpu, AClockThatLiesPutsTheCallAboveItsRoofs) {
  const auto machine = fakes::FakeGpuWithCeilings();
  for (const double seconds : {11e-6, 0.1e-6}) {
    const auto open = fakes::OpenWith([seconds](fakes::FakeClock& clock) {
      clock.graph = [seconds](const gpu::Enqueue& call, int calls) {
        return [=] {
          call(nullptr);
          return gpu::GpuBatch{3e-6 + calls * seconds, 1.7e9};
        };
      };
    });
    const auto record = fakes::RecordOf(OnGpu(kCall), {.counters = "off"}, {open});
    ASSERT_EQ(record.status, record::Status::kOk) << record.reason;
    const auto remarks = roofline::Place(record, &machine).remarks;
    const bool above = std::ranges::any_of(remarks, [](const std::string& remark) {
      return remark.find("above the dram roof by 900 %") != std::string::npos;
    });
    EXPECT_EQ(above, seconds < 1e-6) << testing::PrintToString(remarks);
  }
}

}  // namespace
}  // namespace dlroof::runner
