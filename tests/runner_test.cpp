#include "bench/runner.h"

#include <benchmark/benchmark.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <sstream>

#include "counters/issue_rate.h"
#include "reporters/google_benchmark.h"
#include "tests/fake_gpu.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

// What fake workloads saw.
struct Log {
  std::vector<std::string> prepared;
  std::vector<int> threads;
  int alive = 0, most_alive = 0;
};

// Keeps count of how many calls are prepared at a time.
struct Alive {
  explicit Alive(Log& seen) : log(seen) { log.most_alive = std::max(log.most_alive, ++log.alive); }
  ~Alive() { --log.alive; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  Log& log;
};

Workload Fake(const std::string& name, Log& log, bool with_memory = true) {
  return {.name = ParseBenchmarkName(name), .prepare = [&log, name, with_memory](auto& settings) {
            log.prepared.push_back(name);
            log.threads.push_back(settings.threads);
            const auto alive = std::make_shared<Alive>(log);
            const auto values = std::make_shared<std::vector<double>>(1000, 1.0);
            PreparedCall call;
            call.run = [alive, values] {
              for (double& value : *values) value = value * 0.5 + 1;
            };
            call.verify = [] { return Verification{true, 0, 1, "by decree"}; };
            call.algorithm = "fake";
            call.modelled.launches = 1;
            if (with_memory)
              call.memory = {{values->data(), 4000, false}, {values->data() + 500, 4000, true}};
            return call;
          }};
}

// Runs those that match `filter` and gives back their records.
std::vector<Record> Records(const std::vector<Workload>& workloads, const RunSettings& settings,
                            const std::string& filter, const RunnerMeans& means = {}) {
  std::string program = "test", time = "--benchmark_min_time=0.001",
              repetitions = "--benchmark_repetitions=2";
  char* arguments[] = {program.data(), time.data(), repetitions.data(), nullptr};
  int count = 3;
  benchmark::Initialize(&count, arguments);
  benchmark::ClearRegisteredBenchmarks();
  Session session(nlohmann::json::object(), [] { return std::vector<Machine>{}; });
  session.CountLater(RegisterWorkloads(workloads, settings, means));
  TerminalReporter reporter(session);
  std::ostringstream out, err;
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&err);
  benchmark::RunSpecifiedBenchmarks(&reporter, filter);
  benchmark::ClearRegisteredBenchmarks();
  return session.file().records;
}

TEST(Runner, PreparesWhatTheFilterKeepsOneAtATime) {
  Log log;
  std::vector<Workload> workloads;
  for (const std::string size : {"1", "2", "3", "4"})
    workloads.push_back(Fake("Fake/cpu/none/fwd/f32/n" + size, log));
  const auto records = Records(workloads, {}, "n[234]");
  EXPECT_EQ(records.size(), 3);
  EXPECT_THAT(log.prepared,
              testing::ElementsAre("Fake/cpu/none/fwd/f32/n2", "Fake/cpu/none/fwd/f32/n3",
                                   "Fake/cpu/none/fwd/f32/n4"));
  EXPECT_EQ(log.most_alive, 1);
}

TEST(Runner, AColdCallSaysWhatItEvicted) {
  Log log;
  auto warm = Fake("Fake/cpu/none/fwd/f32/n1", log);
  auto cold = Fake("Fake/cpu/none/fwd/f32/n1/cold", log);
  cold.cache = CacheState::kCold;
  auto weights = Fake("Fake/cpu/none/fwd/f32/n1/cold-weights", log);
  weights.cache = CacheState::kColdWeights;
  const auto records = Records({warm, cold, weights}, {}, "all");
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records[0].cache, "warm");
  EXPECT_FALSE(records[0].evicted_bytes);
  EXPECT_EQ(records[1].name, "Fake/cpu/none/fwd/f32/n1/cold");
  EXPECT_EQ(records[1].cache, "cold");
  // Two regions of 4000 byte: 63 or 64 lines of 64 byte each, as they lie.
  EXPECT_GE(records[1].evicted_bytes, 2 * 63 * 64);
  EXPECT_LE(records[1].evicted_bytes, 2 * 64 * 64);
  EXPECT_EQ(records[2].cache, "cold-weights");
  EXPECT_GE(records[2].evicted_bytes, 63 * 64);
  EXPECT_LE(records[2].evicted_bytes, 64 * 64);
  for (const auto& record : records) {
    EXPECT_EQ(record.status, Status::kOk) << record.reason;
    EXPECT_EQ(record.repetitions.size(), 2);
    for (const auto& repetition : record.repetitions) EXPECT_GT(repetition.seconds, 0);
  }
}

