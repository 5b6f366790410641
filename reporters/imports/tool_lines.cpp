// Google Benchmark's CSV and console table, which become its JSON, and perf stat's counts
// (import.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/text/csv.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;

constexpr std::size_t kLongest = 10000;  // [byte] of a line; std::regex recurses
constexpr std::string_view kCsvHeader = "name,iterations,real_time,cpu_time,time_unit";

const std::regex& ConsoleLine() {
  static const std::regex line(
      R"(^(\S+) +([0-9.e+-]+) (ns|us|ms|s) +([0-9.e+-]+) (ns|us|ms|s) +([0-9]+)(.*)$)");
  return line;
}

// Returns whether a name is that of an aggregate, which follows from the repetitions.
bool IsAggregate(std::string_view name) {
  constexpr std::string_view kEnds[] = {"_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"};
  return std::ranges::any_of(kEnds, [&](auto end) { return name.ends_with(end); });
}

// Returns the number of a counter: "9.19318G/s". Bytes, and all with an "i", are in powers of 1024.
std::optional<double> CounterOf(std::string_view key, std::string_view text) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  const bool binary = text.ends_with("i") || key == "bytes_per_second";
  if (text.ends_with("i")) text.remove_suffix(1);
  constexpr std::string_view kPrefixes = "munkMGTPE";
  constexpr double kDecimal[] = {1e-3, 1e-6, 1e-9, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18};
  const auto prefix = text.empty() ? text.npos : kPrefixes.find(text.back());
  if (prefix == text.npos) return text::PlainNumber(text);
  const auto number = text::PlainNumber(text.substr(0, text.size() - 1));
  if (!number) return std::nullopt;
  return *number * (binary && prefix > 2 ? std::exp2(10. * static_cast<double>(prefix - 2))
                                         : kDecimal[prefix]);
}

json EntryOf(const std::string& name, double iterations, double real, double cpu,
             const std::string& unit) {
  return {{"name", name},
          {"run_name", name},
          {"run_type", "iteration"},
          {"iterations", iterations},
          {"real_time", real},
          {"cpu_time", cpu},
          {"time_unit", unit}};
}

