// The cost that counting leaves in a process. This test needs a process of its own, because the
// first timing must precede CUPTI's first use (ci/gpu_check.sh ensures this).
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>

#include "counters/cpu/clocks.h"
#include "counters/cuda/cupti_known_kernels.h"
#include "counters/cuda/cupti_source.h"
#include "counters/cuda/device.h"
#include "tests/fakes/no_gpu.h"

namespace dlroof::cuda {
namespace {

constexpr int kManyBlocks = 4096, kManyRounds = 4096;  // milliseconds
constexpr int kLaunches = 500;                         // of the smallest kernel, microseconds each

class Kernels {
 public:
  Kernels() : elements_(size_t{8} * kKnownThreads * kManyBlocks) {
    CheckCuda(cudaEventCreate(&begin_), "an event");
    CheckCuda(cudaEventCreate(&end_), "an event");
  }
  ~Kernels() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  void Long() const { Start(kManyBlocks, kManyRounds); }
  void Tiny() const {
    for (int i = 0; i < kLaunches; ++i) Start(1, 16);
  }

  // [s] the shortest of many runs, on a GPU that was busy until it reached its full clock.
  template <class Run>
  double Shortest(const Run& run) const {
    constexpr double kHeatSeconds = 0.5;
    constexpr int kLooks = 200;
    const double start = cpu::WallSeconds();
    while (cpu::WallSeconds() - start < kHeatSeconds) Look(run);
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kLooks; ++i) best = std::min(best, Look(run));
    return best;
  }

 private:
  void Start(int blocks, int rounds) const {
    CheckCuda(LaunchKnownFma(KnownVector::kFp32, elements_.get(), blocks, rounds), "multiply-adds");
  }
  template <class Run>
  double Look(const Run& run) const {
    CheckCuda(cudaEventRecord(begin_), "begin");
    run();
    CheckCuda(cudaEventRecord(end_), "end");
    CheckCuda(cudaEventSynchronize(end_), "end");
    float milliseconds = 0;
    CheckCuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "time");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  DeviceBuffer elements_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// A long kernel changes by less than 1 %. Launches of tiny kernels cost more in a process that has
// used CUPTI; the test prints how much, and a run counts only after all timing.
TEST(CuptiCostOnGpu, NoKernelIsSlowerAfterACount) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    GTEST_SKIP() << fakes::NeedsGpu("no GPU");
  const Kernels kernels;
  const auto run_long = [&] { kernels.Long(); };
  const auto run_tiny = [&] { kernels.Tiny(); };
  const double long_before = kernels.Shortest(run_long), tiny_before = kernels.Shortest(run_tiny);
  const auto source = CuptiSources(0).front();
  if (const auto reason = source.unavailable()) GTEST_SKIP() << fakes::NeedsGpu(reason->text);
  CountRequest request{.name = "multiply-adds", .pipes = {"fp32.vector"}};
  request.run = [&] {
    kernels.Long();
    CheckCuda(cudaDeviceSynchronize(), "multiply-adds");
  };
  source.count(request);
  const double long_after = kernels.Shortest(run_long), tiny_after = kernels.Shortest(run_tiny);
  std::cout << "before and after, a long kernel: " << long_before << " s, " << long_after << " s; "
            << kLaunches << " tiny ones: " << tiny_before << " s, " << tiny_after << " s\n";
  EXPECT_NEAR(long_after / long_before, 1, 0.01);
}

}  // namespace
}  // namespace dlroof::cuda
