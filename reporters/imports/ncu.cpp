// Reads the launches in Nsight Compute's table, and converts them to records, one per kernel name
// (import.h).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/imports/import.h"
#include "reporters/record/run_file.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

// Returns whether the line is the table's header. Spreadsheets change its quotes and separator.
bool IsHeader(std::string_view line) {
  const auto id = line.starts_with("\"ID\"") ? 4U : line.starts_with("ID") ? 2U : 0U;
  return id > 0 && line.size() > id && std::string_view(",;\t").find(line[id]) != line.npos &&
         line.find("Kernel Name") != line.npos;
}

// Replaces output of ncu and the program, i.e. lines before the header and lines "==PROF== ...", by
// empty lines, so that line numbers in messages stay right.
std::string TableOnly(std::string_view text) {
  std::string table;
  for (bool begun = false; !text.empty(); table += '\n') {
    const auto line = text::TakeLine(text);
    const bool header = IsHeader(line);
    // A file with the output of two runs has two headers.
    if (begun ? !header && !line.starts_with("==") : header) table += line;
    begun = begun || header;
  }
  return table;
}

// The details page's name and unit of a metric: "Memory Throughput" may also be a percentage.
struct PageName {
  std::string_view name;
  text::Dimension of, per;
  std::string_view metric;
};
constexpr PageName kPageNames[] = {
    {"Duration", text::Dimension::kSeconds, text::Dimension::kNone, "gpu__time_duration.sum"},
    {"Elapsed Cycles", text::Dimension::kCycles, text::Dimension::kNone, "gpc__cycles_elapsed.max"},
    {"SM Frequency", text::Dimension::kCycles, text::Dimension::kSeconds,
     "gpc__cycles_elapsed.avg.per_second"},
    {"Memory Throughput", text::Dimension::kBytes, text::Dimension::kSeconds,
     "dram__bytes.sum.per_second"}};

// Returns the metric that the details page calls `name`, e.g. "Duration", or `name` itself.
std::string_view MetricOfPage(std::string_view name, const text::Unit& unit) {
  for (const auto& row : kPageNames)
    if (row.name == name && row.of == unit.of && row.per == unit.per) return row.metric;
  return name;
}

// Columns that describe a launch. All other columns are metrics.
constexpr std::string_view kDescriptions[] = {
    "ID",     "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context",
    "Stream", "Block Size", "Grid Size",    "Device",    "CC",          "Section Name"};

// Returns the sizes in "(128, 1, 1)" or "128, 1, 1", or nullopt for other text.
std::optional<std::array<std::uint32_t, 3>> SizeIn(std::string_view text) {
  std::array<std::uint32_t, 3> size = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (auto& count : size) {
    while (at < end && (*at < '0' || *at > '9')) ++at;
    const auto [behind, error] = std::from_chars(at, end, count);
    if (error != std::errc()) return std::nullopt;
    at = behind;
  }
  return size;
}

struct NsightTable {
  std::vector<CountedLaunch> launches;  // in the order of the table
  int missing_values = 0;               // [1] values "n/a" or "nan" of known metrics
  LeftOut left_out;                     // rows and values that cannot be read
  std::vector<std::string> unknown;     // names of unknown metrics
  int header_line = 0;
};

class NsightReader {
 public:
  NsightReader(const std::string& text, const std::string& where) : where_(where) {
    const auto table = TableOnly(text);
    const auto header = table.find_first_not_of('\n');
    rows_ = text::ReadCsv(table, where, text::SeparatorAfter(table, header));
    if (rows_.empty())
      throw BadInput(where_ + ":1: expected the header of a table of Nsight Compute, \"ID\",...");
    for (std::size_t i = 0; i < rows_[0].size(); ++i) columns_.emplace(rows_[0][i].text, i);
    Column("ID");
    Column("Kernel Name");
    per_row_ = columns_.count("Metric Name") > 0;
    std::erase_if(rows_, [&](const text::CsvRow& row) {
      const int before = table_.left_out.count;
      table_.left_out.Try([&] {
        text::RequireFields(row, rows_[0], where_);
        if (row[Column("ID")].text.empty() && (per_row_ || !Field(row, "Kernel Name").text.empty()))
          throw BadInput("{}: expected an ID", text::PlaceOf(row[0], where_));
      });
      return table_.left_out.count > before;
    });
    FindMark();
  }

  NsightTable Read() {
    auto& launches = table_.launches;
    std::map<std::string, std::size_t> found;
    std::size_t begun = 0;               // index of the last value's row
    std::optional<std::size_t> current;  // index of its launch; nullopt if left out
    const auto begin = [&](const text::CsvRow& row) {
      current.reset();
      const auto key = KeyOf(row);
      const auto known = FindCopy(found, key);
      if (known && !per_row_)
        throw BadInput("{}: the launch with this ID is there twice",
                       text::PlaceOf(Field(row, "ID"), where_));
      if (!known) launches.push_back(Begin(row));
      current = known.value_or(launches.size() - 1);
      found[key] = *current;
    };
    EachValue([&](const std::string& metric, const std::string& unit, const text::CsvField& field,
                  std::size_t row) {
      if (std::exchange(begun, row) != row) table_.left_out.Try([&] { begin(rows_[row]); });
      if (current && (!metric.empty() || !per_row_))
        table_.left_out.Try([&] { Put(metric, unit, field, launches[*current]); });
    });
    for (auto& launch : launches) {
      launch.work = WorkOfLaunch(launch.values, launch.capability.value_or("7.0"));
      launch.seconds = LaunchSeconds(launch.values);
    }
    table_.header_line = rows_[0][0].line;
    return std::move(table_);
  }

