#include "baselines/compare/compare_stored.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <ostream>
#include <set>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "baselines/compare/judged_times.h"
#include "baselines/compare/paired_record.h"
#include "counters/base/error.h"
#include "reporters/record/run_file.h"

namespace dlroof::compare {
namespace {

namespace fs = std::filesystem;

bool SharesMachine(const record::RunFile& a, const record::RunFile& b) {
  for (const auto& one : a.machines)
    for (const auto& other : b.machines)
      if (one.fingerprint == other.fingerprint) return true;
  return false;
}

void CheckMapped(const std::vector<NamedRun>& runs, const NameMap& names, const fs::path& folder) {
  NameMap left = names;
  for (const auto& run : runs)
    for (const auto& [base_name, contender_name] : NamesIn(run, names)) left.erase(base_name);
  if (!left.empty())
    throw BadInput(
        "{}: no stored run of this machine has the benchmark '{}', which is in the name map",
        folder.string(), left.begin()->first);
}

// Returns the offset east of UTC [s] of a time zone "Z", "+01:00", "-0530" or "+01"; 0 for "".
double OffsetOf(const char* zone) {
  char sign = '+';
  int hours = 0, minutes = 0;
  if (std::sscanf(zone, " %c%2d:%2d", &sign, &hours, &minutes) == 2)
    std::sscanf(zone, " %*c%*2d%2d", &minutes);
  return (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
}

// Returns whether a comparison can judge the times.
bool CanTell(const record::Record& record) {
  return record.status == record::Status::kOk && LevelsOf(record, record).has_value();
}

// Returns whether the record failed or has times to judge.
bool CanBeComparedWith(const record::Record& record) {
  return record.status != record::Status::kOk || CanTell(record);
}

// The stored record that a benchmark of NEW is compared with.
struct Partner {
  std::size_t run = 0;  // index into the stored runs
  const record::Record* base = nullptr;
};

struct Partners {
  std::unordered_map<const record::Record*, Partner> of;  // by NEW's record
  std::vector<std::vector<const record::Record*>> gone;   // by stored run: records missing in NEW
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

// Returns the pairs by stored run. New records, which have no stored result, are listed with the
// newest run that has a pair.
std::vector<std::vector<PairedRecord>> PairsByRun(const std::vector<NamedRun>& stored,
                                                  const NamedRun& contender,
                                                  const Partners& partners) {
  std::vector<std::vector<PairedRecord>> pairs(stored.size());
  std::vector<PairedRecord> unpaired;
  for (const auto& record : contender.file.records) {
    const auto found = partners.of.find(&record);
    if (found == partners.of.end())
      unpaired.push_back({nullptr, &record});
    else
      pairs[found->second.run].push_back({found->second.base, &record});
  }
  std::set<std::string_view> gone;
  for (std::size_t run = stored.size(); run-- > 0;) {
    if (pairs[run].empty()) continue;
    for (const auto* base : partners.gone[run])
      if (gone.insert(base->name).second) pairs[run].push_back({base, nullptr});
    pairs[run].insert(pairs[run].end(), unpaired.begin(), unpaired.end());
    unpaired.clear();
  }
  return pairs;
}

// Returns the worst exit code: 1 (got worse) before 3 (all moved, for an unknown reason) before 0
// (same or better) before 3 (nothing judged).
int WorstExitCode(const std::vector<CompareResult>& parts) {
  const auto any = [&](int code) {
    return std::ranges::any_of(parts,
                               [&](const CompareResult& part) { return part.exit_code == code; });
  };
  if (any(1)) return 1;
  if (std::ranges::any_of(parts, [](const CompareResult& part) {
        return part.exit_code == 3 && part.common && part.common->is_unexplained;
      }))
    return 3;
  return any(0) ? 0 : 3;
}

// Returns the result over all stored runs. `rows` has the rows of all parts, in NEW's order.
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
  for (std::size_t i = 1; whole.rerun && i < parts.size(); ++i) {
    whole.rerun->retracted += parts[i].rerun->retracted;
    whole.rerun->unknown += parts[i].rerun->unknown;
  }
  if (parts.size() > 1) {  // below: facts of a single pair of runs
    whole.common.reset();
    whole.context.clear();
  }
  whole.rows = std::move(rows);
  whole.parts = std::move(parts);
  return whole;
}

}  // namespace
std::vector<fs::path> JsonFiles(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw BadInput("{}: not a folder, expected stored run files in it", folder.string());
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::optional<NamedRun> ReadIfRun(const fs::path& path) {
  try {
    std::ostringstream cut;  // truncated files cause warnings, and are no baselines
    NamedRun run{path.string(), record::ReadRunFile(path.string(), cut)};
    if (cut.str().empty()) return run;
  } catch (const BadInput&) {
    // Other JSON files (tables of studies, machines) are skipped.
  }
  return std::nullopt;
}

std::vector<NamedRun> FindBaselines(const fs::path& folder, const NamedRun& contender,
                                    const NameMap& names, std::ostream& warnings) {
  if (contender.file.machines.empty())
    throw BadInput(contender.where + ": has no machine, so no baseline can be found for it");
  const auto files = JsonFiles(folder);
  std::vector<NamedRun> fitting;
  for (const auto& path : files) {
    std::error_code none;
    if (fs::equivalent(path, contender.where, none)) continue;
    auto run = ReadIfRun(path);
    if (!run || !SharesMachine(run->file, contender.file)) continue;
    try {
      CheckComparable(*run, contender, PairRecords(*run, contender, NamesIn(*run, names)), false);
      fitting.push_back(std::move(*run));
    } catch (const BadInput& error) {
      warnings << "skipped: " << error.what() << '\n';
    }
  }
  if (fitting.empty())
    throw BadInput(
        "{}: none of {} JSON files is a run of this machine ({}) that can be compared with {}",
        folder.string(), files.size(), contender.file.machines.front().fingerprint,
        contender.where);
  std::ranges::stable_sort(
      fitting, [](const auto& a, const auto& b) { return Moment(a.file) < Moment(b.file); });
  CheckMapped(fitting, names, folder);
  return fitting;
}

std::optional<double> Moment(const record::RunFile& file) {
  const auto date = record::Text(file.context, "date");
  tm parts = {};
  char between = ' ';
  int end = 0;
  const int read =
      std::sscanf(date.c_str(), "%4d-%2d-%2d%c%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &between, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &end);
  if (read < 7 || (between != 'T' && between != ' ')) return std::nullopt;
  auto zone = static_cast<std::size_t>(end);
  if (zone < date.size() && (date[zone] == '.' || date[zone] == ','))
    zone = std::min(date.find_first_not_of("0123456789", zone + 1), date.size());
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(timegm(&parts)) - OffsetOf(date.c_str() + zone);
}

CompareResult CompareWithStored(const std::vector<NamedRun>& stored, const NamedRun& contender,
                                const CompareOptions& options) {
  if (options.rerun != nullptr) CheckRerun(contender, *options.rerun);
  const auto partners = FindPartners(stored, contender, options.names);
  const auto pairs = PairsByRun(stored, contender, partners);
  std::vector<CompareResult> parts;
  std::unordered_map<const record::Record*, Comparison> by_contender;
  std::vector<Comparison> gone;
  for (std::size_t run = stored.size(); run-- > 0;) {
    if (pairs[run].empty()) continue;
    auto with_earlier = options;
    with_earlier.window = true;
    for (std::size_t older = 0; older < run; ++older)
      with_earlier.earlier.push_back(&stored[older]);
    auto part = ComparePairs(stored[run], contender, pairs[run], with_earlier);
    for (auto& row : std::exchange(part.rows, {})) {
      if (row.base != nullptr) row.stored = &stored[run];
      if (row.contender == nullptr)
        gone.push_back(std::move(row));
      else
        by_contender.emplace(row.contender, std::move(row));
    }
    parts.push_back(std::move(part));
  }
  if (parts.empty()) throw BadInput(contender.where + ": no stored run has one of its benchmarks");
  std::vector<Comparison> rows;
  rows.reserve(by_contender.size() + gone.size());
  for (const auto& record : contender.file.records)
    rows.push_back(std::move(by_contender.at(&record)));
  rows.insert(rows.end(), std::make_move_iterator(gone.begin()),
              std::make_move_iterator(gone.end()));
  return Merged(std::move(parts), std::move(rows));
}

void RetractUnlessRepeated(const record::Record& base, const record::Record& contender,
                           double min_effect, const std::string& reason, Comparison& row) {
  if (!statistics::IsChange(row.verdict) || !CanTell(base) || !CanTell(contender)) return;
  const auto shift = JudgedLogRatio(base, contender);
  const double sign = row.verdict == statistics::Verdict::kSlower ? 1 : -1;
  if (!shift || sign * *shift > std::log1p(min_effect)) return;
  row.reason = fmt::format("{} {}", statistics::Key(row.verdict), reason);
  row.verdict = statistics::Verdict::kAmbiguous;
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
    if (found == by_name.end() || !CanTell(*found->second)) {
      ++check.unknown;
      continue;
    }
    RetractUnlessRepeated(*row.base, *found->second, min_effect,
                          fmt::format("in NEW, but not when measured again ({})", rerun.where),
                          row);
    check.retracted += row.verdict == statistics::Verdict::kAmbiguous ? 1 : 0;
  }
  return check;
}

}  // namespace dlroof::compare
