// Compares the times of events and graphs on a GPU with CUPTI's times of the kernels themselves.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <iostream>

#include "bench/workload/workload.h"
#include "ceilings/cuda_kernels/bench_cuda.h"
#include "counters/base/numbers.h"
#include "counters/cuda/cupti_calls.h"
#include "counters/cuda/device.h"
#include "counters/gpu/session.h"
#include "tests/fakes/no_gpu.h"

namespace dlroof::cudnn {
namespace {

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
