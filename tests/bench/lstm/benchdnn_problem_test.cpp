#include <gtest/gtest.h>

#include "bench/benchdnn/tokens.h"
#include "bench/lstm/benchdnn.h"

namespace dlroof {
namespace {

TEST(ReadBenchdnnRnn, LeftOutIsBenchdnnsDefault) {
  EXPECT_EQ(ToText(ReadBenchdnnRnn("sic16")), "l1t1mb2sic16slc16dhc16dic16");
  EXPECT_EQ(ToText(ReadBenchdnnRnn("l2t3_mb4_sic8slc5dhc7n\"x\"")), "l2t3mb4sic8slc5dhc7dic7");
  EXPECT_EQ(ToText(ReadBenchdnnRnn("sic8dhc7dic6")), "l1t1mb2sic8slc8dhc7dic6");
  EXPECT_THROW(ReadBenchdnnRnn("t3mb4"), BenchdnnRefusal);
  EXPECT_THROW(ReadBenchdnnRnn("t3ih4"), BenchdnnRefusal);
}

}  // namespace
}  // namespace dlroof
