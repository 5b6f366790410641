#include "reporters/live/google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <ostream>
#include <set>
#include <sstream>
#include <utility>

#include "counters/base/json_text.h"
#include "reporters/document/tables.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/record/record.h"
#include "reporters/record/record_json.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::live {
namespace {

const std::vector<std::string> kHeader = {"Benchmark", "Time",   "±",      "% roof",
                                          "bound",     "x roof", "FLOP/s", "FLOP/B DRAM"};
constexpr std::size_t kMinColumns = 6;  // number of columns without FLOP/s and FLOP/B
constexpr int kMinName = 24;            // [columns] least width of a shortened name

using Run = benchmark::BenchmarkReporter::Run;

// Google Benchmark 1.8 renamed error_occurred and error_message to skipped and skip_message.
template <class AnyRun>
bool Skipped(const AnyRun& run) {
  if constexpr (requires { run.error_occurred; })
    return run.error_occurred;
  else
    return run.skipped != decltype(run.skipped){};
}

template <class AnyRun>
std::string SkipMessage(const AnyRun& run) {
  if constexpr (requires { run.error_message; })
    return run.error_message;
  else
    return run.skip_message;
}

template <class AnyRun>
void MarkSkipped(AnyRun& run, const std::string& message) {
  if constexpr (requires { run.error_occurred; }) {
    run.error_occurred = true;
    run.error_message = message;
  } else {
    run.skipped = decltype(run.skipped)(2);  // internal::SkippedWithError
    run.skip_message = message;
  }
}

std::string NameOf(const Run& run) { return RecordName(run.run_name.str()); }

// The bare names (record::BareName) that several benchmarks share.
std::set<std::string> shared_names;
// The names of all records, if Google Benchmark listed the benchmarks before the run.
std::vector<std::string> record_names;

bool NotRun(const Run& run) { return Skipped(run) && SkipMessage(run) == record::kNotRun; }

// Returns the runs without repetitions that did not run, and without NaN and infinite counters
// (e.g. the coefficient of variation of a counter that is 0), which Google Benchmark would write as
// invalid JSON. Sets `repetitions` to the number of repetitions that ran.
std::vector<Run> Writable(const std::vector<Run>& runs, std::int64_t& repetitions) {
  std::vector<Run> writable;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(writable), std::not_fn(NotRun));
  if (!writable.empty() && writable.front().run_type == Run::RT_Iteration)
    repetitions = std::ssize(writable);
  for (Run& run : writable) {
    run.repetitions = repetitions;
    if (run.run_type == Run::RT_Aggregate) run.iterations = repetitions;
    std::erase_if(run.counters, [](const auto& item) { return !std::isfinite(item.second.value); });
  }
  return writable;
}

bool IsRepetition(const Run& run) { return run.run_type == Run::RT_Iteration && !NotRun(run); }

