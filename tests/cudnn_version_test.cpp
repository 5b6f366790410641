#include "bench/cudnn_version.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dlroof::cudnn
