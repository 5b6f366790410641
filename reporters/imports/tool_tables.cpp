// Reads other tools' CSV (import.h). A row of CsvTools says which columns are names and times.

#include "reporters/imports/tool_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

// Columns of a tool's table. A name here also matches a column "NAME (UNIT)".
struct CsvTool {
  std::vector<std::string_view> known;  // a header with all of them is of this table
  std::vector<std::string_view> name;   // columns whose texts form the name; a table may lack some
  std::string_view seconds;             // column of the time, or of the end if `begin` is set
  double unit;                          // [s] unit of a time if its column names none
  std::string_view device = {}, model = {};  // columns of a GPU's id and of its model
  std::string_view count = {};               // column of the number of launches; default: 1
  std::string_view begin = {};               // column of the begin; begin and end are integers
  std::string_view rate = {};                // column of DRAM bytes/s that the author declares
};

// nvbench's axes are the columns between kModel and kAxesEnd; their names differ by benchmark.
constexpr std::string_view kModel = "Device Name", kAxesEnd = "Skipped", kGpu = "GPU Time";
constexpr std::string_view kTotal = "Total Time", kNumber = "Instances", kDevice = "Device";
constexpr std::string_view kBegin = "Start_Timestamp", kEnd = "End_Timestamp";
constexpr std::string_view kAll = "TotalDurationNs", kKernel = "Kernel_Name";

// The first kKernelTools tables list kernels (rows of one name are summed), the others benchmarks.
constexpr std::size_t kKernelTools = 6;
const std::vector<CsvTool>& CsvTools() {
  static const std::vector<CsvTool> tools = {
      // nsys
      {{"Start", "Duration", "CorrId"}, {"Name"}, "Duration", 1e-9, kDevice, kDevice},
      {{kTotal, kNumber, "Name"}, {"Name"}, kTotal, 1e-9, "", "", kNumber},
      {{kTotal, kNumber, "Category"}, {"Operation"}, kTotal, 1e-9, "", "", kNumber},
      // rocprof
      {{kAll, "Calls", "Name"}, {"Name"}, kAll, 1e-9, "", "", "Calls"},
      {{"KernelName", "DurationNs"}, {"KernelName"}, "DurationNs", 1e-9, "gpu-id"},
      {{kKernel, kBegin, kEnd}, {kKernel}, kEnd, 1e-9, "Agent_Id", "", "", kBegin},
      // nvbench
      {{kModel, kGpu}, {"Benchmark", kModel}, kGpu, 1, kDevice, kModel, "", "", "GlobalMem BW"},
      {{kAxesEnd, "Samples", "CPU Time"}, {"Benchmark", kModel}, "CPU Time", 1},
      // CUTLASS's profiler, hyperfine, pytest-benchmark, llama-bench
      {{"OperationKind", "Runtime"}, {"Operation", "m", "n", "k"}, "Runtime", 1e-3},
      {{"command", "mean", "user"}, {"command"}, "median", 1},
      {{"name", "min", "rounds", "median"}, {"name"}, "median", 1},
      {{"n_prompt", "avg_ns"}, {"model_filename", "n_prompt", "n_gen"}, "avg_ns", 1e-9}};
  return tools;
}

std::optional<std::size_t> ColumnOf(const text::CsvRow& header, std::string_view name) {
  const auto at = std::ranges::find_if(header, [&](const text::CsvField& field) {
    const auto rest = std::string_view(field.text).substr(std::min(name.size(), field.text.size()));
    return field.text.starts_with(name) &&
           (rest.empty() || rest.starts_with('(') || rest.starts_with(" ("));
  });
  if (name.empty() || at == header.end()) return std::nullopt;
  return static_cast<std::size_t>(at - header.begin());
}

const CsvTool* CsvToolOf(std::string_view line) {
  const auto found = std::ranges::find_if(CsvTools(), [&](const CsvTool& tool) {
    if (!HasAll(line, tool.known) || line.find('\0') != line.npos) return false;
    const auto header = text::ReadCsv(line, "", text::SeparatorAfter(line));
    return std::ranges::all_of(tool.known,
                               [&](auto name) { return ColumnOf(header[0], name).has_value(); });
  });
  return found == CsvTools().end() ? nullptr : &*found;
}

struct CsvTable {
  const CsvTool* tool;
  std::string text;  // an empty line for each line above the table, then its lines
};

