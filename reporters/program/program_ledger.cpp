#include "reporters/program/program_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

namespace dlroof::programs {
namespace {

bool HasSteps(const ProgramSummary& summary) { return summary.steps.count > 0; }

void AddPart(ProgramPartKind kind, std::string words, double seconds, ProgramLedger& ledger) {
  if (!(seconds > 0)) return;
  const auto found = std::ranges::find(ledger.parts, words, &ProgramPart::words);
  if (found != ledger.parts.end())
    found->seconds += seconds;
  else
    ledger.parts.push_back({kind, std::move(words), seconds});
  ledger.seconds += seconds;
}

// Sums by kind, the largest first.
void AddByKind(ProgramPartKind part, std::string_view before,
               const std::map<std::string, double>& by_kind, ProgramLedger& ledger) {
  std::vector<std::pair<std::string, double>> rows(by_kind.begin(), by_kind.end());
  std::ranges::stable_sort(rows, std::ranges::greater{}, &std::pair<std::string, double>::second);
  for (const auto& [kind, seconds] : rows)
    AddPart(part, fmt::format("{}{}", before, kind), seconds, ledger);
}

std::unordered_map<std::string_view, std::size_t> IndexByName(const roofline::PlacedRun& run) {
  std::unordered_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < run.file.records.size() && i < run.places.size(); ++i)
    index.try_emplace(run.file.records[i].name, i);
  return index;
}

}  // namespace

std::vector<PrimitiveUse> UsesOf(const roofline::PlacedRun& run, const ProgramSummary& summary) {
  const auto index = IndexByName(run);
  std::vector<PrimitiveUse> uses;
  for (const auto& primitive : summary.primitives) {
    PrimitiveUse use{&primitive};
    use.calls = HasSteps(summary) ? primitive.step_calls : primitive.calls;
    use.seconds = HasSteps(summary) ? primitive.step_seconds : primitive.seconds;
    if (!(use.calls > 0)) continue;
    if (const auto found = index.find(primitive.record); found != index.end())
      use.placed = &run.places[found->second];
    if (use.placed != nullptr && use.placed->placement.time) {
      const auto& time = *use.placed->placement.time;
      if (time.gap && *time.gap > 0) use.roof_seconds = use.calls * time.seconds / *time.gap;
    }
    if (primitive.moves)
      use.to_win = use.seconds;
    else if (use.roof_seconds)
      use.to_win = std::max(use.seconds - *use.roof_seconds, 0.0);
    uses.push_back(use);
  }
  const bool roofs = std::ranges::any_of(
      uses, [](const PrimitiveUse& use) { return use.roof_seconds.has_value(); });
  std::ranges::stable_sort(uses, [roofs](const PrimitiveUse& a, const PrimitiveUse& b) {
    if (roofs && a.to_win != b.to_win) return a.to_win.value_or(0) > b.to_win.value_or(0);
    return a.seconds > b.seconds;
  });
  return uses;
}

ProgramLedger LedgerOf(const std::vector<PrimitiveUse>& uses, const ProgramSummary& summary) {
  ProgramLedger ledger{.of_step = HasSteps(summary)};
  double at_roof = 0, without_roof = 0;
  std::map<std::string, double> gaps, moves;
  for (const auto& use : uses) {
    const auto& kind = use.primitive->text.kind;
    if (use.primitive->moves) {
      moves[kind] += use.seconds;
    } else if (use.roof_seconds) {
      const double roof = std::min(*use.roof_seconds, use.seconds);
      at_roof += roof;
      gaps[kind] += use.seconds - roof;
    } else {
      without_roof += use.seconds;
    }
  }
  AddPart(ProgramPartKind::kRoof, "needed by the roofs", at_roof, ledger);
  AddByKind(ProgramPartKind::kGap, "above the roof: ", gaps, ledger);
  AddByKind(ProgramPartKind::kMoves, "moves data: ", moves, ledger);
  AddPart(ProgramPartKind::kNoRoof, "primitives without a roof", without_roof, ledger);
  AddPart(ProgramPartKind::kCreation, "creation of primitives",
          ledger.of_step ? summary.steps.creation_seconds : summary.creation_seconds, ledger);
  const auto& wall = ledger.of_step ? summary.steps.wall_seconds : summary.wall_seconds;
  if (wall) AddPart(ProgramPartKind::kOutside, "outside oneDNN", *wall - ledger.seconds, ledger);
  return ledger;
}

std::vector<KindUse> KindsOf(const std::vector<PrimitiveUse>& uses, const roofline::PlacedRun& run) {
  const auto index = IndexByName(run);
  std::vector<KindUse> kinds;
  for (const auto& use : uses) {
    const auto& text = use.primitive->text;
    auto kind = std::ranges::find_if(
        kinds, [&](const KindUse& one) { return one.kind == text.kind && one.prop == text.prop; });
    if (kind == kinds.end()) {
      kinds.push_back({.kind = text.kind, .prop = text.prop, .flops = 0});
      kind = kinds.end() - 1;
    }
    ++kind->distinct;
    kind->calls += use.calls;
    kind->seconds += use.seconds;
    kind->moves = kind->moves && use.primitive->moves;
    const auto found = index.find(use.primitive->record);
    const auto flops =
        found == index.end() ? std::nullopt : roofline::BestKnownFlops(run.file.records[found->second]);
    if (flops && kind->flops)
      *kind->flops += use.calls * *flops;
    else
      kind->flops.reset();
  }
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &KindUse::seconds);
  return kinds;
}

}  // namespace dlroof::programs
