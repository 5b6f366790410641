// CUPTI's counters on the kernels of the ceilings, whose work is known, on the GPU that is here.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <iostream>
#include <optional>

#include "ceilings/cuda/bench_cuda.h"
#include "counters/base/error.h"
#include "counters/cuda/cupti_source.h"
#include "counters/cupti/self_test.h"
#include "tests/fakes/no_gpu.h"

namespace dlroof {
namespace {

// "bf16.matrix.wgmma" -> "bf16.matrix"; "dram.load.v16" -> "dram".
std::string QuantityOf(const GpuRow& row) {
  if (IsMemory(row)) return std::string(Key(row.level));
  return row.key.substr(0, row.key.rfind('.'));
}

// As many that what L2 keeps from before, and what is laid around the kernel, matter little.
std::int64_t IterationsOf(const GpuRow& row) {
  if (row.unit == GpuUnit::kGemm) return 2;
  return IsMemory(row) && row.level == Level::kDram ? 2 : 64;
}

class CountedRows {
 public:
  explicit CountedRows(const CounterSource& source)
      : source_(source), bench_(OpenCudaBench(0)), gpu_(bench_->Describe()) {}

  std::vector<GpuRow> Rows() const {
    return GpuRows(10 * gpu_.identity.major + gpu_.identity.minor);
  }

  // [1] what was counted over what the row does; absent, having said why, where nothing was.
  std::optional<double> CountedOverKnown(const GpuRow& row) {
    const GpuSize size = {gpu_.identity.sms, static_cast<std::int64_t>(gpu_.identity.l2_bytes),
                          static_cast<std::int64_t>(gpu_.free_bytes)};
    const auto shape = GpuShapes(row, size, 1e13).front();
    try {
      bench_->Prepare(row, shape);
    } catch (const Unsupported& why) {
      std::cout << row.key << ": " << why.what() << '\n';
      return std::nullopt;
    }
    const auto iterations = IterationsOf(row);
    CountRequest request;
    request.name = row.key;
    request.pipes = {IsMemory(row) ? "fp32.vector" : QuantityOf(row)};
    request.run = [&] { bench_->Run(iterations); };
    const auto counted = source_.count(request);
    const auto known = WorkPerIteration(row, shape) * static_cast<double>(iterations);
    if (const auto found = Counted(row, counted.work)) return *found / known;
    std::cout << row.key << ": not counted; " << counted.how << '\n';
    for (const auto& doubt : counted.doubts) std::cout << "  " << doubt << '\n';
    return std::nullopt;
  }

 private:
  static std::optional<double> Counted(const GpuRow& row, const Work& work) {
    if (IsMemory(row)) {
      const auto found = work.bytes.find(row.level);
      return found == work.bytes.end() ? std::nullopt : std::optional(found->second);
    }
    const auto found = work.flops.find(QuantityOf(row));
    return found == work.flops.end() ? std::nullopt : std::optional(found->second);
  }

  const CounterSource& source_;
  std::unique_ptr<GpuBench> bench_;
  GpuDescription gpu_;
};

// FLOPs within 1 %, DRAM within 5 %, L2 and L1 within 10 %, of every kernel: mma, wgmma, cublasLt.
TEST(CuptiRowsOnGpu, CountsOfTheCeilingsKernelsAreTheirWork) {
  const auto source = CuptiSources(0).front();
  if (const auto why = source.unavailable(); !why.empty()) GTEST_SKIP() << NeverRan(why);
  CountedRows rows(source);
  int compared = 0;
  for (const auto& row : rows.Rows()) {
    const auto ratio = rows.CountedOverKnown(row);
    if (!ratio) continue;
    ++compared;
    std::cout << row.key << ": counted " << *ratio << " of what it does\n";
    EXPECT_NEAR(*ratio, 1, CounterTolerance(QuantityOf(row))) << row.key;
  }
  EXPECT_GT(compared, 8);
}

}  // namespace
}  // namespace dlroof
