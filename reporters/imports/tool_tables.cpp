// Tables of other tools (import.h): a row here says which columns or members are names and times.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "reporters/imports/import.h"
#include "reporters/text/csv.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;

struct CsvTool {
  std::vector<std::string_view> known;  // columns, which only this tool has all
  std::vector<std::string_view> name;   // columns whose texts are the name; missing ones are none
  std::string_view seconds;             // column of the time, or of its end
  double unit;                          // [s]
  bool kernels = true;                  // rows of one name are summed; else they are repetitions
  std::string_view launches = {};       // column of the number of launches in the time
  std::string_view begin = {};          // column of the time's begin
  std::string_view bytes_rate = {};     // column of the author's bytes per second, of DRAM
};

// nvbench's axes, which have names of their own, are between two of its columns.
constexpr std::string_view kAxesBegin = "Device Name", kAxesEnd = "Skipped";
constexpr std::string_view kGpu = "GPU Time (sec)", kCpu = "CPU Time (sec)";
constexpr std::string_view kRate = "GlobalMem BW (bytes/sec)";
constexpr std::string_view kBegin = "Start_Timestamp", kEnd = "End_Timestamp";

const std::vector<CsvTool>& CsvTools() {
  static const std::vector<CsvTool> tools = {
      // nsys
      {{"Start (ns)", "Duration (ns)", "CorrId"}, {"Name"}, "Duration (ns)", 1e-9},
      {{"Total Time (ns)", "Instances"}, {"Name"}, "Total Time (ns)", 1e-9, true, "Instances"},
      // rocprof
      {{"TotalDurationNs", "Calls", "Name"}, {"Name"}, "TotalDurationNs", 1e-9, true, "Calls"},
      {{"KernelName", "DurationNs"}, {"KernelName"}, "DurationNs", 1e-9},
      {{"Kernel_Name", kBegin, kEnd}, {"Kernel_Name"}, kEnd, 1e-9, true, "", kBegin},
      // nvbench
      {{kAxesBegin, kAxesEnd, kGpu}, {"Benchmark", kAxesBegin}, kGpu, 1, false, "", "", kRate},
      {{kAxesEnd, "Samples", kCpu}, {"Benchmark", kAxesBegin}, kCpu, 1, false},
      // CUTLASS's profiler
      {{"OperationKind", "Runtime"}, {"Operation", "m", "n", "k"}, "Runtime", 1e-3, false}};
  return tools;
}

struct JsonTool {
  std::vector<std::string_view> words;  // which only this tool writes, all in its first lines
  const char* list;                     // JSON pointer of the array of benchmarks
  std::vector<const char*> names;       // members whose texts are the name
  std::vector<const char*> samples;     // pointers to the times: the first that is there
  double unit;                          // [s]
};

