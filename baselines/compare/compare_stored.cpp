#include "baselines/compare/compare_stored.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "baselines/compare/measured_again.h"
#include "counters/base/error.h"
#include "counters/base/order_statistics.h"

namespace dlroof::compare {
namespace {

// One or two movements without their median are no noise.
constexpr std::size_t kLeastMoved = 3;

// A failure is a result too; repetitions that were mostly disturbed are none.
bool CanBeComparedWith(const record::Record& record) {
  return record.status != record::Status::kOk || HasEnoughClean(record);
}

// The stored record that a benchmark of NEW is compared with.
struct Partner {
  std::size_t run = 0;  // index into the stored runs
  const record::Record* base = nullptr;
  const record::Record* before = nullptr;  // of the run before that has times of it; null: none
};

struct Partners {
  std::unordered_map<const record::Record*, Partner> of;  // by NEW's record
  std::vector<std::vector<const record::Record*>> gone;   // by stored run: those that NEW lacks
};

Partners FindPartners(const std::vector<NamedRun>& stored, const NamedRun& fresh,
                      const NameMap& names) {
  Partners partners;
  partners.gone.resize(stored.size());
  for (std::size_t run = stored.size(); run-- > 0;)
    for (const auto& pair : PairRecords(stored[run], fresh, NamesIn(stored[run], names))) {
      if (pair.base == nullptr) continue;
      if (pair.fresh == nullptr) {
        partners.gone[run].push_back(pair.base);
        continue;
      }
      const Partner partner{run, pair.base, nullptr};
      const auto [found, added] = partners.of.try_emplace(pair.fresh, partner);
      if (added) continue;
      auto& [newest, base, before] = found->second;
      if (!CanBeComparedWith(*base) && CanBeComparedWith(*pair.base))
        found->second = partner;
      else if (before == nullptr && pair.base->status == record::Status::kOk && HasEnoughClean(*pair.base))
        before = pair.base;
    }
  return partners;
}

// By stored run. A record that none of them has is filed with the newest that has any.
std::vector<std::vector<PairedRecord>> PairsByRun(const std::vector<NamedRun>& stored,
                                                  const NamedRun& fresh, const Partners& partners) {
  std::vector<std::vector<PairedRecord>> pairs(stored.size());
  std::vector<PairedRecord> alone;
  for (const auto& record : fresh.file.records) {
    const auto found = partners.of.find(&record);
    if (found == partners.of.end())
      alone.push_back({nullptr, &record});
    else
      pairs[found->second.run].push_back({found->second.base, &record});
  }
  std::set<std::string_view> gone;
  for (std::size_t run = stored.size(); run-- > 0;) {
    if (pairs[run].empty()) continue;
    for (const auto* base : partners.gone[run])
      if (gone.insert(base->name).second) pairs[run].push_back({base, nullptr});
    pairs[run].insert(pairs[run].end(), alone.begin(), alone.end());
    alone.clear();
  }
  return pairs;
}

// 1 where something got worse, 0 where something was judged, else 3.
int WorstExitCode(const std::vector<CompareResult>& parts) {
  const auto any = [&](int code) {
    return std::ranges::any_of(parts,
                               [&](const CompareResult& part) { return part.exit_code == code; });
  };
  return any(1) ? 1 : any(0) ? 0 : 3;
}

// `rows` of all parts, in their order.
CompareResult Merged(std::vector<CompareResult> parts, std::vector<Comparison> rows) {
  CompareResult whole = parts.front();
  whole.exit_code = WorstExitCode(parts);
  whole.count.clear();
  whole.residuals.clear();
  whole.alerts = 0;
  for (const auto& row : rows) {
    ++whole.count[row.verdict];
    whole.alerts += static_cast<int>(row.alerts.size());
    AddTo(whole.residuals, row.residuals);
  }
  for (std::size_t i = 1; whole.again && i < parts.size(); ++i) {
    whole.again->taken_back += parts[i].again->taken_back;
    whole.again->unknown += parts[i].again->unknown;
  }
  if (parts.size() > 1) {  // of two runs, not of all
    whole.common.reset();
    whole.context.clear();
  }
  whole.rows = std::move(rows);
  whole.parts = std::move(parts);
  return whole;
}

// Returns the shifts of `fresh`'s records that are not in `seen`. Records with a shift join `seen`.
std::vector<statistics::Shift> ShiftsBetween(const NamedRun& base, const NamedRun& fresh,
                                 std::unordered_set<const record::Record*>& seen) {
  std::vector<statistics::Shift> shifts;
  std::vector<double> logs;
  for (const auto& pair : PairRecords(base, fresh, {})) {
    if (pair.base == nullptr || pair.fresh == nullptr || pair.base->status != record::Status::kOk ||
        pair.fresh->status != record::Status::kOk || seen.count(pair.fresh) > 0)
      continue;
    if (const auto shift = statistics::MeasureShift(CleanSeconds(*pair.base), CleanSeconds(*pair.fresh))) {
      shifts.push_back(*shift);
      logs.push_back(shift->log_ratio);
      seen.insert(pair.fresh);
    }
  }
  if (shifts.size() < kLeastMoved) return {};
  const double centre = Median(std::move(logs));
  for (auto& shift : shifts) shift.log_ratio -= centre;
  return shifts;
}

}  // namespace

CompareResult CompareWithStored(const std::vector<NamedRun>& stored, const NamedRun& fresh,
                                const CompareOptions& options) {
  if (options.again != nullptr) CheckMeasuredAgain(fresh, *options.again);
  const auto partners = FindPartners(stored, fresh, options.names);
  const auto pairs = PairsByRun(stored, fresh, partners);
  const auto noise = ShiftsBetweenRuns(stored);
  std::vector<CompareResult> parts;
  std::unordered_map<const record::Record*, Comparison> by_fresh;
  std::vector<Comparison> gone;
  for (std::size_t run = stored.size(); run-- > 0;) {
    if (pairs[run].empty()) continue;
    auto part = ComparePairs(stored[run], fresh, pairs[run], options, noise);
    for (auto& row : part.rows)
      if (const auto found = partners.of.find(row.fresh);
          found != partners.of.end() && found->second.before != nullptr)
        HoldAgainst(*found->second.before, *row.fresh, part.min_effect,
                    "than the newest stored run, but not than the one before it", row);
    CountVerdicts(options, part);
    for (auto& row : std::exchange(part.rows, {})) {
      if (row.base != nullptr) row.stored = &stored[run];
      if (row.fresh == nullptr)
        gone.push_back(std::move(row));
      else
        by_fresh.emplace(row.fresh, std::move(row));
    }
    parts.push_back(std::move(part));
  }
  if (parts.empty()) throw BadInput(fresh.where + ": no stored run has a benchmark of it");
  std::vector<Comparison> rows;
  rows.reserve(by_fresh.size() + gone.size());
  for (const auto& record : fresh.file.records) rows.push_back(std::move(by_fresh.at(&record)));
  rows.insert(rows.end(), std::make_move_iterator(gone.begin()),
              std::make_move_iterator(gone.end()));
  return Merged(std::move(parts), std::move(rows));
}

std::vector<statistics::Shift> ShiftsBetweenRuns(const std::vector<NamedRun>& runs) {
  std::vector<statistics::Shift> all;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    std::unordered_set<const record::Record*> seen;
    for (std::size_t older = i; older-- > 0 && seen.size() < runs[i].file.records.size();) {
      const auto shifts = ShiftsBetween(runs[older], runs[i], seen);
      all.insert(all.end(), shifts.begin(), shifts.end());
    }
  }
  return all;
}

}  // namespace dlroof::compare
