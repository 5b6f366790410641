#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "bench/cudnn/support.h"
#include "bench/workload/workload.h"
#include "ceilings/cuda_kernels/bench_cuda.h"
#include "counters/base/numbers.h"
#include "counters/cuda/cupti_calls.h"
#include "counters/cuda/device.h"
#include "counters/gpu/session.h"
#include "tests/fakes/no_gpu.h"
#include "tests/fakes/outcome.h"

namespace dlroof::cudnn {
namespace {

// What models are made of, by cuDNN on a GPU: every result is compared with sums in double.

class ModelsOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const auto status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0)
      GTEST_SKIP() << fakes::NeedsGpu(std::string("no GPU here: ") + cudaGetErrorString(status));
    if (cuda::ComputeCapability() < 80)
      GTEST_SKIP() << fakes::NeedsGpu("cuDNN's attention needs a GPU of 8.0");
  }

  static void ExpectRight(const std::string& name) {
    EXPECT_THAT(fakes::Outcome(name), testing::StartsWith("ok ")) << name;
  }
};

TEST_F(ModelsOnGpu, AttentionAgreesWithTheLoops) {
  std::vector<std::string> names = {"fwd/f16/b2h8q1k1000d128_kv2/page16",
                                    "fwd/bf16/b2h8q64k1000d128_kv2br/page128",
                                    "fwd/f16/b2h8q1k1000d128_l3:1000/training/page64"};
  if (cuda::ComputeCapability() >= 90)
    names.insert(names.end(), {"fwd/fp8/b2h8q512k512d128_kv2", "fwd/fp8/b2h8q512k512d128_tl",
                               "fwd/fp8/b2h8q512k512d128_l100:512"});
  for (const std::string mask :
       {"b2h8q512k512d128", "b2h8q512k512d128_kv2tl", "b2h8q512k512d128_kv1w128tl",
        "b2h8q128k512d128_br", "b2h8q128k512d64_kv2w100br", "b2h8q500k500d128_l100:500",
        "b2h8q100k300d64_l101:300br", "b2h8q1k1000d128_kv2", "b2h8q1k1000d128_kv2l10:1000"})
    for (const auto* way : {"fwd/f16/", "fwd/bf16/", "bwd/f16/", "bwd/bf16/"})
      names.push_back(way + mask);
  for (const auto& name : names) ExpectRight("Attention/gpu/cudnn/" + name);
}

TEST_F(ModelsOnGpu, ConvolutionsOfVolumesAgreeWithTheLoops) {
  for (const auto* problem : {"n1c64d5h16w16k96t3r3s3_p2:0x1:1x1:1", "n2c64d8h14w14k128t3r3s3_s2p1",
                              "n1c64d6h9w11k64t3r1s1_p1x0x0g2"})
    for (const auto* way :
         {"fwd/f16/{}", "fwd/bf16/{}/bias", "bwd_data/bf16/{}", "bwd_weights/f16/{}"})
      ExpectRight("Conv3D/gpu/cudnn/" + fmt::format(fmt::runtime(way), problem));
}

TEST_F(ModelsOnGpu, GroupedProductsAgreeWithTheLoops) {
  for (const std::string problem :
       {"g8m64n128k256", "g8m20n64k32_zipf7", "g128m16n768k2048", "g16m256n48k64_zipf1"})
    for (const std::string type : {"f32", "tf32", "f16", "bf16"})
      ExpectRight("GroupedMatmul/gpu/cublaslt/fwd/" + type + "/" + problem);
  for (const std::string problem : {"g8m64n128k256", "g128m16n768k2048", "g16m256n48k64_zipf1"})
    for (const std::string type : {"f16", "bf16"})
      ExpectRight("GroupedMatmul/gpu/cudnn/fwd/" + type + "/" + problem);
}

TEST_F(ModelsOnGpu, ScaledProductsAgreeWithTheLoops) {
  const int capability = cuda::ComputeCapability();
  if (capability < 89) GTEST_SKIP() << fakes::NeedsGpu("fp8 products need a GPU of 8.9");
  for (const std::string problem : {"m64n256k512_tB", "m1000n1024k1040_tB", "m4096n2112k7168_tB"})
    for (const auto& [type, scales, first, last] : {std::tuple("e4m3e4m3bf16", "", 89, 999),
                                                    {"e4m3e4m3bf16", "/scales-tensor", 89, 999},
                                                    {"e4m3e4m3bf16", "/scales-rows", 90, 90},
                                                    {"e4m3e4m3bf16", "/scales-blocks", 90, 90},
                                                    {"e4m3e4m3bf16", "/scales-mx", 100, 999},
                                                    {"e2m1e2m1bf16", "/scales-nv", 100, 999}}) {
      const auto name = fmt::format("Matmul/gpu/cublaslt/fwd/{}/{}{}", type, problem, scales);
      const bool exists = capability >= first && capability <= last;
      EXPECT_THAT(fakes::Outcome(name), testing::StartsWith(exists ? "ok " : "unsupported: "))
          << name;
    }
}

