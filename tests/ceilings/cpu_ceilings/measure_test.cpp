#include "ceilings/cpu_ceilings/measure.h"

#include <gmock/gmock.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>

#include "ceilings/cpu_ceilings/measure_steps.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "tests/fakes/address_space.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cpu_ceilings {
namespace {

TEST(CeilingFrom, ScalesTheRateByTheWorkAndKeepsTheValidationOrTheReason) {
  machine::Rate rate{.per_second = 10, .ci95 = {{8, 9}}, .clean = 18, .total = 20};
  const auto ceiling = machine::CeilingFrom(rate, 3, 2, "avx2 fma");
  EXPECT_EQ(ceiling.per_second, 30);
  EXPECT_EQ(ceiling.ci95, std::pair(24.0, 27.0));
  EXPECT_EQ(ceiling.threads, 2);
  EXPECT_EQ(ceiling.how, "avx2 fma; best of 18 clean repetitions (20 made)");
  EXPECT_TRUE(ceiling.IsValidated());
  // 30 flop/s of 2 threads at 5 cycles/s: 3 flop per cycle of each.
  machine::Rate doubled{
      .per_second = 10, .doubling = 2.01, .spread = 0.02, .clock_hz = 5, .clean = 15, .total = 20};
  const auto validated = machine::CeilingFrom(doubled, 3, 2, "h");
  EXPECT_EQ(validated.clock_hz, 5);
  EXPECT_EQ(validated.validation.per_cycle, 3);
  EXPECT_EQ(validated.validation.clean, 0.75);
  EXPECT_EQ(validated.validation.doubling, 2.01);
  EXPECT_EQ(validated.validation.spread, 0.02);
  EXPECT_EQ(validated.validation.per_cycle_expected, std::nullopt);
  machine::Rate unwatched{
      .per_second = 10, .reason = Reason{"because"}, .total = 5, .waits_known = false};
  const auto unknown = machine::CeilingFrom(unwatched, 1, 1, "x");
  EXPECT_FALSE(unknown.IsValidated());
  EXPECT_EQ(unknown.ReasonText(), "because");
  EXPECT_EQ(unknown.ci95, std::nullopt);
  fakes::ExpectHas(unknown.how, {"5 noisy repetitions", "does not report waits"});
}

machine::Ceiling Of(double per_second) { return {.per_second = per_second, .how = "h"}; }

TEST(AddPipeRoofs, TakesTheBestRowAndSaysWhich) {
  std::map<std::string, machine::Ceiling> flops = {{"fp32.vector.avx2", Of(2)},
                                                   {"fp32.vector.avx512", Of(3)},
                                                   {"fp32.vector.sse2", Of(1)},
                                                   {"bf16.matrix.amx", Of(9)}};
  machine::AddPipeRoofs(flops);
  EXPECT_EQ(flops.size(), 6);
  EXPECT_EQ(flops.at("fp32.vector").per_second, 3);
  EXPECT_EQ(flops.at("fp32.vector").how, "fp32.vector.avx512, the best of 3 rows: h");
  EXPECT_EQ(flops.at("bf16.matrix").per_second, 9);
}

// A neighbour slowed the wider vectors in all their visits.
TEST(AddPipeRoofs, IsNotValidatedWhileAFasterRowIsNot) {
  auto avx2 = Of(2), avx512 = Of(0.1);
  avx2.status = machine::CeilingStatus::kValidated;
  avx2.validation.per_cycle_expected = 32;
  avx512.validation.per_cycle_expected = 64;
  std::map<std::string, machine::Ceiling> flops = {{"fp32.vector.avx2", avx2},
                                                   {"fp32.vector.avx512", avx512}};
  machine::AddPipeRoofs(flops);
  EXPECT_EQ(flops.at("fp32.vector").per_second, 2);
  EXPECT_FALSE(flops.at("fp32.vector").IsValidated());
  EXPECT_EQ(flops.at("fp32.vector").ReasonText(),
            "fp32.vector.avx512 can be 2 times as fast and is not validated");
  flops.at("fp32.vector.avx512").status = machine::CeilingStatus::kValidated;
  machine::AddPipeRoofs(flops);
  EXPECT_TRUE(flops.at("fp32.vector").IsValidated());
}

TEST(AddLevelRoofs, AreNotBeatenByAnyOfTheMixesAndSayWhichTheyAre) {
  machine::CeilingSet set{
      .mixes = {{"l1.load.sse2", Of(2e9)}, {"l1.triad.sse2", Of(4e9)}, {"l1.copy.sse2", Of(3e9)}}};
  machine::AddLevelRoofs(set);
  ASSERT_EQ(set.bytes.size(), 1);
  const auto& best = set.bytes.at(Level::kL1);
  EXPECT_EQ(best.per_second, 4e9);
  EXPECT_EQ(best.mix, "triad.sse2");
  EXPECT_EQ(best.how, "triad.sse2, the best of 3 mixes: h");
}

TEST(ThreadCounts, AreOneAndAllUnlessSaidWithPowersOfTwoWhenThorough) {
  using Counts = std::vector<int>;
  const std::tuple<std::size_t, Counts, Counts, Counts> rows[] = {
      {1, {}, {1}, {1}},
      {2, {}, {1, 2}, {1, 2}},
      {3, {}, {1, 3}, {1, 2, 3}},
      {4, {3, 1, 3}, {1, 3}, {1, 3}},
      {8, {}, {1, 8}, {1, 2, 4, 8}},
      {12, {}, {1, 12}, {1, 2, 4, 8, 12}},
      {12, {3}, {3}, {3}}};
  cpu::Cpu cpu;
  for (const auto& [cpus, wanted, brief, thorough] : rows) {
    cpu.allowed.resize(cpus);
    EXPECT_EQ(ThreadCounts(cpu, wanted, false), brief);
    EXPECT_EQ(ThreadCounts(cpu, wanted, true), thorough);
  }
  cpu.allowed.resize(1);
  EXPECT_THROW(ThreadCounts(cpu, {2}, false), BadInput);
  EXPECT_THROW(ThreadCounts(cpu, {0}, false), BadInput);
}

// 10 steps of 1 s nominal, 20 s left: 9 others keep 1.25 s each, the next may take 8.75 s.
TEST(Allowance, LeavesEnoughForTheStepsThatFollow) {
  EXPECT_DOUBLE_EQ(Allowance(20, 10, 1, 10), 8.75);
  EXPECT_DOUBLE_EQ(Allowance(1000, 10, 1, 10), 10);
  EXPECT_DOUBLE_EQ(Allowance(-5, 10, 1, 10), 1.25);
  EXPECT_DOUBLE_EQ(Allowance(1000, 10, 1, 30), 30);
}

// Two roofs, the row that each is taken from, and another.
machine::CeilingSet RowsAndRoofs() {
  return {.flops = {{"fp32.vector", Of(100)},
                    {"fp32.vector.avx512", Of(100)},
                    {"fp32.vector.avx2", Of(50)}},
          .bytes = {{Level::kDram, Of(40)}},
          .mixes = {{"dram.update.avx512", Of(40)}, {"dram.load.avx512", Of(30)}}};
}

TEST(NeedsAnotherPass, IsOnlyTheRowThatTheRoofIsTakenFrom) {
  auto set = RowsAndRoofs();
  EXPECT_TRUE(NeedsAnotherPass(set, "fp32.vector.avx512"));
  EXPECT_FALSE(NeedsAnotherPass(set, "fp32.vector.avx2"));
  EXPECT_TRUE(NeedsAnotherPass(set, "dram.update.avx512"));
  EXPECT_FALSE(NeedsAnotherPass(set, "dram.load.avx512"));
  EXPECT_FALSE(NeedsAnotherPass(set, "l1.load.avx512"));
  set.flops["fp32.vector.avx512"].status = machine::CeilingStatus::kValidated;
  set.flops["fp32.vector"].status = machine::CeilingStatus::kValidated;
  EXPECT_FALSE(NeedsAnotherPass(set, "fp32.vector.avx512"));
  // A larger team or a ridge marks the roof, but not the row that it was taken from.
  for (auto& [name, mix] : set.mixes) mix.status = machine::CeilingStatus::kValidated;
  EXPECT_TRUE(NeedsAnotherPass(set, "dram.update.avx512"));
  EXPECT_FALSE(NeedsAnotherPass(set, "dram.load.avx512"));
  set.bytes[Level::kDram].status = machine::CeilingStatus::kValidated;
  EXPECT_FALSE(NeedsAnotherPass(set, "dram.update.avx512"));
}

TEST(AddSustainedRate, IsTheRowsAndItsRoofsWhereItDiffers) {
  machine::Machine machine;
  auto& set = machine.by_threads[2] = RowsAndRoofs();
  AddSustainedRate(machine, 2, "fp32.vector.avx512", 98);  // 2 %: said, no roof of its own
  EXPECT_EQ(set.sustained.at("fp32.vector.avx512"),
            "after 10 s without a pause 0.980 of the burst, with 2 threads");
  EXPECT_EQ(set.flops["fp32.vector"].sustained_per_second, std::nullopt);
  AddSustainedRate(machine, 2, "fp32.vector.avx512", 90);
  EXPECT_EQ(set.flops["fp32.vector.avx512"].sustained_per_second, 90);
  EXPECT_EQ(set.flops["fp32.vector"].sustained_per_second, 90);
  AddSustainedRate(machine, 2, "fp32.vector.avx2", 40);
  EXPECT_EQ(set.flops["fp32.vector.avx2"].sustained_per_second, 40);
  EXPECT_EQ(set.flops["fp32.vector"].sustained_per_second, 90) << "rests on the other row";
}

// 10 s each: the default has time for one.
TEST(AddSustainedSteps, AreOneByDefaultAndEveryPipeWhenThorough) {
  MeasureSession session{cpu::ThisCpu(), {{"test", 3e-3, 16, 6, 3, 1}, 45, 8}};
  auto& set = session.machine.by_threads[1];
  std::set<std::string> pipes;
  for (const auto& probe : session.flops_probes) {
    const auto plain = machine::PlainPipe(probe.key);
    const bool first = pipes.insert(plain).second;
    set.flops[probe.key] = Of(first ? 2 : 1);
    if (first) set.flops[plain] = Of(2);
  }
  AddSustainedSteps(session);
  EXPECT_EQ(session.last_steps.size(), 1);
  session.last_steps.clear();
  session.effort.sustained = 100;
  AddSustainedSteps(session);
  EXPECT_EQ(session.last_steps.size(), pipes.size());
}

// The row's step runs again, by itself, and others do not.
TEST(RemeasureNotValidated, RunsTheStepOfTheRowThatDecides) {
  MeasureSession session{cpu::ThisCpu(), {{"full", 3e-3, 16, 6, 3, 1}, 45, 8}};
  session.machine.by_threads[1] = RowsAndRoofs();
  std::vector<std::string> ran;
  for (const char* row : {"", "fp32.vector.avx2", "fp32.vector.avx512", "fp32.vector.avx512"})
    session.steps.push_back({"s", [&ran, row](double) { ran.emplace_back(row); }, 1, row});
  EXPECT_TRUE(RemeasureNotValidated(session));
  EXPECT_EQ(ran, (std::vector<std::string>{"fp32.vector.avx512"}));
  session.effort.again_seconds = 0;
  EXPECT_FALSE(RemeasureNotValidated(session));
  EXPECT_EQ(ran.size(), 1);
}

TEST(AddFlopsSteps, MeasuresFinerRowsInTheFirstAndTheLastPassOnly) {
  MeasureSession session{cpu::ThisCpu(), {{"full", 3e-3, 16, 6, 3, 1}, 45, 8}};
  const auto probes = cpu_kernels::FlopsProbesFor(session.cpu.features);
  const auto candidates = cpu_kernels::RoofCandidates(probes);
  std::size_t steps = 0;
  int pass = 0;
  for (const auto added : {probes.size(), candidates.size(), probes.size()}) {
    AddFlopsSteps(session, 1, pass++);
    EXPECT_EQ(session.steps.size(), steps + added);
    steps += added;
  }
  EXPECT_EQ(session.rows.at(1).flops.size(), probes.size());
}

TEST(OverheadProbes, OfTheLaunchIsPositiveWhereALibraryRegisteredIt) {
  const auto probe = OverheadProbes().find("launch");
  if (probe == OverheadProbes().end())
    GTEST_SKIP() << "this build has no library with a launch probe";
  const auto cost = probe->second(1, {.repetition_seconds = 2e-4,
                                      .repetitions = 2,
                                      .doubled = 1,
                                      .max_seconds = 5e-3,
                                      .now = cpu::WallSeconds});
  EXPECT_GT(cost.seconds, 0);  // clean or not: other tests may run beside
  EXPECT_TRUE(std::isfinite(cost.seconds));
  EXPECT_FALSE(cost.how.empty());
}

TEST(ProgressPrinter, WritesOverOneLineOnATerminalAndALinePerTenthElsewhere) {
  std::ostringstream out;
  machine::ProgressPrinter printer(out, true);
  printer({0, 2, "load", 4});
  printer({2, 2, "done", 0});
  EXPECT_EQ(out.str(), "\r\033[K[  0/2] load; 4 s left\r\033[K");
  std::ostringstream file;
  machine::ProgressPrinter plain(file, false);
  for (int step = 0; step <= 200; ++step) plain({step, 200, "x", 1});
  const auto text = file.str();
  EXPECT_EQ(std::ranges::count(text, '\n'), 11);
  EXPECT_EQ(text.find('\033'), std::string::npos);
}

TEST(ThreadTeam, RunsEveryThreadOnceAndTogether) {
  constexpr double kTaskSeconds = 1e-3;
  const auto cpu = cpu::ThisCpu();
  ThreadTeam team(cpu.allowed);
  ASSERT_EQ(team.size(), static_cast<int>(cpu.allowed.size()));
  for (int round = 0; round < 20; ++round) {
    std::vector<std::atomic<int>> runs(cpu.allowed.size());
    std::atomic<int> inside{0};
    const auto time = team.Time([&](int i) {
      ++runs[static_cast<std::size_t>(i)];
      ++inside;
      while (inside < team.size()) {  // ends only when all run at the same time
      }
      const double begin = cpu::WallSeconds();
      while (cpu::WallSeconds() - begin < kTaskSeconds) {
      }
    });
    for (auto& count : runs) EXPECT_EQ(count, 1);
    EXPECT_GE(time.seconds, kTaskSeconds);
  }
}

TEST(ThreadTeam, LooksAtTheCoresWhenItIsAskedToPassesOnWhatATaskThrowsAndStaysUsable) {
  ThreadTeam team({cpu::ThisCpu().allowed.front()});
  const auto nothing = [](int) {};
  EXPECT_FALSE(team.Time(nothing).core_share);
  const auto time = team.TimeWithCores(nothing);
  EXPECT_GT(time.core_share.value(), 0);
  EXPECT_LE(time.core_share.value(), 1);
  EXPECT_THROW(team.TimeWithCores([](int) { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_FALSE(team.Time(nothing).core_share);
  ThreadTeam other({cpu::ThisCpu().allowed.front()});
  EXPECT_THROW(other.Run([](int) { throw std::bad_alloc(); }), std::bad_alloc);
  int runs = 0;
  other.Run([&](int) { ++runs; });
  EXPECT_EQ(runs, 1);
  EXPECT_THROW(ThreadTeam({1 << 15}), std::runtime_error);
  EXPECT_THROW(ThreadTeam({}), std::invalid_argument);
}

// Two stacks of 64 MiB fit into the rest of the address space, the third does not.
TEST(ThreadTeam, SaysThatAThreadCannotBeStarted) {
  const auto in_little_room = [] {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    pthread_setattr_default_np(&attributes);
    fakes::LimitAddressSpace(160 << 20);
    try {
      const ThreadTeam team(std::vector<int>(8, cpu::ThisCpu().allowed.front()));
    } catch (const std::runtime_error& error) {
      std::fputs(error.what(), stderr);
      std::_Exit(3);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(in_little_room(), testing::ExitedWithCode(3),
              "thread [2-3] of 8 cannot be started: Resource temporarily unavailable");
}

}  // namespace
}  // namespace dlroof::cpu_ceilings
