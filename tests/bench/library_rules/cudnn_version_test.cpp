#include "bench/library_rules/cudnn_version.h"

#include <gtest/gtest.h>

#include "counters/base/error.h"

namespace dlroof::cudnn {
namespace {

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
  try {
    RequireTf32(type, value);
    return true;
  } catch (const Unsupported&) {
    return false;
  }
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
}  // namespace dlroof::cudnn
