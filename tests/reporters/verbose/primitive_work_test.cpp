#include "reporters/verbose/primitive_work.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/fakes/primitives/problems.h"

namespace dlroof {
namespace {

TEST(PrimitiveWork, MovesHaveNoFlops) {
  EXPECT_TRUE(HasNoFlops(WorkOf(Made("reorder", "undef", kInOut, "", "8x64x56x56"))));
  EXPECT_TRUE(HasNoFlops(WorkOf(
      Made("shuffle", "forward_training", "data:f32::blocked:ab::f0", "axis:1 group:4", "8x64"))));
  EXPECT_TRUE(HasNoFlops(WorkOf(Made("concat", "undef",
                                     "src:f32::blocked:ab::f0 src:f32::blocked:ab::f0 "
                                     "dst:f32::blocked:ab::f0",
                                     "axis:1", "8x32:8x16 8x48"))));
  // a quantizing reorder multiplies
  const auto quantizing =
      WorkOf(Made("reorder", "undef", kInOut, "", "8x64", "attr-scales:src0:0:f32+dst:0:f32"));
  EXPECT_EQ(*quantizing.elementwise, 2 * 8 * 64);
}

// Worked by hand: 4 byte an element.
TEST(PrimitiveWork, BytesAreEachTensorOnce) {
  const auto bytes = [](const Primitive& primitive) { return WorkOf(primitive).bytes.value(); };
  EXPECT_EQ(bytes(Made("reorder", "undef", "src:f32::blocked:ab::f0 dst:bf16::blocked:ba::f0", "",
                       "8x64")),
            8 * 64 * (4 + 2));
  EXPECT_EQ(
      bytes(Made("convolution", "forward_training", fmt::format(fmt::runtime(kFiltered), "f32"), "",
                 "mb2_ic3oc4_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1")),
      4 * (2 * 3 * 25 + 3 * 4 * 9 + 4 + 2 * 4 * 25));
  // the sum reads the destination, the binary an operand of one number per channel
  EXPECT_EQ(
      bytes(Made("convolution", "forward_inference", fmt::format(fmt::runtime(kFiltered), "undef"),
                 "", "mb2_ic3oc4_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1",
                 "attr-post-ops:sum+binary_mul:f32:2")),
      4 * (2 * 3 * 25 + 3 * 4 * 9 + 2 * (2 * 4 * 25) + 4));
  EXPECT_EQ(bytes(Made("eltwise", "forward_training", "data:f32::blocked:ab::f0",
                       "alg:eltwise_relu alpha:0 beta:0", "4x5")),
            4 * 2 * 20);
  EXPECT_EQ(
      bytes(Made("eltwise", "backward_data", "data:f32::blocked:ab::f0 diff:f32::blocked:ab::f0",
                 "alg:eltwise_relu alpha:0 beta:0", "4x5")),
      4 * 3 * 20);
  // data twice, mean, variance, scale and shift of 3 channels
  EXPECT_EQ(bytes(Made("batch_normalization", "forward_training", "data:f32::blocked:abcd::f0",
                       "flags:CH", "mb2ic3_ih5_iw5")),
            4 * (2 * 2 * 3 * 25 + 4 * 3));
  EXPECT_EQ(bytes(Made("concat", "undef",
                       "src:f32::blocked:ab::f0 src:f32::blocked:ab::f0 dst:f32::blocked:ab::f0",
                       "axis:1", "8x32:8x16 8x48")),
            4 * 2 * 8 * 48);
}

TEST(PrimitiveWork, UnknownIsAbsentWithAReason) {
  const auto reason = [](const Primitive& primitive) {
    const auto work = WorkOf(primitive);
    EXPECT_FALSE(work.matrix);
    return work.reason;
  };
  EXPECT_EQ(reason(Made("zero_pad", "undef", kInOut, "", "2x3")), "no closed form of this kind");
  EXPECT_EQ(reason(Made("lrn", "forward_training", kInOut, "", "mb2ic3")),
            "the problem has no local size");
  EXPECT_EQ(reason(Made("group_normalization", "forward_training", kInOut, "", "mb2ic3")),
            "the problem lacks g or ic");
  EXPECT_EQ(reason(Made("matmul", "undef", kInOut, "", "*x16:16x8")),
            "sizes are known only at run time");
  EXPECT_EQ(reason(Made("convolution", "forward", kInOut, "", "nonsense")),
            "the problem has another form than letters with sizes");
  EXPECT_EQ(reason(Made("reduction", "undef", kInOut, "alg:reduction_sum", "2x3:20x3")),
            "the problem's sizes cannot be");
  const auto unsized =
      WorkOf(Made("reorder", "undef", kInOut, "", "8x64", "attr-post-ops:binary_add:f32"));
  EXPECT_EQ(*unsized.elementwise, 8 * 64);
  EXPECT_FALSE(unsized.bytes);
  EXPECT_EQ(unsized.reason, "the operand of a post-op has no printed size");
}

}  // namespace
}  // namespace dlroof
