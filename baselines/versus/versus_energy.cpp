#include "baselines/versus/versus_energy.h"

#include <cmath>

#include "baselines/versus/versus.h"

namespace dlroof {

std::string_view Key(EnergyClass energy_class) {
  switch (energy_class) {
    case EnergyClass::kMeasured:
      return "measured";
    case EnergyClass::kMetered:
      return "metered";
    case EnergyClass::kAssumed:
      return "assumed";
  }
  return "";
}

Energies EnergiesOf(const RunFile& run, const Record& record, const Timing& timing, int devices,
                    const Prices* prices) {
  Energies energies;
  if (const auto& energy = record.energy)
    energies[EnergyClass::kMeasured] = {energy->joules, energy->ci95, HasOthersEnergy(*energy)};
  if (const auto& metered = record.metered)
    energies[EnergyClass::kMetered] = {metered->joules, metered->ci95};
  const auto* machine = prices == nullptr ? nullptr : MachineFor(run, record);
  const auto* price = machine == nullptr ? nullptr : PriceOf(*prices, *machine);
  if (price == nullptr || !price->watts) return energies;
  const double watts = *price->watts / price->devices.value_or(devices);
  Joules assumed{watts * timing.median, {}, timing.disturbed};
  if (timing.ci95) assumed.ci95 = {watts * timing.ci95->first, watts * timing.ci95->second};
  energies[EnergyClass::kAssumed] = assumed;
  return energies;
}

std::map<EnergyClass, EnergyRatio> EnergyRatios(const Energies& a, const Energies& b) {
  std::map<EnergyClass, EnergyRatio> ratios;
  for (const auto& [kind, of_a] : a) {
    const auto of_b = b.find(kind);
    if (of_b == b.end()) continue;
    ratios[kind] = {of_a.joules / of_b->second.joules,
                    RatioInterval(of_a.joules, of_a.ci95, of_b->second.joules, of_b->second.ci95),
                    of_a.disturbed || of_b->second.disturbed};
  }
  return ratios;
}

void EnergySum::Add(const Energies& of_one_call, double count) {
  ++calls_;
  for (const auto& [kind, one] : of_one_call) {
    Sum& sum = sums_[kind];
    ++sum.calls;
    sum.joules.joules += count * one.joules;
    sum.joules.disturbed = sum.joules.disturbed || one.disturbed;
    sum.interval = sum.interval && one.ci95;
    if (!one.ci95) continue;
    sum.below = std::hypot(sum.below, count * (one.joules - one.ci95->first));
    sum.above = std::hypot(sum.above, count * (one.ci95->second - one.joules));
  }
}

Energies EnergySum::Total() const {
  Energies total;
  for (const auto& [kind, sum] : sums_) {
    if (sum.calls != calls_) continue;
    auto& joules = total[kind] = sum.joules;
    if (sum.interval && sum.below < joules.joules)
      joules.ci95 = {joules.joules - sum.below, joules.joules + sum.above};
  }
  return total;
}

}  // namespace dlroof
