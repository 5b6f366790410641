// cuDNN without a GPU: it takes the graph of a mixture's experts.
#include <gtest/gtest.h>

#include "bench/matmul/cudnn/backend.h"
#include "tests/bench/cudnn/described_graphs.h"

namespace dlroof::matmul {
namespace {

std::string Planned(const std::string& rest, bool compile = false) {
  const auto request =
      ReadCudnnGroupedCase(workload::ParseBenchmarkName("GroupedMatmul/gpu/cudnn/fwd/" + rest));
  return fakes::Planned([&](cudnn::GraphCall& call) { Describe(request, call); }, 90, compile);
}

TEST(CudnnGroupedDeathTest, EveryRoutingIsPlannedForHopper) {
  if (std::string_view(DLROOF_CUDA_STUB).empty()) GTEST_SKIP() << "no stub of libcuda here";
  EXPECT_EQ(fakes::WithStub([] {
              std::string text;
              for (const std::string problem :
                   {"g128m16384n768k2048", "g128m16384n2048k768_zipf1", "g128m8n768k2048"})
                for (const std::string type : {"f16/", "bf16/"})
                  text += Planned(type + problem) + " ";
              return text + Planned("bf16/g8m512n256k128", true);
            }),
            "proposed proposed proposed proposed proposed proposed compiled");
}

}  // namespace
}  // namespace dlroof::matmul
