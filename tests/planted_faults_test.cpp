// Kernels that are wrong on purpose, through the whole measurement: what becomes of their ceilings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "broken_flops_kernels.h"
#include "ceilings/measure.h"
#include "ceilings/measure_session.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

// One thread, no second chance.
MeasureSession Session() {
  constexpr Effort kBrief = {"planted", 1, 1e-4, 3, 1, 1, 0, 0};
  MeasureSession session{ThisCpu(), kBrief, {}, {}, {}, nullptr, {}, {}};
  const std::vector<int> cpus = {session.cpu.allowed.front()};
  session.sets[1].sets[Level::kL1] = {{1 << 14, "16 KiB", {}}};
  session.bench = std::make_unique<Bench>(cpus);
  return session;
}

void RunSteps(MeasureSession& session) {
  constexpr double kSeconds = 0.05;  // [s] of a row at most
  for (const auto& step : session.steps) step.run(kSeconds);
}

FlopsProbe Named(const std::string& key, FlopsProbe probe) {
  probe.key = key;
  return probe;
}

CeilingSet MeasuredFlops(const std::vector<FlopsProbe>& probes) {
  auto session = Session();
  session.flops_probes = probes;
  AddFlopsSteps(session, 1, 0);
  RunSteps(session);
  FinishFlops(session);
  auto set = session.machine.by_threads.at(1);
  AddPlainPipes(set.flops);
  return set;
}

TEST(PlantedFault, LeavesItsRowUnprovedWithAnyErrorPossible) {
  const auto set = MeasuredFlops({Named("fp32.vector.sound", SoundProbe()),
                                  Named("fp32.vector.dead_sum", DeadSumProbe()),
                                  Named("fp32.vector.half_width", HalfWidthProbe()),
                                  Named("fp32.vector.half", HalfTheAccumulators()),
                                  Named("fp32.vector.hoisted", HoistedLoopProbe())});
  for (const char* key : {"dead_sum", "half_width", "half", "hoisted"}) {
    const auto& ceiling = set.flops.at(std::string("fp32.vector.") + key);
    EXPECT_FALSE(ceiling.proved) << key;
    EXPECT_TRUE(ceiling.unbounded) << key;
    EXPECT_THAT(ceiling.reason, HasSubstr("is not what a plain loop makes of it")) << key;
  }
  EXPECT_FALSE(set.flops.at("fp32.vector.sound").unbounded);
}

// Work that is done once, whatever is counted, is the fastest row: the roof that it makes is drawn
// dashed and judges nothing.
TEST(PlantedFault, LeavesTheRoofUnproved) {
  const auto set = MeasuredFlops(
      {Named("fp32.vector.sound", SoundProbe()), Named("fp32.vector.hoisted", HoistedLoopProbe())});
  const auto& roof = set.flops.at("fp32.vector");
  EXPECT_EQ(roof.per_second, set.flops.at("fp32.vector.hoisted").per_second);
  EXPECT_FALSE(roof.proved);
  EXPECT_TRUE(roof.unbounded);
}

// As gcc makes of the loop: other stores than were asked for.
void CopyByMemcpy(Workspace& workspace, std::int64_t iterations) {
  const auto step = BytesPortable().step_floats;
  for (; iterations > 0; --iterations) {
    std::memmove(workspace.arrays[0] + workspace.next, workspace.arrays[1] + workspace.next,
                 step * sizeof(float));
    workspace.next = (workspace.next + step) % workspace.floats;
  }
}

void LoadNothing(Workspace& workspace, std::int64_t iterations) {
  const auto step = BytesPortable().step_floats * static_cast<std::size_t>(iterations);
  workspace.next = (workspace.next + step) % workspace.floats;
}

TEST(PlantedFault, LeavesTheMixUnproved) {
  static const BytesIsa kBroken = [] {
    auto isa = BytesPortable();
    isa.copy = CopyByMemcpy;
    isa.load = LoadNothing;
    return isa;
  }();
  auto session = Session();
  session.effort.name = "quick";  // only what decides a roof
  session.bytes_isas = {&kBroken};
  AddBytesSteps(session, 1, 0);
  RunSteps(session);
  FinishBytes(session);
  const auto& set = session.machine.by_threads.at(1);
  const auto row = [&](const std::string& mix) {
    return set.mixes.at("l1." + mix + "." + kBroken.name);
  };
  EXPECT_THAT(row("copy").reason, HasSubstr("memcpy"));
  EXPECT_THAT(row("load").reason, HasSubstr("touched 0 pages"));
  for (const char* mix : {"copy", "load"}) {
    EXPECT_FALSE(row(mix).proved) << mix;
    EXPECT_TRUE(row(mix).unbounded) << mix;
  }
  EXPECT_THAT(row("update").reason, testing::Not(HasSubstr("the kernel is not what it counts")));
  EXPECT_FALSE(set.bytes.at(Level::kL1).proved) << "no load is the fastest mix";
}

// Arrays that fit L1 as the set of L2.
TEST(PlantedFault, OfASetInANearerCacheLeavesTheLevelUnproved) {
  auto session = Session();
  if (!ThreadShares(session.cpu.topology, {session.cpu.allowed.front()}).contains(Level::kL1))
    GTEST_SKIP() << "the system does not tell the size of L1";
  session.effort.name = "quick";
  session.sets[1].sets = {{Level::kL2, {{1 << 13, "8 KiB", {}}}}};
  AddBytesSteps(session, 1, 0);
  RunSteps(session);
  FinishBytes(session);
  const auto& roof = session.machine.by_threads.at(1).bytes.at(Level::kL2);
  EXPECT_FALSE(roof.proved);
  EXPECT_TRUE(roof.unbounded);
  EXPECT_THAT(roof.reason, HasSubstr("its share of L1"));
}

}  // namespace
}  // namespace dlroof
