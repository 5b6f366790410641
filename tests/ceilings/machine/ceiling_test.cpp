#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "ceilings/machine/machine.h"

namespace dlroof::machine {
namespace {

Ceiling Of(double per_second, bool validated) {
  return {.per_second = per_second,
          .status = validated ? CeilingStatus::kValidated : CeilingStatus::kNotValidated};
}

std::string Chosen(const std::map<std::string, Ceiling>& ceilings) {
  std::vector<const CeilingRow*> rows;
  for (const auto& row : ceilings) rows.push_back(&row);
  const auto* chosen = ChooseRoof(rows);
  return chosen == nullptr ? "none" : chosen->first;
}

// A core that multiplies and adds beside each other reaches the same with and without FMA: a
// validated row within the noise of an not validated one is the roof. One far above the others
// stays it.
TEST(ChooseRoof, IsTheHighestOrAValidatedRowWithinTheNoise) {
  EXPECT_EQ(Chosen({{"a", Of(2, true)}, {"b", Of(3, true)}, {"c", Of(1, true)}}), "b");
  EXPECT_EQ(Chosen({{"fma", Of(97, true)}, {"nofma", Of(100, false)}, {"old", Of(50, true)}}),
            "fma");
  EXPECT_EQ(Chosen({{"fma", Of(96, true)}, {"nofma", Of(100, false)}}), "nofma");
  EXPECT_EQ(Chosen({{"fma", Of(99, false)}, {"nofma", Of(100, false)}}), "nofma");
  EXPECT_EQ(Chosen({}), "none");
}

}  // namespace
namespace {

Machine With(const std::map<int, double>& rates) {
  Machine machine;
  for (const auto& [threads, rate] : rates)
    machine.by_threads[threads].flops["fp32.vector"] = {
        .per_second = rate, .threads = threads, .status = CeilingStatus::kValidated};
  return machine;
}

TEST(CompareThreadCounts, RefutesAThreadThatWasSlowerAloneThanInATeam) {
  Machine machine = With({{1, 432e9}, {2, 1217e9}});  // 608.5 each
  CompareThreadCounts(machine);
  EXPECT_FALSE(machine.by_threads[1].flops["fp32.vector"].IsValidated());
  EXPECT_THAT(machine.by_threads[1].flops["fp32.vector"].ReasonText(),
              testing::HasSubstr("608.5 G/s per thread, this team only 432 G/s"));
  EXPECT_TRUE(machine.by_threads[2].flops["fp32.vector"].IsValidated());
}

TEST(CompareThreadCounts, SaysTheSameReasonOnceAndKeepsOthers) {
  Machine machine = With({{1, 432e9}, {2, 1217e9}});
  auto& one = machine.by_threads[1].flops["fp32.vector"];
  one.reasons = {"its own reason"};
  CompareThreadCounts(machine);
  const auto said = one.ReasonText();
  EXPECT_THAT(said, testing::StartsWith("its own reason; 2 threads reached 608.5 G/s per thread"));
  CompareThreadCounts(machine);
  EXPECT_EQ(one.ReasonText(), said);
}

TEST(CompareThreadCounts, AcceptsScalingUpToNoiseAndBelow) {
  for (const double two : {203.0, 200.0, 120.0}) {  // 1.5 % above linear, linear, shared bandwidth
    Machine machine = With({{1, 100}, {2, two}});
    CompareThreadCounts(machine);
    EXPECT_TRUE(machine.by_threads[1].flops["fp32.vector"].IsValidated()) << two;
  }
}

// 2 threads at 190 of 100 each: 0.95; 4 at 320: 0.8 and still validated.
TEST(AddScaling, HoldsEachTeamAgainstOneThread) {
  Machine machine = With({{1, 100}, {2, 190}, {4, 320}});
  machine.by_threads[4].flops["fp64.vector.avx2"].per_second = 1;  // not measured alone
  AddScaling(machine, std::nullopt);
  const auto at = [&](int threads) { return machine.by_threads[threads].flops["fp32.vector"]; };
  EXPECT_EQ(at(1).validation.scaling, std::nullopt);
  EXPECT_EQ(at(2).validation.scaling, 0.95);
  EXPECT_EQ(at(4).validation.scaling, 0.8);
  EXPECT_TRUE(at(4).IsValidated());
  machine.by_threads[1].flops["fp32.vector"].per_second = 80;
  AddScaling(machine, std::nullopt);
  EXPECT_EQ(at(4).validation.scaling, 1);
  EXPECT_EQ(machine.by_threads[4].flops["fp64.vector.avx2"].validation.scaling, std::nullopt);
}

// Two threads at 160 of 100 each: 0.8 of what one has, which a clock of 0.8 explains, or that there
// is one core for both.
TEST(AddScaling, RefutesATeamWhoseCoresAreNotItsOwn) {
  const auto scaled = [](int cores, std::optional<double> clock_of_two) {
    Machine machine = With({{1, 100}, {2, 160}});
    auto& two = machine.by_threads[2].flops["fp32.vector"];
    machine.by_threads[1].flops["fp32.vector"].clock_hz = 4e9;
    two.clock_hz = clock_of_two;
    AddScaling(machine, cores);
    AddScaling(machine, cores);  // says nothing twice
    return two;
  };
  EXPECT_FALSE(scaled(2, 4e9).IsValidated());
  EXPECT_EQ(
      scaled(2, 4e9).ReasonText(),
      "at the same clock each of its threads is slower than a single thread: other programs used "
      "their cores, or two threads share a core");
  EXPECT_FALSE(scaled(2, std::nullopt).IsValidated());
  EXPECT_TRUE(scaled(2, 3.2e9).IsValidated());
  EXPECT_TRUE(scaled(1, 4e9).IsValidated());
}

// 10 and 18 of two threads: 0.9; 5 and 7: 0.7. L3 and DRAM are shared, their rates say nothing of
// one thread.
TEST(AddScaling, OfMemoryIsThatOfThePrivateLevels) {
  Machine machine;
  const auto put = [&](int threads, Level level, const std::string& mix, double rate) {
    const Ceiling ceiling = {
        .per_second = rate, .threads = threads, .how = "h", .status = CeilingStatus::kValidated};
    machine.by_threads[threads].bytes[level] = ceiling;
    machine.by_threads[threads].mixes[mix] = ceiling;
  };
  for (const int threads : {1, 2}) {
    put(threads, Level::kL1, "l1.load.avx2", threads == 1 ? 10 : 18);
    put(threads, Level::kL2, "l2.copy.avx2", threads == 1 ? 5 : 7);
    put(threads, Level::kL3, "l3.load.avx2", 2);
    put(threads, Level::kDram, "dram.load.avx2", 1);
  }
  machine.by_threads[2].bytes[Level::kHost] = {.per_second = 1};
  AddScaling(machine, std::nullopt);
  AddScaling(machine, std::nullopt);  // says nothing twice
  auto& two = machine.by_threads[2];
  EXPECT_DOUBLE_EQ(two.bytes[Level::kL1].validation.scaling.value(), 0.9);
  EXPECT_DOUBLE_EQ(two.mixes["l1.load.avx2"].validation.scaling.value(), 0.9);
  EXPECT_DOUBLE_EQ(two.bytes[Level::kL2].validation.scaling.value(), 0.7);
  EXPECT_DOUBLE_EQ(two.mixes["l2.copy.avx2"].validation.scaling.value(), 0.7);
  EXPECT_TRUE(two.bytes[Level::kL2].IsValidated());
  for (const Level level : {Level::kL3, Level::kDram, Level::kHost})
    EXPECT_EQ(two.bytes[level].validation.scaling, std::nullopt) << Key(level);
  EXPECT_EQ(two.mixes["l3.load.avx2"].validation.scaling, std::nullopt);
  EXPECT_EQ(two.mixes["dram.load.avx2"].validation.scaling, std::nullopt);
  EXPECT_EQ(machine.by_threads[1].bytes[Level::kL1].validation.scaling, std::nullopt);
}

}  // namespace
namespace {

using Features = std::set<std::string>;

TEST(IsaOfRow, IsThePartWithoutItsVariant) {
  EXPECT_EQ(IsaOfRow("fp32.vector.avx512"), "avx512");
  EXPECT_EQ(IsaOfRow("fp32.vector.avx512_nofma"), "avx512");
  EXPECT_EQ(IsaOfRow("fp64.vector.sse2_scalar"), "sse2");
  EXPECT_EQ(IsaOfRow("fp64.vector.fma_scalar"), "fma");
  EXPECT_EQ(IsaOfRow("int8.vector.avx512_vnni_ymm"), "avx512_vnni");
  EXPECT_EQ(IsaOfRow("int8.vector.avx_vnni"), "avx_vnni");
  EXPECT_EQ(IsaOfRow("bf16.matrix.amx_l1"), "amx");
  EXPECT_EQ(IsaOfRow("fp32.vector"), "");
  EXPECT_EQ(IsaOfRow("fp32.vector.neon"), "");
  EXPECT_EQ(IsaOfRow(""), "");
}

TEST(FeaturesOfRow, DependOnTypeAndVariant) {
  EXPECT_EQ(FeaturesOfRow("fp32.vector.avx2"), (Features{"avx2", "fma"}));
  EXPECT_EQ(FeaturesOfRow("int32.vector.avx2"), (Features{"avx2"}));
  EXPECT_EQ(FeaturesOfRow("int8.vector.avx512"), (Features{"avx512f", "avx512bw"}));
  EXPECT_EQ(FeaturesOfRow("fp64.vector.avx512_nofma"), (Features{"avx512f"}));
  EXPECT_EQ(FeaturesOfRow("bf16.vector.avx512_bf16_ymm"),
            (Features{"avx512f", "avx512vl", "avx512_bf16"}));
  EXPECT_EQ(FeaturesOfRow("fp16.matrix.amx_l1"), (Features{"amx_tile", "amx_fp16"}));
  EXPECT_EQ(FeaturesOfRow("fp32.vector.portable"), Features());
}

// A run held to AVX2 is judged by the AVX2 row, one held to AVX by multiply and add.
TEST(RowAllowed, FollowsTheOrderOfOneDnnsIsas) {
  const std::tuple<const char*, const char*, const char*> rows[] = {
      // row, an ISA that does not have it, and one that has it
      {"fp32.vector.sse2", nullptr, "sse41"},
      {"fp32.vector.avx", "sse41", "avx"},
      {"fp32.vector.fma_scalar", "avx", "avx2"},
      {"fp32.vector.avx2", "avx", "avx2"},
      {"fp32.vector.avx512", "avx2_vnni", "avx512_core"},
      {"int8.vector.avx_vnni", "avx2", "avx2_vnni_2"},
      {"int8.vector.avx512", "avx2", "avx512_core"},
      {"int8.vector.avx512_vnni_ymm", "avx512_core", "avx512_core_vnni"},
      {"bf16.vector.avx512_bf16", "avx512_core_vnni", "avx512_core_bf16"},
      {"fp16.vector.avx512_fp16_nofma", "avx512_core_bf16", "avx512_core_fp16"},
      {"int8.matrix.amx_l1", "avx512_core_fp16", "avx512_core_amx"},
      {"fp16.matrix.amx", "avx512_core_amx", "avx512_core_amx_fp16"},
      {"bf16.matrix.amx", "avx10_1_512", "avx10_1_512_amx"},
      // What is not known excludes nothing.
      {"fp32.vector.avx512", nullptr, "isa_0x3fef"},
      {"fp32.vector.avx512", nullptr, ""},
      {"fp32.vector", nullptr, "sse41"},
      {"fp32.vector.neon", nullptr, "sse41"},
      {"fp32.vector.portable", nullptr, "sse41"}};
  for (const auto& [row, without, with] : rows) {
    EXPECT_TRUE(RowAllowed(row, with)) << row;
    if (without != nullptr) {
      EXPECT_FALSE(RowAllowed(row, without)) << row;
    }
  }
}

}  // namespace
}  // namespace dlroof::machine
