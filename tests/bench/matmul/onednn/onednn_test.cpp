#include <fmt/format.h>
#include <gmock/gmock.h>

#include "bench/onednn/call.h"
#include "bench/workload/workload.h"
#include "tests/fakes/outcome.h"

namespace dlroof::matmul {
namespace {

using testing::HasSubstr;

constexpr std::string_view kProblems[] = {
    "m16n16k16",     "m33n17k65",      "m33n17k65_tA",   "m33n17k65_tB",    "m33n17k65_tAtB",
    "b3m20n30k40",   "b3m20n30k40_tA", "b3m20n30k40_tB", "b2m7n5k3_tAtB",   "m1n100k300",
    "m100n1k300_tB", "m1n1k1",         "m64n96k256",     "b12m32n32k64_tB",
};

TEST(MatmulOnednn, AgreesWithTheReference) {
  for (const auto* direction : {"fwd", "bwd_data", "bwd_weights"})
    for (const auto* type : {"f32", "bf16", "f16", "int8"})
      for (const auto problem : kProblems) {
        const auto name = fmt::format("Matmul/cpu/onednn/{}/{}/{}", direction, type, problem);
        fakes::ExpectAgrees(name, type);
        if (problem.find_first_of("b_") == std::string_view::npos)
          fakes::ExpectAgrees(name + "/ip", type);
      }
}

TEST(MatmulOnednn, VariantsLayoutsAndTrainingAgreeWithTheReference) {
  const std::string variants =
      "fwd/f32/@/bias fwd/f32/@/relu fwd/f32/@/bias/relu fwd/f32/@/sum fwd/f32/@/gelu_tanh "
      "fwd/f32/@/bias/sum/gelu_erf fwd/bf16/@/sum/relu fwd/bf16/@/bias/gelu_erf "
      "fwd/bf16bf16f32/@/sum/gelu_tanh fwd/u8s8f32/@/bias/sum fwd/f32/@/fpmath-bf16 "
      "bwd_data/f32/@/fpmath-any bwd_weights/f32/@/fpmath-tf32 fwd/int8/@/scales fwd/int8/@/bias "
      "fwd/int8/@/bias/relu/scales fwd/u8s8s8/@/bias/relu fwd/u8s8f32/@/scales fwd/u8s8s32/@ "
      "fwd/s8s8s8/@ fwd/s8s8u8/@/bias fwd/s8s8f32/@/relu/scales fwd/s8s8s32/@ fwd/bf16/@/bias/relu "
      "fwd/bf16bf16f32/@ bwd_data/f32bf16bf16/@ bwd_weights/bf16f32bf16/@";
  const int ran =
      fakes::ExpectVariantsAgree("Matmul/cpu/onednn/", variants,
                                 {"m16n32k64", "m33n17k65", "m33n17k65_tAtB", "b3m20n30k40",
                                  "b3m20n30k40_tB", "m16n32k64/ip", "m33n17k65/ip"});
  EXPECT_GE(ran, 80);
  for (const std::string name :
       {"fwd/f32/m33n17k65/any", "fwd/f32/b3m20n30k40/bias/relu/any",
        "fwd/f32/m33n17k65/bias/sum/gelu_erf/any", "fwd/int8/m33n17k65/any",
        "fwd/f32/m33n17k65/ip/training", "fwd/f32/m33n17k65/ip/training/bias/relu",
        "bwd_weights/f32/m33n17k65/ip/bias"})
    EXPECT_THAT(fakes::Outcome("Matmul/cpu/onednn/" + name), testing::StartsWith("ok ")) << name;
}

// 3.2, with which this is usually tested, has no such products; those with 4 bits came after 8.
TEST(MatmulOnednn, CompressedWeightsAgreeWithTheReferenceOrSayWhichVersionHasThem) {
  const int minor = dnnl::version()->minor;
  for (const std::string type : {"f32s8f32", "f32u8f32", "bf16s8f32", "f32s4f32", "f16u4f16"})
    for (const std::string of :
         {"m1n34k65/scales", "m1n64k128/scales-g32", "m3n32k64_tB/bias/scales/zero-points",
          "m16n96k256/relu/scales-g128/zero-points", "m1n64k128/scales-g64/any", "b2m4n8k64/scales",
          "m64n48k128_tA/scales-g32/zero-points"}) {
      const auto name = "Matmul/cpu/onednn/fwd/" + type + "/" + of;
      const int needed = type.find('4') == std::string::npos ? 4 : 5;
      const auto outcome = fakes::Outcome(name);
      if (minor < needed) {
        EXPECT_EQ(outcome, fmt::format("unsupported: weights of {} bits need oneDNN 3.{} or newer; "
                                       "this is 3.{}",
                                       needed == 4 ? 8 : 4, needed, minor));
      } else if (!outcome.starts_with("unsupported: ")) {
        EXPECT_THAT(outcome, testing::StartsWith("ok ")) << name;
      }
    }
}

TEST(MatmulOnednn, SaysWhereItsMatricesLieAndWhatCannotBe) {
  for (const std::string direction : {"fwd", "bwd_data", "bwd_weights"}) {
    const auto call = fakes::Prepared("Matmul/cpu/onednn/" + direction + "/f32/m32n48k64_tA");
    EXPECT_EQ(fakes::BytesOf(call), (fakes::ListedBytes{4 * 48 * 64, 4 * (32 * 64 + 32 * 48)}))
        << direction;
  }
  EXPECT_THAT(fakes::Outcome("Matmul/cpu/onednn/bwd_data/int8/m1n1k1"),
              HasSubstr("no backward pass"));
  EXPECT_THAT(fakes::Outcome("Matmul/cpu/onednn/fwd/f32/m2147483647n64k4096"),
              HasSubstr("GB of memory"));
}

}  // namespace
}  // namespace dlroof::matmul
