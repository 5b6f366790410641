#include "bench/runner/runner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <stop_token>
#include <thread>
#include <vector>

#include "bench/runner/explain_pass.h"
#include "bench/runner/prepared_calls.h"
#include "bench/runner/timer.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "counters/energy/energy_meter.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/runner_records.h"

namespace dlroof::runner {
namespace {

using testing::_, testing::ElementsAre, testing::HasSubstr, testing::MatchesRegex;

constexpr const char* kOnCpu = "Fake/cpu/none/fwd/f32/n1";

TEST(Runner, PreparesWhatTheFilterKeepsOneAtATime) {
  fakes::RunLog log;
  std::vector<workload::Workload> workloads;
  for (const std::string size : {"1", "2", "3", "4"})
    workloads.push_back(fakes::Fake("Fake/cpu/none/fwd/f32/n" + size, log));
  const auto records = fakes::Records(workloads, {}, {}, 2, "n[234]");
  EXPECT_EQ(records.size(), 3);
  EXPECT_THAT(log.prepared, ElementsAre("Fake/cpu/none/fwd/f32/n2", "Fake/cpu/none/fwd/f32/n3",
                                        "Fake/cpu/none/fwd/f32/n4"));
  EXPECT_EQ(log.most_alive, 1);
}

TEST(Runner, AColdCallSaysWhatItEvicted) {
  fakes::RunLog log;
  const auto records =
      fakes::Records({fakes::Fake(kOnCpu, log), fakes::FakeIn(workload::CacheState::kCold, log),
                      fakes::FakeIn(workload::CacheState::kColdWeights, log)});
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
    EXPECT_EQ(record.status, record::Status::kOk) << record.reason;
    EXPECT_EQ(record.repetitions.size(), 2);
    for (const auto& repetition : record.repetitions) EXPECT_GT(repetition.seconds, 0);
  }
}

TEST(Runner, LooksAtTheCoreOfEachThread) {
  fakes::RunLog log;
  // No core issues so much: the run's own rates are the reference.
  const RunnerOptions wrong{.best_state = [](int) { return cpu::TeamState{1e6, {}}; }};
  const auto alone = fakes::Records(
      {fakes::Fake(kOnCpu, log), fakes::FakeIn(workload::CacheState::kCold, log)}, {}, wrong);
  ASSERT_EQ(alone.size(), 2);
  for (const auto& record : alone) {
    ASSERT_EQ(record.repetitions.size(), 2) << record.name;
    for (const auto& repetition : record.repetitions) {
      EXPECT_GT(repetition.core_share.value(), 1e-2) << record.name;
      EXPECT_LE(repetition.core_share.value(), 1) << record.name;
    }
  }
}

// Where they could not look beside each other, nothing is known.
TEST(Runner, LooksAtTheCoresOfATeamAndKeepsNoisyRepetitionsWhenItIsTold) {
  if (workload::AllLibraries().empty()) GTEST_SKIP() << "no team";
  const auto cpus = cpu::ThisCpu().allowed;
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU";
  fakes::RunLog log;
  const workload::RunSettings settings{.threads = 2, .cpus = {cpus[0], cpus[1]}};
  for (const bool keep : {false, true}) {
    std::vector<int> asked;
    RunnerOptions neighbour{.best_state = [&asked](int threads) {
      asked.push_back(threads);
      return cpu::TeamState{1e6, 1e-12};
    }};
    neighbour.keep_noisy = keep;
    int looks = 0;
    for (int tries = 0; tries < 20 && looks == 0; ++tries) {  // on a busy machine they rarely meet
      asked.clear();
      const auto record =
          fakes::RecordOf(fakes::Fake("Fake/cpu/none/fwd/f32/n2", log), settings, neighbour, 50);
      EXPECT_EQ(asked, std::vector<int>({2}));
      for (const auto& repetition : record.repetitions) {
        if (!repetition.core_share || !repetition.link_share) continue;
        ++looks;
        EXPECT_LT(*repetition.link_share, 1e-2);
        EXPECT_EQ(repetition.noisy, !keep);
      }
    }
    EXPECT_GT(looks, 0);
  }
}

TEST(Runner, RepeatsUntilTheRuleIsContentOrTheOfferEnds) {
  fakes::RunLog log;
  const auto records = [&](double max_noise, double max_seconds, const std::string& size) {
    RunnerOptions options{.keep_noisy = true};
    options.stop =
        runner::StoppingRule{.repetitions = 7, .max_noise = max_noise, .max_seconds = max_seconds};
    return fakes::RecordOf(fakes::Fake("Fake/cpu/none/fwd/f32/n" + size, log), {}, options, 40);
  };
  EXPECT_EQ(records(1e9, 100, "1").repetitions.size(), 7);    // narrow enough at once
  EXPECT_EQ(records(1e-9, 0, "2").repetitions.size(), 7);     // the time is up
  EXPECT_EQ(records(1e-9, 100, "3").repetitions.size(), 40);  // never narrow enough
}

// Other threads of this process want the CPUs as well: a repetition is longer than a turn on one.
TEST(Runner, ReadsNoisyRepetitionsInPartsUnlessEveryCallCounts) {
  fakes::RunLog log;
  const auto in_parts = [&](bool keep, const std::string& size) {
    const auto record = fakes::RecordOf(fakes::Fake("Fake/cpu/none/fwd/f32/n" + size, log), {},
                                        {.keep_noisy = keep}, 20);
    return std::ranges::count_if(record.repetitions,
                                 [](const auto& one) { return one.clean_calls.has_value(); });
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 0; i < 4 * cpu::ThisCpu().allowed.size(); ++i)
    others.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
      }
    });
  EXPECT_GT(in_parts(false, "1"), 0);
  EXPECT_EQ(in_parts(true, "2"), 0);
}