 private:
  std::size_t Column(const std::string& name) const {
    if (const auto* column = FindValue(columns_, name)) return *column;
    throw BadInput("{}: expected a column \"{}\"", text::PlaceOf(rows_[0][0], where_), name);
  }

  const text::CsvField& Field(const text::CsvRow& row, const std::string& column) const {
    return row[Column(column)];
  }

  // Calls put(metric, unit, field, row) for each value of the table; `row` is the index of its row.
  // On the raw page the metrics are columns, and the row of units below the header has no ID.
  template <class Put>
  void EachValue(const Put& put) const {
    const auto id = Column("ID");
    std::vector<std::string> units(rows_[0].size());
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      const text::CsvRow& row = rows_[i];
      if (per_row_) {
        const auto unit = FindCopy(columns_, "Metric Unit");
        put(Field(row, "Metric Name").text, unit ? row[*unit].text : "", Field(row, "Metric Value"),
            i);
        continue;
      }
      if (row[id].text.empty())
        for (std::size_t j = 0; j < units.size(); ++j) units[j] = row[j].text;
      for (std::size_t j = 0; j < units.size() && !row[id].text.empty(); ++j)
        if (std::ranges::count(kDescriptions, rows_[0][j].text) == 0)
          put(rows_[0][j].text, units[j], row[j], i);
    }
  }

  // Finds the decimal mark from the values of all metrics, known or not.
  void FindMark() {
    text::NumberConvention convention;
    EachValue([&](const std::string& metric, const std::string& unit, const text::CsvField& field,
                  std::size_t) {
      const auto known = text::ReadUnit(unit);
      const bool whole = metric.ends_with(".sum") && known && known->factor == 1 &&
                         known->per == text::Dimension::kNone &&
                         (known->of != text::Dimension::kNone || IsKnownMetric(metric));
      if (!metric.empty() && !metric.starts_with("device__"))
        convention.Add(field.text, field.line, whole);
    });
    mark_ = convention.Decide(where_);
  }

  // Stores the value of a known metric in base units, and collects the names of unknown metrics.
  void Put(const std::string& name, const std::string& unit_text, const text::CsvField& field,
           CountedLaunch& launch) {
    const auto unit = text::ReadUnit(unit_text);
    const auto metric = std::string(MetricOfPage(name, unit.value_or(text::Unit{})));
    if (!IsKnownMetric(metric)) {
      if (seen_unknown_.insert(name).second) table_.unknown.push_back(name);
      if (IsWorkMetric(metric))
        launch.values[metric] = text::CsvNumberFromZero(field, where_, mark_).value_or(0);
      return;
    }
    if (!unit || !IsUnitOf(metric, *unit))
      throw BadInput("{}: the unit '{}' of '{}' is not known", text::PlaceOf(field, where_),
                     text::Printable(unit_text), name);
    const auto value = text::CsvNumberFromZero(field, where_, mark_);
    if (!value) {
      ++table_.missing_values;
      return;
    }
    const auto [known, added] = launch.values.try_emplace(metric, *value * unit->factor);
    // Several sections may contain a metric; the details page rounds its values.
    if (!added && metric == name && known->second != *value * unit->factor)
      throw BadInput("{}: '{}' is there with another value for this launch",
                     text::PlaceOf(field, where_), name);
  }

  CountedLaunch Begin(const text::CsvRow& row) const {
    CountedLaunch launch{.kernel = text::RepairedKernelName(Field(row, "Kernel Name").text)};
    if (launch.kernel.empty())
      throw BadInput("{}: expected a kernel's name",
                     text::PlaceOf(Field(row, "Kernel Name"), where_));
    if (columns_.count("CC") > 0) launch.capability = Field(row, "CC").text;
    if (columns_.count("Device") > 0) launch.device = Field(row, "Device").text;
    if (columns_.count("Grid Size") > 0) launch.grid = SizeIn(Field(row, "Grid Size").text);
    if (columns_.count("Block Size") > 0) launch.block = SizeIn(Field(row, "Block Size").text);
    return launch;
  }

  // Returns a unique key of the row's launch: launches of different processes can have the same ID.
  std::string KeyOf(const text::CsvRow& row) const {
    std::string key = Field(row, "ID").text + "\1" + Field(row, "Kernel Name").text;
    for (const char* more : {"Process ID", "Host Name"})
      if (columns_.count(more) > 0) key += "\1" + Field(row, more).text;
    return key;
  }

  std::vector<text::CsvRow> rows_;
  const std::string& where_;
  std::map<std::string, std::size_t> columns_;
  bool per_row_ = false;
  text::DecimalMark mark_ = text::DecimalMark::kPoint;
  NsightTable table_;
  std::set<std::string> seen_unknown_;
};

