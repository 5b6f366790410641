#include "counters/gpu/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "counters/base/work.h"

namespace dlroof::gpu {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// Two chips; a pass can read two metrics.
nlohmann::json SmallTable() {
  return nlohmann::json::parse(R"({
    "chips": [{"family": "A", "compute_capability": 90, "names": "A1 A2"},
              {"family": "B", "compute_capability": 75, "names": "B1"}],
    "types": [{"name": "f32", "tensor": "tf32", "check": true},
              {"name": "bf16", "tensor": "bf16"}],
    "sets": [{"name": "dram", "counts": "bytes"},
             {"name": "tensor.tf32", "counts": "t", "type": "tf32"},
             {"name": "tensor.bf16", "counts": "b", "type": "bf16"},
             {"name": "sass", "counts": "flops", "patches": true},
             {"name": "ways", "counts": "w", "free": true},
             {"name": "used", "counts": "u", "free": true},
             {"name": "link", "counts": "p", "alone": true}],
    "metrics": [
      {"set": "dram", "quantity": "dram", "weight": 1, "metric": "d.sum", "chips": "all"},
      {"set": "tensor.tf32", "quantity": "tf32.matrix", "weight": 1, "metric": "t.sum", "chips": "A"},
      {"set": "tensor.bf16", "quantity": "bf16.matrix", "weight": 1, "metric": "b.sum", "chips": "A"},
      {"set": "sass", "quantity": "fp32.vector", "weight": 1, "metric": "a.sum", "chips": "all"},
      {"set": "sass", "quantity": "fp32.vector", "weight": 2, "metric": "f.sum", "chips": "all"},
      {"set": "ways", "quantity": "dram.read", "weight": 1, "metric": "r.sum", "chips": "all"},
      {"set": "used", "quantity": "x", "weight": 1, "metric": "u.sum", "chips": "all"},
      {"set": "link", "quantity": "link", "weight": 1, "metric": "p.sum", "chips": "all"}]})");
}

std::optional<int> TwoPerPass(const std::vector<std::string>& metrics) {
  return (static_cast<int>(metrics.size()) + 1) / 2;
}

CuptiPlan Plan(const std::string& chip, const std::vector<std::string>& types,
               const CounterOptions& options = {}, const PassesOf& passes = TwoPerPass) {
  const auto table = CuptiTableFromJson(SmallTable(), "small");
  return PlanCounters(table, *FindChip(table, chip), types, options, passes);
}

std::string LeftOut(const CuptiPlan& plan) {
  std::string text;
  for (const auto& set : plan.left_out) text += set.set + ": " + set.reason + "; ";
  return text;
}

// d b | a f: two passes with four metrics; a fifth would take a third.
TEST(PlanCounters, FreeSetsAreThereOnlyWhereTheyCostNoPass) {
  const auto plan = Plan("A1", {"bf16"});
  ASSERT_EQ(plan.configs.size(), 1U);
  EXPECT_THAT(plan.configs[0].metrics, ElementsAre("d.sum", "b.sum", "a.sum", "f.sum"));
  EXPECT_EQ(plan.passes, 2);
  EXPECT_EQ(LeftOut(plan), "");
  // d | a f leaves a place for one of the two.
  EXPECT_THAT(Plan("A1", {}).configs[0].metrics, ElementsAre("d.sum", "a.sum", "f.sum", "r.sum"));
}

TEST(PlanCounters, WhatDoesNotFitIsLeftOutWithItsReason) {
  const auto plan = Plan("A1", {"bf16", "tf32"}, {.most_passes = 1});
  EXPECT_THAT(plan.configs[0].metrics, ElementsAre("d.sum", "b.sum")) << "the best type first";
  EXPECT_EQ(LeftOut(plan), "tensor.tf32: would take a 2nd pass; sass: would take a 2nd pass; ");
}

TEST(PlanCounters, ACallWhoseBlocksWaitForEachOtherIsNotPatched) {
  const auto plan = Plan("A1", {"bf16"}, {.patched = false});
  EXPECT_THAT(LeftOut(plan), HasSubstr("sass: its patched kernels might wait"));
  for (const auto& metric : plan.metrics) EXPECT_NE(metric.set, "sass");
}

TEST(PlanCounters, ChipWithoutACounterSaysSo) {
  EXPECT_EQ(LeftOut(Plan("B1", {"bf16"})), "tensor.bf16: B1 has no counter for it; ");
}

