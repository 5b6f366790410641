#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "ceilings/cuda_kernels/bench_cuda.h"
#include "counters/base/error.h"
#include "counters/cpu/clocks.h"
#include "counters/cuda/cupti_known_kernels.h"
#include "counters/cuda/cupti_source.h"
#include "counters/cuda/device.h"
#include "counters/gpu/counter.h"
#include "tests/fakes/no_gpu.h"

namespace dlroof::cuda {
namespace {

// CUPTI's counters on the GPU of this machine, with their own kernels and those of the ceilings,
// whose work is known; and the known calls without CUPTI, for other profilers (dlroof profile
// --gpu, compute-sanitizer). Without a GPU each test prints why it is skipped.

// FLOPs within 1 %, DRAM within 5 %, L2 and L1 within 10 %. The raw values are stored: copied
// to tests/data/cupti_<gpu>.json, tests without a GPU decode them again.
TEST(CuptiOnGpu, CountersAgreeWithKernelsOfKnownWork) {
  const auto counter = OpenCuptiCounter(0);
  if (const auto reason = counter->UnavailableReason())
    GTEST_SKIP() << fakes::NeedsGpu(reason->text);
  const auto& judged = counter->SelfTest();
  const auto path = testing::TempDir() + "cupti_values.json";
  std::ofstream(path) << gpu::ToJson(counter->Recording()).dump(1) << '\n';
  std::cout << "raw values: " << path << '\n';
  EXPECT_FALSE(judged.empty());
  for (const auto& [quantity, row] : judged) {
    std::cout << quantity << ": " << row.evidence << '\n';
    EXPECT_EQ(row.grade, gpu::CounterGrade::kValidated) << quantity << ": " << row.evidence;
  }
}

TEST(CuptiOnGpu, ACallIsCountedInThreePassesAtMostAndItsKernelIsNamed) {
  const auto source = CuptiSources(0).front();
  if (const auto reason = source.unavailable()) GTEST_SKIP() << fakes::NeedsGpu(reason->text);
  const int blocks = 1024, rounds = 512;
  const DeviceBuffer elements(size_t{8} * kKnownThreads * blocks);
  CountRequest request{.name = "multiply-adds", .pipes = {"fp32.vector"}};
  request.run = [&] {
    CheckCuda(LaunchKnownFma(KnownVector::kFp32, elements.get(), blocks, rounds), "multiply-adds");
    CheckCuda(cudaDeviceSynchronize(), "multiply-adds");
  };
  const auto counted = source.count(request);
  std::cout << counted.how << '\n';
  for (const auto& reason : counted.caveats) std::cout << "doubt: " << reason << '\n';
  EXPECT_LE(counted.passes, 3);
  EXPECT_NEAR(counted.work.flops.at("fp32.vector") / (2.0 * kKnownThreads * blocks * rounds), 1,
              0.01);
  EXPECT_EQ(counted.work.launches, 1);
  ASSERT_EQ(counted.kernels.size(), 1U);
  EXPECT_THAT(counted.kernels.front().name, testing::HasSubstr("Chain"));
  EXPECT_EQ(counted.kernels.front().launches, 1);
}

// "bf16.matrix.wgmma" -> "bf16.matrix"; "dram.load.v16" -> "dram".
std::string QuantityOf(const gpu_ceilings::GpuRow& row) {
  if (gpu_ceilings::IsMemory(row)) return std::string(Key(row.level));
  return row.key.substr(0, row.key.rfind('.'));
}

// Enough launches that data left in L2 and the overhead around the kernel matter little.
std::int64_t IterationsOf(const gpu_ceilings::GpuRow& row) {
  if (row.unit == gpu_ceilings::GpuUnit::kGemm) return 2;
  return gpu_ceilings::IsMemory(row) && row.level == Level::kDram ? 2 : 64;
}

// [1] What a count over the row's work may be. A library may compute more than its useful work: its
// kernels pad. A wrong weight is a factor of 2.
struct Accepted {
  double least = 0, most = 0;
};
Accepted AcceptedOf(const gpu_ceilings::GpuRow& row) {
  constexpr double kMaxPadding = 0.25;
  const double tolerance = gpu::CounterTolerance(QuantityOf(row));
  const bool library = row.unit == gpu_ceilings::GpuUnit::kGemm;
  return {1 - tolerance, 1 + (library ? kMaxPadding : tolerance)};
}

// cublasLt's fp8 product on an H200 was counted 33/32 of its useful work. Needs no GPU.
TEST(CuptiRows, OnlyALibrarysKernelMayComputeMoreThanItsWork) {
  int libraries = 0;
  for (const auto& row : gpu_ceilings::GpuRows(90)) {
    if (gpu_ceilings::IsMemory(row)) continue;
    const auto accepted = AcceptedOf(row);
    const bool library = row.unit == gpu_ceilings::GpuUnit::kGemm;
    libraries += library ? 1 : 0;
    EXPECT_EQ(accepted.most > 33.0 / 32, library) << row.key;
    EXPECT_GT(accepted.least, 31.0 / 32) << row.key;
    EXPECT_LT(accepted.most, 2) << row.key;
  }
  EXPECT_GT(libraries, 5);
}

class CountedRows {
 public:
  explicit CountedRows(const CounterSource& source)
      : source_(source), bench_(cuda_kernels::OpenCudaBench(0)), gpu_(bench_->Describe()) {}

