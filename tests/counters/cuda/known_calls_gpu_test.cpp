// The known calls without CUPTI, for another profiler to count (dlroof profile --gpu,
// compute-sanitizer).
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <iostream>

#include "counters/cuda/cupti_source.h"
#include "counters/cuda/device.h"
#include "tests/fakes/no_gpu.h"

namespace dlroof {
namespace {

TEST(KnownCallsOnGpu, RunOnceAndSayWhatTheyDo) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    GTEST_SKIP() << NeverRan("no GPU");
  const auto gpu = ReadGpuIdentity(0);
  int calls = 0;
  for (const auto& chip : BuiltInCuptiTable().chips) {
    if (chip.compute_capability != 10 * gpu.major + gpu.minor || calls > 0) continue;
    for (const auto& call : CuptiKnownCalls(chip)) {
      call.run();
      ++calls;
      std::cout << call.name << ':';
      for (const auto& [pipe, flops] : call.work.flops) std::cout << ' ' << pipe << ' ' << flops;
      for (const auto& [level, bytes] : call.work.bytes)
        std::cout << ' ' << Key(level) << ' ' << bytes;
      std::cout << '\n';
    }
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_GT(calls, 0) << "no chip of this capability is in the table of counters";
}

}  // namespace
}  // namespace dlroof
