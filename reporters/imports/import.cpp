// The list of formats, dlroof's own CSV, and the run file of imported records (import.h).
#include "reporters/imports/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <ranges>
#include <regex>
#include <set>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/numbers.h"
#include "counters/base/version.h"
#include "reporters/record/large_json.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

// Returns the start of a text, in which words that identify its tool are searched for.
std::string_view FirstOf(std::string_view text) {
  constexpr std::size_t kSearched = 1 << 16;  // [byte]
  return text.substr(0, kSearched);
}

bool HasAll(std::string_view text, const std::vector<std::string_view>& words) {
  return std::ranges::all_of(words, [&](auto word) { return text.find(word) != text.npos; });
}

constexpr ImportFormat kFormats[] = {
    {"csv", "our own: name,seconds,launches,flops_<pipe>,bytes_<level> in base units",
     LooksLikeOwnCsv, ImportOwnCsv},
    {"ncu", "Nsight Compute --csv (--page raw or details)", LooksLikeNsightCompute,
     ImportNsightCompute},
    {"ert", "Empirical Roofline Toolkit, roofline.json: makes a machine file",
     [](std::string_view text) {
       return HasAll(text, {R"("empirical")", R"("gbytes")"});
     },
     ImportErt},
    {"likwid", "likwid-perfctr -O", LooksLikeLikwid, ImportLikwid},
    {"nvbench", "nvbench --json",
     [](std::string_view text) {
       return HasAll(text, {R"("benchmarks")", R"("states")"});
     },
     ImportNvbench},
    {"gbench", "Google Benchmark's JSON",
     [](std::string_view text) {
       return HasAll(text, {R"("benchmarks")", R"("real_time")"});
     },
     ImportGoogleBenchmark},
    {"proton", "a profile of Proton, Triton's profiler",
     [](std::string_view text) {
       return HasAll(FirstOf(text), {R"("frame")", R"("metrics")", R"("children")"});
     },
     ImportProton},
    {"trace", "a Chrome trace of PyTorch's profiler", LooksLikeTrace, ImportTrace}};

constexpr std::size_t kNamedColumns = 5;

// Returns the model in a GPU's name, e.g. "H100", "L40S" or "MI300X", or "" if there is none. A
// word such as "80GB" is the size of the memory, not a model.
std::string ModelOf(const std::string& gpu) {
  static const std::regex model(
      R"((^|[^A-Za-z0-9])(([A-Z]{1,3}[0-9]|[A-Z]{0,3}[0-9]{2,4})[A-Z]{0,2})([^A-Za-z0-9]|$))");
  for (auto at = std::sregex_iterator(gpu.begin(), gpu.end(), model); at != std::sregex_iterator();
       ++at)
    if (const auto word = (*at)[2].str(); !word.ends_with("GB")) return word;
  return "";
}

// Compute capabilities of GPU models (NVIDIA's table of CUDA GPUs).
struct ModelRow {
  std::string_view model, capability;
};
constexpr ModelRow kCapabilities[] = {
    {"V100", "7.0"}, {"T4", "7.5"},    {"A100", "8.0"},   {"A30", "8.0"},
    {"A10", "8.6"},  {"A40", "8.6"},   {"L40", "8.9"},    {"L40S", "8.9"},
    {"H100", "9.0"}, {"H200", "9.0"},  {"H800", "9.0"},   {"GH200", "9.0"},
    {"H20", "9.0"},  {"B200", "10.0"}, {"GB200", "10.0"}, {"B300", "10.3"}};

// Returns a record's device. `found`: the device in its file, "", "cpu", "gpu" or a GPU's name. A
// GPU of another model than the machine's keeps its name: the machine's roofs do not apply to it.
std::string DeviceFor(const std::string& found, const std::optional<machine::Machine>& machine) {
  if (!machine) return found.empty() || found == "cpu" ? found : "gpu";
  if (found.empty()) return machine->device;
  if (found == "cpu" || machine->device == "cpu") return found == "cpu" ? found : "gpu";
  if (found.starts_with(kCapability)) {
    const auto* row = std::ranges::find(kCapabilities, ModelOf(machine->name), &ModelRow::model);
    const bool same = row == std::end(kCapabilities) || found.ends_with(row->capability);
    return same ? machine->device : found;
  }
  const auto of_record = ModelOf(found), of_machine = ModelOf(machine->name);
  const bool other = !of_record.empty() && !of_machine.empty() && of_record != of_machine;
  return other ? found : machine->device;
}

