#include <fmt/format.h>
#include <gmock/gmock.h>

#include "bench/workload/workload.h"
#include "tests/fakes/outcome.h"

namespace dlroof::rows {
namespace {

struct Names {
  const char* op;
  std::vector<const char*> problems, options;
};

TEST(RowsOnednn, AgreeWithTheReferenceAsDoTheirGradients) {
  for (const auto& [op, problems, options] :
       {Names{"Softmax",
              {"m1n1", "m7n1", "m1n100", "m16n16", "m33n17", "m96n128", "m5n1000", "m1n50257"},
              {"", "/training"}},
        {"LayerNorm",
         {"m1n1", "m7n2", "m1n100", "m16n16", "m33n17", "m96n768", "m5n1000"},
         {"", "/training", "/scale", "/shift", "/training/scale/shift"}},
        {"SwiGlu", {"m1n1", "m7n1", "m33n17", "m512n3072"}, {""}},
        {"Eltwise",
         {"m1n1", "m7n1", "m1n100", "m33n17", "m512n3072"},
         {"", "/training", "/gelu_erf", "/training/gelu_tanh", "/logistic", "/tanh"}}})
    for (const std::string type : {"f32", "bf16"})
      for (const auto* problem : problems)
        for (const auto* option : options)
          fakes::ExpectAgrees(fmt::format("{}/cpu/onednn/fwd/{}/{}{}", op, type, problem, option),
                              type);
  for (const std::string type : {"f32", "bf16"})
    for (const auto* problem :
         {"m1n1", "m7n2", "m1n100", "m16n16", "m33n17", "m96n768", "m5n1000", "m2048n64"})
      for (const auto* option : {"", "/scale", "/shift", "/scale/shift"})
        fakes::ExpectAgrees(fmt::format("LayerNorm/cpu/onednn/bwd/{}/{}{}", type, problem, option),
                            type);
}

TEST(RowsOnednn, SaysWhatTheLibraryChoseAndWhatCannotFit) {
  const auto softmax = fakes::Prepared("Softmax/cpu/onednn/fwd/f32/m32n48");
  EXPECT_FALSE(softmax.algorithm.empty());
  EXPECT_FALSE(softmax.isa.empty());
  EXPECT_EQ(fakes::BytesOf(softmax), (fakes::ListedBytes{0, 2 * 4 * 32 * 48}));
  const auto norm = fakes::Prepared("LayerNorm/cpu/onednn/fwd/f32/m32n48/training/scale/shift");
  EXPECT_EQ(fakes::BytesOf(norm), (fakes::ListedBytes{4 * 2 * 48, 4 * (2 * 32 * 48 + 2 * 32)}));
  EXPECT_THAT(fakes::Outcome("Softmax/cpu/onednn/fwd/f32/m2147483647n4096"),
              testing::HasSubstr("GB of memory"));
}

}  // namespace
}  // namespace dlroof::rows
