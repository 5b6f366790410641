#include <fmt/format.h>
#include <gmock/gmock.h>

#include <iostream>
#include <stdexcept>

#include "counters/base/numbers.h"
#include "counters/cpu/clocks.h"
#include "counters/cuda/clock_kernels.h"
#include "counters/cuda/device.h"
#include "counters/gpu/api.h"
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

TEST_F(CudaClockOnGpu, AnErrorOfACallBeforeIsNotThisOnes) {
  cudaSetDevice(-1);  // leaves an error that nobody reads
  EXPECT_GT(clock_->Once(call_), 0);
  cudaSetDevice(-1);
  EXPECT_GT(clock_->Batch(call_, 2, {}).seconds, 0);
}

TEST_F(CudaClockOnGpu, AFailedCaptureLeavesTheClockUsable) {
  const gpu::Enqueue breaks = [](void*) { throw std::runtime_error("not today"); };
  EXPECT_THROW(clock_->Graph(breaks, 2), std::runtime_error);
  EXPECT_GT(clock_->Once(call_), 0);
}

// A thrown error is reported once; the following kernels must not report it again.
TEST_F(CudaClockOnGpu, ACaptureThatEndsBrokenIsToldOnce) {
  const gpu::Enqueue waits = [](void* stream) {
    cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
  };
  EXPECT_THROW(clock_->Graph(waits, 2), std::runtime_error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_GT(clock_->Batch(call_, 10, {}).seconds, 0);
  EXPECT_NO_THROW(clock_->Recover());
}

}  // namespace
}  // namespace dlroof::cuda
