// The ceilings of kernels that are wrong on purpose, after a whole measurement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <new>

#include "ceilings/cpu_ceilings/measure_steps.h"
#include "tests/fakes/broken_cpu_kernels.h"

namespace dlroof::cpu_ceilings {
namespace {

using testing::HasSubstr;

// One thread, no second chance.
MeasureSession Session() {
  constexpr Effort kBrief = {"planted", 1, 1e-4, 3, 1, 1, 0, 0};
  MeasureSession session{cpu::ThisCpu(), kBrief};
  const std::vector<int> cpus = {session.cpu.allowed.front()};
  session.sets[1].sets[Level::kL1] = {{1 << 14, "16 KiB", {}}};
  session.bench = std::make_unique<CpuBench>(cpus);
  return session;
}

constexpr double kRowSeconds = 0.05;  // [s] at most

void RunSteps(MeasureSession& session, double seconds = kRowSeconds) {
  for (const auto& step : session.steps) step.run(seconds);
}

cpu_kernels::FlopsProbe Named(const std::string& key, cpu_kernels::FlopsProbe probe) {
  probe.key = key;
  return probe;
}

machine::CeilingSet MeasuredFlops(const std::vector<cpu_kernels::FlopsProbe>& probes,
                                  double seconds = kRowSeconds) {
  auto session = Session();
  session.flops_probes = probes;
  AddFlopsSteps(session, 1, 0);
  RunSteps(session, seconds);
  FinishFlops(session);
  auto set = session.machine.by_threads.at(1);
  AddPlainPipes(set.flops);
  return set;
}

TEST(PlantedFault, LeavesItsRowNotValidatedWithAnyErrorPossible) {
  const auto set = MeasuredFlops({Named("fp32.vector.sound", fakes::SoundProbe()),
                                  Named("fp32.vector.dead_sum", fakes::DeadSumProbe()),
                                  Named("fp32.vector.half_width", fakes::HalfWidthProbe()),
                                  Named("fp32.vector.half", fakes::HalfTheAccumulators()),
                                  Named("fp32.vector.hoisted", fakes::HoistedLoopProbe())});
  for (const char* key : {"dead_sum", "half_width", "half", "hoisted"}) {
    const auto& ceiling = set.flops.at(std::string("fp32.vector.") + key);
    EXPECT_FALSE(ceiling.IsValidated()) << key;
    EXPECT_TRUE(ceiling.unbounded) << key;
    EXPECT_THAT(ceiling.ReasonText(), HasSubstr("differs from a plain loop")) << key;
  }
  EXPECT_FALSE(set.flops.at("fp32.vector.sound").unbounded);
}

// Work that is done once, whatever is counted, is the fastest row: the roof that it makes is drawn
// dashed and judges nothing. Half a second is enough to count that far on a busy machine, too.
TEST(PlantedFault, LeavesTheRoofNotValidated) {
  const auto set = MeasuredFlops({Named("fp32.vector.sound", fakes::SoundProbe()),
                                  Named("fp32.vector.hoisted", fakes::HoistedLoopProbe())},
                                 0.5);
  const auto& roof = set.flops.at("fp32.vector");
  EXPECT_EQ(roof.per_second, set.flops.at("fp32.vector.hoisted").per_second);
  EXPECT_FALSE(roof.IsValidated());
  EXPECT_TRUE(roof.unbounded);
}

using Broken = fakes::BrokenBytes<cpu_kernels::BytesSse2>;

// Vectors of half the width, which cover half of the bytes of each.
void LoadHalf(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  const auto step = cpu_kernels::BytesSse2().step_floats,
             width = cpu_kernels::BytesSse2().vector_floats;
  auto* folds = reinterpret_cast<std::uint32_t*>(workspace.folds.data());
  std::fill_n(folds, cpu_kernels::kFolds * width, 0);
  for (; iterations > 0; --iterations) {
    for (std::size_t i = 0; i < step; ++i)
      if (i % width < width / 2)
        folds[i % (cpu_kernels::kFolds * width)] ^=
            std::bit_cast<std::uint32_t>(workspace.arrays[0][workspace.next + i]);
    Broken::Advance(workspace, 1);
  }
}

void StoreByMemset(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  const auto step = cpu_kernels::BytesSse2().step_floats;
  for (; iterations > 0; --iterations) {
    std::memset(workspace.arrays[0] + workspace.next, 0x40, step * sizeof(float));
    Broken::Advance(workspace, 1);
  }
}

// L1 of one thread, measured with these kernels.
machine::CeilingSet MeasuredBytes(const cpu_kernels::BytesIsa& isa) {
  auto session = Session();
  session.effort.name = "brief";
  session.bytes_isas = {&isa};
  AddBytesSteps(session, 1, 0);
  for (const auto& step : session.steps)
    if (step.row) step.run(kRowSeconds);  // no curves: they take other kernels
  FinishBytes(session);
  return session.machine.by_threads.at(1);
}

TEST(PlantedFault, LeavesTheMixNotValidated) {
  static const cpu_kernels::BytesIsa kBroken = [] {
    auto isa = cpu_kernels::BytesSse2();
    isa.copy = Broken::CopyByMemcpy;
    isa.load = Broken::LoadNothing;
    isa.store = StoreByMemset;
    isa.update = Broken::HalfWidth<cpu_kernels::BytesOperation::kUpdate>;
    return isa;
  }();
  const auto set = MeasuredBytes(kBroken);
  const auto row = [&](const std::string& mix) {
    return set.mixes.at("l1." + mix + "." + kBroken.name);
  };
  EXPECT_THAT(row("copy").ReasonText(), HasSubstr("memcpy"));
  EXPECT_THAT(row("load").ReasonText(), HasSubstr("has not loaded every vector"));
  EXPECT_THAT(row("store").ReasonText(), HasSubstr("differ from those of a plain loop"));
  EXPECT_THAT(row("update").ReasonText(), HasSubstr("vectors have another width"));
  for (const char* mix : {"copy", "load", "store", "update"}) {
    EXPECT_FALSE(row(mix).IsValidated()) << mix;
    EXPECT_TRUE(row(mix).unbounded) << mix;
  }
  EXPECT_THAT(row("triad").ReasonText(),
              testing::Not(HasSubstr("the kernel does not do the work")));
  EXPECT_FALSE(set.bytes.at(Level::kL1).IsValidated()) << "no load is the fastest mix";
}

// Each fault alone, as the only mix that there is to take.
TEST(PlantedFault, LeavesTheLevelNotValidated) {
  struct Fault {
    cpu_kernels::Kernel cpu_kernels::BytesIsa::*mix;
    cpu_kernels::Kernel kernel;
    const char* text;
  };
  for (const auto& [mix, kernel, text] :
       {Fault{&cpu_kernels::BytesIsa::load, LoadHalf, "has not loaded every vector"},
        Fault{&cpu_kernels::BytesIsa::update,
              Broken::HalfWidth<cpu_kernels::BytesOperation::kUpdate>, "another width"},
        Fault{&cpu_kernels::BytesIsa::store, StoreByMemset, "differ from those of a plain loop"}}) {
    cpu_kernels::BytesIsa isa{.name = cpu_kernels::BytesSse2().name,
                              .vector_floats = cpu_kernels::BytesSse2().vector_floats,
                              .step_floats = cpu_kernels::BytesSse2().step_floats};
    isa.*mix = kernel;
    const auto roof = MeasuredBytes(isa).bytes.at(Level::kL1);
    EXPECT_FALSE(roof.IsValidated()) << text;
    EXPECT_TRUE(roof.unbounded) << text;
    EXPECT_THAT(roof.ReasonText(), HasSubstr(text));
  }
}

// 10, 8 and 5 a second, of which the last was noisy throughout: 1 - 8 / 10.
TEST(RowDrift, IsThatOfTheCleanPasses) {
  Row row;
  for (const double per_second : {10.0, 8.0, 5.0}) {
    EXPECT_NEAR(row.Drift().value_or(-1), row.passes.size() < 2 ? -1 : 0.2, 1e-12);
    row.passes.push_back({.per_second = per_second, .clean = per_second > 5 ? 3 : 0});
  }
  EXPECT_NEAR(row.Drift().value_or(-1), 0.2, 1e-12);
}

// The memory of one mix is not to be had: its row is absent, with the reason, and no other.
TEST(UnmeasuredRow, IsAbsentAndTheOthersAreNot) {
  auto session = Session();
  session.effort.name = "quick";
  session.bytes_isas = {&cpu_kernels::BytesSse2()};
  AddBytesSteps(session, 1, 0);
  for (auto step : session.steps) {
    if (step.row == "l1.triad.sse2") step.run = [](double) { throw std::bad_alloc(); };
    TryStep(session, step, kRowSeconds);
  }
  FinishBytes(session);
  const auto& set = session.machine.by_threads.at(1);
  EXPECT_FALSE(set.mixes.contains("l1.triad.sse2"));
  EXPECT_TRUE(set.mixes.contains("l1.copy.sse2"));
  EXPECT_GT(set.bytes.at(Level::kL1).per_second, 0);
  EXPECT_EQ(set.absent.at("l1.triad.sse2"), "not enough memory");
  RunSteps(session);
  FinishBytes(session);
  EXPECT_FALSE(set.absent.contains("l1.triad.sse2")) << "another pass measured it";
}

// Arrays that fit L1 as the set of L2.
TEST(PlantedFault, OfASetInANearerCacheLeavesTheLevelNotValidated) {
  auto session = Session();
  if (!ThreadShares(session.cpu.topology, {session.cpu.allowed.front()}).contains(Level::kL1))
    GTEST_SKIP() << "the system does not report the size of L1";
  session.effort.name = "quick";
  session.sets[1].sets = {{Level::kL2, {{1 << 13, "8 KiB", {}}}}};
  AddBytesSteps(session, 1, 0);
  RunSteps(session);
  FinishBytes(session);
  const auto& roof = session.machine.by_threads.at(1).bytes.at(Level::kL2);
  EXPECT_FALSE(roof.IsValidated());
  EXPECT_TRUE(roof.unbounded);
  EXPECT_THAT(roof.ReasonText(), HasSubstr("its share of L1"));
}

}  // namespace
}  // namespace dlroof::cpu_ceilings
