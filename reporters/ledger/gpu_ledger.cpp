#include "reporters/ledger/gpu_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reporters/ledger/part_list.h"

namespace dlroof {
namespace {

// [s] of a kernel's time in which multiprocessors have no block; 0 where its waves are not known.
double TailOf(const LaunchedKernel& kernel) {
  if (!kernel.facts || !kernel.facts->waves || *kernel.facts->waves <= 0) return 0;
  const double waves = *kernel.facts->waves;
  return *kernel.seconds * (1 - waves / std::ceil(waves));
}

}  // namespace

std::optional<Ledger> MakeGpuLedger(const GpuLedgerFacts& facts) {
  double traced = 0, tail = 0;
  int launches = 0;
  for (const auto& kernel : facts.kernels) {
    if (!kernel.seconds) return std::nullopt;
    traced += *kernel.seconds;
    tail += TailOf(kernel);
    launches += kernel.launches;
  }
  if (!(traced > 0)) return std::nullopt;
  const double running = std::min(traced, facts.seconds);
  const double idle = facts.seconds - running;
  const double launch = std::min(idle, facts.launch_seconds.value_or(0) * launches);
  PartList parts(running);
  parts.Add(PartKind::kRoof, facts.roof_seconds, facts.roof_from, facts.roof);
  parts.Add(PartKind::kTail, tail * running / traced, Provenance::kMeasured,
            "blocks over those that the GPU holds at once");
  parts.AddLevels(facts.levels);
  Ledger ledger{parts.Take(), facts.seconds, static_cast<double>(launches), std::nullopt};
  const auto kernels = fmt::format("{} kernel{}", launches, launches == 1 ? "" : "s");
  ledger.parts.push_back({PartKind::kLaunch, launch, Provenance::kMeasured, kernels});
  ledger.parts.push_back({PartKind::kIdle, idle - launch, Provenance::kMeasured,
                          "before, between "
                          "and after " +
                              kernels});
  std::erase_if(ledger.parts, [&](auto& part) { return part.seconds <= 1e-6 * facts.seconds; });
  return ledger;
}

}  // namespace dlroof