TEST(Runner, LooksAtTheCoreOfASingleThreadOnly) {
  if (!MeasureIssueRate()) GTEST_SKIP() << "no loops for this family of CPUs";
  Log log;
  auto cold = Fake("Fake/cpu/none/fwd/f32/n1/cold", log);
  cold.cache = CacheState::kCold;
  const RunnerMeans neighbour{{}, nullptr, [] { return 1e6; }};
  RunSettings settings;
  const auto alone =
      Records({Fake("Fake/cpu/none/fwd/f32/n1", log), cold}, settings, "all", neighbour);
  ASSERT_EQ(alone.size(), 2);
  for (const auto& record : alone) {
    ASSERT_EQ(record.repetitions.size(), 2) << record.name;
    for (const auto& repetition : record.repetitions) {
      EXPECT_LT(repetition.core_share.value_or(1), 1e-3) << record.name;
      EXPECT_TRUE(repetition.disturbed) << record.name;
    }
  }
  settings.threads = 2;
  const auto together =
      Records({Fake("Fake/cpu/none/fwd/f32/n2", log)}, settings, "all", neighbour);
  ASSERT_EQ(together.size(), 1);
  ASSERT_EQ(together[0].repetitions.size(), 2);
  for (const auto& repetition : together[0].repetitions) EXPECT_FALSE(repetition.core_share);
}

TEST(Runner, ColdWithoutKnownMemoryIsUnsupportedNotWarm) {
  Log log;
  auto cold = Fake("Fake/cpu/none/fwd/f32/n1/cold", log, false);
  cold.cache = CacheState::kCold;
  const auto records = Records({cold}, {}, "all");
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0].status, Status::kUnsupported);
  EXPECT_THAT(records[0].reason, HasSubstr("cold"));
}

// Rows 0 to 3 of a matrix of 1000 columns of one byte, again for each of 4 columns of filters.
LevelModel SmallModel() {
  LevelModel model;
  ReuseNest nest;
  nest.sizes = {4, 1000};
  nest.loops = {{0, 1}};
  nest.tensors = {{"weights", 1, {{{{0, 1}}, 4}, {{{1, 1}}, 1000}}}};
  model.nests = {nest};
  model.core_bytes = 123456;
  model.how = "by decree";
  return model;
}

Workload Modelled(const std::string& name, Log& log) {
  auto workload = Fake(name, log);
  workload.prepare = [prepare = workload.prepare](const RunSettings& settings) {
    auto call = prepare(settings);
    call.levels = SmallModel();
    call.modelled.bytes[Level::kDram] = 77;
    return call;
  };
  return workload;
}

TEST(Runner, ARecordHasTheModelsBytesBesideTheClosedForms) {
  Log log;
  const auto records = Records({Modelled("Fake/cpu/none/fwd/f32/n1", log)},
                               {.counters = CounterChoice::kModel}, "all");
  ASSERT_EQ(records.size(), 1);
  const Work& work = records[0].work.at(Provenance::kModelled);
  EXPECT_EQ(work.bytes.at(Level::kL1), 123456);
  EXPECT_EQ(work.bytes.at(Level::kDram), 77);
  EXPECT_EQ(work.launches, 1);
  EXPECT_THAT(records[0].counting, testing::ElementsAre("modelled: by decree"));
}

