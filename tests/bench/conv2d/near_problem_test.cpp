#include "bench/conv2d/near_problem.h"

#include <gtest/gtest.h>

#include "bench/conv2d/loops.h"

namespace dlroof {
namespace {

Conv2dCase CaseOf(const std::string& problem) {
  Conv2dCase conv;
  conv.problem = ParseConv2d(problem);
  return conv;
}

double BytesOf(const Conv2dProblem& p) {
  return 4.0 * static_cast<double>(SourceCount(p) + WeightsCount(p) + DestinationCount(p));
}

std::string NearText(const std::string& problem, double bytes) {
  const auto near = NearProblem(CaseOf(problem), bytes);
  return near ? ToText(*near) : "";
}

TEST(NearProblem, ThatFitsIsItsOwn) {
  EXPECT_EQ(NearText("n16c64h8w8k64r1s1", 1e9), "n16c64h8w8k64r1s1");
  EXPECT_EQ(NearText("n16c64h8w8k64r1s1", 32 * 64 * 64 * 4 + 64 * 64 * 4), "n16c64h8w8k64r1s1");
}

TEST(NearProblem, KeepsItsImagesSizeWhereChannelsCanGo) {
  EXPECT_EQ(NearText("n16c256h14w14k256r3s3_p1", 512e3), "n1c64h14w14k128r3s3_p1");
}

TEST(NearProblem, HalvesWhicheverLeavesFewerBytes) {
  // Fewer filters leave the fewest weights; fewer rows the fewest bytes of images.
  EXPECT_EQ(NearText("n1c64h4w4k512r3s3_p1", 512e3), "n1c64h4w4k128r3s3_p1");
  EXPECT_EQ(NearText("n16c64h112w112k64r3s3_s2p1", 512e3), "n1c64h6w112k64r3s3_s2p1");
}

TEST(NearProblem, HalvesGroupsWithTheirChannels) {
  EXPECT_EQ(NearText("n4c512h14w14k512r3s3_p1g512", 240e3), "n1c128h14w14k128r3s3_p1g128");
}

TEST(NearProblem, IsNotThereForTensorsThatStayTooLarge) {
  EXPECT_EQ(NearText("n1c64h224w224k64r3s3_p1", 100e3), "");
  EXPECT_EQ(NearText("n1c67h14w14k61r3s3_p1", 50e3), "") << "odd channels are not halved";
}

TEST(NearProblem, FitsAndKeepsTheKernel) {
  for (const auto* problem :
       {"n16c1024h14w14k2048r1s1_s2", "n16c64h112w112k64r9s9_s2p3:4x3:4", "n8c512h28w28k128r1s1",
        "n16c384h13w13k384r3s3_p1g2", "n32c128h56w56k128r3s3_p2d2"}) {
    const auto near = NearProblem(CaseOf(problem), 600e3);
    ASSERT_TRUE(near) << problem;
    auto same = *near;
    const auto whole = ParseConv2d(problem);
    EXPECT_LE(BytesOf(*near), 600e3) << problem;
    EXPECT_GE(OutputRows(*near), std::min<int64_t>(3, OutputRows(whole))) << problem;
    same.n = whole.n;
    same.c = whole.c;
    same.k = whole.k;
    same.h = whole.h;
    same.groups = whole.groups;
    EXPECT_EQ(same, whole) << problem;
  }
}

// Counts what the plain loops of the reference multiply.
TEST(InsideMultiplyAdds, LeavePaddingOut) {
  for (const auto* text : {"n2c3h7w6k4r3s3_p1", "n1c2h9w9k2r5s3_s2p3:1x0:2",
                           "n1c4h8w8k4r3s3_p2d2g2", "n1c1h4w4k1r1s1_s3"}) {
    const auto p = ParseConv2d(text);
    int64_t count = 0;
    for (int64_t y = 0; y < OutputRows(p); ++y)
      for (int64_t x = 0; x < OutputColumns(p); ++x)
        for (int64_t r = 0; r < p.r; ++r)
          for (int64_t s = 0; s < p.s; ++s) {
            const auto row = y * p.stride_h + r * p.dilation_h - p.pad_top;
            const auto column = x * p.stride_w + s * p.dilation_w - p.pad_left;
            if (row >= 0 && row < p.h && column >= 0 && column < p.w) ++count;
          }
    EXPECT_DOUBLE_EQ(InsideMultiplyAdds(p),
                     static_cast<double>(count * p.n * p.k * (p.c / p.groups)))
        << text;
  }
}

}  // namespace
}  // namespace dlroof