TEST(Runner, ColdWithoutKnownMemoryIsUnsupportedNotWarm) {
  fakes::RunLog log;
  const auto records = fakes::Records({fakes::FakeIn(workload::CacheState::kCold, log, false)});
  EXPECT_THAT(fakes::Statuses(records), ElementsAre(MatchesRegex("unsupported: .*cold.*")));
}

workload::Workload Modelled(const std::string& name, fakes::RunLog& log) {
  auto workload = fakes::Fake(name, log);
  workload.prepare = [prepare = workload.prepare](const workload::RunSettings& settings) {
    auto call = prepare(settings);
    call.modelled.bytes[Level::kDram] = 77;
    return call;
  };
  return workload;
}

TEST(Runner, CountersOffAskNobodyAndEveryRecordKeepsItsReproLine) {
  fakes::RunLog log;
  const auto record = fakes::RecordOf(Modelled(kOnCpu, log), {.counters = "off"});
  const Work& work = record.work.at(Provenance::kModelled);
  EXPECT_EQ(work.bytes.size(), 1);  // dram
  EXPECT_EQ(work.launches, 1);
  EXPECT_TRUE(record.counting.empty());
  fakes::RunLog kept;
  auto good = fakes::Fake(kOnCpu, kept);
  good.repro = "--conv --mode=P mb1";
  workload::Workload refused{
      .name = workload::ParseBenchmarkName("Fake/cpu/none/fwd/f32/n2"),
      .prepare = [](auto&) -> workload::PreparedCall { throw Unsupported("not here"); },
      .repro = "--conv --mode=P mb2"};
  const auto records = fakes::Records({good, refused});
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].repro, "--conv --mode=P mb1");
  EXPECT_EQ(records[1].repro, "--conv --mode=P mb2");
  EXPECT_EQ(records[1].algorithm, "");
}

TEST(Runner, ThreadsOfANameWinOverTheRunsAndWhatCannotBePreparedIsNotTriedAgain) {
  fakes::RunLog log;
  auto one = fakes::Fake("Fake/cpu/none/fwd/f32/n1/threads1", log);
  one.threads = 1;
  auto many = fakes::Fake("Fake/cpu/none/fwd/f32/n1/threads4000", log);
  many.threads = 4000;
  const workload::RunSettings settings{.threads = 2, .cpus = {0, 0}};
  const auto records = fakes::Records({fakes::Fake(kOnCpu, log), one, many}, settings);
  EXPECT_THAT(fakes::Statuses(records),
              ElementsAre(_, _, MatchesRegex("unsupported: .*may use 2 CPUs.*")));
  EXPECT_THAT(log.threads, ElementsAre(2, 1));
  EXPECT_EQ(records[0].threads, 2);
  EXPECT_EQ(records[1].threads, 1);
  int prepared = 0;
  const workload::Workload broken{.name = workload::ParseBenchmarkName(kOnCpu),
                                  .prepare = [&](auto&) -> workload::PreparedCall {
                                    ++prepared;
                                    throw std::runtime_error("broken");
                                  }};
  EXPECT_EQ(fakes::RecordOf(broken).status, record::Status::kFailed);
  EXPECT_EQ(prepared, 1);
}