void MergeWork(Provenance provenance, record::Record& record) {
  std::map<Provenance, Work> merged;
  for (auto& [from, work] : record.work) {
    Work& all = merged[provenance];
    all.flops.merge(work.flops);
    all.bytes.merge(work.bytes);
    if (!all.launches) all.launches = work.launches;
  }
  record.work = std::move(merged);
}

struct OtherTool {
  std::vector<std::string_view> words;  // a file with all of them is of this tool
  std::string_view what;                // what the file is
  std::string_view cure;                // what the user can do; "{}" is the file's path
  std::string_view ending = {};         // a path with this ending needs no words
};

constexpr std::string_view kNsys =
    "it counts neither FLOPs nor bytes: profile with 'dlroof profile --gpu -- COMMAND', or with "
    "ncu and import its --csv";
constexpr std::string_view kBenchmarkJson = "run it with --benchmark_out=x.json";

const std::vector<OtherTool>& OtherTools() {
  static const std::vector<OtherTool> tools = {
      {{},
       "a report of Nsight Compute",
       "export it by 'ncu --import {} --csv --page raw > raw.csv' (any ncu of its version or "
       "later) and import raw.csv",
       ".ncu-rep"},
      {{"==WARNING== No kernels were profiled"},
       "Nsight Compute's output without a kernel",
       "choose kernels that run (--kernel-name, --launch-skip)"},
      {{"\"Invocations\"", "\"Metric Name\""},
       "a summary of Nsight Compute",
       "import a table of launches: 'ncu --csv --page raw' without --print-summary"},
      {{}, "a report of Nsight Systems", kNsys, ".nsys-rep"},
      {{}, "a report of Nsight Systems", kNsys, ".qdrep"},
      {{"Total Time ("}, "a table of Nsight Systems", kNsys},
      {{"SQLite format 3", "CUPTI_ACTIVITY"}, "a database of Nsight Systems", kNsys},
      {{"name,iterations,real_time,cpu_time"}, "Google Benchmark's CSV", kBenchmarkJson},
      {{"Benchmark ", " CPU   Iterations"}, "Google Benchmark's table", kBenchmarkJson},
      {{"\"benchmarks\"", "\"library_build_type\""},
       "Google Benchmark's JSON without times",
       "run the program without --benchmark_list_tests, and with a filter that selects benchmarks"},
      {{"# Benchmark Results", "Samples"}, "nvbench's Markdown", "run it with --json x.json"},
      {{"Device Name", "GPU Time ("}, "nvbench's CSV", "run it with --json x.json"},
      {{"Region calls,CTR", "Runtime (RDTSC) [s],TSC"},
       "a table of likwid-mpirun",
       "import that of 'likwid-perfctr -O' in one process"},
      {{"Self CPU %", "# of Calls"},
       "a table of PyTorch's profiler",
       "import its export_chrome_trace('trace.json')"},
      {{"mkldnn_verbose,"},
       "a log of MKL-DNN 0.x, which has no types and so no work",
       "use oneDNN 1.0 or later"},
      {{"\"dlroof\"", "\"records\""}, "a run file", "'dlroof report {}' shows it"},
      {{}, "packed by bzip2", "unpack it by 'bzip2 -dk {}' and import that file", ".bz2"},
      {{}, "an archive", "unpack it by 'unzip {}' and import its file", ".zip"}};
  return tools;
}

constexpr std::string_view kFlops = "flops_", kBytes = "bytes_";
constexpr double kMaxThreads = 1e6;

