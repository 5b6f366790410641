#include "bench/runner/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <stop_token>
#include <thread>

#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "tests/fakes/runner_records.h"

namespace dlroof::runner {
namespace {

using testing::HasSubstr;

TEST(Runner, PreparesWhatTheFilterKeepsOneAtATime) {
  fakes::RunLog log;
  std::vector<workload::Workload> workloads;
  for (const std::string size : {"1", "2", "3", "4"})
    workloads.push_back(fakes::Fake("Fake/cpu/none/fwd/f32/n" + size, log));
  const auto records = fakes::Records(workloads, {}, {}, 2, "n[234]");
  EXPECT_EQ(records.size(), 3);
  EXPECT_THAT(log.prepared,
              testing::ElementsAre("Fake/cpu/none/fwd/f32/n2", "Fake/cpu/none/fwd/f32/n3",
                                   "Fake/cpu/none/fwd/f32/n4"));
  EXPECT_EQ(log.most_alive, 1);
}

TEST(Runner, AColdCallSaysWhatItEvicted) {
  fakes::RunLog log;
  const auto records = fakes::Records({fakes::Fake("Fake/cpu/none/fwd/f32/n1", log),
                                       fakes::FakeIn(workload::CacheState::kCold, log),
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
  const auto alone = fakes::Records({fakes::Fake("Fake/cpu/none/fwd/f32/n1", log),
                                     fakes::FakeIn(workload::CacheState::kCold, log)},
                                    {}, wrong);
  ASSERT_EQ(alone.size(), 2);
  for (const auto& record : alone) {
    ASSERT_EQ(record.repetitions.size(), 2) << record.name;
    for (const auto& repetition : record.repetitions) {
      ASSERT_TRUE(repetition.core_share) << record.name;
      EXPECT_GT(*repetition.core_share, 1e-2) << record.name;
      EXPECT_LE(*repetition.core_share, 1) << record.name;
    }
  }
}

// Where they could not look beside each other, nothing is known.
TEST(Runner, LooksAtTheCoresOfATeam) {
  if (workload::AllLibraries().empty()) GTEST_SKIP() << "no team";
  const auto cpus = cpu::ThisCpu().allowed;
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU";
  fakes::RunLog log;
  const workload::RunSettings settings{.threads = 2, .cpus = {cpus[0], cpus[1]}};
  std::vector<int> asked;
  const RunnerOptions neighbour{.best_state = [&asked](int threads) {
    asked.push_back(threads);
    return cpu::TeamState{1e6, 1e-12};
  }};
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
      EXPECT_TRUE(repetition.noisy);
    }
  }
  EXPECT_GT(looks, 0);
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

TEST(Runner, KeepsNoisyRepetitionsWhenItIsTold) {
  if (workload::AllLibraries().empty()) GTEST_SKIP() << "no team";
  const auto cpus = cpu::ThisCpu().allowed;
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU";
  const workload::RunSettings settings{.threads = 2, .cpus = {cpus[0], cpus[1]}};
  fakes::RunLog log;
  for (const bool keep : {false, true}) {
    // The threads are a million times as far from each other as they were once.
    RunnerOptions apart{.best_state = [](int) { return cpu::TeamState{{}, 1e-13}; }};
    apart.keep_noisy = keep;
    int looks = 0;
    for (int tries = 0; tries < 20 && looks == 0; ++tries) {  // on a busy machine they rarely meet
      const auto record =
          fakes::RecordOf(fakes::Fake("Fake/cpu/none/fwd/f32/n2", log), settings, apart);
      for (const auto& repetition : record.repetitions) {
        if (!repetition.link_share) continue;
        ++looks;
        EXPECT_LT(*repetition.link_share, 1e-2);
        EXPECT_EQ(repetition.noisy, !keep);
      }
    }
    EXPECT_GT(looks, 0);
  }
}

TEST(Runner, ColdWithoutKnownMemoryIsUnsupportedNotWarm) {
  fakes::RunLog log;
  const auto record = fakes::RecordOf(fakes::FakeIn(workload::CacheState::kCold, log, false));
  EXPECT_EQ(record.status, record::Status::kUnsupported);
  EXPECT_THAT(record.reason, HasSubstr("cold"));
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

TEST(Runner, CountersOffAskNobody) {
  fakes::RunLog log;
  const auto record =
      fakes::RecordOf(Modelled("Fake/cpu/none/fwd/f32/n1", log), {.counters = "off"});
  const Work& work = record.work.at(Provenance::kModelled);
  EXPECT_EQ(work.bytes.size(), 1);  // dram
  EXPECT_EQ(work.launches, 1);
  EXPECT_TRUE(record.counting.empty());
}

TEST(Runner, ThreadsOfANameWinOverTheRuns) {
  fakes::RunLog log;
  auto one = fakes::Fake("Fake/cpu/none/fwd/f32/n1/threads1", log);
  one.threads = 1;
  auto many = fakes::Fake("Fake/cpu/none/fwd/f32/n1/threads4000", log);
  many.threads = 4000;
  const workload::RunSettings settings{.threads = 2, .cpus = {0, 0}};
  const auto records =
      fakes::Records({fakes::Fake("Fake/cpu/none/fwd/f32/n1", log), one, many}, settings);
  ASSERT_EQ(records.size(), 3);
  EXPECT_THAT(log.threads, testing::ElementsAre(2, 1));
  EXPECT_EQ(records[0].threads, 2);
  EXPECT_EQ(records[1].threads, 1);
  EXPECT_EQ(records[2].status, record::Status::kUnsupported);
  EXPECT_THAT(records[2].reason, HasSubstr("may use 2 CPUs"));
}

TEST(Runner, WhatCannotBePreparedIsNotTriedAgain) {
  int prepared = 0;
  const workload::Workload broken{.name = workload::ParseBenchmarkName("Fake/cpu/none/fwd/f32/n1"),
                                  .prepare = [&](auto&) -> workload::PreparedCall {
                                    ++prepared;
                                    throw std::runtime_error("broken");
                                  }};
  EXPECT_EQ(fakes::RecordOf(broken).status, record::Status::kFailed);
  EXPECT_EQ(prepared, 1);
}

TEST(Runner, EveryRecordKeepsItsReproLine) {
  fakes::RunLog log;
  auto good = fakes::Fake("Fake/cpu/none/fwd/f32/n1", log);
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

// The supervisor's ends of the two pipes. Its turns are written before the run, and the answers are
// read after it.
class TurnClientTest : public testing::Test {
 protected:
  TurnClientTest() {
    EXPECT_EQ(pipe(from_), 0);
    EXPECT_EQ(pipe(to_), 0);
  }
  ~TurnClientTest() override {
    for (const int fd : {from_[0], to_[0]}) close(fd);
  }

  std::vector<record::Record> RunWith(const std::string& turns, fakes::RunLog& log) {
    EXPECT_EQ(write(from_[1], turns.data(), turns.size()), static_cast<ssize_t>(turns.size()));
    close(from_[1]);
    TurnClient client({.from_supervisor = from_[0], .to_supervisor = to_[1]});
    auto records =
        fakes::Records({fakes::Fake("Fake/cpu/none/fwd/f32/n1", log)}, {}, {.turns = &client});
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

TEST_F(TurnClientTest, EachRepetitionTakesATurnAndSaysItsIterations) {
  fakes::RunLog log;
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

TEST_F(TurnClientTest, WithoutATurnNothingIsMeasured) {
  fakes::RunLog log;
  EXPECT_THAT(RunWith("", log), testing::IsEmpty());
  EXPECT_THAT(Heard(), testing::ElementsAre("ready"));
}

}  // namespace
}  // namespace dlroof::runner