// Sums over the launches with one kernel name on one GPU. A quantity that a launch lacks is absent.
struct Kernel {
  std::string name;
  std::string device;  // Record::device; may be empty
  double seconds = 0, launches = 0;
  bool timed = true;
  bool uneven = false;  // a launch lacks a quantity that another one has
  LaunchWork work;
};

void AddLaunch(const CountedLaunch& launch, Kernel& kernel) {
  const bool first = kernel.launches == 0;
  kernel.uneven |= AddCommon(launch.work.flops, first, kernel.work.flops);
  kernel.uneven |= AddCommon(launch.work.bytes, first, kernel.work.bytes);
  if (launch.work.unknown != LaunchWork::Unknown::kNone) kernel.work.unknown = launch.work.unknown;
  kernel.timed = kernel.timed && launch.seconds && IsRunTime(*launch.seconds);
  kernel.seconds += launch.seconds.value_or(0);
  kernel.launches += 1;
}

record::Record RecordOf(const Kernel& kernel, Imported& imported) {
  record::Record record{
      .name = kernel.name, .device = kernel.device, .timed = record::timed::kKernels};
  Work& work = record.work[Provenance::kMeasured];
  work.launches = kernel.launches;
  work.bytes = kernel.work.bytes;
  const auto say = [&](std::string_view what) {
    imported.Say("{}: {}", text::Printable(kernel.name), what);
  };
  switch (kernel.work.unknown) {
    case LaunchWork::Unknown::kNone:
      work.flops = kernel.work.flops;
      break;
    case LaunchWork::Unknown::kTensor:
      say("FLOPs left out: tensor instructions were counted, but their FLOPs differ by instruction "
          "(collect sm__ops_path_tensor_src_*.sum)");
      break;
    case LaunchWork::Unknown::kVector:
      say("FLOPs left out: a counter is missing or not known (collect "
          "sm__sass_thread_inst_executed_op_*add, *mul and *fma_pred_on.sum of a type together, on "
          "compute capability 10.x also fadd2, fmul2 and ffma2)");
  }
  if (kernel.uneven)
    say("FLOPs or bytes that a launch lacks are left out, though other launches have them");
  if (kernel.timed)
    record.repetitions.push_back({.seconds = kernel.seconds, .iterations = 1});
  else
    record.reason = "no time: a launch lacks gpu__time_duration, and cycles with their rate";
  return record;
}

}  // namespace

bool LooksLikeNsightCompute(std::string_view text) {
  while (!text.empty())
    if (IsHeader(text::TakeLine(text))) return true;
  return false;
}

std::vector<CountedLaunch> ReadCountedLaunches(const std::string& text, const std::string& where) {
  auto table = NsightReader(text, where).Read();
  if (table.left_out.count > 0) throw BadInput("{}", table.left_out.first);
  return std::move(table.launches);
}

Imported ImportNsightCompute(const std::string& text, const std::string& where) {
  const auto table = NsightReader(text, where).Read();
  std::vector<Kernel> kernels;
  std::map<std::string, std::size_t> found;
  bool assumed_volta = false;
  const auto& launches = table.launches;
  const bool several = std::ranges::any_of(
      launches, [&](const auto& one) { return one.device != launches.front().device; });
  for (const CountedLaunch& launch : launches) {
    const auto name =
        several ? fmt::format("{}/Device={}", launch.kernel, launch.device) : launch.kernel;
    const auto [known, added] =
        found.try_emplace(name + '\1' + launch.capability.value_or(""), kernels.size());
    if (added) kernels.push_back({name, launch.capability ? kCapability + *launch.capability : ""});
    AddLaunch(launch, kernels[known->second]);
    const auto tensor = launch.values.find("sm__inst_executed_pipe_tensor.sum");
    assumed_volta |= !launch.capability && tensor != launch.values.end() && tensor->second > 0;
  }
  Imported imported;
  for (const Kernel& kernel : kernels) imported.records.push_back(RecordOf(kernel, imported));
  table.left_out.AddTo(imported, "rows or values are");
  if (kernels.empty())
    throw BadInput("{}:{}: no launch below the header", where, table.header_line);
  if (auto left_out = record::LeaveOutClockKernels(imported.records))
    imported.Say("{}: {}", where, *left_out);
  if (assumed_volta)
    imported.Say("{}: no column \"CC\", so a tensor instruction counts as Volta's 512 FLOPs",
                 where);
  if (table.missing_values > 0)
    imported.Say("{}: {} values are no numbers (n/a, nan) and left out", where,
                 table.missing_values);
  AddUnknownColumns(table.unknown, where, imported);
  AddCutLine(text, where, imported);
  return imported;
}

}  // namespace dlroof::imports