TEST_F(ModelsOnGpu, RowsAgreeWithTheLoops) {
  for (const std::string type : {"f32", "f16"})
    for (const std::string rows : {"m64n768", "m1000n1000", "m2048n4096"})
      for (const auto& [op, options] : {std::pair("Softmax", ""),
                                        {"LayerNorm", "/training/scale/shift"},
                                        {"RmsNorm", "/scale"},
                                        {"SwiGlu", ""},
                                        {"Eltwise", "/gelu_tanh"},
                                        {"Eltwise", "/gelu_erf"}})
        ExpectRight(fmt::format("{}/gpu/cudnn/fwd/{}/{}{}", op, type, rows, options));
  for (const std::string type : {"f32", "bf16"})
    for (const auto* call : {"LayerNorm/gpu/cudnn/bwd/{}/m1000n1024/scale/shift",
                             "RmsNorm/gpu/cudnn/bwd/{}/m1000n1024/scale"})
      ExpectRight(fmt::format(fmt::runtime(call), type));
  ExpectRight("RmsNorm/gpu/cudnn/fwd/bf16/m2048n4096/residual/scale");
}

// Compares the times of events and graphs on a GPU with CUPTI's times of the kernels themselves.

class CuptiTimesOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
      GTEST_SKIP() << fakes::NeedsGpu("no GPU");
    api_.OpenDevice(0);
    try {
      Traced([] {});
    } catch (const std::exception& error) {
      GTEST_SKIP() << fakes::NeedsGpu(std::string("no trace: ") + error.what());
    }
  }

  std::vector<gpu::TracedKernel> Traced(const std::function<void()>& run) {
    return gpu::TraceKernels(api_, {run, {}});
  }

 private:
  cuda::CuptiCalls api_;
};

workload::PreparedCall Convolution() {
  return workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f16/n32c256h56w56k256r3s3_p1")
      .prepare({});  // 0.2 ms
}

// Their difference, a gap of a microsecond between kernels, is half a percent of this call.
TEST_F(CuptiTimesOnGpu, EventsGraphAndKernelsAgreeOnAConvolution) {
  constexpr int kCalls = 20, kRounds = 9;
  const auto call = Convolution();
  const auto clock = cuda::OpenCudaClock(0);
  const auto replay = clock->Graph(call.gpu->enqueue, kCalls);
  const cuda::CudaStream stream;
  const auto run = [&] {
    for (int i = 0; i < kCalls; ++i) call.gpu->enqueue(stream.get());
    stream.Wait();
  };
  std::vector<double> events, graph, kernels;
  for (int round = -1; round < kRounds; ++round) {  // the first brings the clock up
    const double batch = clock->Batch(call.gpu->enqueue, kCalls, {}).seconds / kCalls;
    const double replayed = replay().seconds / kCalls;
    double traced = 0;
    for (const auto& kernel : Traced(run)) traced += kernel.seconds / kCalls;
    if (round < 0) continue;
    events.push_back(batch);
    graph.push_back(replayed);
    kernels.push_back(traced);
  }
  const double by_kernels = Median(kernels);
  std::cout << call.algorithm << ": events " << Median(events) << " s, graph " << Median(graph)
            << " s, kernels " << by_kernels << " s\n";
  EXPECT_NEAR(Median(events) / by_kernels, 1, 0.03);
  EXPECT_NEAR(Median(graph) / by_kernels, 1, 0.03);
}

// Both are measured under the trace, which makes launches more expensive. The time from the start
// of an empty kernel to that of the next one is the host's cost of a launch.
TEST_F(CuptiTimesOnGpu, TheLaunchOverheadIsTheTimeBetweenKernels) {
  constexpr int kLaunches = 2000;
  const auto bench = cuda_kernels::OpenCudaBench(0);
  const double plain = bench->Overhead(gpu_ceilings::GpuOverhead::kLaunch, kLaunches) / kLaunches;
  double seconds = 0;
  const auto kernels = Traced([&] {
    seconds = bench->Overhead(gpu_ceilings::GpuOverhead::kLaunch, kLaunches) / kLaunches;
  });
  ASSERT_GE(kernels.size(), static_cast<size_t>(kLaunches));
  const auto& first = kernels[kernels.size() - kLaunches];
  const double between = (*kernels.back().start_seconds - *first.start_seconds) / (kLaunches - 1);
  std::cout << "a launch costs " << seconds << " s, kernels start every " << between
            << " s; without the trace " << plain << " s\n";
  EXPECT_NEAR(seconds / between, 1, 0.10);
}

}  // namespace
}  // namespace dlroof::cudnn