// Spreadsheets write "sep=;" in the first line to tell other spreadsheets the separator.
bool IsComment(std::string_view line) { return line.starts_with('#') || line.starts_with("sep="); }

// Replaces comments by empty lines. They must be removed before the text is read as CSV because a
// comment may contain a lone quote.
std::string WithoutComments(std::string_view text) {
  std::string rows;
  for (bool quoted = false; !text.empty();) {
    const auto line = text::TakeLine(text);
    if (quoted || !IsComment(line)) {
      for (const char c : line) quoted = quoted != (c == '"');
      rows += line;
    }
    rows += '\n';
  }
  return rows;
}

struct Measurement {
  std::string name;
  std::optional<double> seconds, threads;
  Work work;
};

// Stores the field of the column in `row`. Returns false for an unknown column.
bool ReadField(std::string_view column, const text::CsvField& field, text::DecimalMark mark,
               const std::string& where, Measurement& row) {
  const auto number = [&] { return text::CsvNumberFromZero(field, where, mark); };
  if (column == "name") {
    row.name = field.text;
  } else if (column == "seconds") {
    row.seconds = number();
  } else if (column == "launches") {
    row.work.launches = number();
  } else if (column == "threads") {
    row.threads = number();
  } else if (column.starts_with(kFlops) && IsPipeKey(column.substr(kFlops.size()))) {
    if (const auto value = number())
      row.work.flops[std::string(column.substr(kFlops.size()))] = *value;
  } else if (const auto level = LevelFromKey(
                 column.starts_with(kBytes) ? column.substr(kBytes.size()) : std::string_view());
             level) {
    if (const auto value = number()) row.work.bytes[*level] = *value;
  } else {
    return false;
  }
  return true;
}

// Throws BadInput for a column of FLOPs or bytes whose pipe or level is unknown: without it the
// rows would be placed by the rest of their work.
void CheckWorkColumn(const text::CsvField& field, const std::string& where) {
  const std::string_view column = field.text;
  const bool pipe = column.starts_with(kFlops) && !IsPipeKey(column.substr(kFlops.size()));
  const bool level = column.starts_with(kBytes) && !LevelFromKey(column.substr(kBytes.size()));
  if (!pipe && !level) return;
  std::vector<std::string_view> levels;
  for (const auto known : AllLevels()) levels.push_back(Key(known));
  throw BadInput(
      "{}: column '{}': expected {}", text::PlaceOf(field, where), text::Printable(column),
      pipe ? fmt::format("{}<type>.<unit> with a type of {} and a unit of {}", kFlops,
                         fmt::join(AllPipeTypes(), " "), fmt::join(AllPipeUnits(), " "))
           : fmt::format("{}<level> with a level of {}", kBytes, fmt::join(levels, " ")));
}

void CheckHeader(const text::CsvRow& header, const std::string& where) {
  std::map<std::string, int> seen;
  for (const text::CsvField& field : header) CheckWorkColumn(field, where);
  for (const text::CsvField& field : header)
    if (++seen[field.text] > 1)
      throw BadInput("{}: column '{}' is there twice", text::PlaceOf(field, where),
                     text::Printable(field.text));
  for (const char* needed : {"name", "seconds"})
    if (seen.count(needed) == 0)
      throw BadInput("{}: expected a column '{}'", text::PlaceOf(header.front(), where), needed);
}

void AddMeasurement(const Measurement& row, const text::CsvRow& at, const std::string& where,
                    std::map<std::string, std::size_t>& found, Imported& imported) {
  if (row.name.empty()) throw BadInput("{}: expected a name", text::PlaceOf(at.front(), where));
  if (!row.seconds || !IsRunTime(*row.seconds))
    throw BadInput("{}: expected a time above 0 in 'seconds' of '{}'",
                   text::PlaceOf(at.front(), where), text::Printable(row.name));
  if (row.threads && (*row.threads < 1 || *row.threads > kMaxThreads))
    throw BadInput("{}: expected a number of threads in 'threads' of '{}'",
                   text::PlaceOf(at.front(), where), text::Printable(row.name));
  const auto [known, added] = found.try_emplace(row.name, imported.records.size());
  if (added) {
    record::Record record{.name = row.name};
    if (row.threads) record.threads = static_cast<int>(*row.threads);
    record.work[Provenance::kMeasured] = row.work;
    imported.records.push_back(record);
  }
  record::Record& record = imported.records[known->second];
  if (!(record.work[Provenance::kMeasured] == row.work))
    throw BadInput("{}: this row of '{}' has other FLOPs, bytes or launches than the rows before",
                   text::PlaceOf(at.front(), where), text::Printable(row.name));
  record.repetitions.push_back({.seconds = *row.seconds, .iterations = 1});
}