// A machine that takes 50 W, whatever it does.
energy::EnergyMeter FiftyWatts() {
  return {
      "made-up", {{"package-0", true, [] { return 50 * cpu::WallSeconds(); }, {}}}, "packages", {}};
}

// Lets a GPU take so many watts.
template <int kWatts>
void TakesWatts(fakes::FakeClock& clock) {
  clock.energy_joules = [] { return std::optional<double>(kWatts * cpu::WallSeconds()); };
}

TEST(RunnerEnergy, IsMeasuredAfterAllWereTimed) {
  fakes::RunLog log;
  const auto records =
      fakes::Records({fakes::Fake(kOnCpu, log), fakes::Fake("Fake/cpu/none/fwd/f32/n2", log)}, {},
                     {.energy = {.cpu = FiftyWatts()}});
  ASSERT_EQ(records.size(), 2u);
  // Each is made once to be timed, and once more when both were.
  EXPECT_THAT(log.prepared,
              ElementsAre(kOnCpu, "Fake/cpu/none/fwd/f32/n2", kOnCpu, "Fake/cpu/none/fwd/f32/n2"));
  EXPECT_EQ(log.most_alive, 1);
  for (const auto& record : records) EXPECT_TRUE(record.energy) << record.name;
}

TEST(RunnerEnergy, AColdCallAndAMachineWithoutCountersHaveNoneButAGpuItsOwn) {
  fakes::RunLog log;
  const auto record = fakes::RecordOf(fakes::FakeIn(workload::CacheState::kCold, log), {},
                                      {.energy = {.cpu = FiftyWatts()}});
  EXPECT_FALSE(record.energy);
  ASSERT_FALSE(record.counting.empty());
  EXPECT_EQ(record.counting.back().source, "energy");
  EXPECT_THAT(record.counting.back().text, HasSubstr("flushing of caches"));
  fakes::RunLog uncounted;
  const auto without = fakes::RecordOf(fakes::Fake(kOnCpu, uncounted), {},
                                       {.energy = {.cpu = energy::EnergyMeter{}}});
  EXPECT_FALSE(without.energy);
  EXPECT_EQ(uncounted.prepared.size(), 1u);
  for (const auto& note : without.counting) EXPECT_NE(note.source, "energy");
  const auto on_gpu = fakes::RecordOf(
      fakes::FakeWorkload(workload::ParseBenchmarkName("Fake/gpu/none/fwd/f32/n1")), {},
      {.open_gpu = fakes::OpenWith(TakesWatts<500>), .energy = {.cpu = energy::EnergyMeter{}}});
  EXPECT_GE(on_gpu.energy.value().window_seconds, 2);
}

TEST(GpuEnergy, IsTheBoardsOwnCounterAndAGpuThatDoesNotTellHasAReason) {
  auto meter = GpuEnergy([] { return std::optional<double>(12.5); });
  EXPECT_EQ(meter.from, "nvml");
  ASSERT_EQ(meter.domains.size(), 1u);
  EXPECT_EQ(meter.domains[0].joules(), 12.5);
  EXPECT_THAT(meter.covers, HasSubstr("without CPU"));
  meter = GpuEnergy([] { return std::optional<double>(); });
  EXPECT_THAT(meter.domains, testing::IsEmpty());
  EXPECT_THAT(meter.unavailable.value().text, HasSubstr("nvml: the driver does not report"));
  EXPECT_TRUE(GpuEnergy({}).unavailable);
}

// What happened while a call was explained.
struct Seen {
  std::vector<ExplainPart> parts;  // begun
  std::vector<double> folded;      // distinct bytes for which a folded call was prepared
  ParallelTime profile;
};

