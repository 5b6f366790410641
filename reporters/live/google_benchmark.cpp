#include "reporters/live/google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <ostream>
#include <sstream>

#include "reporters/live/result_row.h"
#include "reporters/record/work_counters.h"
#include "reporters/roofline/placed_json.h"
#include "reporters/terminal/tables.h"

namespace dlroof::live {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

// 1.8 renamed error_occurred and error_message to skipped and skip_message.
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

bool NotRun(const Run& run) { return Skipped(run) && SkipMessage(run) == record::kNotRun; }

// Google Benchmark would write NaN and infinity as they are, which JSON does not have: the
// coefficient of variation of a counter that is 0, for one. It also takes the repetitions that did
// not run for repetitions.
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

}  // namespace

std::vector<record::Entry> EntriesFromRuns(const std::vector<Run>& runs) {
  std::vector<record::Entry> entries;
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || NotRun(run)) continue;
    record::Entry entry;
    entry.name = run.run_name.function_name;
    entry.skipped = Skipped(run);
    entry.label = run.report_label;
    if (entry.skipped) {
      entry.message = SkipMessage(run);
    } else {
      const auto iterations = static_cast<double>(run.iterations);
      entry.iterations = iterations;
      entry.seconds = run.real_accumulated_time / iterations;
      entry.main_cpu_seconds = run.cpu_accumulated_time / iterations;
      for (const auto& [key, counter] : run.counters) entry.counters[key] = counter.value;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

bool TerminalReporter::ReportContext(const Context& context) {
  session_.Begin();
  std::ostringstream basic;
  PrintBasicContext(&basic, context);
  GetErrorStream() << basic.str();
  if (basic.str().find("built as DEBUG") != std::string::npos)
    GetErrorStream()
        << "(A DEBUG warning above is about Debian's Google Benchmark package, which is "
           "optimized all the "
           "same; the timed loop is compiled here.)\n";
  name_width_ = context.name_field_width;
  GetOutputStream() << ResultHeader(name_width_) << std::flush;
  return true;
}

void TerminalReporter::ReportRuns(const std::vector<Run>& runs) {
  const auto entries = EntriesFromRuns(runs);
  if (entries.empty()) {
    ReportAggregates(runs);
    return;
  }
  const record::Record& record = session_.Add(record::RecordFromEntries(entries));
  if (record.status == record::Status::kUnsupported) return;  // Finalize has them, by their reasons
  const machine::Machine* machine = record::MachineFor(session_.file(), record);
  GetOutputStream() << ResultRow(record, roofline::Place(record, machine), name_width_) << std::flush;
}

void TerminalReporter::Finalize() {
  session_.Finish();
  if (!session_.counted_late().empty())
    GetOutputStream() << "Counted after all were timed:\n" << ResultHeader(name_width_);
  for (const auto& record : session_.file().records) {
    const auto& late = session_.counted_late();
    if (std::find(late.begin(), late.end(), record.name) != late.end())
      GetOutputStream() << ResultRow(record, roofline::Place(record, record::MachineFor(session_.file(), record)),
                                     name_width_);
  }
  terminal::WriteEnergy(session_.file().records, 0, GetOutputStream());
  terminal::WriteUnsupported(session_.file().records, GetOutputStream(), verbose_);
  const auto run = roofline::PlaceRun(session_.file());
  terminal::WriteDoubts(run, GetOutputStream());
  terminal::WriteModels(run.models, 0, GetOutputStream());
  terminal::WriteOpportunities(run, GetOutputStream());
  GetOutputStream() << std::flush;
  GetErrorStream() << ResultSummary(session_.file().records);
}

// Aggregates come by themselves after the repetitions, of which our row is a summary already; with
// --benchmark_report_aggregates_only they are all there is.
void TerminalReporter::ReportAggregates(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (NotRun(run) || session_.Has(run.run_name.function_name)) continue;
    const double value =
        run.GetAdjustedRealTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
    GetOutputStream() << fmt::format(
        "{:<{}} {:>10}\n", run.run_name.function_name + '_' + run.aggregate_name, name_width_,
        run.aggregate_unit == benchmark::kTime
            ? TimeText(value)
            : fmt::format("{:.2f}%", 100 * run.real_accumulated_time));
  }
}

bool RunFileReporter::ReportContext(const Context& context) {
  session_.Begin();
  std::ostream& out = GetOutputStream();
  std::ostringstream plain;
  SetOutputStream(&plain);
  JSONReporter::ReportContext(context);
  SetOutputStream(&out);
  // Google Benchmark has opened its "benchmarks" array; closed again, the text is whole JSON.
  auto whole = nlohmann::json::parse(plain.str() + "]}");
  whole["context"]["dlroof"] = session_.dlroof_context();
  nlohmann::json machines = nlohmann::json::array();
  for (const auto& machine : session_.file().machines) machines.push_back(machine::ToJson(machine));
  out << "{\n\"context\": " << whole["context"].dump(2) << ",\n\"machines\": " << machines.dump(2)
      << ",\n\"benchmarks\": [\n";
  Flush();
  return true;
}

void RunFileReporter::ReportRuns(const std::vector<Run>& runs) {
  const auto writable = Writable(runs, repetitions_);
  if (writable.empty()) return;
  const auto entries = EntriesFromRuns(writable);
  if (!entries.empty()) session_.Add(record::RecordFromEntries(entries));
  JSONReporter::ReportRuns(writable);
  Flush();
}

void RunFileReporter::Finalize() {
  session_.Finish();
  const auto whole = roofline::ToJson(roofline::PlaceRun(session_.file()));
  GetOutputStream() << "\n],\n\"records\": " << whole["records"].dump(1);
  if (whole.contains("models")) GetOutputStream() << ",\n\"models\": " << whole["models"].dump(1);
  GetOutputStream() << "\n}\n";
  Flush();
}

void RunFileReporter::Flush() {
  GetOutputStream().flush();
  written_ = written_ && GetOutputStream().good();
}

}  // namespace dlroof::live