// Reads the console's lines; others are the program's own.
json ConsoleEntries(const std::string& text) {
  json entries = json::array();
  for (std::string_view left = text; !left.empty();) {
    const std::string line(text::TakeLine(left));
    std::smatch found;
    if (line.size() > kLongest || !std::regex_match(line, found, ConsoleLine())) continue;
    if (IsAggregate(found.str(1))) continue;
    const auto real = text::PlainNumber(found.str(2)), cpu = text::PlainNumber(found.str(4));
    const auto iterations = text::PlainNumber(found.str(6));
    if (!real || !cpu || !iterations) continue;
    auto entry = EntryOf(found[1], *iterations, *real, *cpu, found[3]);
    const auto counters = found.str(7);
    for (const auto word : logs::SplitText(counters, ' ')) {
      const auto equal = word.find('=');
      if (equal == word.npos) continue;
      const auto key = word.substr(0, equal);
      if (const auto number = CounterOf(key, word.substr(equal + 1)))
        entry[std::string(key)] = *number;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

json CsvEntries(const std::string& text, const std::string& where, LeftOut& left_out) {
  const auto begin = text.find(kCsvHeader);  // below what the program printed
  const auto rows = text::ReadCsv(std::string_view(text).substr(begin), where);
  json entries = json::array();
  for (std::size_t i = 1; i < rows.size(); ++i)
    left_out.Try([&] {
      const auto& row = rows[i];
      text::RequireFields(row, rows[0], where);
      if (IsAggregate(row[0].text)) return;
      const auto number = [&](std::size_t at) {
        return text::CsvNumberFromZero(row[at], where, text::DecimalMark::kPoint);
      };
      const auto iterations = number(1), real = number(2), cpu = number(3);
      if (!iterations || !real || !cpu)
        throw BadInput("{}: expected iterations and times", text::PlaceOf(row[0], where));
      auto entry = EntryOf(row[0].text, *iterations, *real, *cpu, row[4].text);
      for (std::size_t at = 5; at < row.size(); ++at)
        if (const auto counter = text::PlainNumber(row[at].text))
          entry[rows[0][at].text] = *counter;
      entries.push_back(std::move(entry));
    });
  return entries;
}

// Intel's counts of arithmetic instructions and the FLOPs of one (an FMA counts twice): SDM,
// volume 3B, "FP_ARITH_INST_RETIRED".
struct FlopEvent {
  std::string_view width;
  double single_flops, double_flops;
};
constexpr FlopEvent kFlopEvents[] = {
    {"scalar", 1, 1}, {"128b_packed", 4, 2}, {"256b_packed", 8, 4}, {"512b_packed", 16, 8}};

// Adds the FLOPs of an event. Returns whether it has some that are not known.
bool AddEvent(std::string_view event, double count, record::Record& record) {
  if (event.find("fp_arith") == event.npos && event.find("flop") == event.npos) return false;
  if (event.ends_with(":u")) event.remove_suffix(2);
  auto& work = record.work[Provenance::kMeasured];
  for (const auto& [width, single_flops, double_flops] : kFlopEvents)
    for (const auto& [type, pipe, flops] : {std::tuple("single", "fp32.vector", single_flops),
                                            std::tuple("double", "fp64.vector", double_flops)})
      if (event == fmt::format("fp_arith_inst_retired.{}_{}", width, type)) {
        work.flops[pipe] += flops * count;
        return false;
      }
  return count > 0;
}

}  // namespace

bool LooksLikeBenchmarkTable(std::string_view text) {
  constexpr std::size_t kSearched = 1 << 16;  // [byte]
  const auto first = text.substr(0, kSearched);
  return first.find(kCsvHeader) != first.npos ||
         (first.find("\n-----") != first.npos && first.find("Iterations") != first.npos &&
          first.find(" CPU ") != first.npos);
}

Imported ImportBenchmarkTable(const std::string& text, const std::string& where) {
  LeftOut left_out;
  const bool csv = text.find(kCsvHeader) != text.npos;
  auto entries = csv ? CsvEntries(text, where, left_out) : ConsoleEntries(text);
  if (entries.empty() && left_out.count == 0)
    throw BadInput("{}: expected a line of a benchmark with its times", where);
  // Neither form names the version, which divides the times of threads in its own way.
  const json file = {{"context", {{"json_schema_version", 1}}}, {"benchmarks", std::move(entries)}};
  auto imported =
      file.at("benchmarks").empty() ? Imported{} : ImportGoogleBenchmark(file.dump(), where);
  left_out.AddTo(imported, "rows are");
  return imported;
}

bool LooksLikePerfStat(std::string_view text) {
  return text.starts_with("# started on ") ||
         text.substr(0, 4096).find("Performance counter stats for") != text.npos;
}

Imported ImportPerfStat(const std::string& text, const std::string& where) {
  static const std::regex count(R"(^ *([0-9][0-9.,]*) +(?:msec +|ns +)?([A-Za-z0-9_.:/=-]+).*$)");
  static const std::regex title(R"(^ *Performance counter stats for '(.*)'.*:$)");
  static const std::regex elapsed(R"(^ *([0-9.]+) (?:\+- [0-9.]+ )?seconds time elapsed.*$)");
  record::Record record{.name = "perf stat"};
  std::optional<double> seconds;
  std::set<std::string> unknown;
  const auto add = [&](const std::string& event, double value) {
    if (AddEvent(event, value, record)) unknown.insert(event);
  };
  for (std::string_view left = text; !left.empty();) {
    const std::string line(text::TakeLine(left).substr(0, kLongest));
    const auto fields = logs::SplitText(line, ',');
    std::smatch found;
    if (fields.size() >= 5) {  // -x,: value,unit,event,running time,share
      const auto value = text::PlainNumber(fields[0]);
      if (!value) continue;
      if (fields[2] == "duration_time") seconds = 1e-9 * *value;
      add(std::string(fields[2]), *value);
    } else if (std::regex_match(line, found, title)) {
      record.name = found[1];
    } else if (std::regex_match(line, found, elapsed)) {
      seconds = text::PlainNumber(found.str(1));
    } else if (std::regex_match(line, found, count)) {
      const auto value = text::NumberIn(found.str(1), text::DecimalMark::kPoint);
      if (value) add(found[2], *value);
    }
  }
  if (!seconds || !IsRunTime(*seconds))
    throw BadInput("{}: has no elapsed time: run perf stat with -e duration_time and your events",
                   where);
  if (!unknown.empty() || record.work[Provenance::kMeasured].flops.empty()) record.work.clear();
  record.repetitions = {{.seconds = *seconds, .iterations = 1}};
  Imported imported{.records = {std::move(record)}, .machine = {}, .remarks = {}};
  for (const auto& event : unknown)
    imported.remarks.push_back(
        fmt::format("{}: FLOPs left out: the event '{}' is not known", where, event));
  return imported;
}

}  // namespace dlroof::imports