TEST(PlanCounters, EverythingIsAllTypesAndTheLinkInRunsOfItsOwn) {
  const auto plan = Plan("A2", {}, {64, true, true});
  ASSERT_EQ(plan.configs.size(), 2U);
  EXPECT_THAT(plan.configs[0].metrics, Contains("t.sum"));
  EXPECT_THAT(plan.configs[1].metrics, ElementsAre("p.sum"));
  EXPECT_EQ(plan.passes, plan.configs[0].passes + 1);
}

TEST(PlanCounters, DeviceThatRefusesACounterKeepsTheOthers) {
  const auto refuses = [](const std::vector<std::string>& metrics) -> std::optional<int> {
    for (const auto& metric : metrics)
      if (metric == "d.sum") return std::nullopt;
    return 1;
  };
  const auto plan = Plan("A1", {"bf16"}, {}, refuses);
  EXPECT_THAT(plan.configs[0].metrics, testing::Not(Contains("d.sum")));
  EXPECT_THAT(LeftOut(plan), HasSubstr("dram: this device refuses it"));
  EXPECT_TRUE(Plan("A1", {}, {}, [](const auto&) { return std::nullopt; }).configs.empty());
}

TEST(TensorTypesOf, MatrixPipesCountElseTheSiblingOfTheVectorPipe) {
  const auto types = [](const std::vector<std::string>& pipes) {
    return TensorTypesOf(BuiltInCuptiTable(), "", pipes);
  };
  EXPECT_THAT(types({"bf16.matrix", "fp32.vector"}), ElementsAre("bf16"));
  EXPECT_THAT(types({"fp32.vector"}), ElementsAre("tf32"));
  EXPECT_THAT(types({"fp16.vector", "fp32.vector"}), ElementsAre("fp16", "tf32"));
  EXPECT_THAT(types({}), testing::IsEmpty());
}

// An engine of cuDNN without the note of tensor cores computes f16 in f32, on the vector units. If
// the note is missing by mistake, the fp16 tensor operations are still counted.
TEST(TensorTypesOf, TheTypeOfTheCallDecidesBeforeItsPipes) {
  const auto types = [](const std::string& type, const std::vector<std::string>& pipes) {
    return TensorTypesOf(BuiltInCuptiTable(), type, pipes);
  };
  EXPECT_THAT(types("f16", {"fp32.vector"}), ElementsAre("fp16"));
  EXPECT_THAT(types("f16", {"fp16.matrix", "fp32.vector"}), ElementsAre("fp16"));
  EXPECT_THAT(types("f32", {"fp32.vector"}), ElementsAre("tf32"));
  EXPECT_THAT(types("s8s8s32", {"int8.vector"}), ElementsAre("int8"));
  EXPECT_THAT(types("bf16", {"fp16.matrix"}), ElementsAre("bf16", "fp16"));
  EXPECT_THAT(types("unknown", {"bf16.matrix"}), ElementsAre("bf16"));
  // Source and weights of a mix decide if they are alike.
  EXPECT_THAT(types("f16f16f32", {"fp32.vector"}), ElementsAre("fp16"));
  EXPECT_THAT(types("u8s8f32", {"int8.vector"}), ElementsAre("int8"));
  EXPECT_THAT(types("bf16bf16f16", {"fp32.vector"}), ElementsAre("bf16"));
  EXPECT_THAT(types("f16s8f32", {"fp32.vector"}), ElementsAre("tf32"));
  EXPECT_THAT(types("f16f16", {"fp32.vector"}), ElementsAre("tf32")) << "no mix has two elements";
}

TEST(PlanCounters, NamesThePipesOfTheChipThatItDoesNotRead) {
  EXPECT_THAT(Plan("A1", {"bf16"}).unread_pipes, ElementsAre("tf32.matrix"));
  EXPECT_THAT(Plan("A1", {"bf16"}, {.most_passes = 64, .every_type = true}).unread_pipes,
              testing::IsEmpty());
  EXPECT_THAT(Plan("A1", {"tf32", "bf16"}, {.most_passes = 1}).unread_pipes,
              ElementsAre("bf16.matrix"))
      << "left out for lack of passes";
  EXPECT_THAT(Plan("B1", {"bf16"}).unread_pipes, testing::IsEmpty()) << "a chip without any";
}

