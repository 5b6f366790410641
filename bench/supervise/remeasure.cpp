#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "baselines/compare/paired_record.h"
#include "baselines/history/history.h"
#include "bench/supervise/supervise.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "reporters/record/run_context.h"
#include "reporters/text/text.h"

namespace dlroof::supervise {
namespace {

// [1] Number of benchmarks per interleaved measurement, the most suspicious first.
constexpr std::size_t kAtOnce = 16;
constexpr int kMaxReruns = 3;  // [1] further runs of NEW if BASE has no stored program

// Returns a --benchmark_filter of these names, also with a suffix "/real_time" or "/manual_time".
std::string FilterOf(const std::vector<std::string>& names) {
  std::string filter;
  for (const auto& name : names) {
    const auto exact = ExactFilter(name);  // ^name$
    filter += (filter.empty() ? "" : "|") + exact.substr(1, exact.size() - 2);
  }
  return fmt::format("^({})(/(real|manual)_time)?$", filter);
}

// Measures the benchmarks `names` with the request's program, or its two programs interleaved.
// Returns a run per program, or an empty vector if nothing was measured (with a message in `log`).
std::vector<record::RunFile> Measured(RunRequest request, const std::vector<std::string>& names,
                                      std::ostream& log) {
  const TemporaryFolder folder;
  std::ostringstream tables;
  std::erase_if(request.arguments, [](const std::string& argument) {
    return argument.starts_with("--benchmark_filter");
  });
  request.arguments.push_back("--benchmark_filter=" + FilterOf(names));
  for (std::size_t i = 0; i < request.programs.size(); ++i)
    request.outputs.push_back(folder / fmt::format("{}.json", i));
  request.tables = &tables;
  try {
    Supervise(request, log);
  } catch (const BadInput& error) {
    log << "cannot be measured again: " << error.what() << '\n';
    return {};
  }
  std::vector<record::RunFile> runs;
  for (const auto& output : request.outputs)
    if (std::filesystem::exists(output)) runs.push_back(record::ReadRunFile(output, log));
  return runs;
}

// Returns the largest number of processes that measured a benchmark of the run [1].
int ProcessesOf(const record::RunFile& run) {
  std::size_t most = 1;
  for (const auto& record : run.records) {
    std::set<int> processes;
    for (const auto& repetition : record.repetitions)
      if (repetition.block) processes.insert(*repetition.block);
    most = std::max(most, processes.size());
  }
  return static_cast<int>(most);
}

// Appends the repetitions `more` of further processes, which get new process numbers.
void AppendProcesses(const std::vector<record::Repetition>& more,
                     std::vector<record::Repetition>& repetitions) {
  std::optional<int> last;
  for (const auto& repetition : repetitions)
    if (repetition.block) last = std::max(last.value_or(0), *repetition.block);
  for (const auto& repetition : more) {
    repetitions.push_back(repetition);
    if (last) repetitions.back().block = *last + 1 + repetition.block.value_or(0);
  }
}

class Remeasurement {
 public:
  Remeasurement(const compare::NamedRun& contender, const CompareRun& compare,
                const Settings& settings, std::ostream& log)
      : contender_(contender),
        compare_(compare),
        settings_(settings),
        log_(log),
        begin_seconds_(cpu::WallSeconds()) {}

  Settled Run() {
    settled_.result = compare_(contender_);
    if (settings_.stored_program)
      SettleInterleaved();
    else
      SettleAlone();
    // A benchmark that is still ambiguous after further measurements stays unclear.
    for (const auto& row : settled_.result.rows) {
      if (row.verdict == statistics::Verdict::kAmbiguous) decided_.erase(row.name());
      if (statistics::IsChange(row.verdict)) decided_.insert(row.name());
    }
    settled_.unclear = history::UnclearNames(settled_.result, decided_);
    return std::move(settled_);
  }

 private:
  double SecondsLeft() const {
    return settings_.budget_seconds - (cpu::WallSeconds() - begin_seconds_);
  }
  bool IsOver() const { return SecondsLeft() <= 0 || StoppedByInterrupt(); }

  void Announce(const std::vector<std::string>& names, const char* how) const {
    log_ << fmt::format("measuring {} unclear benchmarks {}:\n", names.size(), how);
    for (const auto& name : names) log_ << "  " << text::Printable(name) << '\n';
  }

  void SettleInterleaved() {
    std::set<std::string> tried, slower;
    for (const auto& row : settled_.result.rows)
      if (row.verdict == statistics::Verdict::kSlower) slower.insert(row.name());
    while (!IsOver()) {
      auto names = history::UnclearNames(settled_.result, tried);
      if (names.empty()) return;
      if (names.size() > kAtOnce) names.resize(kAtOnce);
      tried.insert(names.begin(), names.end());
      Announce(names, "interleaved with the stored program");
      auto pair = Interleave({.programs = {*settings_.stored_program, settings_.program},
                              .arguments = settings_.arguments,
                              .budget_seconds = SecondsLeft(),
                              .min_effect = settings_.min_effect.value_or(0.02)},
                             names, log_);
      if (!pair) continue;
      const auto replaced = history::ReplaceRows(pair->result, settled_.result);
      settled_.interleaved.insert(replaced.begin(), replaced.end());
      settled_.again.insert(replaced.begin(), replaced.end());
      decided_.insert(replaced.begin(), replaced.end());
      settled_.pairs.push_back(std::move(pair));
    }
    // The first comparison was not interleaved, so its slowdowns must be confirmed. A slowdown that
    // was not confirmed before the budget ended is ambiguous, and the exit code is 3.
    for (auto& row : settled_.result.rows) {
      if (!slower.contains(row.name()) || !row.judgement) continue;
      if (row.verdict == statistics::Verdict::kSlower && IsOver() && tried.contains(row.name()) &&
          !settled_.interleaved.contains(row.name())) {
        row.verdict = statistics::Verdict::kAmbiguous;
        row.reason = "slower at first, but the budget ended before interleaved runs confirmed it";
      }
      row.judgement->is_suspect = row.verdict == statistics::Verdict::kAmbiguous;
    }
    CountVerdicts(settled_.result);
  }

