// cuDNN without a GPU: it takes the graphs of normalizations and functions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bench/rows/cudnn/backend.h"
#include "tests/bench/cudnn/described_graphs.h"

namespace dlroof::rows {
namespace {

std::string Planned(const RowsCase& request, bool compile = false) {
  return fakes::Planned([&](cudnn::GraphCall& call) { Describe(request, call); }, 90, compile);
}

TEST(CudnnRowsDeathTest, EveryCallIsPlannedForHopper) {
  if (std::string_view(DLROOF_CUDA_STUB).empty()) GTEST_SKIP() << "no stub of libcuda here";
  EXPECT_EQ(
      fakes::WithStub([] {
        std::string text;
        const auto plan = [&](const RowsCase& request, bool compile = false) {
          text += fmt::format("{} ", Planned(request, compile));
        };
        for (const std::string type : {"f32", "f16", "bf16"})
          for (const bool training : {false, true}) {
            plan({&kLayerNorm, {2048, 4096}, type, training, true, true});
            plan({&kRmsNorm, {2048, 1000}, type, training, true});
          }
        for (const auto function : workload::kEltwises)
          plan({&kEltwise, {64, 768}, "bf16", false, false, false, function});
        for (const std::string type : {"f32", "f16", "bf16"}) {
          plan(
              {&kLayerNorm, {2048, 4096}, type, false, true, true, workload::Eltwise::kRelu, true});
          plan({&kRmsNorm, {2048, 4096}, type, false, true, false, workload::Eltwise::kRelu, true});
        }
        for (const std::string type : {"f16", "bf16"})
          plan({&kRmsNorm,
                {2048, 4096},
                type,
                false,
                true,
                false,
                workload::Eltwise::kRelu,
                false,
                true});
        plan({&kSwiGlu, {2048, 14336}, "bf16"});
        plan({&kSwiGlu, {1, 14336}, "f16"});
        plan({&kRmsNorm, {64, 4096}, "bf16", false, true}, true);
        return text;
      }),
      "proposed proposed proposed proposed proposed proposed proposed proposed proposed "
      "proposed proposed proposed proposed proposed proposed proposed proposed "
      "proposed proposed proposed proposed proposed proposed proposed proposed proposed "
      "proposed compiled ");
}

TEST(CudnnRows, NormalizationsWithoutAScaleAreRefused) {
  EXPECT_EQ(Planned({&kRmsNorm, {64, 768}, "f32"}),
            "cuDNN's normalizations have a scale, and LayerNorm a shift");
  EXPECT_EQ(Planned({&kLayerNorm, {64, 768}, "f32", false, true}),
            "cuDNN's normalizations have a scale, and LayerNorm a shift");
}

}  // namespace
}  // namespace dlroof::rows
