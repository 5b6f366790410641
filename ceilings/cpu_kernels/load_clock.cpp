#include "ceilings/cpu_kernels/load_clock.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "counters/cpu/clocks.h"

namespace dlroof::cpu_kernels {
namespace {

constexpr double kLonger = 1.04;       // [1] min iteration time with / without the chain
constexpr double kSamePace = 0.015;    // [1] allowed difference of two chains' time per step
constexpr double kReadSeconds = 8e-5;  // [s] of one reading
constexpr int kTries = 5;
constexpr std::size_t kReadings = 5;
constexpr std::size_t kWidestOnSharedPorts = 32;  // [byte]

double Pace(const ClockTrial& trial) { return trial.seconds / trial.multiplications; }

// Returns the number of iterations that takes about kReadSeconds.
std::int64_t IterationsFor(double seconds_per_iteration) {
  return std::max<std::int64_t>(1, std::llround(kReadSeconds / seconds_per_iteration));
}

// Returns the time [s] of the fastest iteration.
double FastestIteration(const std::function<double(Kernel kernel, std::int64_t iterations)>& run,
                        Kernel kernel) {
  constexpr double kMin = 1e-12;  // [s]
  std::int64_t iterations = 64;
  double seconds = run(kernel, iterations);
  while (seconds < kReadSeconds / 2 && iterations < std::int64_t{1} << 40) {
    iterations *= 4;
    seconds = run(kernel, iterations);
  }
  for (int i = 1; i < kTries; ++i) seconds = std::min(seconds, run(kernel, iterations));
  return std::max(kMin, seconds / static_cast<double>(iterations));
}

}  // namespace

std::optional<std::size_t> ChooseClock(double kernel_seconds, const std::vector<ClockTrial>& trials,
                                       bool shares_ports) {
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].seconds < kLonger * kernel_seconds) continue;
    if (!shares_ports) return i;
    const auto longer = trials.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (longer == trials.end()) return std::nullopt;
    const double fastest = Pace(*std::ranges::min_element(longer, trials.end(), {}, Pace));
    if (std::abs(Pace(trials[i]) / fastest - 1) <= kSamePace) return i;
  }
  return std::nullopt;
}

std::optional<LoadClock> FindLoadClock(
    const FlopsProbe& probe,
    const std::function<double(Kernel kernel, std::int64_t iterations)>& run) {
  if (probe.clocks.empty()) return std::nullopt;
  const double alone = FastestIteration(run, probe.kernel);
  std::vector<ClockTrial> trials;
  trials.reserve(probe.clocks.size());
  for (const auto& [multiplications, kernel] : probe.clocks)
    trials.push_back({multiplications, FastestIteration(run, kernel)});
  const auto chosen = ChooseClock(alone, trials, probe.vector_bytes <= kWidestOnSharedPorts);
  if (!chosen) return std::nullopt;
  return LoadClock{probe.clocks[*chosen], IterationsFor(trials[*chosen].seconds)};
}

double MeasureLoadClock(const LoadClock& clock, Workspace& workspace) {
  const double cycles = kCyclesPerMultiplication * clock.clock.multiplications *
                        static_cast<double>(clock.iterations);
  std::array<double, kReadings> seconds{};
  for (auto& each : seconds) {
    const double begin = cpu::WallSeconds();
    clock.clock.kernel(workspace, clock.iterations);
    each = cpu::WallSeconds() - begin;
  }
  std::ranges::nth_element(seconds, seconds.begin() + kReadings / 2);
  return cycles / seconds[kReadings / 2];
}

}  // namespace dlroof::cpu_kernels