TEST(Runner, CountersOffAskNobody) {
  Log log;
  const auto records = Records({Modelled("Fake/cpu/none/fwd/f32/n1", log)},
                               {.counters = CounterChoice::kOff}, "all");
  ASSERT_EQ(records.size(), 1);
  const Work& work = records[0].work.at(Provenance::kModelled);
  EXPECT_EQ(work.bytes.size(), 1);  // dram
  EXPECT_EQ(work.launches, 1);
  EXPECT_TRUE(records[0].counting.empty());
}

TEST(Runner, ThreadsOfANameWinOverTheRuns) {
  Log log;
  auto one = Fake("Fake/cpu/none/fwd/f32/n1/threads1", log);
  one.threads = 1;
  auto many = Fake("Fake/cpu/none/fwd/f32/n1/threads4000", log);
  many.threads = 4000;
  const RunSettings settings{.threads = 2, .cpus = {0, 0}};
  const auto records = Records({Fake("Fake/cpu/none/fwd/f32/n1", log), one, many}, settings, "all");
  ASSERT_EQ(records.size(), 3);
  EXPECT_THAT(log.threads, testing::ElementsAre(2, 1));
  EXPECT_EQ(records[0].threads, 2);
  EXPECT_EQ(records[1].threads, 1);
  EXPECT_EQ(records[2].status, Status::kUnsupported);
  EXPECT_THAT(records[2].reason, HasSubstr("may use 2 CPUs"));
}

Workload OnGpu(const std::string& name) { return FakeWorkload(ParseBenchmarkName(name)); }

TEST(RunnerOfGpu, RecordsTheDevicesTimesNotTheHosts) {
  int opened = 0;
  const auto open = [&] {
    ++opened;
    return FakeClock();
  };
  const auto records =
      Records({OnGpu("Fake/gpu/none/fwd/f32/n1"), OnGpu("Fake/gpu/none/fwd/f32/n2"),
               OnGpu("Fake/gpu/none/fwd/f32/n4")},
              {.threads = 2}, "all", {open, nullptr, {}});
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
  const auto open = [&] {
    auto clock = FakeClock();
    clock.graph = [&, graph = clock.graph](const Enqueue& call, int calls) {
      ++graphs;
      return graph(call, calls);
    };
    return clock;
  };
  const auto sampled = [&](std::optional<double> min_seconds) {
    graphs = 0;
    const auto records =
        Records({OnGpu("Fake/gpu/none/fwd/f32/n1")}, {}, "all", {open, nullptr, {}, min_seconds});
    for (const auto& repetition : records.at(0).repetitions) EXPECT_TRUE(repetition.gpu);
    EXPECT_EQ(records[0].repetitions.size(), 2);
    return graphs;
  };
  EXPECT_EQ(sampled(0.001), 2);
  EXPECT_GT(sampled(std::nullopt), 2);
}

TEST(RunnerOfGpu, SaysWhyACallHasNoGraphTime) {
  const auto open = [] {
    auto clock = FakeClock();
    clock.graph = [](const Enqueue&, int) -> std::function<double()> {
      throw std::runtime_error("capture: not permitted");
    };
    return clock;
  };
  const auto records = Records({OnGpu("Fake/gpu/none/fwd/f32/n1")}, {}, "all", {open, nullptr, {}});
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0].status, Status::kOk) << records[0].reason;
  EXPECT_THAT(records[0].counting,
              testing::Contains("gpu.graph_seconds is not known: capture: not permitted"));
}

