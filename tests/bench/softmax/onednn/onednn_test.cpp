#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/workload/workload.h"
#include "tests/fakes/outcome.h"

namespace dlroof::softmax {
namespace {

using testing::HasSubstr;

TEST(SoftmaxOnednn, AgreesWithTheReference) {
  for (const std::string type : {"f32", "bf16"})
    for (const auto* problem :
         {"m1n1", "m7n1", "m1n100", "m16n16", "m33n17", "m96n128", "m5n1000", "m1n50257"})
      for (const auto* training : {"", "/training"})
        fakes::ExpectAgrees(fmt::format("Softmax/cpu/onednn/fwd/{}/{}{}", type, problem, training),
                            type);
}

TEST(SoftmaxOnednn, SaysWhatTheLibraryChoseAndWhereItsTensorsLie) {
  const auto call =
      workload::MakeWorkload("Softmax/cpu/onednn/fwd/f32/m32n48").prepare({.threads = 1});
  EXPECT_FALSE(call.algorithm.empty());
  EXPECT_FALSE(call.isa.empty());
  size_t bytes = 0;
  for (const auto& region : call.memory) bytes += region.bytes;
  EXPECT_EQ(bytes, 2 * 4 * 32 * 48);
}

TEST(SoftmaxOnednn, WhatCannotFitIsUnsupportedAndNotTried) {
  EXPECT_THAT(fakes::Outcome("Softmax/cpu/onednn/fwd/f32/m2147483647n4096"),
              HasSubstr("GB of memory"));
}

}  // namespace
}  // namespace dlroof::softmax
