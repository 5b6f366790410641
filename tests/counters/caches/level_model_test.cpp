#include "counters/caches/level_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bench/conv2d/onednn_levels.h"
#include "bench/library_rules/vector_blocking.h"
#include "bench/lstm/case.h"
#include "bench/lstm/onednn_levels.h"
#include "counters/base/folders.h"
#include "counters/cpu/core_caches.h"

namespace dlroof::caches {
namespace {

const CacheShares kAll = {{Level::kL1, {32768, 8}}, {Level::kL2, {1048576, 16}}};
constexpr StartOfCall kCold = {false, false};
constexpr StartOfCall kWarm = {true, true};

LevelModel ConvModel(const std::string& problem, const std::string& implementation,
                     ProductDirection direction = ProductDirection::kForward,
                     const std::string& isa = "avx2") {
  conv2d::Conv2dCase one;
  one.problem = conv2d::ParseConv2d(problem);
  one.direction = direction;
  return conv2d::Conv2dLevels(one, implementation, isa);
}

LevelModel LstmModel(const std::string& problem, const std::string& isa = "avx2") {
  return lstm::LstmLevels(lstm::ParseLstmProblem(problem), lstm::LstmDirection::kForwardInference,
                    lstm::ElementBytes(lstm::LstmTypeOf("f32")), "brgemm:" + isa, isa);
}

TEST(RowBlock, IsWhatTheRegistersLeave) {
  const auto avx2 = library_rules::VectorUnitOf("brgconv:avx2", "avx512_core");
  EXPECT_EQ(avx2.registers, 16);
  EXPECT_EQ(library_rules::MostRows(avx2, 2), 6);  // 16 - 2 vectors - 1 element, by 2
  EXPECT_EQ(library_rules::MostRows({16, 32}, 4), 6);
  EXPECT_EQ(library_rules::RowBlock(avx2, 2, 28), 6);
  EXPECT_EQ(library_rules::RowBlock(avx2, 2, 14), 5);  // 15 rows for 14, not 18
  EXPECT_EQ(library_rules::RowBlock(avx2, 2, 1), 1);
  EXPECT_EQ(library_rules::VectorUnitOf("brgemm", "avx512_core_vnni").lanes, 16);
}

TEST(Conv2dLevels, AColdConvolutionThatFitsTheL2FetchesItsTensorsOnce) {
  // 64x28x28, 64 filters of 3x3: 200704 + 147456 + 200704 byte.
  const auto bytes = LevelBytes(ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx2"), kAll, 1, kCold);
  EXPECT_DOUBLE_EQ(bytes.at(Level::kL3), 548864);
  // Weights of a block of 16 filters (36864 byte) do not fit the L1 of 32 KiB: all are read for
  // each of 28 rows x ceil(28 / 6) blocks, 20.6 MB, and the source for each block of filters.
  EXPECT_GT(bytes.at(Level::kL2), 20.6e6);
  EXPECT_LT(bytes.at(Level::kL2), 24e6);
  // Registers reuse 16 filters and 6 positions: 57.8 M products x (4/16 + 4/6) byte, without taps
  // in the padding.
  EXPECT_NEAR(bytes.at(Level::kL1), 57.8e6 / 2 * (4.0 / 16 + 4.0 / 6) * 82 / 84, 0.03 * 26e6);
}

TEST(Conv2dLevels, AWarmConvolutionThatFitsTheL2FetchesNothingFromTheL3) {
  const auto model = ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx2");
  EXPECT_EQ(LevelBytes(model, kAll, 1, kWarm).at(Level::kL3), 0);
  // Only the weights had left the caches.
  EXPECT_DOUBLE_EQ(LevelBytes(model, kAll, 1, {false, true}).at(Level::kL3), 147456);
}

TEST(Conv2dLevels, ThreadsWithCachesOfTheirOwnReadTheWeightsEach) {
  const auto model = ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx2");
  const double one = LevelBytes(model, kAll, 1, kCold).at(Level::kL3);
  const double two = LevelBytes(model, kAll, 2, kCold).at(Level::kL3);
  // The weights once more, and the rows around each half: 2 more for each, of 28 with 64 channels.
  EXPECT_NEAR(two, one + 147456 + 4 * 28 * 64 * 4, 1);
}

// Cold, with an L2 that holds all: every tensor comes once.
TEST(Conv2dLevels, AWeightGradientFetchesEachTensorOnceWhereAllFit) {
  const double weights = 9 * 64 * 32 * 4, image = 28 * 28 * 32 * 4, output = 14 * 14 * 64 * 4;
  const auto model =
      ConvModel("n1c32h28w28k64r3s3_s2p1", "jit:avx2", ProductDirection::kBackwardWeights);
  const auto bytes = LevelBytes(model, kAll, 1, kCold);
  EXPECT_NEAR(bytes.at(Level::kL3), weights + image + output, 0.05 * (image + output));
  // Each of 14 rows of the output adds to every block of weights, 73728 byte, which do not all fit
  // the L1: more than once and less than once per row.
  EXPECT_GT(bytes.at(Level::kL2), weights + image + output);
  EXPECT_LT(bytes.at(Level::kL2), 14 * weights + 8 * image + 4 * output);
}

TEST(Conv2dLevels, LoadsAreThoseThatTheRegistersDoNotSpare) {
  // 57.8 M products, 8 a vector: one load of the source for 2 columns, one of weights for 6 rows.
  const auto forward = ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx2");
  EXPECT_NEAR(forward.core_loads, 57.8e6 / 2 / 8 * (1 / 2.0 + 1 / 6.0) * 82 / 84, 0.02e6);
  EXPECT_EQ(forward.vector_bytes, 32);
  const auto weights = ConvModel("n1c64h28w28k64r3s3_p1", "jit:avx512_core",
                                 ProductDirection::kBackwardWeights, "avx512_core");
  // One element of the source each, one vector of the gradient for 8; the weights of each tap are
  // read and stored for each of 28 rows.
  const double vectors = 57.8e6 / 2 / 16 * 82 / 84;
  EXPECT_NEAR(weights.core_loads, vectors * (1 + 1 / 8.0 + 2 / 28.0), 0.01 * vectors);
  EXPECT_EQ(weights.vector_bytes, 64);
}

TEST(Conv2dLevels, WhatIsNotModelledSaysSo) {
  const auto model = ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx512_core",
                               ProductDirection::kBackwardWeights, "avx512_core");
  EXPECT_THAT(model.why_not, testing::HasSubstr("bwd_weights"));
  EXPECT_THAT(LevelBytes(model, kAll, 1, kCold), testing::IsEmpty());
  EXPECT_FALSE(ConvModel("n1c64h28w28k64r3s3_p1", "ref:any").why_not.empty());
}

TEST(LstmLevels, WeightsBeyondTheL2AreReadEveryTimeStep) {
  // 2 x 512 x 2048 weights of 4 byte are 8.39 MB, read in each of 2 steps.
  const auto bytes = LevelBytes(LstmModel("t2n8i512h512"), kAll, 1, kWarm);
  EXPECT_GT(bytes.at(Level::kL3), 2 * 8.388608e6);
  EXPECT_LT(bytes.at(Level::kL3), 2 * 8.388608e6 * 1.05);
}

TEST(LstmLevels, WeightsThatFitTheL2AreReadOnceOrNotAtAll) {
  // 2 x 128 x 512 of 4 byte.
  const auto model = LstmModel("t8n16i128h128");
  EXPECT_LT(LevelBytes(model, kAll, 1, kCold).at(Level::kL3), 1.6 * 524288);
  EXPECT_EQ(LevelBytes(model, kAll, 1, kWarm).at(Level::kL3), 0);
}

// 16 steps of 16 samples: inputs 32 768 byte, weights 98 304, gates' scratch 16 384, cell states
// 4 096, and 65 536 of hidden states, which an output of their type already is.
TEST(LstmLevels, AnOutputIsTheNextStepsStateUnlessItsTypeDiffers) {
  const double bytes = LevelBytes(LstmModel("t16n16i32h64"), kAll, 1, kCold).at(Level::kL3);
  EXPECT_NEAR(bytes / (32768 + 98304 + 65536 + 16384 + 4096), 1, 0.03);
  auto wider = lstm::ElementBytes(lstm::LstmTypeOf("f32"));
  wider.output = 8;
  const auto model = lstm::LstmLevels(lstm::ParseLstmProblem("t16n16i32h64"), lstm::LstmDirection::kForwardInference,
                                wider, "brgemm:avx2", "avx2");
  EXPECT_NEAR(LevelBytes(model, kAll, 1, kCold).at(Level::kL3) - bytes, 2 * 65536, 1);
}

TEST(LstmLevels, OneSampleMakesTheInputsProductForAllStepsAtOnce) {
  // Weights of the input once, of the state in each of 4 steps: 5 x 4.19 MB, not 8.
  const double bytes = LevelBytes(LstmModel("t4n1i512h512"), kAll, 1, kCold).at(Level::kL3);
  EXPECT_NEAR(bytes / (5 * 4.194304e6), 1, 0.02);
}

TEST(LevelBytes, NoLevelSeesMoreThanTheOneBeforeIt) {
  for (const char* problem : {"n1c64h28w28k64r3s3_p1", "n4c32h28w28k32r3s3_p1",
                              "n1c512h14w14k256r1s1", "n1c256h7w7k256r3s3_p1"})
    for (const char* implementation : {"brgconv:avx2", "brgconv:avx512_core", "jit:avx2"})
      for (const int threads : {1, 2, 4}) {
        const auto bytes = LevelBytes(ConvModel(problem, implementation), kAll, threads, kCold);
        EXPECT_LE(bytes.at(Level::kL2), bytes.at(Level::kL1));
        EXPECT_LE(bytes.at(Level::kL3), bytes.at(Level::kL2));
      }
}

TEST(LevelBytes, AnUnknownCacheLeavesTheLevelBehindItUnknown) {
  const auto bytes = LevelBytes(LstmModel("t2n8i512h512"), {{Level::kL1, {32768, 8}}}, 1, kCold);
  EXPECT_EQ(bytes.count(Level::kL2), 1);
  EXPECT_EQ(bytes.count(Level::kL3), 0);
}

TEST(SharesPerThread, DividesACacheAmongThoseThatUseIt) {
  cpu::Topology topology;
  for (const int cpu : {0, 1}) {
    topology.cache_of_cpu[Level::kL1][cpu] = {cpu, 32768};
    topology.cache_of_cpu[Level::kL3][cpu] = {0, 4e6};
  }
  const auto shares = SharesPerThread(topology, {0, 1});
  EXPECT_EQ(shares.at(Level::kL1).bytes, 32768);
  EXPECT_EQ(shares.at(Level::kL3).bytes, 2e6);
  EXPECT_EQ(shares.count(Level::kL2), 0);
}

TEST(CacheWays, AreThoseOfTheDataCacheOfTheLevel) {
  const TemporaryFolder temporary;
  const std::filesystem::path folder = temporary / "cpus";
  const auto write = [&](const char* index, const char* level, const char* type, const char* ways) {
    const auto cache = folder / "cpu3" / "cache" / index;
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level;
    std::ofstream(cache / "type") << type;
    std::ofstream(cache / "ways_of_associativity") << ways;
  };
  write("index0", "1", "Instruction", "4");
  write("index1", "1", "Data", "12");
  write("index2", "2", "Unified", "16");
  EXPECT_EQ(cpu::CacheWays(Level::kL1, 3, folder), 12);
  EXPECT_EQ(cpu::CacheWays(Level::kL2, 3, folder), 16);
  EXPECT_EQ(cpu::CacheWays(Level::kL3, 3, folder), 0);
  EXPECT_EQ(cpu::CacheWays(Level::kL1, 0, folder), 0);
}

// The loop nests describe vector registers; kernels that work on tiles have other blocks and loads.
TEST(LevelModels, AreAbsentForAmxKernels) {
  const auto conv = ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx512_core_amx_bf16");
  EXPECT_TRUE(conv.nests.empty());
  EXPECT_EQ(conv.why_not, "the loops of brgconv:avx512_core_amx_bf16 are not modelled");
  const auto lstm =
      lstm::LstmLevels(lstm::ParseLstmProblem("t16n16i32h64"), lstm::LstmDirection::kForwardInference,
                 lstm::ElementBytes(lstm::LstmTypeOf("bf16")), "brgemm:avx512_core_amx", "avx512_core_amx");
  EXPECT_TRUE(lstm.nests.empty());
  EXPECT_EQ(lstm.why_not, "the loops of fwd_inference by brgemm:avx512_core_amx are not modelled");
}

}  // namespace
}  // namespace dlroof::caches
