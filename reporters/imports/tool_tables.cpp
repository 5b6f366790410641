// Reads other tools' CSV and JSON (import.h). A row of CsvTools or JsonTools says which columns or
// members are names and times.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "reporters/imports/import.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/record/large_json.h"
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
  return FindIf(CsvTools(), [&](const CsvTool& tool) {
    if (!HasAll(line, tool.known) || line.find('\0') != line.npos) return false;
    const auto header = text::ReadCsv(line, "", text::SeparatorAfter(line));
    return std::ranges::all_of(tool.known,
                               [&](auto name) { return ColumnOf(header[0], name).has_value(); });
  });
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
        rows_(text::ReadCsv(table.text, where,
                            text::SeparatorAfter(table.text, table.text.find_first_not_of('\n')))),
        mark_(text::MarkOf(rows_, where)) {}

  void Read(Records& records, LeftOut& left_out) {
    for (std::size_t i = 1; i < rows_.size(); ++i)
      left_out.Try([&] {
        text::RequireFields(rows_[i], rows_[0], where_);
        Add(rows_[i], records);
      });
  }

 private:
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

using nlohmann::json;

struct JsonTool {
  std::vector<std::string_view> words;  // a file with all of them is of this tool
  const char* list;                     // JSON pointer of the array of benchmarks
  std::vector<const char*> names;       // members whose texts form the name
  std::vector<const char*> samples;     // JSON pointers of times, the best first
  double unit;                          // [s] unit of the times
};

const std::vector<JsonTool>& JsonTools() {
  // The rows: pytest-benchmark, hyperfine, llama-bench, BenchmarkDotNet.
  static const std::vector<JsonTool> tools = {{{"\"machine_info\"", "\"benchmarks\"", "\"stats\""},
                                               "/benchmarks",
                                               {"fullname"},
                                               {"/stats/data", "/stats/median", "/stats/mean"},
                                               1},
                                              {{"\"results\"", "\"command\"", "\"mean\""},
                                               "/results",
                                               {"command"},
                                               {"/times", "/median", "/mean"},
                                               1},
                                              {{"\"model_filename\"", "\"avg_ns\""},
                                               "",
                                               {"model_filename", "n_prompt", "n_gen"},
                                               {"/samples_ns", "/avg_ns"},
                                               1e-9},
                                              {{"BenchmarkDotNet", "\"FullName\""},
                                               "/Benchmarks",
                                               {"FullName"},
                                               {"/Statistics/OriginalValues", "/Statistics/Median"},
                                               1e-9}};
  return tools;
}

const std::map<std::string, std::string> kProtonFlops = {{"flops8", "fp8.matrix"},
                                                         {"flops16", "fp16.matrix"},
                                                         {"flops32", "fp32.vector"},
                                                         {"flops64", "fp64.vector"}};

const JsonTool* JsonToolOf(std::string_view text) {
  return FindIf(JsonTools(),
                [&](const JsonTool& tool) { return HasAll(FirstOf(text), tool.words); });
}

