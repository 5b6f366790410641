#include "baselines/compare/measured_again.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string_view>
#include <unordered_map>

#include "baselines/compare/interleaving.h"
#include "baselines/compare/paired_record.h"
#include "counters/base/error.h"

namespace dlroof::compare {
namespace {

bool CanTell(const record::Record& record) {
  return record.status == record::Status::kOk && HasEnoughClean(record);
}

bool Moved(const Comparison& row) {
  return row.verdict == statistics::Verdict::kSlower || row.verdict == statistics::Verdict::kFaster;
}

}  // namespace

void HoldAgainst(const record::Record& base, const record::Record& fresh, double min_effect,
                 const std::string& told, Comparison& row) {
  if (!Moved(row) || !CanTell(base) || !CanTell(fresh)) return;
  const auto shift = statistics::MeasureShift(CleanSeconds(base), CleanSeconds(fresh));
  const double sign = row.verdict == statistics::Verdict::kSlower ? 1 : -1;
  if (!shift || sign * shift->log_ratio > std::log1p(min_effect)) return;
  row.reason = fmt::format("{} {}", statistics::Key(row.verdict), told);
  row.verdict = statistics::Verdict::kAmbiguous;
}

void CheckMeasuredAgain(const NamedRun& fresh, const NamedRun& again) {
  if (InterleavingOf(fresh.file, fresh.file))
    throw BadInput(again.where + ": expected no other run beside builds that took turns: each " +
                   "block of them is another process already");
  const auto pairs = PairRecords(fresh, again, {});
  CheckComparable(fresh, again, pairs, false);
  for (const auto& [one, other] : pairs)
    if (one != nullptr && other != nullptr && CanTell(*one) && IsOneMeasurement(*one, *other))
      throw BadInput("{}: {} has the very same repetitions as in {}: one measurement, not two",
                     again.where, one->name, fresh.where);
  const auto changes = ContextChanges(fresh.file, again.file);
  if (!changes.empty())
    throw BadInput("{}: expected another run of what {} measured; it differs in {}", again.where,
                   fresh.where, fmt::join(changes, "; "));
}

MeasuredAgain HoldAgainst(const NamedRun& again, double min_effect, std::vector<Comparison>& rows) {
  std::unordered_map<std::string_view, const record::Record*> by_name;
  for (const auto& record : again.file.records) by_name.emplace(record.name, &record);
  MeasuredAgain told{again.where, 0, 0};
  for (auto& row : rows) {
    if (!Moved(row)) continue;
    const auto found = by_name.find(row.fresh->name);
    if (found == by_name.end() || !CanTell(*found->second)) {
      ++told.unknown;
      continue;
    }
    HoldAgainst(*row.base, *found->second, min_effect,
                fmt::format("in NEW, but not when measured again ({})", again.where), row);
    told.taken_back += row.verdict == statistics::Verdict::kAmbiguous ? 1 : 0;
  }
  return told;
}

}  // namespace dlroof::compare
