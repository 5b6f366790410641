// Reader of perf stat's output, with and without -x (import.h).
#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <tuple>

#include "counters/base/error.h"
#include "reporters/imports/tool_tables.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

// FLOPs per count of fp_arith_inst_retired.*, which counts an FMA twice (Intel SDM 3B, same name).
struct FlopEvent {
  std::string_view width;
  double single_flops, double_flops;
};
constexpr FlopEvent kFlopEvents[] = {
    {"scalar", 1, 1}, {"128b_packed", 4, 2}, {"256b_packed", 8, 4}, {"512b_packed", 16, 8}};

struct PerfRun {
  std::string name = "perf stat";
  std::optional<double> seconds = {};
  std::vector<std::pair<std::string, std::optional<double>>> counts = {};  // [1] by event
};

// Adds the FLOPs of an event, if it counts FLOPs. Throws BadInput if their number is not known.
void AddEvent(std::string event, std::optional<double> count, Work& work) {
  if (event.find("fp_") == event.npos && event.find("flop") == event.npos) return;
  if (!count) throw BadInput("the event '{}' was not counted", text::Printable(event));
  const auto whole = event;
  if (const auto slash = event.find('/'); slash != event.npos)
    event = event.substr(slash + 1, event.find('/', slash + 1) - slash - 1);  // "cpu_core/x/upp"
  event.resize(std::min(event.find(':'), event.size()));                      // "x:upp"
  for (const auto& [width, single_flops, double_flops] : kFlopEvents)
    for (const auto& [type, pipe, flops] : {std::tuple("single", "fp32.vector", single_flops),
                                            std::tuple("double", "fp64.vector", double_flops)})
      if (event == fmt::format("fp_arith_inst_retired.{}_{}", width, type)) {
        work.flops[pipe] += flops * *count;
        return;
      }
  if (*count > 0) throw BadInput("the event '{}' is not known", text::Printable(whole));
}

void AddRun(const PerfRun& run, const std::string& where, Imported& imported) {
  if (!run.seconds || !IsRunTime(*run.seconds))
    throw BadInput(
        "{}: '{}' has no elapsed time: run perf stat with -e duration_time and your events, "
        "without -I, -A or --per-...",
        where, text::Printable(run.name));
  record::Record record{.name = run.name};
  record.repetitions = {{.seconds = *run.seconds, .iterations = 1}};
  auto& work = record.work[Provenance::kMeasured];
  LeftOut unknown;
  for (const auto& [event, count] : run.counts) unknown.Try([&] { AddEvent(event, count, work); });
  if (unknown.count > 0) imported.Say("{}: FLOPs left out: {}", where, unknown.first);
  if (unknown.count > 0 || work.flops.empty()) record.work.clear();
  imported.records.push_back(std::move(record));
}

// Reads perf stat's CSV (-x), whose fields are value, unit, event, running time and share.
PerfRun SeparatedRun(std::string_view text) {
  PerfRun run;
  while (!text.empty()) {
    const auto line = text::TakeLine(text);
    const auto fields = logs::SplitText(line, text::SeparatorAfter(line));
    if (fields.size() < 5) continue;
    const auto value = PrintedNumber(std::string(fields[0]));
    if (fields[2].starts_with("duration_time") && value) run.seconds = 1e-9 * *value;
    run.counts.emplace_back(fields[2], value);
  }
  return run;
}

// Returns the runs in perf stat's tables, which end with the line `time`. Locales may group digits.
std::vector<PerfRun> TableRuns(std::string_view text) {
  static const std::regex count(
      R"(^ *(<not [a-z]+>|[0-9](?:[0-9.,']|\xC2\xA0|\xE2\x80\xAF|\xE2\x80\x99)*) +(?:msec +|ns +)?([A-Za-z][A-Za-z0-9_.:/=-]+).*$)");
  static const std::regex title(R"(^ *Performance counter stats for '(.*)'.*:$)");
  static const std::regex time(
      R"(^ *([0-9]+([.,])[0-9]+) (?:\+- [0-9.,]+ )?seconds time elapsed.*$)");
  std::vector<PerfRun> runs;
  std::vector<std::pair<std::string, std::string>> counts;  // of this run: event, number
  while (!text.empty()) {
    const std::string line(text::TakeLine(text).substr(0, kLongestLine));
    std::smatch found;
    if (std::regex_match(line, found, title)) {
      runs.push_back({.name = found[1]});
      counts.clear();
    } else if (std::regex_match(line, found, time)) {
      if (runs.empty() || runs.back().seconds) runs.emplace_back();  // without a readable title
      using text::DecimalMark;
      const auto mark = found[2] == "," ? DecimalMark::kComma : DecimalMark::kPoint;
      runs.back().seconds = PrintedNumber(found[1]);
      for (const auto& [event, number] : counts)
        runs.back().counts.emplace_back(event, text::NumberIn(number, mark));
      counts.clear();
    } else if (std::regex_match(line, found, count)) {
      counts.emplace_back(found[2], found[1]);
    }
  }
  return runs;
}

constexpr std::string_view kPerfTitle = "Performance counter stats for";

}  // namespace

bool LooksLikePerfStat(std::string_view text) {
  const auto first = FirstOf(text);
  if (text.starts_with("# started on ") || first.find(kPerfTitle) != first.npos) return true;
  const auto is_count = [](std::string_view line) {
    const auto fields = logs::SplitText(line, text::SeparatorAfter(line));
    const auto is = [&](std::size_t at) {
      const auto event = fields[at].substr(0, fields[at].find(':'));
      return event == "duration_time" || event == "task-clock" || event == "cycles";
    };
    return fields.size() >= 5 && !text::IsNoValue(fields[0]) && (is(2) || is(3));
  };
  return std::ranges::any_of(logs::SplitText(first, '\n'), is_count);
}

Imported ImportPerfStat(const std::string& text, const std::string& where) {
  Imported imported;
  LeftOut left_out;
  const bool table = text.find(kPerfTitle) != text.npos;
  for (const auto& run : table ? TableRuns(text) : std::vector{SeparatedRun(text)})
    left_out.Try([&] { AddRun(run, where, imported); });
  left_out.AddTo(imported, "runs are");
  return imported;
}

}  // namespace dlroof::imports