// Finds the tables in a text, which may have other output between them. An empty line ends a table.
std::vector<CsvTable> CsvTablesIn(std::string_view text) {
  std::vector<CsvTable> tables;
  bool inside = false;
  for (std::size_t above = 0; !text.empty(); ++above) {
    const auto line = text::TakeLine(text);
    if (const auto* tool = CsvToolOf(line)) tables.push_back({tool, std::string(above, '\n')});
    inside = !line.empty() && (inside || (!tables.empty() && tables.back().text.size() == above));
    if (inside) (tables.back().text += line) += '\n';
  }
  return tables;
}

class CsvReader {
 public:
  CsvReader(const CsvTable& table, const std::string& where)
      : tool_(*table.tool),
        where_(where),
        rows_(RowsOf(table.text, where)),
        mark_(text::MarkOf(rows_, where)) {}

  void Read(Records& records, LeftOut& left_out) {
    for (std::size_t i = 1; i < rows_.size(); ++i)
      left_out.Try([&] {
        text::RequireFields(rows_[i], rows_[0], where_);
        Add(rows_[i], records);
      });
  }

 private:
  static std::vector<text::CsvRow> RowsOf(const std::string& text, const std::string& where) {
    return text::ReadCsv(text, where, text::SeparatorAfter(text, text.find_first_not_of('\n')));
  }

  std::optional<double> Number(const text::CsvRow& row, std::string_view column) const {
    const auto at = ColumnOf(rows_[0], column);
    return at ? text::CsvNumberFromZero(row[*at], where_, mark_) : std::nullopt;
  }

  std::string TextOf(const text::CsvRow& row, std::string_view column) const {
    const auto at = ColumnOf(rows_[0], column);
    return at ? row[*at].text : "";
  }

  std::string NameOf(const text::CsvRow& row) const {
    std::vector<std::string> parts;
    for (const auto name : tool_.name) {
      const auto at = ColumnOf(rows_[0], name);
      if (name != kModel && at) parts.push_back(row[*at].text);
      if (name != kModel) continue;
      // In a table without GPUs the axes follow the benchmark's name.
      auto axis = at.value_or(ColumnOf(rows_[0], tool_.name[0]).value_or(0)) + 1;
      for (const auto end = ColumnOf(rows_[0], kAxesEnd).value_or(axis); axis < end; ++axis)
        parts.push_back(fmt::format("{}={}", rows_[0][axis].text, row[axis].text));
    }
    return fmt::format("{}", fmt::join(parts, "/"));
  }

  double SecondsOf(const text::CsvRow& row, const std::string& place) const {
    if (!tool_.begin.empty()) {  // nanoseconds since 1970 have too many digits for a double
      std::int64_t times[2] = {};
      for (const auto column : {tool_.begin, tool_.seconds}) {
        auto& time = times[column == tool_.seconds];
        time = ParseNumber<std::int64_t>(TextOf(row, column)).value_or(-1);
        if (time < 0) throw BadInput("{}: expected an integer in '{}'", place, column);
      }
      return tool_.unit * static_cast<double>(times[1] - times[0]);
    }
    const auto time = Number(row, tool_.seconds);
    if (!time) throw BadInput("{}: expected a time", place);
    const auto& column = rows_[0][*ColumnOf(rows_[0], tool_.seconds)].text;
    const auto open = column.find('(');
    if (open == column.npos) return tool_.unit * *time;
    const auto unit = text::ReadUnit(column.substr(open + 1, column.find(')') - open - 1));
    if (!unit || unit->of != text::Dimension::kSeconds)
      throw BadInput("{}: the unit of '{}' is not known", place, text::Printable(column));
    return unit->factor * *time;
  }

