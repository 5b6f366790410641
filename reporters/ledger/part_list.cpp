#include "reporters/ledger/part_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reporters/text/units.h"

namespace dlroof {
namespace {

// "L2 4.00 us, DRAM 3.00 us"
std::string TextOf(const std::vector<LevelTime>& levels) {
  std::string text;
  for (const auto& [level, seconds, from] : levels)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", level, WithPrefix(seconds, "s"));
  return text;
}

}  // namespace

void PartList::Add(PartKind kind, double wanted, Provenance from, const std::string& how) {
  const double seconds = std::min(wanted, rest_);
  rest_ -= seconds;
  parts_.push_back({kind, seconds, from, how});
  if (seconds > 0) rest_from_ = std::max(rest_from_, from);
}

void PartList::AddLevels(const std::vector<LevelTime>& levels) {
  double sum = 0;
  auto worst = Provenance::kMeasured;
  for (const auto& level : levels) {
    sum += level.seconds;
    worst = std::max(worst, level.from);
  }
  Add(PartKind::kLevels, sum, worst, "at most: as if nothing hid " + TextOf(levels));
}

void PartList::AddDistance(double wanted, const std::vector<LevelTime>& levels) {
  std::string how = "longer than that on tensors whose pages do not repeat";
  if (!levels.empty()) how += "; bytes ask for " + TextOf(levels);
  Add(PartKind::kDistance, wanted, Provenance::kMeasured, how);
}

std::vector<LedgerPart> PartList::Take() {
  parts_.push_back({PartKind::kUnexplained, rest_, rest_from_, "the rest"});
  return std::move(parts_);
}

}  // namespace dlroof
