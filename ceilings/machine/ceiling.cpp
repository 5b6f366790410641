#include "ceilings/machine/ceiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "ceilings/machine/choose_roof.h"

namespace dlroof::machine {

Ceiling CeilingFrom(const Rate& rate, double work_per_iteration, int threads,
                    const std::string& how) {
  Ceiling ceiling;
  ceiling.per_second = rate.per_second * work_per_iteration;
  if (rate.ci95)
    ceiling.ci95 = {rate.ci95->first * work_per_iteration, rate.ci95->second * work_per_iteration};
  ceiling.threads = threads;
  ceiling.how =
      rate.clean > 0
          ? fmt::format("{}; best of {} clean repetitions ({} made)", how, rate.clean, rate.total)
          : fmt::format("{}; best of {} disturbed repetitions", how, rate.total);
  if (!rate.waits_known) ceiling.how += "; waits for a CPU are not readable here";
  ceiling.proved = rate.proved;
  if (!rate.reason.empty()) ceiling.reasons = {rate.reason};
  ceiling.clock_hz = rate.clock_hz;
  ceiling.proof.doubling = rate.doubling;
  ceiling.proof.spread = rate.spread;
  if (rate.total > 0) ceiling.proof.clean = static_cast<double>(rate.clean) / rate.total;
  if (rate.clock_hz) ceiling.proof.per_cycle = ceiling.per_second / threads / *rate.clock_hz;
  return ceiling;
}

Ceiling BestMix(const MeasuredMixes& mixes) {
  if (mixes.empty()) throw std::invalid_argument("the best of no mixes");
  std::vector<const CeilingRow*> rows;
  rows.reserve(mixes.size());
  for (const auto& mix : mixes) rows.push_back(&mix);
  const auto* best = ChooseRoof(rows);
  Ceiling ceiling = best->second;
  ceiling.mix = best->first;
  ceiling.how = fmt::format("{}, the best of {} mixes: {}", best->first, mixes.size(), ceiling.how);
  return ceiling;
}

void Doubt(Ceiling& ceiling, const std::string& reason) {
  ceiling.proved = false;
  if (std::find(ceiling.reasons.begin(), ceiling.reasons.end(), reason) == ceiling.reasons.end())
    ceiling.reasons.push_back(reason);
}

void DoubtUnbounded(Ceiling& ceiling, const std::string& reason) {
  Doubt(ceiling, reason);
  ceiling.unbounded = true;
}

}  // namespace dlroof::machine