  void Add(const text::CsvRow& row, Records& records) {
    const auto place = text::PlaceOf(row.front(), where_);
    if (TextOf(row, kAxesEnd) == "Yes")
      throw BadInput("{}: skipped: {}", place, text::Printable(TextOf(row, "Skip Reason")));
    const double seconds = RunTime(place, SecondsOf(row, place));
    const auto name = NameOf(row);
    if (name.empty()) throw BadInput("{}: expected a name", place);
    const bool kernels = &tool_ < &CsvTools()[kKernelTools];
    if (kernels && name.front() == '[') return;  // "[CUDA memcpy Host-to-Device]"
    // rocprofv3's tables of domains ("HIP_API") and API calls have the same columns as its kernels.
    if (tool_.seconds == kAll &&
        (name == "KERNEL_DISPATCH" || name.ends_with("_API") || name.starts_with("hsa_") ||
         (name.starts_with("hip") && std::isupper(name[3]) != 0)))
      throw BadInput("{}: '{}' is no kernel: import the table *_kernel_stats.csv", place, name);
    const auto model = TextOf(row, tool_.model);
    auto id = TextOf(row, tool_.device);
    if (tool_.model != tool_.device && !model.empty()) id += ' ' + model;
    // rocprofv3 has a row per counter of a launch; only the first one adds the launch.
    const auto launch = fmt::format("{}\1{}\1{}\1{}", name, id, TextOf(row, tool_.begin), seconds);
    if (!tool_.begin.empty() && !launches_.insert(launch).second) return;
    if (kernels) {
      records.AddKernels(name, {id, model}, seconds, Number(row, tool_.count).value_or(1));
      return;
    }
    auto& record = records.Of(name, {id, model}, true);
    record.repetitions.push_back({.seconds = seconds, .iterations = 1});
    if (const auto rate = Number(row, tool_.rate); rate && *rate > 0)
      record.work[Provenance::kModelled].bytes[Level::kDram] = std::round(*rate * seconds);
  }

  const CsvTool& tool_;
  const std::string& where_;
  std::vector<text::CsvRow> rows_;
  text::DecimalMark mark_;
  std::set<std::string> launches_;
};

}  // namespace

record::Record& Records::Of(std::string name, const Gpu& gpu, bool alone) {
  if (const int number = alone ? ++seen_[name + '\1' + gpu.id] : 1; number > 1) {
    if (repeated_.empty()) repeated_ = name;
    name += fmt::format(" ({})", number);
  }
  const auto [known, added] = found_.try_emplace(name + '\1' + gpu.id, records_.size());
  if (added) {
    records_.push_back({.name = name, .device = gpu.model});
    ids_.push_back(gpu.id);
    AddGpu(gpu);
  }
  return records_[known->second];
}

record::Record& Records::AddKernels(const std::string& name, const Gpu& gpu, double seconds,
                                    double launches) {
  auto& record = Of(name, gpu, false);
  if (record.device.empty()) record.device = "gpu";
  if (record.repetitions.empty()) record.repetitions.push_back({.seconds = 0, .iterations = 1});
  record.repetitions[0].seconds += seconds;
  auto& count = record.work[Provenance::kMeasured].launches;
  count = count.value_or(0) + launches;
  return record;
}

void Records::MoveTo(Imported& imported, const std::string& where) {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    auto& name = records_[i].name;
    const auto place = std::min(name.find(kGpuPlace), name.size());
    name.replace(place, 1, gpus_.size() > 1 && !ids_[i].empty() ? "/Device=" + ids_[i] : "");
  }
  std::erase(repeated_, kGpuPlace);
  if (!repeated_.empty())
    imported.Say("{0}: '{1}' is there more than once; the others are '{1} (2)' and so on", where,
                 text::Printable(repeated_));
  imported.records = std::move(records_);
}

double RunTime(const std::string& where, double seconds) {
  if (!IsRunTime(seconds))
    throw BadInput("{}: expected a time above 0, got {:g} s", where, seconds);
  return seconds;
}

std::string_view FirstOf(std::string_view text) {
  constexpr std::size_t kSearched = 1 << 16;  // [byte]
  return text.substr(0, kSearched);
}

bool HasAll(std::string_view text, const std::vector<std::string_view>& words) {
  return std::ranges::all_of(words, [&](auto word) { return text.find(word) != text.npos; });
}

std::optional<double> PrintedNumber(std::string text) {
  std::ranges::replace(text, ',', '.');
  return text::PlainNumber(text);
}

bool LooksLikeToolTable(std::string_view text) {
  return !CsvTablesIn(FirstOf(text)).empty() || LooksLikeToolJson(text);
}

Imported ImportToolTable(const std::string& text, const std::string& where) {
  Imported imported;
  Records records;
  LeftOut left_out;
  const auto tables = CsvTablesIn(text);
  for (const auto& table : tables) CsvReader(table, where).Read(records, left_out);
  if (tables.empty()) ReadToolJson(text, where, records, left_out);
  records.MoveTo(imported, where);
  left_out.AddTo(imported, "rows, benchmarks or FLOPs are");
  if (imported.records.empty()) throw BadInput("{}: expected a row with a time", where);
  return imported;
}

}  // namespace dlroof::imports