std::string TextOf(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void AddBenchmark(const JsonTool& tool, const json& item, const std::string& where,
                  Records& records) {
  std::vector<std::string> names;
  for (const char* key : tool.names)
    if (item.is_object() && item.contains(key)) names.push_back(TextOf(item.at(key)));
  if (names.empty()) throw BadInput("{}: expected an object with '{}'", where, tool.names[0]);
  for (const char* pointer : tool.samples) {
    const json::json_pointer at(pointer);
    if (!item.contains(at)) continue;
    const json samples = item.at(at).is_array() ? item.at(at) : json::array({item.at(at)});
    std::vector<record::Repetition> repetitions;
    std::size_t index = 0, failed = 0;
    for (const auto& sample : samples) {
      const json::json_pointer code(fmt::format("/exit_codes/{}", index++));  // hyperfine's
      const bool fails = item.contains(code) && item.at(code).is_number() && item.at(code) != 0;
      failed += fails ? 1 : 0;
      if (fails || sample.is_null()) continue;  // null: NaN
      if (!sample.is_number()) throw BadInput("{}: '{}': expected numbers", where, pointer);
      repetitions.push_back(
          {.seconds = RunTime(where, tool.unit * sample.get<double>()), .iterations = 1});
    }
    if (repetitions.empty() && failed == 0) continue;
    if (!repetitions.empty())
      records.Of(fmt::format("{}", fmt::join(names, "/")), {}, true).repetitions =
          std::move(repetitions);
    if (failed > 0) throw BadInput("{}: {} runs failed (exit_codes)", where, failed);
    return;
  }
  throw BadInput("{}: expected times in '{}'", where, tool.samples[0]);
}

// Adds the kernel of a frame of Proton's profile, with the work that the program's author declared.
void AddKernel(const JsonReader& frame, Records& records) {
  const auto metrics = frame.Object("metrics");
  const double count = metrics.OptionalNumber("count").value_or(1);
  const auto keys = metrics.Keys();
  const bool timed = std::ranges::any_of(keys, [](auto& key) { return key.starts_with("time "); });
  if (!timed || count == 0) return;  // a scope, no kernel
  const auto name = frame.Object("frame").NonEmptyText("name");
  const double seconds = RunTime(metrics.where(), 1e-9 * metrics.Number("time (ns)"));
  const auto gpu = metrics.Has("device_id") ? TextOf(metrics.json().at("device_id")) : "";
  Work own;
  std::string unknown;
  for (const auto& key : keys) {
    if (const auto* pipe = FindValue(kProtonFlops, key))
      own.flops[*pipe] = metrics.Number(key);
    else if (key.starts_with("flops"))
      unknown = fmt::format("'{}' is not known", text::Printable(key));
  }
  if (!unknown.empty()) own.flops.clear();
  if (const auto bytes = metrics.OptionalNumber("bytes")) own.bytes[Level::kDram] = *bytes;
  const auto known = records.size();
  auto& record = records.AddKernels(name, {gpu, ""}, seconds, count);
  auto& work = record.work[Provenance::kModelled];
  const bool first = records.size() > known;
  if (AddCommon(own.flops, first, work.flops) | AddCommon(own.bytes, first, work.bytes))
    unknown = "a launch lacks FLOPs or bytes that another one has";
  if (!unknown.empty())
    throw BadInput("{}: FLOPs of '{}': {}", metrics.where(), text::Printable(name), unknown);
}

void AddFrames(const json& frame, const std::string& where, Records& records, LeftOut& left_out) {
  if (!frame.is_object() || !frame.contains("metrics")) return;
  left_out.Try([&] { AddKernel(JsonReader(frame, where), records); });
  if (frame.contains("children") && frame.at("children").is_array())
    for (const auto& child : frame.at("children")) AddFrames(child, where, records, left_out);
}

// Finds JSON in a text that is not JSON as a whole because a program printed lines before and after
// it, or because it has NaN, which becomes null. Returns nullopt if there is no JSON.
std::optional<std::string> JsonWithin(std::string_view text) {
  constexpr int kTried = 20;
  const auto end = text.find_last_of("}]");
  // Some tools write an object per line.
  auto lines = fmt::format("[{}]", fmt::join(logs::SplitText(text.substr(0, end + 1), '\n'), ","));
  if (end != text.npos && nlohmann::json::accept(lines)) return lines;
  for (std::size_t at = 0, tried = 0; at < end && end != text.npos && tried < kTried; ++tried) {
    const auto part = text.substr(at, end + 1 - at);
    auto repaired = record::RepairedJson(part).value_or(std::string(part));
    if (nlohmann::json::accept(repaired)) return repaired;
    at = std::min(text.find("\n{", at), text.find("\n[", at));
    at += at == text.npos ? 0 : 1;
  }
  return std::nullopt;
}

void ReadToolJson(const std::string& text, const std::string& where, Records& records,
                  LeftOut& left_out) {
  const json file = ParsedUniqueJson(text, where, left_out);
  const auto* tool = JsonToolOf(text);
  if (tool == nullptr) {
    for (const auto& root : file) AddFrames(root, where, records, left_out);
    return;
  }
  const json::json_pointer list(tool->list);
  if (!file.contains(list) || !file.at(list).is_array())
    throw BadInput("{}: expected an array of benchmarks", where);
  for (std::size_t i = 0; i < file.at(list).size(); ++i)
    left_out.Try([&] {
      AddBenchmark(*tool, file.at(list)[i], fmt::format("{}: {}[{}]", where, tool->list, i),
                   records);
    });
}

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
  return !CsvTablesIn(FirstOf(text)).empty() || JsonToolOf(text) != nullptr ||
         HasAll(FirstOf(text), {R"("frame")", R"("metrics")", R"("children")"});
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

nlohmann::json ParsedUniqueJson(const std::string& text, const std::string& where,
                                LeftOut& left_out) {
  std::vector<std::set<std::string>> keys;  // keys seen in each open object
  const auto check = [&](int /*depth*/, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    const bool twice =
        event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second;
    if (twice)
      left_out.Try([&] {
        throw BadInput("{}: the key '{}' is there twice in one object", where,
                       text::Printable(parsed.get<std::string>().substr(0, 40)));
      });
    return !twice;
  };
  const auto input = (json::accept(text) ? std::nullopt : JsonWithin(text)).value_or(text);
  RefuseDeepJson(input, where);  // not `text`: a quote before the JSON would hide its brackets
  try {
    return json::parse(input, check);
  } catch (const json::exception& error) {
    throw BadInput("{}: not JSON: {}", where, JsonFault(error));
  }
}

}  // namespace dlroof::imports
