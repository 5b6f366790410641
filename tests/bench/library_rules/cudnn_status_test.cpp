#include "bench/library_rules/cudnn_status.h"

#include <gtest/gtest.h>

namespace dlroof::cudnn {
namespace {

TEST(IsRefusal, WhatCudnnCannotDo) {
  for (const int status : {3000, 3002, 3007, 3010})
    for (const auto stage : {Stage::kDescribe, Stage::kExecute})
      EXPECT_TRUE(IsRefusal(status, stage)) << status;
}

TEST(IsRefusal, ABadParameterIsOneOnlyWhileSomethingIsDescribed) {
  for (const int status : {2000, 2008}) {
    EXPECT_TRUE(IsRefusal(status, Stage::kDescribe)) << status;
    EXPECT_FALSE(IsRefusal(status, Stage::kExecute)) << status;
  }
}

// A driver, a runtime, NVRTC, a part of cuDNN that is missing or does not load; a compiler that
// fails; a GPU that fails.
TEST(IsRefusal, ABrokenInstallationIsNone) {
  for (const int status : {1001, 1002, 1008, 3005, 3006, 3008, 3009, 4000, 4001, 5000, 5001})
    for (const auto stage : {Stage::kDescribe, Stage::kExecute})
      EXPECT_FALSE(IsRefusal(status, stage)) << status;
}

}  // namespace
}  // namespace dlroof::cudnn