  std::vector<gpu_ceilings::GpuRow> Rows() const {
    return gpu_ceilings::GpuRows(10 * gpu_.identity.major + gpu_.identity.minor);
  }

  // [1] the count over the row's work. Prints why and returns nullopt if nothing was counted.
  std::optional<double> CountedOverKnown(const gpu_ceilings::GpuRow& row) {
    const gpu_ceilings::GpuSize size = {gpu_.identity.sms,
                                        static_cast<std::int64_t>(gpu_.identity.l2_bytes),
                                        static_cast<std::int64_t>(gpu_.free_bytes)};
    const auto shape = gpu_ceilings::GpuShapes(row, size, 1e13).front();
    try {
      bench_->Prepare(row, shape);
    } catch (const Unsupported& error) {
      std::cout << row.key << ": " << error.what() << '\n';
      return std::nullopt;
    }
    const auto iterations = IterationsOf(row);
    CountRequest request;
    request.name = row.key;
    request.pipes = {gpu_ceilings::IsMemory(row) ? "fp32.vector" : QuantityOf(row)};
    request.run = [&] { bench_->Run(iterations); };
    const auto counted = source_.count(request);
    const auto known = gpu_ceilings::WorkPerIteration(row, shape) * static_cast<double>(iterations);
    if (const auto found = Counted(row, counted.work)) return *found / known;
    std::cout << row.key << ": not counted; " << counted.how << '\n';
    for (const auto& reason : counted.caveats) std::cout << "  " << reason << '\n';
    return std::nullopt;
  }

 private:
  static std::optional<double> Counted(const gpu_ceilings::GpuRow& row, const Work& work) {
    const auto in = [](const auto& counts, const auto& key) -> std::optional<double> {
      const auto found = counts.find(key);
      return found == counts.end() ? std::nullopt : std::optional(found->second);
    };
    return gpu_ceilings::IsMemory(row) ? in(work.bytes, row.level)
                                       : in(work.flops, QuantityOf(row));
  }

  const CounterSource& source_;
  std::unique_ptr<gpu_ceilings::GpuBench> bench_;
  gpu_ceilings::GpuDescription gpu_;
};

// FLOPs within 1 %, DRAM within 5 %, L2 and L1 within 10 %, of every kernel of our own: vector,
// mma, wgmma, memory. cublasLt's may compute more than their useful work.
TEST(CuptiRowsOnGpu, CountsOfTheCeilingsKernelsAreTheirWork) {
  const auto source = CuptiSources(0).front();
  if (const auto reason = source.unavailable()) GTEST_SKIP() << fakes::NeedsGpu(reason->text);
  CountedRows rows(source);
  int compared = 0;
  for (const auto& row : rows.Rows()) {
    const auto ratio = rows.CountedOverKnown(row);
    if (!ratio) continue;
    ++compared;
    std::cout << row.key << ": counted " << *ratio << " of what it does\n";
    const auto accepted = AcceptedOf(row);
    EXPECT_GE(*ratio, accepted.least) << row.key;
    EXPECT_LE(*ratio, accepted.most) << row.key;
  }
  EXPECT_GT(compared, 8);
}

TEST(KnownCallsOnGpu, RunOnceAndSayWhatTheyDo) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    GTEST_SKIP() << fakes::NeedsGpu("no GPU");
  const auto gpu = ReadGpuIdentity(0);
  int calls = 0;
  for (const auto& chip : gpu::BuiltInCuptiTable().chips) {
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

// The cost that counting leaves in a process. This test needs a process of its own, because the
// first timing must precede CUPTI's first use (ci/gpu_check.sh ensures this).

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