// Returns the first line that is neither empty nor a comment, or "".
std::string_view HeaderOf(std::string_view text) {
  std::string_view line;
  while ((line.empty() || IsComment(line)) && !text.empty()) line = text::TakeLine(text);
  return IsComment(line) ? std::string_view() : line;
}

}  // namespace

std::span<const ImportFormat> ImportFormats() { return kFormats; }

std::optional<Reason> ExportOfOtherTool(std::string_view path, std::string_view text) {
  for (const OtherTool& tool : OtherTools()) {
    const bool named = !tool.ending.empty() && path.ends_with(tool.ending);
    const bool written = !tool.words.empty() && HasAll(FirstOf(text), tool.words);
    if (!named && !written) continue;
    return Reason{fmt::format("{}: {}", tool.what, fmt::format(fmt::runtime(tool.cure), path))};
  }
  return std::nullopt;
}

bool IsRunTime(double seconds) { return RangeOf("seconds").Contains(seconds); }

void LeaveOutImpossible(const std::string& where, Imported& imported) {
  LeftOut numbers;
  for (auto& record : imported.records) {
    const auto is_impossible = [&](const char* key, double number) {
      const auto& range = RangeOf(key);
      const int before = numbers.count;
      if (!range.Contains(number))
        numbers.Try([&] {
          throw BadInput("{}: '{}': expected {}, got {:g}", where, text::Printable(record.name),
                         range.Expected(), number);
        });
      return numbers.count > before;
    };
    std::erase_if(record.repetitions,
                  [&](const auto& one) { return is_impossible("seconds", one.seconds); });
    const double least =
        record.repetitions.empty()
            ? 1
            : std::ranges::min(record.repetitions, {}, &record::Repetition::seconds).seconds;
    const auto is_no_work = [&](const char* key, double count) {
      return is_impossible(key, count) || (count > 0 && is_impossible("", count / least));
    };
    for (auto& [from, work] : record.work) {
      std::erase_if(work.flops, [&](const auto& item) { return is_no_work("flops", item.second); });
      std::erase_if(work.bytes, [&](const auto& item) { return is_no_work("bytes", item.second); });
      if (work.launches && is_impossible("launches", *work.launches)) work.launches.reset();
    }
  }
  numbers.AddTo(imported, "numbers are");
}

void AddUnknownColumns(const std::vector<std::string>& columns, const std::string& where,
                       Imported& imported) {
  if (columns.empty()) return;
  std::vector<std::string> named;
  for (const auto& column : columns | std::views::take(kNamedColumns))
    named.push_back(fmt::format("'{}'", text::Printable(column)));
  const auto more = columns.size() - named.size();
  if (more > 0) named.back() += fmt::format(" and {} more", more);
  imported.Say("{}: {} {} {} not known and left out", where,
               columns.size() == 1 ? "column" : "columns", fmt::join(named, ", "),
               columns.size() == 1 ? "is" : "are");
}

void LeftOut::AddTo(Imported& imported, const char* items) const {
  if (count == 0) return;
  if (imported.records.empty() && !imported.machine) throw BadInput("{}", first);
  imported.Say("{} {} left out; the first: {}", count, items, first);
}

void AddCutLine(std::string_view text, const std::string& where, Imported& imported) {
  if (!text.empty() && text.back() != '\n')
    imported.Say("{}: the last line has no line end: the file may be cut off there", where);
}

