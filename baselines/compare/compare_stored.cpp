#include "baselines/compare/compare_stored.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "baselines/compare/judged_times.h"
#include "counters/base/error.h"

namespace dlroof::compare {
namespace {

// Returns whether the record has enough times to be judged.
bool CanTell(const record::Record& record) {
  return record.status == record::Status::kOk && LevelsOf(record, record).has_value();
}

// Returns whether the record failed or has enough times to be judged.
bool CanBeComparedWith(const record::Record& record) {
  return record.status != record::Status::kOk || CanTell(record);
}

// The stored record that a benchmark of NEW is compared with.
struct Partner {
  std::size_t run = 0;  // index into the stored runs
  const record::Record* base = nullptr;
};

struct Partners {
  std::unordered_map<const record::Record*, Partner> of;  // key: record of NEW
  std::vector<std::vector<const record::Record*>> gone;   // per stored run: records missing in NEW
};

Partners FindPartners(const std::vector<NamedRun>& stored, const NamedRun& contender,
                      const NameMap& names) {
  Partners partners;
  partners.gone.resize(stored.size());
  for (std::size_t run = stored.size(); run-- > 0;)
    for (const auto& pair : PairRecords(stored[run], contender, NamesIn(stored[run], names))) {
      if (pair.base == nullptr) continue;
      if (pair.contender == nullptr) {
        partners.gone[run].push_back(pair.base);
        continue;
      }
      const Partner partner{run, pair.base};
      const auto [found, added] = partners.of.try_emplace(pair.contender, partner);
      if (!added && !CanBeComparedWith(*found->second.base) && CanBeComparedWith(*pair.base))
        found->second = partner;
    }
  return partners;
}

}  // namespace

CompareResult CompareWithStored(const std::vector<NamedRun>& stored, const NamedRun& contender,
                                const CompareOptions& options) {
  if (options.rerun != nullptr) CheckRerun(contender, *options.rerun);
  const auto partners = FindPartners(stored, contender, options.names);
  std::set<std::size_t, std::greater<>> used;  // indices of runs, descending
  for (const auto& [record, partner] : partners.of) used.insert(partner.run);
  if (used.empty()) throw BadInput(contender.where + ": no stored run has one of its benchmarks");
  std::vector<PairOfRuns> pairs;
  for (const auto& record : contender.file.records) {
    const auto found = partners.of.find(&record);
    const auto partner = found == partners.of.end() ? Partner{*used.begin()} : found->second;
    pairs.push_back({{partner.base, &record}, &stored[partner.run], partner.run});
  }
  std::set<std::string_view> gone;
  std::vector<std::string> names;
  for (const auto run : used) {
    names.push_back(stored[run].where);
    for (const auto* base : partners.gone[run])
      if (gone.insert(base->name).second) pairs.push_back({{base, nullptr}, &stored[run], run});
  }
  auto result = ComparePairs(pairs, stored, contender, options);
  result.base = fmt::format("{}", fmt::join(names, ", "));
  return result;
}

void CheckRerun(const NamedRun& contender, const NamedRun& rerun) {
  if (InterleavedComparisonOf(contender.file, contender.file))
    throw BadInput(rerun.where + ": an interleaved comparison takes no second run: each of its " +
                   "blocks has its own processes already");
  const auto pairs = PairRecords(contender, rerun, {});
  CheckComparable(contender, rerun, pairs, false);
  for (const auto& [one, other] : pairs)
    if (one != nullptr && other != nullptr && CanTell(*one) && IsSameMeasurement(*one, *other))
      throw BadInput("{}: {} has the same repetitions as in {}: they are one measurement",
                     rerun.where, one->name, contender.where);
  const auto changes = ContextChanges(contender.file, rerun.file);
  if (!changes.empty())
    throw BadInput("{}: expected a second run of the build and settings of {}; it differs in {}",
                   rerun.where, contender.where, fmt::join(changes, "; "));
}

RerunCheck RetractUnlessRepeated(const NamedRun& rerun, double min_effect,
                                 std::vector<Comparison>& rows) {
  std::unordered_map<std::string_view, const record::Record*> by_name;
  for (const auto& record : rerun.file.records) by_name.emplace(record.name, &record);
  RerunCheck check{rerun.where, 0, 0};
  for (auto& row : rows) {
    if (!statistics::IsChange(row.verdict)) continue;
    const auto found = by_name.find(row.contender->name);
    const auto levels = found == by_name.end() || !CanTell(*found->second)
                            ? std::nullopt
                            : LevelsOfTimes(*row.base, *found->second);
    if (!levels) {
      ++check.unknown;
      continue;
    }
    const double sign = row.verdict == statistics::Verdict::kSlower ? 1 : -1;
    const double log_ratio = levels->contender.log_seconds - levels->base.log_seconds;
    if (sign * log_ratio > std::log1p(min_effect)) continue;
    row.reason = fmt::format("{} in NEW, but not when measured again ({})",
                             statistics::Key(row.verdict), rerun.where);
    row.verdict = statistics::Verdict::kAmbiguous;
    ++check.retracted;
  }
  return check;
}

}  // namespace dlroof::compare
