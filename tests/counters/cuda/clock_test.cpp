#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <optional>
#include <stdexcept>

#include "ceilings/cuda_kernels/bench_cuda.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/cpu/clocks.h"
#include "counters/cuda/clock_kernels.h"
#include "counters/cuda/cupti_known_kernels.h"
#include "counters/cuda/cupti_source.h"
#include "counters/cuda/device.h"
#include "counters/gpu/api.h"
#include "counters/gpu/counter.h"
#include "tests/fakes/no_gpu.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cuda {
namespace {

TEST(CudaState, SaysSomethingOnEveryMachine) {
  const auto state = ReadCudaState();
  EXPECT_EQ(state.gpus.empty(), state.error != 0) << state.error_text;
  EXPECT_GE(state.runtime_version, 12060);
}

TEST(DeviceBuffer, WithoutMemoryNamesTheBytes) {
  const auto refusal =
      fakes::RefusalOf<std::runtime_error>([] { const DeviceBuffer buffer(std::size_t{1} << 50); });
  EXPECT_THAT(refusal, testing::HasSubstr("1125899906842624 bytes")) << refusal;
}

// Reads 64 MiB, which takes tens of microseconds on any supported GPU.
class CudaClockOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto reason = gpu::NoDeviceReason(ReadCudaState());
    if (reason) GTEST_SKIP() << fakes::NeedsGpu(reason->text);
    clock_ = OpenCudaClock(0);
    buffer_.emplace(std::size_t{64} << 20);
    buffer_->Fill(0);
    sink_.emplace(sizeof(unsigned));
    call_ = Reads(*buffer_, buffer_->bytes(), 1024);
    clock_->Once(call_);
  }
  gpu::Enqueue Reads(const DeviceBuffer& buffer, std::size_t bytes, int blocks) {
    return [this, &buffer, bytes, blocks](void* stream) {
      CheckCuda(LaunchRead(buffer.get(), bytes, static_cast<unsigned*>(sink_->get()), blocks,
                           static_cast<cudaStream_t>(stream)),
                "the test's kernel");
    };
  }

  std::unique_ptr<gpu::GpuClock> clock_;
  std::optional<DeviceBuffer> buffer_, sink_;
  gpu::Enqueue call_;
};

TEST_F(CudaClockOnGpu, TwiceTheCallsTakeTwiceTheTime) {
  const double few = clock_->Batch(call_, 500, {}).seconds;
  const double many = clock_->Batch(call_, 1000, {}).seconds;
  EXPECT_NEAR(many / few, 2, 0.1);
}

TEST_F(CudaClockOnGpu, BackToBackIsNotSlowerThanOneByOneAndAGraphIsAlike) {
  const double once = clock_->Once(call_);
  const double batch = clock_->Batch(call_, 500, {}).seconds / 500;
  const auto replay = clock_->Graph(call_, 100);
  replay();
  const double graph = replay().seconds / 100;
  EXPECT_LE(batch, 1.1 * once);
  EXPECT_NEAR(graph / batch, 1, 0.1);
}

TEST_F(CudaClockOnGpu, TheSmsClockIsOneThatTheyCanHave) {
  const auto batch = clock_->Batch(call_, 500, {});
  ASSERT_TRUE(batch.clock_hz.has_value());
  EXPECT_GT(*batch.clock_hz, 1e8);
  ASSERT_TRUE(clock_->DefaultClockHz().has_value());
  EXPECT_LT(*batch.clock_hz, 1.5 * *clock_->DefaultClockHz());
}

TEST_F(CudaClockOnGpu, ItsEnergyIsThatOfAPowerThatABoardCanHave) {
  const auto before = clock_->EnergyJoules();
  ASSERT_TRUE(before.has_value());
  const double begin = cpu::WallSeconds();
  while (cpu::WallSeconds() - begin < 2) clock_->Batch(call_, 500, {});
  const double watts = (clock_->EnergyJoules().value() - *before) / (cpu::WallSeconds() - begin);
  EXPECT_GT(watts, 5);
  EXPECT_LT(watts, 3000);
}

