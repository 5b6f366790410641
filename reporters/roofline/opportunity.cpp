#include "reporters/roofline/opportunity.h"

#include <algorithm>

namespace dlroof {

std::vector<Opportunity> Opportunities(const PlacedRun& run, std::size_t most) {
  const auto occurrences = Occurrences(run.file.context);
  std::vector<Opportunity> found;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& [timing, placement, ledger] = run.places[i];
    if (!timing || !placement.time || !placement.time->gap || *placement.time->gap <= 1) continue;
    const auto occurs = occurrences.find(run.file.records[i].name);
    const double count = occurs == occurrences.end() ? 1 : occurs->second;
    const double seconds = count * timing->median;
    found.push_back({i, count, seconds, seconds - seconds / *placement.time->gap});
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &Opportunity::above_roof_seconds);
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace dlroof