workload::PreparedCall CallOf(const std::string& algorithm, Seen& seen) {
  workload::PreparedCall call;
  call.algorithm = algorithm;
  call.run = [] {
    volatile double value = 1;
    for (int i = 0; i < 100; ++i) value = value * 0.5 + 1;
  };
  call.explain.folded = [algorithm, &seen, run = call.run](double bytes) {
    seen.folded.push_back(bytes);
    workload::PreparedCall folded;
    folded.algorithm = algorithm;
    folded.run = run;
    return folded;
  };
  return call;
}

class WatchedCallsTest : public testing::Test {
 protected:
  // A source of parallel regions that sees none, so that calls can be profiled in every build.
  void SetUp() override {
    TheRegionSource() = RegionSource{.name = "a made-up source",
                                     .unavailable = [] { return std::nullopt; },
                                     .begin = [] {},
                                     .end = [] { return RegionsSeen{}; }};
  }
  void TearDown() override { TheRegionSource() = std::move(source_); }

  Seen Explained(
      const ExplainOptions& options, const cpu::Budget& budget = cpu::Budget(1e6),
      const std::string& single_thread_algorithm = "fake",
      const std::function<void()>& when_prepared = [] {}) {
    Seen seen;
    const workload::Workload workload{.name = workload::ParseBenchmarkName(kOnCpu),
                                      .prepare = [&](const workload::RunSettings& settings) {
                                        EXPECT_EQ(settings.threads, 1);
                                        when_prepared();
                                        return CallOf(single_thread_algorithm, seen);
                                      }};
    runner::WatchedCalls watched;
    watched.Add(CallOf("fake", seen), 2, 3);
    watched.Explain(workload, {.threads = 2}, options, budget,
                    [&](ExplainPart part) { seen.parts.push_back(part); });
    seen.profile = watched.Mean().value();
    return seen;
  }

 private:
  std::optional<RegionSource> source_ = TheRegionSource();
};

const ExplainOptions kLimited{.limit_seconds = 1000};

TEST_F(WatchedCallsTest, MeasuresOneThreadThenNearAndFarTensors) {
  if (!cpu::CoreCaches().contains(Level::kL2)) GTEST_SKIP() << "the size of L2 is unknown";
  const auto seen = Explained(kLimited);
  EXPECT_THAT(seen.parts, ElementsAre(ExplainPart::kSingleThreaded, ExplainPart::kNearAndFar));
  ASSERT_EQ(seen.folded.size(), 2);
  EXPECT_EQ(std::ranges::max(seen.folded), std::numeric_limits<double>::infinity());
  EXPECT_GT(seen.profile.single_thread_seconds.value(), 0);
  EXPECT_NE(seen.profile.instructions.has_value(), seen.profile.instructions_reason.has_value());
  EXPECT_GT(seen.profile.near_seconds.value(), 0);
  EXPECT_GT(seen.profile.far_seconds.value(), 0);
}

// The clock jumps past the limit when the call on one thread is prepared.
TEST_F(WatchedCallsTest, StopsWhenTheTimeIsOver) {
  double now = 0;
  const cpu::Budget budget(10, 20, {[&] { return now; }, [] { return 0.0; }});
  const auto seen = Explained(kLimited, budget, "fake", [&] { now = 21; });
  EXPECT_THAT(seen.parts, ElementsAre(ExplainPart::kSingleThreaded));
  EXPECT_GT(seen.profile.single_thread_seconds.value(), 0) << "one try at least";
  EXPECT_FALSE(seen.profile.near_seconds);
}

TEST_F(WatchedCallsTest, AnotherAlgorithmOnOneThreadIsNotCompared) {
  const auto seen = Explained(kLimited, cpu::Budget(1e6), "other");
  EXPECT_THAT(seen.parts, ElementsAre(ExplainPart::kSingleThreaded));
  EXPECT_FALSE(seen.profile.single_thread_seconds || seen.profile.instructions);
  EXPECT_EQ(seen.profile.instructions_reason.value().text,
            "on one thread the library uses another algorithm (other)");
}

}  // namespace
}  // namespace dlroof::runner
