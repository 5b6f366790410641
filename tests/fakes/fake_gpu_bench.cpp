#include "tests/fakes/fake_gpu_bench.h"

#include <algorithm>
#include <stdexcept>

#include "ceilings/gpu_ceilings/bench.h"
#include "counters/base/error.h"

namespace dlroof::fakes {
namespace {

double ShareOfPeak(gpu_ceilings::GpuUnit unit) {
  if (unit == gpu_ceilings::GpuUnit::kMma) return 0.6;
  return unit == gpu_ceilings::GpuUnit::kGemm ? 0.9 : 0.97;
}

}  // namespace

void FakeGpuBench::RefuseWhatCannotRun(const gpu_ceilings::GpuRow& row) const {
  if (const auto why = unsupported.find(row.key); why != unsupported.end())
    throw Unsupported(why->second);
  if (const auto why = broken.find(row.key); why != broken.end())
    throw std::runtime_error(why->second);
  if (!gemms && row.unit == gpu_ceilings::GpuUnit::kGemm) throw Unsupported("no cublasLt");
}

void FakeGpuBench::Prepare(const gpu_ceilings::GpuRow& row, const gpu_ceilings::GpuShape& shape) {
  RefuseWhatCannotRun(row);
  row_ = row;
  shape_ = shape;
}

// [flop/s] or [byte/s] at `clock_hz`.
double FakeGpuBench::PerSecond() const {
  const double sms = row_.unit == gpu_ceilings::GpuUnit::kGemm
                         ? identity.sms
                         : std::min(shape_.blocks, identity.sms);
  const auto factor = speed.find(row_.key);
  const double times = factor == speed.end() ? 1 : factor->second;
  const auto set = static_cast<double>(shape_.set_bytes);
  if (gpu_ceilings::IsMemory(row_) && row_.level == Level::kL1) return times * 120 * sms * clock_hz;
  if (gpu_ceilings::IsMemory(row_)) {
    // The part of a large set that is still in L2 in the next pass comes from there.
    const double from_l2 = std::min(1.0, identity.l2_bytes / set);
    return times / (from_l2 / l2_bytes_per_second + (1 - from_l2) / dram_bytes_per_second);
  }
  const int capability = 10 * identity.major + identity.minor;
  const auto* peak = gpu_ceilings::FindGpuPeak(capability, row_.key.substr(0, row_.key.rfind('.')));
  const double idle = row_.key == idle_sms ? std::min(1.0, 0.5 * identity.sms / sms) : 1;
  return times * idle * ShareOfPeak(row_.unit) * peak->per_cycle.back() * sms * clock_hz;
}

gpu_ceilings::GpuTime FakeGpuBench::Run(std::int64_t iterations) {
  const bool by_clock = !gpu_ceilings::IsMemory(row_) || row_.level == Level::kL1;
  const double clock = clock_factor ? clock_factor(runs_) : 1;
  double rate = PerSecond() * (by_clock ? clock : 1);
  if (heat) rate *= heat(now_);
  gpu_ceilings::GpuTime time;
  time.seconds =
      static_cast<double>(iterations) * gpu_ceilings::WorkPerIteration(row_, shape_) / rate + 2e-6;
  if (row_.key == dead_loop) time.seconds = 2e-6;
  time.clock_hz = clock_hz * clock;
  time.health.memory_clock_hz = memory_clock_hz;
  time.health.power_watts = 650;
  time.health.throttle = throttle ? throttle(runs_) : 0;
  // The host's part; with it a row that takes no time has used up its budget soon.
  now_ += time.seconds + (row_.key == dead_loop ? 1e-3 : 1e-5);
  ++runs_;
  return time;
}

gpu_ceilings::GpuBytes FakeGpuBench::Result(const gpu_ceilings::GpuRow& row,
                                            const gpu_ceilings::GpuShape& shape,
                                            const gpu_ceilings::GpuBytes& operands,
                                            std::int64_t iterations) {
  RefuseWhatCannotRun(row);
  if (static_cast<std::int64_t>(operands.size()) != gpu_ceilings::GpuOperandBytes(row, shape))
    throw std::logic_error("operands of another size than stated: " + row.key);
  auto results = ExpectedGpuResults(row, shape, iterations);
  if (row.key == wrong_result) results.front() ^= std::byte{1};
  return results;
}

double FakeGpuBench::Overhead(gpu_ceilings::GpuOverhead, std::int64_t times) {
  const double seconds =
      launch_time ? launch_time(times) : static_cast<double>(times) * launch_seconds;
  now_ += seconds;
  return seconds;
}

}  // namespace dlroof::fakes
