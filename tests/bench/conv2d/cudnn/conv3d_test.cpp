// cuDNN without a GPU: it takes the graphs of convolutions of volumes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/conv2d/cudnn/plans.h"
#include "tests/bench/cudnn/described_graphs.h"

namespace dlroof::conv2d {
namespace {

TEST(CudnnConv3dDeathTest, EveryDirectionIsPlannedForHopper) {
  if (std::string_view(DLROOF_CUDA_STUB).empty()) GTEST_SKIP() << "no stub of libcuda here";
  EXPECT_EQ(fakes::WithStub([] {
              std::string text;
              for (const auto* problem :
                   {"n1c384d3h32w32k384t3r3s3_p0x1x1", "n1c96d5h16w16k96t3r3s3_p2:0x1:1x1:1",
                    "n2c64d8h14w14k128t3r3s3_s2p1", "n1c64d8h14w14k64t3r1s1_p1x0x0g2"})
                for (const std::string way :
                     {"fwd/f16/@", "fwd/bf16/@/bias", "bwd_data/bf16/@", "bwd_weights/f16/@"})
                  text +=
                      fakes::Planned(
                          [&](cudnn::GraphCall& call) {
                            auto name = "Conv3D/gpu/cudnn/" + way;
                            name.replace(name.find('@'), 1, problem);
                            Describe(ReadCudnnConv3dCase(workload::ParseBenchmarkName(name)), call);
                          },
                          90, false) +
                      ' ';
              return text;
            }),
            "proposed proposed proposed proposed proposed proposed proposed proposed "
            "proposed proposed proposed proposed proposed proposed proposed proposed ");
}

}  // namespace
}  // namespace dlroof::conv2d