TEST_F(CudaClockOnGpu, AFlushedCallIsSlowerThanATouchedOne) {
  const auto identity = ReadGpuIdentity(0);
  const DeviceBuffer small(static_cast<std::size_t>(identity.l2_bytes / 4));
  const gpu::Enqueue call = Reads(small, small.bytes(), 1024);
  double cold = 1, warm = 1;
  for (int i = 0; i < 20; ++i) {
    clock_->Prepare({.flush = true});
    cold = std::min(cold, clock_->Once(call));
    clock_->Prepare({.touched = {{small.get(), small.bytes()}}});
    warm = std::min(warm, clock_->Once(call));
  }
  EXPECT_GT(cold, 1.1 * warm);
}

double QueuedMedian(gpu::GpuClock& clock, const gpu::L2State& l2, const gpu::Enqueue& call) {
  const auto times = clock.Queued(l2, call, 50);
  EXPECT_TRUE(times.queued);
  return Median(times.seconds);
}

TEST_F(CudaClockOnGpu, QueuedCallsAreWithoutTheHost) {
  const double queued = QueuedMedian(*clock_, {}, call_);
  const double batch = clock_->Batch(call_, 500, {}).seconds / 500;
  const double events = QueuedMedian(*clock_, {}, [this](void* stream) { clock_->Empty(stream); });
  EXPECT_LT(queued, clock_->Once(call_));
  EXPECT_NEAR(queued, batch, events + 0.05 * batch);
  EXPECT_LT(events, 10e-6);
  EXPECT_TRUE(clock_->Queued({}, call_, 50).clock_hz.has_value());
}

TEST_F(CudaClockOnGpu, AQueuedColdCallIsSlowerThanAWarmOne) {
  const DeviceBuffer small(static_cast<std::size_t>(ReadGpuIdentity(0).l2_bytes / 4));
  const gpu::Enqueue reads = Reads(small, small.bytes(), 1024);
  EXPECT_GT(QueuedMedian(*clock_, {.flush = true}, reads), 1.1 * QueuedMedian(*clock_, {}, reads));
}

// What a flush leaves in L2 matters: modified lines have to be written back by the call.
TEST_F(CudaClockOnGpu, FlushesByReadingAndByWritingAreWrittenDown) {
  const auto l2 = static_cast<std::size_t>(ReadGpuIdentity(0).l2_bytes);
  const DeviceBuffer ballast(3 * l2), small(l2 / 4), copy(l2 / 4);
  const gpu::L2State none, by_writing{.flush = true},
      by_reading{.touched = {{ballast.get(), ballast.bytes()}}},
      by_both{.flush = true, .touched = {{ballast.get(), ballast.bytes()}}};
  const gpu::Enqueue reads = Reads(small, small.bytes(), 1024);
  const gpu::Enqueue copies = [&](void* stream) {
    CheckCuda(cudaMemcpyAsync(copy.get(), small.get(), small.bytes(), cudaMemcpyDeviceToDevice,
                              static_cast<cudaStream_t>(stream)),
              "the test's copy");
  };
  const gpu::Enqueue writes = [&](void* stream) {
    CheckCuda(cudaMemsetAsync(copy.get(), 1, copy.bytes(), static_cast<cudaStream_t>(stream)),
              "the test's fill");
  };
  for (const auto& [what, call] : {std::pair("read", reads), {"copy", copies}, {"write", writes}})
    for (const auto& [how, state] : {std::pair("warm", none),
                                     {"flushed by writing", by_writing},
                                     {"by reading", by_reading},
                                     {"by writing, then reading", by_both}})
      std::cout << fmt::format("{} of {:.1f} MB, {}: {:.2f} us\n", what,
                               1e-6 * static_cast<double>(small.bytes()), how,
                               1e6 * QueuedMedian(*clock_, state, call));
}

TEST_F(CudaClockOnGpu, ACallThatWaitsIsNotQueuedAndDoesNotHang) {
  const gpu::Enqueue waits = [this](void* stream) {
    call_(stream);
    CheckCuda(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "the test's wait");
  };
  EXPECT_FALSE(clock_->Queued({}, waits, 1).queued);
  EXPECT_GT(clock_->Batch(waits, 10, {}).seconds, 0);
}

