// CUPTI's counters on the GPU that is here; without one each test says why it is skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "counters/cuda/cupti_known_kernels.h"
#include "counters/cuda/cupti_source.h"
#include "counters/cuda/support.h"
#include "tests/fakes/no_gpu.h"

namespace dlroof {
namespace {

// FLOPs within 1 %, DRAM within 5 %, L2 and L1 within 10 %. The raw values are kept: copied to
// tests/data/cupti_<gpu>.json they are decoded again wherever there is no GPU.
TEST(CuptiOnGpu, CountersAgreeWithKernelsOfKnownWork) {
  const auto counter = OpenCuptiCounter(0);
  if (const auto why = counter->Unavailable(); !why.empty()) GTEST_SKIP() << NeverRan(why);
  const auto& judged = counter->SelfTest();
  const auto path = testing::TempDir() + "cupti_values.json";
  std::ofstream(path) << ToJson(counter->Recording()).dump(1) << '\n';
  std::cout << "raw values: " << path << '\n';
  EXPECT_FALSE(judged.empty());
  for (const auto& [quantity, row] : judged) {
    std::cout << quantity << ": " << row.evidence << '\n';
    EXPECT_EQ(row.grade, CounterGrade::kProved) << quantity << ": " << row.evidence;
  }
}

TEST(CuptiOnGpu, ACallIsCountedInThreePassesAtMostAndItsKernelIsNamed) {
  const auto source = CuptiSources(0).front();
  if (const auto why = source.unavailable(); !why.empty()) GTEST_SKIP() << NeverRan(why);
  const int blocks = 1024, rounds = 512;
  const DeviceBuffer elements(size_t{8} * kKnownThreads * blocks);
  CountRequest request{.name = "multiply-adds", .pipes = {"fp32.vector"}};
  request.run = [&] {
    CheckCuda(LaunchKnownFma(KnownVector::kFp32, elements.get(), blocks, rounds), "multiply-adds");
    CheckCuda(cudaDeviceSynchronize(), "multiply-adds");
  };
  const auto counted = source.count(request);
  std::cout << counted.how << '\n';
  for (const auto& doubt : counted.doubts) std::cout << "doubt: " << doubt << '\n';
  EXPECT_LE(counted.passes, 3);
  EXPECT_NEAR(counted.work.flops.at("fp32.vector") / (2.0 * kKnownThreads * blocks * rounds), 1,
              0.01);
  EXPECT_EQ(counted.work.launches, 1);
  EXPECT_THAT(counted.how, testing::HasSubstr("Chain<"));
}

}  // namespace
}  // namespace dlroof
