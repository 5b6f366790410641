#include "reporters/roofline/roofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ceilings/machine/ceiling.h"

namespace dlroof::roofline {
namespace {

bool IsRowOf(const std::string& pipe, const std::string& key) {
  return key.size() > pipe.size() && key.starts_with(pipe) && key[pipe.size()] == '.';
}

using Rows = std::vector<const machine::CeilingRow*>;

// Returns the rows of a map that are parts of `key` and that `allowed` accepts.
template <class Allowed>
Rows RowsOf(const std::string& key, const std::map<std::string, machine::Ceiling>& all,
            const Allowed& allowed) {
  Rows rows;
  for (auto row = all.upper_bound(key); row != all.end() && row->first.starts_with(key); ++row)
    if (IsRowOf(key, row->first) && allowed(row->first)) rows.push_back(&*row);
  return rows;
}

// Returns the ceiling as it is. But a rate that may be wrong by any factor is no evidence: then
// returns the best of `others` that is, as a lower limit of the true rate.
UsedCeiling Use(const std::string& name, const machine::Ceiling& ceiling, Rows others) {
  UsedCeiling used{name, &ceiling};
  if (ceiling.AllowsPercentages()) return used;
  auto& reason = used.not_validated[name] = ceiling.ReasonText();
  if (!ceiling.unbounded) return used;
  std::erase_if(others, [](const auto* row) { return row->second.unbounded; });
  const auto* next = machine::ChooseRoof(others);
  used.ceiling = next == nullptr ? nullptr : &next->second;
  if (next == nullptr) return used;
  used.name = next->first;
  used.replaced = true;
  reason += fmt::format("; placed under {} instead", next->first);
  if (!next->second.AllowsPercentages())
    used.not_validated[next->first] = next->second.ReasonText();
  return used;
}

}  // namespace

std::optional<UsedCeiling> RoofOf(const std::string& pipe, const std::string& isa,
                                  const machine::CeilingSet& ceilings) {
  if (!isa.empty()) {
    const auto rows = RowsOf(pipe, ceilings.flops,
                             [&](const auto& row) { return machine::RowAllowed(row, isa); });
    if (const auto* best = machine::ChooseRoof(rows)) return Use(best->first, best->second, rows);
  }
  const auto plain = ceilings.flops.find(pipe);
  if (plain == ceilings.flops.end()) return std::nullopt;
  const auto any = [&](const auto&) { return plain->second.unbounded; };
  return Use(pipe, plain->second, RowsOf(pipe, ceilings.flops, any));
}

std::optional<UsedCeiling> RoofOf(Level level, const machine::CeilingSet& ceilings) {
  const auto roof = ceilings.bytes.find(level);
  if (roof == ceilings.bytes.end()) return std::nullopt;
  const std::string name(Key(level));
  const auto any = [&](const auto&) { return roof->second.unbounded; };
  return Use(name, roof->second, RowsOf(name, ceilings.mixes, any));
}

std::optional<UsedCeiling> MatrixRoof(const machine::CeilingSet& ceilings) {
  Rows rows;
  for (const machine::CeilingRow& row : ceilings.flops)
    if (row.first.find(".matrix") != std::string::npos) rows.push_back(&row);
  const auto higher = [](const auto* a, const auto* b) {
    return a->second.per_second < b->second.per_second;
  };
  const auto best = std::ranges::max_element(rows, higher);
  if (best == rows.end()) return std::nullopt;
  return Use((*best)->first, (*best)->second, rows);
}

}  // namespace dlroof::roofline