TEST_F(CudaClockOnGpu, KernelNodesAreTheKernelsOfACall) {
  const gpu::Enqueue two = [this](void* stream) {
    call_(stream);
    call_(stream);
    clock_->Empty(stream);
  };
  const auto kernels = clock_->Kernels(two);
  ASSERT_EQ(kernels.size(), 2);
  EXPECT_THAT(kernels[0].name, testing::HasSubstr("ReadAll"));
  EXPECT_EQ(kernels[0].launches, 2);
  ASSERT_TRUE(kernels[0].facts.has_value());
  EXPECT_EQ(kernels[0].facts->blocks, 1024);
  EXPECT_EQ(kernels[0].facts->threads, 256);
  EXPECT_GT(kernels[0].facts->waves.value_or(0), 0);
  EXPECT_EQ(kernels[0].facts->cluster, 1);
  EXPECT_EQ(kernels[1].launches, 1);
  EXPECT_GT(clock_->Once(call_), 0);
}

// Kernels of 1 us and less, each launched in 2 us and more.
TEST_F(CudaClockOnGpu, ShortCallsRunBackToBackWithoutTheirLaunches) {
  const gpu::Enqueue tiny = Reads(*buffer_, 64, 1);
  const double batch = clock_->Batch(tiny, 500, {}).seconds / 500;
  const auto replay = clock_->Graph(tiny, 100);
  replay();
  EXPECT_LT(batch, 0.8 * clock_->Once(tiny));
  EXPECT_LE(replay().seconds / 100, 1.2 * batch);
}

// A thrown error is reported once; the following kernels must not report it again.
TEST_F(CudaClockOnGpu, NoErrorOfACallOrACaptureBeforeIsThisOnes) {
  cudaSetDevice(-1);  // leaves an error that nobody reads
  EXPECT_GT(clock_->Once(call_), 0);
  cudaSetDevice(-1);
  EXPECT_GT(clock_->Batch(call_, 2, {}).seconds, 0);
  const gpu::Enqueue breaks = [](void*) { throw std::runtime_error("not today"); };
  const gpu::Enqueue waits = [](void* stream) {
    cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
  };
  EXPECT_THROW(clock_->Graph(breaks, 2), std::runtime_error);
  EXPECT_GT(clock_->Once(call_), 0);
  EXPECT_THROW(clock_->Graph(waits, 2), std::runtime_error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_GT(clock_->Batch(call_, 10, {}).seconds, 0);
  EXPECT_NO_THROW(clock_->Recover());
}

// CUPTI's counters on the GPU of this machine, with their own kernels and those of the ceilings,
// whose work is known; and the known calls without CUPTI, for other profilers (dlroof profile
// --gpu, compute-sanitizer). Without a GPU each test prints why it is skipped.

// FLOPs within 1 %, DRAM within 5 %, L2 and L1 within 10 %.
TEST(CuptiOnGpu, CountersAgreeWithKernelsOfKnownWork) {
  const auto counter = OpenCuptiCounter(0);
  if (const auto reason = counter->UnavailableReason())
    GTEST_SKIP() << fakes::NeedsGpu(reason->text);
  const auto& judged = counter->SelfTest();
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
  int runs = 0;
  request.run = [&] {
    ++runs;
    CheckCuda(LaunchKnownFma(KnownVector::kFp32, elements.get(), blocks, rounds), "multiply-adds");
    CheckCuda(cudaDeviceSynchronize(), "multiply-adds");
  };
  const auto counted = source.count(request);
  std::cout << counted.how << '\n';
  for (const auto& reason : counted.caveats) std::cout << "doubt: " << reason << '\n';
  EXPECT_LE(runs, 1 + 3 + 1);  // plain, passes, traced
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
    return gpu_ceilings::IsMemory(row) ? FindCopy(work.bytes, row.level)
                                       : FindCopy(work.flops, QuantityOf(row));
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

}  // namespace
}  // namespace dlroof::cuda