  // Measures NEW again in further runs, because no program of BASE is stored.
  void SettleAlone() {
    const compare::NamedRun* pooled = &contender_;
    for (int number = 1; number <= kMaxReruns && !IsOver(); ++number) {
      const auto names = history::UnclearNames(settled_.result, decided_);
      if (names.empty()) return;
      Announce(names, "in further processes");
      const auto runs = Measured({.programs = {settings_.program},
                                  .arguments = settings_.arguments,
                                  .budget_seconds = SecondsLeft(),
                                  .processes = ProcessesOf(contender_.file),
                                  .retries = 0},
                                 names, log_);
      if (runs.empty()) return;
      settled_.runs.push_back({fmt::format("rerun {}", number), runs.front()});
      const auto& rerun = settled_.runs.back();
      settled_.again.insert(names.begin(), names.end());
      pooled = Pooled(*pooled, rerun);
      CheckRerun(*pooled, rerun);
      settled_.result = compare_(*pooled);
      Confirm(rerun, settled_.result);
      for (const auto& row : settled_.result.rows)
        if (row.verdict == statistics::Verdict::kSlower && settled_.again.contains(row.name()))
          decided_.insert(row.name());  // slower in NEW and in the further run
    }
  }

  // Returns a copy of the run with the repetitions of `rerun` appended.
  const compare::NamedRun* Pooled(const compare::NamedRun& run, const compare::NamedRun& rerun) {
    settled_.runs.push_back(run);
    for (const auto& record : rerun.file.records) {
      auto& records = settled_.runs.back().file.records;
      const auto own = std::ranges::find(records, record.name, &record::Record::name);
      if (own == records.end() || record.status != own->status) continue;
      AppendProcesses(record.repetitions, own->repetitions);
    }
    return &settled_.runs.back();
  }

  const compare::NamedRun& contender_;
  const CompareRun& compare_;
  const Settings& settings_;
  std::ostream& log_;
  double begin_seconds_;
  std::set<std::string> decided_;  // a further measurement confirmed or excluded their slowdown
  Settled settled_;
};

}  // namespace

std::unique_ptr<Interleaved> Interleave(const RunRequest& request,
                                        const std::vector<std::string>& names, std::ostream& log) {
  auto runs = Measured(request, names, log);
  if (runs.size() != 2) return nullptr;
  auto pair = std::make_unique<Interleaved>();
  pair->base = {"the stored program", std::move(runs[0])};
  pair->contender = {"the new program", std::move(runs[1])};
  pair->result = compare::Compare(pair->base, pair->contender, {});
  return pair;
}

void CheckRerun(const compare::NamedRun& contender, const compare::NamedRun& rerun) {
  if (record::InterleavedComparisonOf(contender.file, contender.file))
    throw BadInput(rerun.where + ": an interleaved comparison takes no second run: each of its " +
                   "blocks has its own processes already");
  const auto pairs = compare::PairRecords(contender, rerun, {});
  compare::CheckComparable(contender, rerun, pairs, false);
  for (const auto& pair : pairs) {
    const auto *one = pair.base, *other = pair.contender;
    if (one != nullptr && other != nullptr && compare::CanTell(*one) &&
        compare::IsSameMeasurement(*one, *other))
      throw BadInput("{}: {} has the same repetitions as in {}: they are one measurement",
                     rerun.where, one->name, contender.where);
  }
  const auto changes = record::ContextChanges(contender.file, rerun.file);
  if (!changes.empty())
    throw BadInput("{}: expected a second run of the build and settings of {}; it differs in {}",
                   rerun.where, contender.where, fmt::join(changes, "; "));
}

void Confirm(const compare::NamedRun& rerun, compare::CompareResult& result) {
  using statistics::Verdict;
  std::unordered_map<std::string_view, const record::Record*> by_name;
  for (const auto& record : rerun.file.records) by_name.emplace(record.name, &record);
  compare::RerunCheck check{rerun.where, 0, 0};
  for (auto& row : result.rows) {
    if (!statistics::IsChange(row.verdict)) continue;
    const auto found = by_name.find(row.contender->name);
    const auto levels = found == by_name.end() || !compare::CanTell(*found->second)
                            ? std::nullopt
                            : compare::LevelsOfTimes(*row.base, *found->second);
    if (!levels) {
      ++check.unknown;
      continue;
    }
    const double sign = row.verdict == Verdict::kSlower ? 1 : -1;
    const double log_ratio = levels->contender.log_seconds - levels->base.log_seconds;
    if (sign * log_ratio > std::log1p(result.judged.min_effect)) continue;
    row.reason = fmt::format("{} in NEW, but not when measured again ({})",
                             statistics::Key(row.verdict), rerun.where);
    row.verdict = Verdict::kAmbiguous;
    // Differences between the runs would explain a change, but there is none.
    std::erase_if(row.changes, [](const auto& change) { return change.kind == "run"; });
    ++check.retracted;
  }
  result.rerun = check;
  CountVerdicts(result);
}

Settled Settle(const compare::NamedRun& contender, const CompareRun& compare,
               const Settings& settings, std::ostream& log) {
  return Remeasurement(contender, compare, settings, log).Run();
}

}  // namespace dlroof::supervise
