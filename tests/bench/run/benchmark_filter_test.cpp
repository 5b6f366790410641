#include "bench/run/benchmark_filter.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

TEST(KeptByFilter, ReadsItAsGoogleBenchmarkDoes) {
  const std::string name = "Conv2D/gpu/cudnn/fwd/f32/n1/manual_time";
  for (const char* filter : {"", "all", ".", "gpu", "^Conv2D/.*/f32", "cpu|gpu", "-cpu", "n1/"})
    EXPECT_TRUE(KeptByFilter(filter, name)) << filter;
  for (const char* filter : {"cpu", "^gpu", "-gpu", "n1$", "-", "f{2}"})
    EXPECT_FALSE(KeptByFilter(filter, name)) << filter;
}

TEST(KeptByFilter, WhatIsNoExpressionIsGoogleBenchmarksToRefuse) {
  EXPECT_TRUE(KeptByFilter("(", "x"));
}

}  // namespace
}  // namespace dlroof