record::RunFile ImportedRun(std::vector<record::Record> records,
                            const std::optional<machine::Machine>& machine,
                            const ImportOptions& options, std::ostream& warnings) {
  record::RunFile run;
  run.context["dlroof"] = {{"schema", record::kSchema}, {"version", kVersion}, {"commit", kCommit}};
  if (machine) run.machines.push_back(*machine);
  int moved = 0;
  std::set<std::string> elsewhere;
  for (record::Record& record : records) {
    const auto found = std::exchange(record.device, "");
    if (!options.set.empty()) record.name = fmt::format("{}/{}", options.set, record.name);
    record::SplitName(record);
    if (!record::HasOwnForm(record)) record::PutOnDevice(record, DeviceFor(found, machine));
    if (machine && record.status == record::Status::kOk && !record::HasOwnForm(record) &&
        record.device != machine->device)
      elsewhere.insert(record.device);
    if (options.provenance) MergeWork(*options.provenance, record);
    if (!machine || record.device != machine->device) continue;
    if (machine::ForThreads(*machine, record.threads) != nullptr) continue;
    moved += record.threads ? 1 : 0;
    record.threads = machine->by_threads.rbegin()->first;
  }
  for (const auto& device : elsewhere)
    warnings << fmt::format(
        "dlroof: records of the device '{}' have no roofs: the machine file is of '{}'\n",
        text::Printable(device), text::Printable(machine->name));
  if (moved > 0)
    warnings << fmt::format(
        "dlroof: {} of {} records ran with a number of threads for which the machine file has no "
        "ceilings; they are placed on the ceilings of {} threads\n",
        moved, records.size(), machine->by_threads.rbegin()->first);
  run.records = std::move(records);
  return run;
}

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

nlohmann::json ParsedUniqueJson(const std::string& text, const std::string& where,
                                LeftOut& left_out) {
  using nlohmann::json;
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
  RefuseDeepJson(text, where);
  try {  // NaN, as Python writes it, becomes null
    return json::parse(json::accept(text) ? text : record::RepairedJson(text).value_or(text),
                       check);
  } catch (const json::exception& error) {
    throw BadInput("{}: not JSON: {}", where, JsonFault(error));
  }
}

bool LooksLikeOwnCsv(std::string_view text) {
  const auto header = HeaderOf(text);
  const char separator = text::SeparatorAfter(header);
  const auto line = fmt::format("{1}{0}{1}", header, separator);
  const auto has = [&](std::string_view name) {
    return line.find(fmt::format("{1}{0}{1}", name, separator)) != std::string::npos ||
           line.find(fmt::format("{1}\"{0}\"{1}", name, separator)) != std::string::npos;
  };
  return has("name") && has("seconds");
}

Imported ImportOwnCsv(const std::string& text, const std::string& where) {
  const auto rows =
      text::ReadCsv(WithoutComments(text), where, text::SeparatorAfter(HeaderOf(text)));
  if (rows.empty()) throw BadInput(where + ":1: expected a header with 'name' and 'seconds'");
  const text::CsvRow& header = rows.front();
  CheckHeader(header, where);
  const auto mark = text::MarkOf(rows, where);
  Imported imported;
  std::map<std::string, std::size_t> found;
  std::vector<std::string> unknown;
  LeftOut left_out;
  for (std::size_t i = 1; i < rows.size(); ++i)
    left_out.Try([&] {
      text::RequireFields(rows[i], header, where);
      Measurement row;
      for (std::size_t j = 0; j < header.size(); ++j)
        if (!ReadField(header[j].text, rows[i][j], mark, where, row) && i == 1)
          unknown.push_back(header[j].text);
      AddMeasurement(row, rows[i], where, found, imported);
    });
  left_out.AddTo(imported, "rows are");
  AddUnknownColumns(unknown, where, imported);
  AddCutLine(text, where, imported);
  if (imported.records.empty())
    throw BadInput("{}:{}: expected a row below the header", where, header.front().line);
  return imported;
}

}  // namespace dlroof::imports