std::vector<record::Entry> EntriesFromRuns(const std::vector<Run>& runs) {
  std::vector<record::Entry> entries;
  for (const Run& run : runs) {
    if (!IsRepetition(run)) continue;
    record::Entry entry{.name = NameOf(run), .label = run.report_label, .skipped = Skipped(run)};
    if (entry.skipped) {
      entry.message = SkipMessage(run);
    } else {
      entry.iterations = static_cast<double>(run.iterations);
      entry.seconds = run.real_accumulated_time / entry.iterations;
      entry.main_cpu_seconds = run.cpu_accumulated_time / entry.iterations;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// Returns an entry with a benchmark's median time and counters, or nullopt without a median.
std::optional<record::Entry> EntryFromAggregates(const std::vector<Run>& runs) {
  const auto find = [&](std::string_view name) {
    return std::ranges::find_if(runs, [&](const Run& run) {
      return run.run_type == Run::RT_Aggregate && run.aggregate_name == name && !NotRun(run);
    });
  };
  const auto median = find("median"), mean = find("mean"), deviation = find("stddev");
  if (median == runs.end()) return std::nullopt;
  const auto seconds = [](const Run& run) {
    return run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
  };
  record::Entry entry{.name = NameOf(*median), .seconds = seconds(*median)};
  entry.label = median->report_label;
  entry.aggregate = record::AggregateTime{.statistic = "median",
                                          .repetitions = static_cast<int>(median->repetitions)};
  if (mean != runs.end() && deviation != runs.end() && seconds(*mean) > 0)
    entry.aggregate->deviation = seconds(*deviation) / seconds(*mean);
  for (const auto& [key, counter] : median->counters) entry.counters[key] = counter.value;
  return entry;
}

// Replaces the repetitions' times by Google Benchmark's `times`, so that records agree with its
// entries. Keeps the runner's own times where they leave out noisy calls or the flushing of caches.
void TakeTimes(const std::vector<record::Repetition>& times, const Measured& measured,
               std::vector<record::Repetition>& repetitions) {
  for (std::size_t i = 0; i < repetitions.size(); ++i) {
    auto& repetition = repetitions[i];
    if (repetition.clean_calls) continue;
    if (!measured.own_seconds) repetition.seconds = times[i].seconds;
    if (!measured.record.evicted_bytes) repetition.main_cpu_seconds = times[i].main_cpu_seconds;
  }
}

}  // namespace

void SetListedNames(const std::vector<std::string>& listed) {
  std::set<std::string> seen;
  for (const auto& name : listed)
    if (auto bare = record::BareName(name); !seen.insert(bare).second)
      shared_names.insert(std::move(bare));
  record_names = VectorOf<std::string>(listed, RecordName);
}

std::string RecordName(const std::string& listed) {
  auto bare = record::BareName(listed);
  return shared_names.contains(bare) ? listed : bare;
}

bool HasNoTime(const Run& run) { return Skipped(run); }
void MarkFailed(Run& run, const std::string& message) { MarkSkipped(run, message); }

std::string ResultSummary(const std::vector<record::Record>& records,
                          const std::optional<Reason>& stopped) {
  std::map<std::string, std::size_t> count;
  for (const auto& record : records) {
    const auto timing = record::TimeOf(record.repetitions);
    const bool noisy = record.status == record::Status::kOk && timing && timing->noisy;
    ++count[noisy ? "noisy" : std::string(record::Key(record.status))];
  }
  std::string text = fmt::format("{} benchmarks", records.size());
  for (const auto& [what, number] : count) text += fmt::format(", {} {}", number, what);
  if (count["noisy"] > 0) text += fmt::format("; {}", record::kEstimateMeaning);
  if (stopped)
    text += fmt::format("; {}", stopped->text);
  else if (const auto reason = record::NoiseText(records); count["noisy"] > 0 && !reason.empty())
    text += ": " + reason;
  return text + '\n';
}

LiveTable::LiveTable(const std::vector<std::string>& names, int width)
    // The longest cell of each column fits into these widths.
    : widths_{text::TextWidth(kHeader.front()), 9, 7, 10, 9, 8, 12, 11} {
  int longest = 0;
  for (const auto& name : names) longest = std::max(longest, text::TextWidth(name));
  const auto left = [&] {
    int columns = width;
    for (std::size_t i = 1; i < widths_.size(); ++i) columns -= widths_[i] + text::kColumnGap;
    return columns;
  };
  while (width > 0 && left() < std::min(longest, kMinName) && widths_.size() > kMinColumns)
    widths_.pop_back();
  if (width > 0 && left() < longest) {
    const auto shown = text::ShortenNames(names, std::max(left(), kMinName));
    longest = 0;
    for (std::size_t i = 0; i < names.size() && shown; ++i) {
      shown_[names[i]] = (*shown)[i];
      longest = std::max(longest, text::TextWidth((*shown)[i]));
    }
  }
  widths_.front() = std::max(widths_.front(), longest);
}

std::string LiveTable::Line(const std::string& name, std::vector<std::string> cells) const {
  cells.resize(widths_.size());
  const bool own_line = text::TextWidth(name) > widths_.front();
  cells.front() = own_line ? "" : name;
  return (own_line ? name + '\n' : "") + text::AlignedLine(cells, widths_) + '\n';
}

std::string LiveTable::Header() const {
  const auto line = Line(kHeader.front(), kHeader);
  const std::string rule(static_cast<std::size_t>(text::TextWidth(line)) - 1, '-');
  return rule + '\n' + line + rule + '\n';
}

std::string LiveTable::Row(const record::Record& record, const machine::Machine* machine) const {
  const auto shown = shown_.find(record.name);
  const auto& name = shown == shown_.end() ? record.name : shown->second;
  if (record.status != record::Status::kOk)
    return fmt::format("{:<{}} {}: {}\n", name, widths_.front(), record::Key(record.status),
                       record.reason);
  const auto placed = roofline::PlaceWritten(roofline::Written(record), machine);
  if (!placed.timing)
    return fmt::format("{:<{}} no time: {}\n", name, widths_.front(), record.reason);
  std::vector<std::string> cells;
  for (const auto& cell : document::ResultRow(record, placed, {}, Level::kDram))
    cells.push_back(cell.text.empty() ? "-" : cell.text);
  return Line(name, std::move(cells));
}

std::span<const record::Repetition> RepetitionsOf(const std::vector<Run>& runs,
                                                  const Session& session) {
  const auto timed = static_cast<std::size_t>(std::ranges::count_if(
      runs, [](const Run& run) { return IsRepetition(run) && !Skipped(run); }));
  const auto* measured = timed == 0 ? nullptr : session.FindMeasured(NameOf(runs.front()));
  if (measured == nullptr || measured->record.repetitions.size() < timed) return {};
  return std::span(measured->record.repetitions).last(timed);
}

std::optional<record::Record> RecordFromRuns(const std::vector<Run>& runs, const Session& session) {
  auto entries = EntriesFromRuns(runs);
  if (entries.empty()) {
    auto aggregate = EntryFromAggregates(runs);
    if (!aggregate || session.Has(aggregate->name)) return std::nullopt;
    entries = {*std::move(aggregate)};
  }
  const auto* measured = session.FindMeasured(entries.front().name);
  if (measured != nullptr)
    for (auto& entry : entries) entry.label.clear();
  auto reported = record::RecordFromEntries(entries);
  if (measured == nullptr) return reported;
  auto record = measured->record;
  record.status = reported.status;
  record.reason = reported.reason;
  const auto repetitions = RepetitionsOf(runs, session);
  record.repetitions.assign(repetitions.begin(), repetitions.end());
  if (repetitions.empty())
    record.repetitions = std::move(reported.repetitions);  // e.g. the aggregate
  else
    TakeTimes(reported.repetitions, *measured, record.repetitions);
  record.timed = record::TimedBySamples(record.repetitions);
  if (!measured->keep_noisy) record::MarkNoisy(record.repetitions);
  return record;
}

bool TerminalReporter::ReportContext(const Context& context) {
  session_.Begin();
  std::ostringstream basic;
  PrintBasicContext(&basic, context);
  GetErrorStream() << basic.str();
  if (basic.str().find("built as DEBUG") != std::string::npos)
    GetErrorStream() << "(The DEBUG warning above can be ignored: Debian's Google Benchmark "
                        "package is optimized, "
                        "and the timed loop is compiled here.)\n";
  table_ = LiveTable(record_names, text::TerminalColumns());
  Print(table_.Header());
  return true;
}

void TerminalReporter::Print(const std::string& text) {
  const bool ascii = text::TerminalColumns() > 0 && !text::LocaleHasUtf8();
  GetOutputStream() << (ascii ? text::InAscii(text) : text) << std::flush;
}

void TerminalReporter::ReportRuns(const std::vector<Run>& runs) {
  if (std::ranges::none_of(runs, IsRepetition)) return ReportAggregates(runs);
  const record::Record& record = session_.Add(RecordFromRuns(runs, session_).value());
  if (record.status == record::Status::kUnsupported) return;  // listed by reason at the end
  Print(table_.Row(record, record::MachineFor(session_.file(), record)));
}

void TerminalReporter::Finalize() {
  session_.Finish();
  const auto& late = session_.counted_late();
  if (!late.empty()) Print("Counted after all benchmarks were timed:\n" + table_.Header());
  for (const auto& record : session_.file().records)
    if (std::ranges::find(late, record.name) != late.end())
      Print(table_.Row(record, record::MachineFor(session_.file(), record)));
  const auto run = roofline::PlaceRun(session_.file());
  std::ostringstream below;
  if (document::HasShortSpread(run)) below << roofline::kSpreadMeaning << '\n';
  const auto summary = document::SummaryDocument(run, verbose_);
  if (!summary.blocks.empty()) below << '\n';
  document::Write(summary, 0, below);
  Print(below.str());
  GetErrorStream() << ResultSummary(session_.file().records, stopped_ ? stopped_() : std::nullopt);
}

// Writes the aggregates of benchmarks whose repetitions Google Benchmark did not report
// (--benchmark_report_aggregates_only). It reports aggregates in a separate call.
void TerminalReporter::ReportAggregates(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (NotRun(run) || session_.Has(NameOf(run))) continue;
    const double value =
        run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
    const auto shown = run.aggregate_unit == benchmark::kTime
                           ? text::WithPrefix(value, "s")
                           : text::PercentText(run.real_accumulated_time);
    Print(table_.Line(run.run_name.function_name + '_' + run.aggregate_name, {"", shown}));
  }
}

bool RunFileReporter::ReportContext(const Context& context) {
  session_.Begin();
  std::ostream& out = GetOutputStream();
  std::ostringstream plain;
  SetOutputStream(&plain);
  JSONReporter::ReportContext(context);
  SetOutputStream(&out);
  // Google Benchmark leaves its "benchmarks" array open; closing it makes the text valid JSON.
  const auto text = plain.str() + "]}";
  auto whole = nlohmann::json::parse(record::RepairedJson(text).value_or(text));
  whole["context"]["dlroof"] = session_.dlroof_context();
  nlohmann::json machines = nlohmann::json::array();
  for (const auto& machine : session_.file().machines) machines.push_back(machine::ToJson(machine));
  out << "{\n\"context\": " << JsonText(whole["context"], 2)
      << ",\n\"machines\": " << JsonText(machines, 2) << ",\n\"benchmarks\": [\n";
  Check();
  return true;
}

void RunFileReporter::ReportRuns(const std::vector<Run>& runs) {
  const auto writable = Writable(runs, repetitions_);
  if (writable.empty()) return;
  if (auto record = RecordFromRuns(writable, session_)) session_.Add(*std::move(record));
  CheckedReporter::ReportRuns(writable);
}

void RunFileReporter::Finalize() {
  session_.Finish();
  const auto whole = roofline::ToJson(roofline::PlaceRun(session_.file()));
  GetOutputStream() << "\n],\n\"records\": " << JsonText(whole["records"], 1);
  if (whole.contains("models"))
    GetOutputStream() << ",\n\"models\": " << JsonText(whole["models"], 1);
  GetOutputStream() << "\n}\n";
  Check();
}

void Session::Begin() {
  if (begun_) return;
  begun_ = true;
  file_.machines = machines_();
  file_.context["dlroof"] = dlroof_context_;
}

const record::Record& Session::Add(record::Record record) {
  const auto [found, added] = index_of_.try_emplace(record.name, file_.records.size());
  if (added)
    file_.records.push_back(std::move(record));
  else
    file_.records[found->second] = std::move(record);
  return file_.records[found->second];
}

void Session::Finish() {
  const auto passes = std::exchange(passes_, {});
  // Calls add(record, result) for each record with the status kOk that has a result of the pass.
  const auto add_results = [&](const auto& pass, const auto& add) {
    if (!pass) return;
    auto results = pass();
    for (auto& record : file_.records)
      if (auto* result = FindValue(results, record.name);
          result != nullptr && record.status == record::Status::kOk)
        add(record, *result);
  };
  add_results(passes.parallel, [](record::Record& record, ParallelTime& parallel) {
    record.parallel = std::move(parallel);
  });
  add_results(passes.energy, [](record::Record& record, const energy::EnergyResult& result) {
    const auto& [energy, reason] = result;
    record.energy = energy;
    if (reason) record.counting.push_back({"energy", {}, "not measured: " + reason->text});
  });
  add_results(passes.count, [&](record::Record& record, const Counting& counted) {
    const auto& [work, notes, kernels] = counted;
    for (const auto& [from, each] : work) {
      const auto launches = record.work[from].launches;  // known before, e.g. of a CUDA graph
      record.work[from] = each;
      if (!each.launches) record.work[from].launches = launches;
    }
    for (const auto& note : notes)
      if (std::ranges::count(record.counting, note) == 0) record.counting.push_back(note);
    if (!kernels.empty()) record.kernels = kernels;
    if (!work.empty()) counted_late_.push_back(record.name);
  });
}

bool Session::AnyFailed() const {
  return std::ranges::any_of(file_.records, [](const record::Record& record) {
    return record.status == record::Status::kFailed || record.status == record::Status::kWrong;
  });
}

}  // namespace dlroof::live