const std::vector<JsonTool>& JsonTools() {
  static const std::vector<JsonTool> tools = {
      {{"\"machine_info\"", "\"benchmarks\"", "\"stats\""},  // pytest-benchmark
       "/benchmarks",
       {"fullname"},
       {"/stats/data", "/stats/median"},
       1},
      {{"\"results\"", "\"command\"", "\"mean\""},  // hyperfine
       "/results",
       {"command"},
       {"/times", "/mean"},
       1},
      {{"\"model_filename\"", "\"avg_ns\""},  // llama-bench
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
constexpr std::array<std::string_view, 3> kProton = {"\"frame\"", "\"metrics\"", "\"children\""};

std::string_view FirstOf(std::string_view text) {
  constexpr std::size_t kSearched = 1 << 16;  // [byte]
  return text.substr(0, kSearched);
}

bool HasAll(std::string_view text, const auto& words) {
  return std::ranges::all_of(words, [&](auto word) { return text.find(word) != text.npos; });
}

const CsvTool* CsvToolOf(std::string_view text) {
  const auto header = text.substr(0, text.find('\n'));
  const auto found = std::ranges::find_if(
      CsvTools(), [&](const CsvTool& tool) { return HasAll(header, tool.known); });
  return found == CsvTools().end() ? nullptr : &*found;
}

const JsonTool* JsonToolOf(std::string_view text) {
  const auto found = std::ranges::find_if(
      JsonTools(), [&](const JsonTool& tool) { return HasAll(FirstOf(text), tool.words); });
  return found == JsonTools().end() ? nullptr : &*found;
}

// Records by name, in the order of the file.
class Records {
 public:
  record::Record& Of(const std::string& name) {
    const auto [known, added] = found_.try_emplace(name, records_.size());
    if (added) records_.push_back({.name = name});
    return records_[known->second];
  }
  // Adds `launches` kernels that took `seconds` in all.
  void AddKernels(const std::string& name, double seconds, double launches) {
    auto& record = Of(name);
    record.device = "gpu";
    if (record.repetitions.empty()) record.repetitions.push_back({.seconds = 0, .iterations = 1});
    record.repetitions[0].seconds += seconds;
    auto& count = record.work[Provenance::kMeasured].launches;
    count = count.value_or(0) + launches;
  }
  std::vector<record::Record> Take() { return std::move(records_); }

 private:
  std::map<std::string, std::size_t> found_;
  std::vector<record::Record> records_;
};

double TimeOf(const std::string& where, double seconds) {
  if (!IsRunTime(seconds))
    throw BadInput("{}: expected a time above 0, got {:g} s", where, seconds);
  return seconds;
}

class CsvReader {
 public:
  CsvReader(const CsvTool& tool, const std::string& text, const std::string& where)
      : tool_(tool), where_(where), rows_(text::ReadCsv(text, where, text::SeparatorAfter(text))) {}

  void Read(Records& records, LeftOut& left_out) {
    for (std::size_t i = 1; i < rows_.size(); ++i)
      left_out.Try([&] {
        text::RequireFields(rows_[i], rows_[0], where_);
        Add(rows_[i], records);
      });
  }

 private:
  std::optional<std::size_t> Column(std::string_view name) const {
    const auto at = std::ranges::find(rows_[0], name, &text::CsvField::text);
    if (name.empty() || at == rows_[0].end()) return std::nullopt;
    return static_cast<std::size_t>(at - rows_[0].begin());
  }

  std::optional<double> Number(const text::CsvRow& row, std::string_view column) const {
    const auto at = Column(column);
    return at ? text::CsvNumberFromZero(row[*at], where_, text::DecimalMark::kPoint) : std::nullopt;
  }

  std::string NameOf(const text::CsvRow& row) const {
    std::vector<std::string> parts;
    for (const auto name : tool_.name) {
      const auto at = Column(name);
      const auto end = name == kAxesBegin ? Column(kAxesEnd) : std::nullopt;
      if (at && !end) parts.push_back(row[*at].text);
      if (at && end)
        for (auto axis = *at + 1; axis < *end; ++axis)
          parts.push_back(fmt::format("{}={}", rows_[0][axis].text, row[axis].text));
    }
    return fmt::format("{}", fmt::join(parts, "/"));
  }

  void Add(const text::CsvRow& row, Records& records) const {
    const auto place = text::PlaceOf(row.front(), where_);
    const auto end = Number(row, tool_.seconds), begin = Number(row, tool_.begin);
    if (!end || (!tool_.begin.empty() && !begin)) throw BadInput("{}: expected a time", place);
    const double seconds = TimeOf(place, tool_.unit * (*end - begin.value_or(0)));
    const auto name = NameOf(row);
    if (name.empty()) throw BadInput("{}: expected a name", place);
    if (tool_.kernels && name.front() == '[') return;  // "[CUDA memcpy Host-to-Device]"
    if (tool_.kernels)
      return records.AddKernels(name, seconds, Number(row, tool_.launches).value_or(1));
    auto& record = records.Of(name);
    record.repetitions.push_back({.seconds = seconds, .iterations = 1});
    if (const auto rate = Number(row, tool_.bytes_rate); rate && *rate > 0)
      record.work[Provenance::kModelled].bytes[Level::kDram] = std::round(*rate * seconds);
  }

  const CsvTool& tool_;
  const std::string& where_;
  std::vector<text::CsvRow> rows_;
};

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
    for (const auto& sample : samples) {
      if (!sample.is_number()) throw BadInput("{}: '{}': expected numbers", where, pointer);
      repetitions.push_back(
          {.seconds = TimeOf(where, tool.unit * sample.get<double>()), .iterations = 1});
    }
    if (repetitions.empty()) continue;
    auto& record = records.Of(fmt::format("{}", fmt::join(names, "/")));
    record.repetitions.insert(record.repetitions.end(), repetitions.begin(), repetitions.end());
    return;
  }
  throw BadInput("{}: expected times in '{}'", where, tool.samples[0]);
}

// Adds the kernels of Proton's tree: each frame has the time, calls, FLOPs and bytes of its own.
void AddFrames(const json& frame, const std::string& where, Records& records, LeftOut& left_out) {
  if (!frame.is_object() || !frame.contains("metrics")) return;
  left_out.Try([&] {
    const JsonReader metrics(frame.at("metrics"), where + ": metrics");
    if (!metrics.Has("time (ns)") || metrics.json().at("time (ns)") == 0) return;
    const auto name = JsonReader(frame, where).Object("frame").NonEmptyText("name");
    const double seconds = TimeOf(metrics.where(), 1e-9 * metrics.Number("time (ns)"));
    Work own;
    for (const auto& key : metrics.Keys()) {
      const auto pipe = kProtonFlops.find(key);
      if (pipe != kProtonFlops.end())
        own.flops[pipe->second] = metrics.Number(key);
      else if (key.starts_with("flops"))
        throw BadInput("{}: '{}' is not known", metrics.where(), text::Printable(key));
    }
    records.AddKernels(name, seconds, metrics.OptionalNumber("count").value_or(1));
    auto& work = records.Of(name).work[Provenance::kModelled];  // as the program's author says
    for (const auto& [pipe, flops] : own.flops) work.flops[pipe] += flops;
    if (const auto bytes = metrics.OptionalNumber("bytes")) work.bytes[Level::kDram] += *bytes;
  });
  if (frame.contains("children") && frame.at("children").is_array())
    for (const auto& child : frame.at("children")) AddFrames(child, where, records, left_out);
}

void ReadJson(const std::string& text, const std::string& where, Records& records,
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

bool LooksLikeToolTable(std::string_view text) {
  return CsvToolOf(text) != nullptr || JsonToolOf(text) != nullptr ||
         HasAll(FirstOf(text), kProton);
}

Imported ImportToolTable(const std::string& text, const std::string& where) {
  Records records;
  LeftOut left_out;
  if (const auto* tool = CsvToolOf(text))
    CsvReader(*tool, text, where).Read(records, left_out);
  else
    ReadJson(text, where, records, left_out);
  Imported imported{.records = records.Take(), .machine = {}, .remarks = {}};
  left_out.AddTo(imported, "rows or benchmarks are");
  if (imported.records.empty()) throw BadInput("{}: expected a row with a time", where);
  return imported;
}

}  // namespace dlroof::imports
