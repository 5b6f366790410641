#include "reporters/imports/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <ranges>
#include <regex>
#include <set>
#include <utility>

#include "counters/base/json_reader.h"
#include "counters/base/numbers.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/record/large_json.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

constexpr ImportFormat kFormats[] = {
    {"csv", "our own: name,seconds,launches,flops_<pipe>,bytes_<level> in base units",
     LooksLikeOwnCsv, ImportOwnCsv},
    {"ncu", "Nsight Compute --csv (--page raw or details)", LooksLikeNsightCompute,
     ImportNsightCompute},
    {"ert", "Empirical Roofline Toolkit, roofline.json: makes a machine file", LooksLikeErt,
     ImportErt},
    {"likwid", "likwid-perfctr -O", LooksLikeLikwid, ImportLikwid},
    {"nvbench", "nvbench --json", LooksLikeNvbench, ImportNvbench},
    {"gbench", "Google Benchmark's JSON", LooksLikeGoogleBenchmark, ImportGoogleBenchmark},
    {"gbench-table", "Google Benchmark's CSV or console table", LooksLikeBenchmarkTable,
     ImportBenchmarkTable},
    {"table",
     "tables of times: nsys stats, nvbench, rocprof, CUTLASS, Proton, pytest-benchmark, hyperfine, "
     "llama-bench, BenchmarkDotNet",
     LooksLikeToolTable, ImportToolTable},
    {"perf", "perf stat", LooksLikePerfStat, ImportPerfStat},
    {"trace", "a Chrome trace of PyTorch's or TensorFlow's profiler", LooksLikeTrace, ImportTrace}};

constexpr std::size_t kNamedColumns = 5;

// Returns the model in a GPU's name, such as "H100", "L40S" or "MI300X", or "" if none: a number of
// two to four digits, or letters and a digit, that is no size of its memory.
std::string ModelOf(const std::string& gpu) {
  static const std::regex model(
      R"((^|[^A-Za-z0-9])(([A-Z]{1,3}[0-9]|[A-Z]{0,3}[0-9]{2,4})[A-Z]{0,2})([^A-Za-z0-9]|$))");
  for (auto at = std::sregex_iterator(gpu.begin(), gpu.end(), model); at != std::sregex_iterator();
       ++at)
    if (const auto word = (*at)[2].str(); !word.ends_with("GB")) return word;
  return "";
}

// Compute capabilities (NVIDIA's table of CUDA GPUs) of the models that machine files are of.
struct ModelRow {
  std::string_view model, capability;
};
constexpr ModelRow kCapabilities[] = {
    {"V100", "7.0"}, {"T4", "7.5"},    {"A100", "8.0"},   {"A30", "8.0"},
    {"A10", "8.6"},  {"A40", "8.6"},   {"L40", "8.9"},    {"L40S", "8.9"},
    {"H100", "9.0"}, {"H200", "9.0"},  {"H800", "9.0"},   {"GH200", "9.0"},
    {"H20", "9.0"},  {"B200", "10.0"}, {"GB200", "10.0"}, {"B300", "10.3"}};

// Returns the device of a record that its importer found on `found`: "cpu", "gpu" or a GPU's name.
// A GPU of another model than the machine's keeps its name, so that it has no roofs.
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

// Returns the JSON in a text that is none: between lines that a program printed before and after
// it, and with null for NaN. Returns nullopt if there is none.
std::optional<std::string> JsonWithin(std::string_view text) {
  constexpr int kTried = 20;
  const auto end = text.find_last_of("}]");
  // A line for each object.
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

}  // namespace

std::span<const ImportFormat> ImportFormats() { return kFormats; }

nlohmann::json ParsedUniqueJson(const std::string& text, const std::string& where,
                                LeftOut& left_out) {
  using nlohmann::json;
  std::vector<std::set<std::string>> keys;  // of each open object
  RefuseDeepJson(text, where);
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
  const auto within = json::accept(text) ? std::nullopt : JsonWithin(text);
  try {
    return json::parse(within.value_or(text), check);
  } catch (const json::exception& error) {
    throw BadInput("{}: not JSON: {}", where, JsonFault(error));
  }
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
  imported.remarks.push_back(fmt::format(
      "{}: {} {} {} not known and left out", where, columns.size() == 1 ? "column" : "columns",
      fmt::join(named, ", "), columns.size() == 1 ? "is" : "are"));
}

void LeftOut::AddTo(Imported& imported, const char* items) const {
  if (count == 0) return;
  if (imported.records.empty() && !imported.machine) throw BadInput("{}", first);
  imported.remarks.push_back(fmt::format("{} {} left out; the first: {}", count, items, first));
}

void AddCutLine(std::string_view text, const std::string& where, Imported& imported) {
  if (!text.empty() && text.back() != '\n')
    imported.remarks.push_back(where +
                               ": the last line has no line end: the file may be cut off there");
}

record::RunFile ImportedRun(std::vector<record::Record> records,
                            const std::optional<machine::Machine>& machine,
                            const ImportOptions& options, std::ostream& warnings) {
  record::RunFile run;
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

}  // namespace dlroof::imports
