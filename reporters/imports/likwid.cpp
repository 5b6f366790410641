// Reader of likwid-perfctr's CSV, in which each table is a line "TABLE,..." followed by its rows
// (import.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

using text::Dimension;

// Metrics of likwid's groups, "NAME [UNIT]". A hardware thread's FLOP rate is over its own run
// time. Data volumes are of uncore counters: one thread per socket has them, the others have 0.
constexpr std::string_view kRuntime = "Runtime (RDTSC) [s]";
constexpr std::pair<std::string_view, std::string_view> kRates[] = {
    {"DP", "fp64.vector"}, {"SP", "fp32.vector"}, {"HP", "fp16.vector"}};
constexpr std::pair<std::string_view, Level> kVolumes[] = {{"L2 data volume", Level::kL2},
                                                           {"L3 data volume", Level::kL3},
                                                           {"Memory data volume", Level::kDram}};
// AMD Zen to Zen 3: two groups, MEM1 and MEM2, count half of the memory's channels each.
constexpr std::string_view kHalves[] = {"Memory data volume (channels 0-3)",
                                        "Memory data volume (channels 4-7)"};
// Metrics without FLOPs and bytes, which are ignored without a remark.
constexpr std::string_view kIgnored[] = {"Metric", "Runtime unhalted [s]", "Clock [MHz]", "CPI"};

struct MetricName {
  std::string_view name;
  text::Unit unit;
};

// Splits "DP [MFLOP/s]", or "DP MFLOP/s" of old versions. For an unknown unit returns Unit{}.
MetricName NameOf(std::string_view metric) {
  const bool bracketed = metric.ends_with(']') && metric.find(" [") != std::string_view::npos;
  const auto space = bracketed ? metric.rfind(" [") : metric.rfind(' ');
  if (space == std::string_view::npos) return {metric, {}};
  auto unit = metric.substr(space + 1);
  if (bracketed) unit = unit.substr(1, unit.size() - 2);
  return {metric.substr(0, space), text::ReadUnit(unit).value_or(text::Unit{})};
}

bool IsRate(const text::Unit& unit) {
  return unit.of == Dimension::kCount && unit.per == Dimension::kSeconds;
}

// A value per hardware thread; nullopt for "-", "nan" and "inf".
using Values = std::vector<std::optional<double>>;

// One table "TABLE,Region NAME,Group 1 Metric,..." of values per hardware thread.
struct MetricTable {
  std::string name;  // of the region; may be empty
  std::string group;
  int line = 0;
  std::size_t announced = 0, found = 0;  // [1] number of rows in the title; rows read
  std::size_t threads = 0;               // [1] number of hardware threads
  std::map<std::string, Values> rows;    // by metric name, if IsUsed
  bool incomplete = false;               // a thread that ran has no value
};

MetricTable TableOf(const text::CsvRow& title) {
  MetricTable table{.line = title[0].line};
  for (std::size_t i = 1; i < title.size(); ++i) {
    const auto& text = title[i].text;
    if (text.starts_with("Region ")) table.name = text.substr(7);
    if (!text.ends_with(" Metric") || i + 1 >= title.size()) continue;
    table.group = title[i + 1].text;
    const auto rows = i + 2 < title.size() ? text::PlainNumber(title[i + 2].text) : std::nullopt;
    table.announced = static_cast<std::size_t>(std::clamp(rows.value_or(0), 0.0, 1e6));
  }
  return table;
}

bool IsUsed(std::string_view metric) {
  const auto [name, unit] = NameOf(metric);
  const auto is = [&wanted = name](const auto& row) { return row.first == wanted; };
  return metric == kRuntime || (IsRate(unit) && std::ranges::any_of(kRates, is)) ||
         (unit.of == Dimension::kBytes && unit.per == Dimension::kNone &&
          (std::ranges::any_of(kVolumes, is) || std::ranges::count(kHalves, name) > 0));
}

