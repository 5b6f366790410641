#include "reporters/logs/primitive.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/primitives/problems.h"

namespace dlroof::logs {
namespace {

using fakes::Made, fakes::kFiltered, fakes::kInOut;

// The tensors of a product.
std::string Filtered(bool bias) {
  return fmt::format(fmt::runtime(kFiltered), bias ? "f32" : "undef");
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ReadPrimitive, BothFormsOfADescriptorSayTheSame) {
  for (const char* text : {"src_f32:a:blocked:aBcd8b:f0", "src:f32:a:blocked:aBcd8b::f0"}) {
    const auto tensors = ReadPrimitive({.tensors = text}).tensors;
    ASSERT_EQ(tensors.size(), 1) << text;
    EXPECT_EQ(tensors[0].role, "src");
    EXPECT_EQ(tensors[0].type, "f32");
    EXPECT_TRUE(tensors[0].Chosen());
    EXPECT_EQ(tensors[0].tag, "aBcd8b");
  }
}

TEST(PostOpsOf, BothSeparatorsAndExponents) {
  EXPECT_THAT(PostOpsOf("attr-scratchpad:user attr-post-ops:sum+eltwise_relu:1e+02:0+sum"),
              ElementsAre("sum", "eltwise_relu:1e+02:0", "sum"));
  EXPECT_THAT(PostOpsOf("attr-post-ops:'sum;eltwise_tanh;'"), ElementsAre("sum", "eltwise_tanh"));
  EXPECT_THAT(PostOpsOf("attr-scratchpad:user"), IsEmpty());
}

// Worked by hand: 4 byte an element.
TEST(PrimitiveWork, BytesAreEachTensorOnce) {
  const auto bytes = [](const Primitive& primitive) { return WorkOf(primitive).bytes.value(); };
  EXPECT_EQ(bytes(Made("reorder", "undef", "src:f32::blocked:ab::f0 dst:bf16::blocked:ba::f0", "",
                       "8x64")),
            8 * 64 * (4 + 2));
  EXPECT_EQ(bytes(Made("convolution", "forward_training", Filtered(true), "",
                       "mb2_ic3oc4_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1")),
            4 * (2 * 3 * 25 + 3 * 4 * 9 + 4 + 2 * 4 * 25));
  // The sum reads the destination; the binary reads an operand with one number per channel.
  EXPECT_EQ(bytes(Made("convolution", "forward_inference", Filtered(false), "",
                       "mb2_ic3oc4_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1",
                       "attr-post-ops:sum+binary_mul:f32:2")),
            4 * (2 * 3 * 25 + 3 * 4 * 9 + 2 * (2 * 4 * 25) + 4));
  EXPECT_EQ(bytes(Made("eltwise", "forward_training", "data:f32::blocked:ab::f0",
                       "alg:eltwise_relu alpha:0 beta:0", "4x5")),
            4 * 2 * 20);
  EXPECT_EQ(
      bytes(Made("eltwise", "backward_data", "data:f32::blocked:ab::f0 diff:f32::blocked:ab::f0",
                 "alg:eltwise_relu alpha:0 beta:0", "4x5")),
      4 * 3 * 20);
  // The data twice; mean, variance, scale and shift of 3 channels.
  EXPECT_EQ(bytes(Made("batch_normalization", "forward_training", "data:f32::blocked:abcd::f0",
                       "flags:CH", "mb2ic3_ih5_iw5")),
            4 * (2 * 2 * 3 * 25 + 4 * 3));
  EXPECT_EQ(bytes(Made("concat", "undef",
                       "src:f32::blocked:ab::f0 src:f32::blocked:ab::f0 dst:f32::blocked:ab::f0",
                       "axis:1", "8x32:8x16 8x48")),
            4 * 2 * 8 * 48);
}

// A word in a line that no version of oneDNN prints may change the work.
TEST(PrimitiveWork, AnUnknownWordMakesItUnknown) {
  const std::string tensors = "src:f32:a:blocked:ab::f0 wei:s8::blocked:BA16a64b4a::f8:zpm2 ";
  const auto work = [](const std::string& all, const std::string& attributes = "",
                       const std::string& auxiliary = "", const std::string& prop = "undef") {
    return WorkOf(Made("matmul", prop, all, auxiliary, "16x256:256x192", attributes));
  };
  const std::string dst = "dst:f32:po:blocked:ab:768x1:f0";
  EXPECT_TRUE(work(tensors + dst, "attr-scratchpad:user attr-scales:wei:2:f32").bytes);
  const auto unknown = {work("src:f32::sparse:csr:f0 wei:f32::blocked:ab::f0 " + dst),
                        work("src:s8::blocked:ab::f0 wei:s8::sparse:packed:BA16a64b4a:f0 " + dst),
                        work(tensors + "dst:f32::tiled:ab::f0"),
                        work(tensors + "dst:f32:z:blocked:ab::f0"),
                        work(tensors + "dst:f32::blocked:ab::f0:half"),
                        work(tensors + "dst:f32::blocked:ab::f0_mask1"),
                        work(tensors + "bia:f32::blocked:ab::f0_mask9 " + dst),
                        work(tensors + "bia:f32::blocked:ab::f0_maskx " + dst),
                        work(tensors + "nnz:s32::blocked:a::f0 " + dst),
                        work(tensors + dst, "attr-dropout:any"),
                        work(tensors + dst, "attr-post-ops:binary_xor:f32:2"),
                        work(tensors + dst, "", "half"),
                        work(tensors + dst, "", "flags:Q"),
                        work(tensors + dst, "", "", "sideways")};
  for (const auto& one : unknown) {
    EXPECT_FALSE(one.matrix && one.bytes);
    EXPECT_TRUE(one.reason.has_value());
  }
  EXPECT_EQ(
      unknown.begin()->reason->text,
      "the format 'sparse' of a tensor may change the work in a way that the log does not tell");
}

// 4096 x 64 times 64 x 4096 floats: 1 MiB each and 64 MiB; a bias of the sizes that its mask
// selects.
TEST(PrimitiveWork, TheMaskOfABiasSelectsItsSizes) {
  const auto bytes = [](const std::string& mask) {
    return *WorkOf(Made("matmul", "undef",
                        "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 bia:f32::blocked:ab::f0" +
                            mask + " dst:f32::blocked:ab::f0",
                        "", "4096x64:64x4096"))
                .bytes;
  };
  const double others = 2 * 1048576 + 67108864;
  EXPECT_EQ(bytes("_mask3"), others + 67108864);
  EXPECT_EQ(bytes("_mask2"), others + 4096 * 4);
  EXPECT_EQ(bytes("_mask1"), others + 4096 * 4);
  EXPECT_EQ(bytes("_mask0"), others + 4);
}

TEST(PrimitiveWork, ProductsOfOneDnn1HaveLetters) {
  const auto product = WorkOf(Made("matmul", "undef",
                                   "src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "
                                   "bia_f32::blocked:ab:f0 dst_f32::blocked:ab:f0",
                                   "", "m50n50k50"));
  EXPECT_EQ(*product.matrix + *product.elementwise, 2 * 50 * 50 * 50 + 2500);
  EXPECT_EQ(*product.bytes, 4 * 50 * 50 * 4);
  EXPECT_EQ(*WorkOf(Made("matmul", "undef",
                         "src_f32::blocked:abc:f0 wei_f32::blocked:abc:f0 dst_f32::blocked:abc:f0",
                         "", "b6m200n200k16"))
                 .matrix,
            7.68e6);
}

TEST(PrimitiveWork, UnknownWorkHasAReason) {
  const auto reason = [](const Primitive& primitive) {
    const auto work = WorkOf(primitive);
    EXPECT_FALSE(work.matrix);
    return work.reason.value().text;
  };
  EXPECT_EQ(reason(Made("zero_pad", "undef", kInOut, "", "2x3")), "no closed form of this kind");
  EXPECT_EQ(reason(Made("group_normalization", "forward_training", kInOut, "", "mb2ic3")),
            "the problem lacks g or ic");
  EXPECT_EQ(reason(Made("matmul", "undef", kInOut, "", "*x16:16x8")),
            "sizes are known only at run time");
  EXPECT_EQ(reason(Made("convolution", "forward", kInOut, "", "nonsense")),
            "the problem has another form than letters with sizes");
  EXPECT_EQ(reason(Made("reduction", "undef", kInOut, "alg:reduction_sum", "2x3:20x3")),
            "the problem has impossible sizes");
  const auto unsized =
      WorkOf(Made("reorder", "undef", kInOut, "", "8x64", "attr-post-ops:binary_add:f32"));
  EXPECT_EQ(*unsized.elementwise, 8 * 64);
  EXPECT_FALSE(unsized.bytes);
  EXPECT_EQ(unsized.reason.value().text, "the operand of a post-op has no printed size");
}

}  // namespace
}  // namespace dlroof::logs