TEST(RunnerOfGpu, FlushesBeforeEveryColdCallAndTouchesAllButColdWeights) {
  std::string steps;
  const auto open = [&] {
    auto clock = FakeClock();
    clock.flush = [&] { steps += 'f'; };
    clock.touch = [&](const void*, std::size_t bytes) { steps += bytes == 600 ? 't' : '?'; };
    clock.once = [&](const Enqueue&) {
      steps += 'c';
      return 1e-2;  // one iteration is enough
    };
    return clock;
  };
  const auto stepped = [&](const std::string& name, CacheState cache) {
    steps.clear();
    auto workload = OnGpu(name);
    workload.cache = cache;
    const auto records = Records({workload}, {}, "all", {open, nullptr, {}});
    EXPECT_EQ(records.at(0).cache, std::string(Key(cache)));
    EXPECT_FALSE(records[0].evicted_bytes);  // how much of L2 was the call's is not known
    return steps;
  };
  EXPECT_EQ(stepped("Fake/gpu/none/fwd/f32/n1/cold", CacheState::kCold).substr(0, 4), "fcfc");
  EXPECT_EQ(stepped("Fake/gpu/none/fwd/f32/n1/cold-weights", CacheState::kColdWeights).substr(0, 6),
            "ftcftc");
  EXPECT_EQ(stepped("Fake/gpu/none/fwd/f32/n1", CacheState::kWarm).substr(0, 2), "cc");
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
  const auto records = Records({threads, weights, plain}, {}, "all", {FakeClock, nullptr, {}});
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records[0].status, Status::kUnsupported);
  EXPECT_THAT(records[0].reason, HasSubstr("threads2"));
  EXPECT_EQ(records[1].status, Status::kUnsupported);
  EXPECT_THAT(records[1].reason, HasSubstr("weights"));
  EXPECT_EQ(records[2].status, Status::kFailed);
}

TEST(Runner, EveryRecordKeepsItsReproLine) {
  Log log;
  auto good = Fake("Fake/cpu/none/fwd/f32/n1", log);
  good.repro = "--conv --mode=P mb1";
  Workload refused{.name = ParseBenchmarkName("Fake/cpu/none/fwd/f32/n2"),
                   .prepare = [](auto&) -> PreparedCall { throw Unsupported("not here"); },
                   .repro = "--conv --mode=P mb2"};
  const auto records = Records({good, refused}, {}, "all");
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].repro, "--conv --mode=P mb1");
  EXPECT_EQ(records[1].repro, "--conv --mode=P mb2");
  EXPECT_EQ(records[1].algorithm, "");
}

// Two pipes; what a supervisor would say is written before the run, what it hears is read after it.
class TurnsTest : public testing::Test {
 protected:
  TurnsTest() {
    EXPECT_EQ(pipe(from_), 0);
    EXPECT_EQ(pipe(to_), 0);
  }
  ~TurnsTest() override {
    for (const int fd : {from_[0], to_[0]}) close(fd);
  }

  std::vector<Record> RunWith(const std::string& turns, Log& log) {
    EXPECT_EQ(write(from_[1], turns.data(), turns.size()), static_cast<ssize_t>(turns.size()));
    close(from_[1]);
    Turns given(from_[0], to_[1]);
    auto records = Records({Fake("Fake/cpu/none/fwd/f32/n1", log)}, {}, "all", {{}, &given, {}});
    close(to_[1]);
    return records;
  }

  std::vector<std::string> Heard() {
    std::string text(4096, ' ');
    text.resize(static_cast<std::size_t>(read(to_[0], text.data(), text.size())));
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

 private:
  int from_[2] = {}, to_[2] = {};
};

TEST_F(TurnsTest, EachRepetitionTakesATurnAndSaysItsIterations) {
  Log log;
  const auto records = RunWith(std::string(60, 't'), log);
  ASSERT_EQ(records.size(), 1);
  ASSERT_EQ(records[0].repetitions.size(), 2);
  const auto heard = Heard();
  ASSERT_GE(heard.size(), 3);
  EXPECT_EQ(heard.front(), "ready");
  // Both repetitions have as many iterations; the guesses before had fewer.
  const auto iterations = std::to_string(static_cast<int>(records[0].repetitions[0].iterations));
  EXPECT_EQ(heard[heard.size() - 1], iterations);
  EXPECT_EQ(heard[heard.size() - 2], iterations);
  for (std::size_t i = 1; i + 2 < heard.size(); ++i) EXPECT_NE(heard[i], iterations);
}

TEST_F(TurnsTest, WithoutATurnNothingIsMeasured) {
  Log log;
  EXPECT_THAT(RunWith("", log), testing::IsEmpty());
  EXPECT_THAT(Heard(), testing::ElementsAre("ready"));
}

}  // namespace
}  // namespace dlroof
