#include "ceilings/gpu/measure_session.h"

namespace dlroof {

RatePolicy GpuEffort::Policy(double tolerance, const std::function<double()>& clock) const {
  return {.repetition_seconds = repetition_seconds,
          .repetitions = repetitions,
          .doubled = doubled,
          .tolerance = tolerance,
          .now = clock};
}

RatePolicy GpuSession::Policy(const GpuRow& row) const {
  constexpr double kArithmetic = 0.02, kMemory = 0.03;
  auto policy = effort.Policy(IsMemory(row) ? kMemory : kArithmetic, now);
  policy.max_seconds = effort.row_seconds;
  return policy;
}

std::optional<double> GpuSession::HeldClock(const GpuRow& row) const {
  return RunsBySmClock(row) ? std::nullopt : gpu.default_clock_hz;
}

}  // namespace dlroof