// Returns the number of fields, without the empty ones with which likwid pads the end of a row.
std::size_t LengthOf(const text::CsvRow& row) {
  std::size_t length = row.size();
  while (length > 1 && row[length - 1].text.empty()) --length;
  return length;
}

void ReadMetric(const text::CsvRow& row, text::DecimalMark mark, const std::string& where,
                MetricTable& table) {
  const auto& metric = row[0].text;
  const std::size_t values = LengthOf(row) - 1;
  if (metric == "Metric") {
    if (table.threads != 0 && table.threads != values)
      throw BadInput("{}: this table has {} hardware threads in one row and {} in another",
                     text::PlaceOf(row[0], where), table.threads, values);
    table.threads = values;
    return;
  }
  ++table.found;
  if (!IsUsed(metric)) return;
  if (table.threads == 0) table.threads = values;
  if (values != table.threads)
    throw BadInput("{}: expected {} values of hardware threads in '{}', got {}",
                   text::PlaceOf(row[0], where), table.threads, text::Printable(metric), values);
  Values numbers;
  for (std::size_t i = 1; i <= values; ++i)
    numbers.push_back(text::CsvNumberFromZero(row[i], where, mark));
  if (!table.rows.try_emplace(metric, std::move(numbers)).second)
    throw BadInput("{}: '{}' is twice in this table", text::PlaceOf(row[0], where),
                   text::Printable(metric));
}

// Returns the sum of the values over the hardware threads that ran, or nullopt if such a thread has
// no value. `per_second`: values are rates, and each is multiplied by its thread's run time.
std::optional<double> Sum(const Values& values, const Values& runtimes, bool per_second) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double seconds = runtimes[i].value_or(0);
    if (seconds <= 0 && !values[i]) continue;
    if (!values[i]) return std::nullopt;
    sum += *values[i] * (per_second ? seconds : 1);
  }
  return sum;
}

// FLOPs and bytes of one table, or of all tables of a region.
struct RegionWork {
  Work work;
  std::map<std::string_view, double> halves;  // [byte] by kHalves
};

void AddMetric(std::string_view metric, const Values& values, const Values& runtimes,
               MetricTable& table, RegionWork& region) {
  const auto [name, unit] = NameOf(metric);
  if (metric == kRuntime) return;
  const auto sum = Sum(values, runtimes, IsRate(unit));
  if (!sum) {
    table.incomplete = true;
    return;
  }
  for (const auto& [own, pipe] : kRates)
    if (own == name) region.work.flops[std::string(pipe)] = *sum * unit.factor;
  for (const auto& [own, level] : kVolumes)
    if (own == name) region.work.bytes[level] = *sum * unit.factor;
  for (const auto half : kHalves)
    if (half == name) region.halves[half] = *sum * unit.factor;
}

// All tables of one region or program: one group may have FLOPs, another bytes.
struct Region {
  std::string name;  // as in the file
  std::set<std::string> groups;
  record::Record record;
  RegionWork work;
};

void AddTable(MetricTable& table, const std::string& where, Region& region) {
  const auto runtimes = table.rows.find(std::string(kRuntime));
  double longest = 0;
  int threads = 0;
  for (std::size_t i = 0; runtimes != table.rows.end() && i < table.threads; ++i) {
    longest = std::max(longest, runtimes->second[i].value_or(0));
    threads += runtimes->second[i].value_or(0) > 0 ? 1 : 0;
  }
  if (!IsRunTime(longest))
    throw BadInput("{}:{}: expected a row '{}' with a time above 0 in this table", where,
                   table.line, kRuntime);
  region.groups.insert(table.group);
  region.record.repetitions.push_back({.seconds = longest, .iterations = 1});
  region.record.threads = std::max(region.record.threads.value_or(0), threads);
  for (const auto& [metric, values] : table.rows)
    AddMetric(metric, values, runtimes->second, table, region.work);
}

