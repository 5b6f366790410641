// What a ceiling becomes when it is asked for 10 s on end: clocks fall with heat and power.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ceilings/cpu_flops_probes.h"
#include "ceilings/measure_session.h"
#include "counters/clocks.h"

namespace dlroof {
namespace {

constexpr double kSeconds = 10, kLastSeconds = 1;  // watched, and judged
constexpr double kSliceSeconds = 3e-3;
constexpr double kDifference = 0.03;  // [1] less is said, but no roof of its own

// [iteration/s] of the best slice in the last second: a disturbance only slows.
double RateAfterTenSeconds(Bench& bench, Kernel kernel, double per_second) {
  const auto slice =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(per_second * kSliceSeconds));
  const double begin = WallSeconds();
  double best = 0;
  for (double now = begin; now < begin + kSeconds; now = WallSeconds()) {
    const auto time = bench.team().Time([&](int i) { kernel(bench.Of(i), slice); });
    if (now >= begin + kSeconds - kLastSeconds)
      best = std::max(best, static_cast<double>(slice) / time.seconds);
  }
  return best;
}

void Watch(MeasureSession& session, const FlopsProbe& probe, int threads) {
  auto& set = session.machine.by_threads.at(threads);
  auto& ceiling = set.flops.at(probe.key);
  const double work = FlopsPerIteration(probe) * threads;
  Bench bench(SpreadCpus(session.cpu, threads));
  for (int i = 0; i < threads; ++i) FillOperands(probe, bench.Of(i));
  const double sustained =
      work * RateAfterTenSeconds(bench, probe.kernel, ceiling.per_second / work);
  const double ratio = sustained / ceiling.per_second;
  session.machine.facts[fmt::format("sustained.{}", probe.key)] = fmt::format(
      "after {:.0f} s on end {:.3f} of the burst, with {} threads", kSeconds, ratio, threads);
  if (std::abs(ratio - 1) <= kDifference) return;
  ceiling.sustained_per_second = sustained;
  const auto plain = set.flops.find(probe.key.substr(0, probe.key.rfind('.')));
  if (plain != set.flops.end() && plain->second.per_second == ceiling.per_second)
    plain->second.sustained_per_second = sustained;
}

}  // namespace

void AddSustainedSteps(MeasureSession& session) {
  const int threads = session.machine.by_threads.rbegin()->first;
  const auto& flops = AllThreads(session.machine).flops;
  std::vector<FlopsProbe> hottest;  // the best row of each pipe
  for (const auto& probe : FlopsProbesFor(session.cpu.features)) {
    const auto plain = flops.find(probe.key.substr(0, probe.key.rfind('.')));
    const auto row = flops.find(probe.key);
    if (plain != flops.end() && row != flops.end() &&
        row->second.per_second == plain->second.per_second)
      hottest.push_back(probe);
  }
  std::sort(hottest.begin(), hottest.end(), [&](const auto& a, const auto& b) {
    return flops.at(a.key).per_second > flops.at(b.key).per_second;
  });
  hottest.resize(std::min(hottest.size(), static_cast<std::size_t>(session.effort.sustained)));
  for (const auto& probe : hottest)
    session.last_steps.push_back({fmt::format("{} for 10 s, {} threads", probe.key, threads),
                                  [&session, probe, threads](double) {
                                    session.bench.reset();
                                    Watch(session, probe, threads);
                                  }});
}

}  // namespace dlroof
