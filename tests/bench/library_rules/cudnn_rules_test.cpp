#include "bench/library_rules/cudnn_rules.h"

#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::library_rules {
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

TEST(CudnnVersion, IsReadAsNvidiaWritesIt) {
  EXPECT_EQ(VersionText(91900), "9.19.0");
  EXPECT_EQ(VersionText(91002), "9.10.2");
  EXPECT_EQ(VersionText(90800), "9.8.0");
  EXPECT_EQ(VersionText(8907), "8.9.7");
}

TEST(CudnnVersion, AMinorVersionServesAnotherAMajorOneDoesNot) {
  EXPECT_EQ(WhyNotThisVersion(90800, 9), "");
  EXPECT_EQ(WhyNotThisVersion(92299, 9), "");
  EXPECT_EQ(WhyNotThisVersion(100000, 9),
            "cuDNN 10.0.0 was found, and this build needs 9: put its folder first in "
            "LD_LIBRARY_PATH");
  EXPECT_NE(WhyNotThisVersion(8907, 9), "");
}

bool Taken(std::string_view type, const char* value) {
  return fakes::RefusalOf<Unsupported>([&] { RequireTf32(type, value); }) == "accepted";
}

TEST(RequireTf32, RefusesWhatTheVariableWouldMakeAnotherType) {
  for (const char* value : {static_cast<const char*>(nullptr), ""})
    for (const char* type : {"tf32", "f32", "f16"}) EXPECT_TRUE(Taken(type, value)) << type;
  EXPECT_FALSE(Taken("tf32", "0"));
  EXPECT_TRUE(Taken("f32", "0"));
  EXPECT_TRUE(Taken("tf32", "1"));
  EXPECT_FALSE(Taken("f32", "1"));
  EXPECT_TRUE(Taken("f16", "0"));
  EXPECT_TRUE(Taken("f16", "1"));
}

}  // namespace
}  // namespace dlroof::library_rules