// Returns the region of the table, a new one if necessary. likwid-mpirun calls several regions
// "nil": a second table with the same group belongs to another region.
Region& RegionOf(const MetricTable& table, std::vector<Region>& regions, Imported& imported,
                 const std::string& where) {
  std::size_t same = 0;
  for (Region& region : regions) {
    if (region.name != table.name) continue;
    if (!region.groups.contains(table.group)) return region;
    ++same;
  }
  Region& region = regions.emplace_back();
  region.name = table.name;
  auto name = table.name.empty() ? table.group : table.name;
  if (name.empty()) name = "likwid";
  if (same > 0) {
    name += fmt::format(" ({})", same + 1);
    imported.Say("{}:{}: the file has several regions '{}' of the group '{}'; this one is '{}'",
                 where, table.line, text::Printable(table.name), text::Printable(table.group),
                 text::Printable(name));
  }
  region.record.name = name;
  return region;
}

void Finish(Region& region, const std::string& where, Imported& imported) {
  auto& [work, halves] = region.work;
  if (halves.size() == std::size(kHalves))
    work.bytes.try_emplace(Level::kDram, halves[kHalves[0]] + halves[kHalves[1]]);
  else if (!halves.empty())
    imported.Say(
        "{}: '{}': bytes of the memory are left out, since only half of its channels were measured "
        "(groups MEM1 and MEM2)",
        where, text::Printable(region.record.name));
  region.record.work[Provenance::kMeasured] = work;
  imported.records.push_back(std::move(region.record));
}

std::vector<MetricTable> Tables(const std::vector<text::CsvRow>& rows, const std::string& where,
                                std::set<std::string>& unknown, LeftOut& left_out) {
  const auto mark = text::MarkOf(rows, where);
  std::vector<MetricTable> tables;
  bool inside = false;
  for (const auto& row : rows) {
    const auto& name = row[0].text;
    if (name == "TABLE" || name == "STRUCT") {
      inside = name == "TABLE" && std::ranges::any_of(row, [](const text::CsvField& field) {
                 return field.text.starts_with("Group ") && field.text.ends_with(" Metric");
               });
      if (inside) tables.push_back(TableOf(row));
    } else if (inside) {
      left_out.Try([&] { ReadMetric(row, mark, where, tables.back()); });
      if (!IsUsed(name) && std::ranges::count(kIgnored, name) == 0) unknown.insert(name);
    }
  }
  return tables;
}

// Returns the position of the first line that begins a table, or the text's size.
std::size_t TableAt(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1)
    if (const auto line = text.substr(at, 6); line.starts_with("TABLE") && line.size() == 6 &&
                                              std::string_view(",;\t").find(line[5]) != line.npos)
      return at;
  return text.size();
}

}  // namespace

bool LooksLikeLikwid(std::string_view text) {
  return TableAt(text) < text.size() && text.find("Group ") != std::string_view::npos;
}

Imported ImportLikwid(const std::string& text, const std::string& where) {
  Imported imported;
  std::set<std::string> unknown;
  LeftOut left_out;
  auto tables = Tables(text::ReadCsv(text, where, text::SeparatorAfter(text, TableAt(text))), where,
                       unknown, left_out);
  if (tables.empty())
    throw BadInput(where + ":1: expected a table 'TABLE,...,Group N Metric,...' of likwid-perfctr");
  std::vector<Region> regions;
  for (MetricTable& table : tables) {
    left_out.Try([&] { AddTable(table, where, RegionOf(table, regions, imported, where)); });
    if (table.incomplete)
      imported.Say(
          "{}:{}: FLOPs or bytes are left out, for which a hardware thread that ran has no value",
          where, table.line);
    if (table.announced > 0 && table.found != table.announced)
      imported.Say("{}:{}: this table has {} rows, its title says {}", where, table.line,
                   table.found, table.announced);
  }
  std::erase_if(regions, [](const Region& region) { return region.record.repetitions.empty(); });
  for (Region& region : regions) Finish(region, where, imported);
  left_out.AddTo(imported, "rows or tables are");
  AddUnknownColumns({unknown.begin(), unknown.end()}, where, imported);
  AddCutLine(text, where, imported);
  return imported;
}

}  // namespace dlroof::imports