TEST(BuiltInCuptiTable, NamesAreUniqueAndReferencesKnown) {
  const auto& table = BuiltInCuptiTable();
  std::set<std::string> chips, families, sets, types;
  for (const auto& chip : table.chips) {
    EXPECT_TRUE(chips.insert(chip.name).second) << chip.name;
    families.insert(chip.family);
  }
  EXPECT_EQ(Representatives(table).size(), families.size()) << "a family in two rows";
  for (const auto& set : table.sets) EXPECT_TRUE(sets.insert(set.name).second) << set.name;
  for (const auto& type : table.types) {
    EXPECT_TRUE(types.insert(type.name).second) << type.name;
    EXPECT_THAT(TensorTypes(table), Contains(type.tensor));
  }
  for (const auto& metric : table.metrics) {
    EXPECT_THAT(sets, Contains(metric.set));
    EXPECT_THAT(families, testing::IsSupersetOf(metric.families)) << metric.name;
    EXPECT_FALSE(metric.families.empty()) << metric.name;
    EXPECT_GT(metric.weight, 0) << metric.name;
    EXPECT_THAT(metric.name, HasSubstr(".")) << "no rollup (.sum)";
  }
}

TEST(BuiltInCuptiTable, InstructionCountersPatchKernels) {
  for (const auto& set : BuiltInCuptiTable().sets) EXPECT_EQ(set.patches, set.name == "sass");
  for (const auto& metric : BuiltInCuptiTable().metrics)
    EXPECT_EQ(metric.name.starts_with("sm__sass_"), metric.set == "sass") << metric.name;
}

TEST(BuiltInCuptiTable, EveryQuantityIsAPipeOrOneThatTheDecoderKnows) {
  for (const auto& metric : BuiltInCuptiTable().metrics) {
    EXPECT_TRUE(
        IsPipeKey(metric.quantity) ||
        testing::Matches(testing::AnyOf(
            "half.vector", "l1.tags", "shared", "l2", "dram", "host", "link", "seconds", "clock",
            "dram.read", "dram.write", "l2.slices", "l2.fabric", "tensor.imma", "tensor.hmma",
            "tensor.dmma", "tensor.hfma2", "tensor.instructions"))(metric.quantity))
        << metric.quantity;
  }
}

TEST(KernelName, IsWhatItsAuthorWrote) {
  EXPECT_EQ(KernelName("_Z6fillKKPfi"), "fillKK");
  EXPECT_EQ(KernelName("sm90_xmma_fprop_implicit_gemm"), "sm90_xmma_fprop_implicit_gemm");
  EXPECT_EQ(KernelName("void gemm<(Layout)1, float>(float*, int)"), "gemm<(Layout)1, float>");
  EXPECT_EQ(KernelName(std::string(200, 'k')), std::string(200, 'k'));  // reports shorten it
}

constexpr GpuCapacity kH200 = {90, 132, 228 << 10};

// 40 registers: 1280 of a warp, 51 warps of 65536, 48 evenly on 4 schedulers, 6 blocks of 8 warps.
TEST(Waves, RegistersAllowSixBlocksOfAnSm) {
  EXPECT_DOUBLE_EQ(*Waves({132 * 8, 256, 40, 0, {}}, kH200), 8.0 / 6);
}

// 254 registers: 8192 of a warp, 8 warps, one block. 154 KiB of shared memory allow one as well.
TEST(Waves, AWarpgroupOfAllRegistersIsAloneOnItsSm) {
  EXPECT_DOUBLE_EQ(*Waves({132, 256, 254, 0, {}}, kH200), 1);
  EXPECT_DOUBLE_EQ(*Waves({264, 256, 32, 154 << 10, {}}, kH200), 2);
}

// 2048 threads; 32 blocks of any size.
TEST(Waves, ThreadsAndBlocksOfAnSmAreLimited) {
  EXPECT_DOUBLE_EQ(*Waves({132 * 4, 1024, 16, 0, {}}, kH200), 2);
  EXPECT_DOUBLE_EQ(*Waves({132 * 64, 32, 16, 0, {}}, kH200), 2);
  EXPECT_DOUBLE_EQ(*Waves({1, 33, 16, 0, {}}, {75, 1, 64 << 10}), 1.0 / 16);
}

TEST(Waves, AreAbsentWhereTheyAreNotKnown) {
  EXPECT_FALSE(Waves({1, 256, 40, 0, {}}, {42, 132, 228 << 10}));
  EXPECT_FALSE(Waves({1, 256, 40, 300 << 10, {}}, kH200));
  EXPECT_FALSE(Waves({1, 1024, 255, 0, {}}, kH200));  // 32 warps, and 8 fit
}

}  // namespace
}  // namespace dlroof::gpu
