#include "bench/conv2d/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "counters/base/error.h"
#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

std::string ProblemRefusal(const std::string& text) {
  try {
    return "accepted as " + ToText(ParseConv2d(text));
  } catch (const BadInput& error) {
    return error.what();
  }
}

int64_t Pick(std::mt19937& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}

Conv2dProblem RandomProblem(std::mt19937& random) {
  Conv2dProblem p;
  p.groups = Pick(random, 0, 1) == 0 ? 1 : Pick(random, 1, 9);
  p.n = Pick(random, 1, 200);
  p.c = p.groups * Pick(random, 1, 300);
  p.k = p.groups * Pick(random, 1, 300);
  p.r = Pick(random, 1, 11);
  p.s = Pick(random, 0, 2) == 0 ? Pick(random, 1, 11) : p.r;
  for (int64_t* option : {&p.stride_h, &p.stride_w, &p.dilation_h, &p.dilation_w})
    *option = Pick(random, 0, 2) == 0 ? Pick(random, 1, 4) : 1;
  for (int64_t* end : {&p.pad_top, &p.pad_bottom, &p.pad_left, &p.pad_right})
    *end = Pick(random, 0, 1) == 0 ? Pick(random, 0, 12) : 0;
  if (Pick(random, 0, 1) == 0) p.pad_bottom = p.pad_top, p.pad_right = p.pad_left;
  p.h = (p.r - 1) * p.dilation_h + Pick(random, 1, 300);
  p.w = (p.s - 1) * p.dilation_w + Pick(random, 1, 300);
  return p;
}

TEST(Conv2dText, ProblemAndTextAreInverse) {
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    const auto problem = RandomProblem(random);
    const auto text = ToText(problem);
    ASSERT_EQ(ParseConv2d(text), problem) << text;
    ASSERT_EQ(ToText(ParseConv2d(text)), text);
  }
}

TEST(Conv2dText, ChangedBytesAreRefusedOrNameTheirOwnProblem) {
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 10000; ++i) {
    auto text = ToText(RandomProblem(random));
    for (int64_t change = Pick(random, 1, 3); change > 0 && !text.empty(); --change) {
      const auto at = static_cast<size_t>(Pick(random, 0, static_cast<int64_t>(text.size()) - 1));
      const auto byte = static_cast<char>(random() % 2 == 0 ? "0129:_xnspdg"[random() % 12]
                                                            : static_cast<char>(random()));
      const auto kind = random() % 3;
      if (kind == 0) text[at] = byte;
      if (kind == 1) text.erase(at, 1);
      if (kind == 2) text.insert(at, 1, byte);
    }
    try {
      ASSERT_EQ(ToText(ParseConv2d(text)), text);
    } catch (const BadInput& error) {
      ASSERT_THAT(error.what(), testing::StartsWith("column "));
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 9900);
}

TEST(Conv2dText, OptionsKeepTheirOrderAndDefaultsAreLeftOut) {
  Conv2dProblem p{.n = 16, .c = 64, .h = 112, .w = 112, .k = 64, .r = 3, .s = 3};
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3");
  p.stride_h = 2;
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3_s2x1");
  p.stride_w = 2;
  p.pad_bottom = p.pad_right = 1;
  p.dilation_w = 2;
  p.groups = 4;
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3_s2p0:1x0:1d1x2g4");
  p.pad_top = 1;
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3_s2p1:1x0:1d1x2g4");
  p.pad_left = 1;
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3_s2p1d1x2g4");
  p.pad_left = p.pad_right = 0;
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3_s2p1x0d1x2g4");
}

TEST(Conv2dText, RefusalsNameTheColumnOfTheFirstBadCharacter) {
  EXPECT_THAT(ProblemRefusal(""), HasSubstr("column 1: expected 'n', got the end"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3"), HasSubstr("column 13: expected 's', got the end"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3x"), HasSubstr("column 15: expected '_', got 'x'"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_"), HasSubstr("column 16: expected one of s p d g"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_p1s2"), HasSubstr("column 18: expected the end"));
  EXPECT_THAT(ProblemRefusal("n1c0h8w8k1r3s3"), HasSubstr("column 4: expected the size c"));
  EXPECT_THAT(ProblemRefusal("n01c1h8w8k1r3s3"), HasSubstr("column 2"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_s-1"), HasSubstr("column 17: expected a stride"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_s99999999999"), HasSubstr("column 17"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_p0:1"), HasSubstr("column 20: expected 'x'"));
}

TEST(Conv2dText, OneProblemHasOneText) {
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_s1"),
              HasSubstr("column 15: this problem is written n1c1h8"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_p0"), HasSubstr("column 15"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_s2p0"), HasSubstr("column 18"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_p1x1"), HasSubstr("column 18"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_p1:1x1:1"), HasSubstr("column 18"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w8k1r3s3_p2g1"), HasSubstr("column 18"));
}

TEST(Conv2dShape, ImpossibleOnesAreRefusedWithTheReason) {
  EXPECT_THAT(ProblemRefusal("n1c1h3w8k1r5s3"),
              HasSubstr("the filter spans 5 rows but the padded image "
                        "has 3"));
  EXPECT_THAT(ProblemRefusal("n1c1h8w3k1r3s3_d1x2"), HasSubstr("spans 5 columns"));
  EXPECT_THAT(ProblemRefusal("n1c1h3w3k1r5s5_p1"), HasSubstr("accepted"));  // 3 + 2 = 5 rows
  EXPECT_THAT(ProblemRefusal("n1c6h8w8k4r3s3_g4"),
              HasSubstr("6 channels do not divide into 4 groups"));
  EXPECT_THAT(ProblemRefusal("n1c4h8w8k6r3s3_g4"),
              HasSubstr("6 filters do not divide into 4 groups"));
}

TEST(Conv2dShape, NothingLeaves64Bits) {
  const std::string most = "2147483647";
  EXPECT_THAT(ProblemRefusal("n" + most + "c" + most + "h2w2k1r1s1"),
              HasSubstr("overflows 64 bits"));
  EXPECT_THAT(ProblemRefusal("n1c1h" + most + "w" + most + "k1r1s1"), HasSubstr("overflows"));
  EXPECT_THAT(ProblemRefusal("n1c1h1w1k1r1s1_p" + most), HasSubstr("overflows"));
  // Tensors fit (c = k = 2^29: 8 x 2^58 byte of weights), the FLOPs of 16 images do not.
  EXPECT_THAT(ProblemRefusal("n1c536870912h1w1k536870912r1s1"), HasSubstr("accepted"));
  EXPECT_THAT(ProblemRefusal("n16c536870912h1w1k536870912r1s1"),
              HasSubstr("number of FLOPs overflows"));
}

TEST(Conv2dShape, ColumnsCountFromTheLongerLine) {
  EXPECT_THAT(RefusalOf([] { ParseConv2d("n1c1h3w3k1r5s3", 10); }),
              HasSubstr("column 11: the filter"));
}

TEST(Conv2dWork, IsThePapersCountForItsBaseCase) {
  // 2*16*56*56*64*64*9: TensorFlow's SAME padding gives 56x56 outputs.
  const auto p = ParseConv2d("n16c64h112w112k64r3s3_s2p0:1x0:1");
  EXPECT_EQ(OutputRows(p), 56);
  EXPECT_EQ(DenseFlops(p), 3699376128);
}

}  // namespace
}  // namespace dlroof
