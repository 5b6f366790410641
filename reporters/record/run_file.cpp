#include "reporters/record/run_file.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>

#include "counters/base/json_reader.h"
#include "reporters/record/cut_json.h"
#include "reporters/record/large_run_file.h"
#include "reporters/record/record_from_json.h"
#include "reporters/record/work_counters.h"

namespace dlroof {
namespace {

using nlohmann::json;

void ReadSkip(const std::string& message, Record& record) {
  constexpr std::array<std::pair<std::string_view, Status>, 2> kPrefixes = {
      {{kUnsupportedPrefix, Status::kUnsupported}, {kWrongPrefix, Status::kWrong}}};
  record.status = Status::kFailed;
  record.reason = message.empty() ? "no reason given" : message;
  for (const auto& [prefix, status] : kPrefixes) {
    if (message.compare(0, prefix.size(), prefix) != 0) continue;
    record.status = status;
    record.reason = message.substr(prefix.size());
  }
}

std::optional<double> Find(const std::map<std::string, double>& counters, const char* key) {
  const auto found = counters.find(key);
  if (found == counters.end()) return std::nullopt;
  return found->second;
}

void ReadCounters(const std::map<std::string, double>& counters, Record& record) {
  record.work = WorkFromCounters(counters);
  record.threads = static_cast<int>(Find(counters, kThreadsCounter).value_or(0));
  if (const auto seed = Find(counters, kSeedCounter)) record.seed = static_cast<unsigned>(*seed);
  record.evicted_bytes = Find(counters, kEvictedBytesCounter);
  record.heuristic_over_best = Find(counters, kHeuristicOverBestCounter);
  if (const auto cache = Find(counters, kCacheCounter))
    record.cache = *cache == 0 ? "warm" : *cache == 1 ? "cold" : "cold-weights";
}

double SecondsPerUnit(const JsonReader& entry, const std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  for (const auto& [unit, seconds] : kUnits)
    if (unit == text) return seconds;
  entry.Refuse("time_unit", "ns, us, ms or s");
}

Entry EntryFromJson(const JsonReader& at) {
  Entry entry;
  entry.name = BareName(at.TextOr("run_name", at.Text("name")));
  entry.label = at.TextOr("label", "");
  entry.skipped = (at.Has("error_occurred") && at.Flag("error_occurred")) ||
                  (at.Has("skipped") && at.Flag("skipped"));
  entry.message = at.TextOr("error_message", at.TextOr("skip_message", ""));
  if (entry.skipped) return entry;
  entry.time_unit = at.TextOr("time_unit", "ns");
  const double unit = SecondsPerUnit(at, entry.time_unit);
  entry.seconds = at.Number("real_time") * unit;
  if (entry.seconds < 0) at.Refuse("real_time", "a time of at least 0");
  entry.main_cpu_seconds = at.Number("cpu_time") * unit;
  if (entry.main_cpu_seconds < 0) at.Refuse("cpu_time", "a time of at least 0");
  entry.iterations = at.OptionalNumber("iterations").value_or(0);
  for (const auto& item : at.json().items())
    if (item.value().is_number()) entry.counters[item.key()] = at.Number(item.key().c_str());
  return entry;
}

// What Google Benchmark writes of one benchmark: repetitions 0, 1, ... of one unit. The same number
// twice is two benchmarks of one name, or two files in one.
void CheckRepetition(const JsonReader& at, const std::vector<Entry>& group,
                     std::set<double>& repetitions) {
  const Entry& entry = group.back();
  const auto index = at.OptionalNumber("repetition_index");
  if (index && !repetitions.insert(*index).second)
    throw BadInput(
        fmt::format("{}: '{}' has its repetition {:.0f} twice: two benchmarks of one name?",
                    at.where(), entry.name, *index));
  const Entry& first = group.front();
  if (!entry.skipped && !first.skipped && first.time_unit != entry.time_unit)
    throw BadInput(fmt::format("{}: 'time_unit': '{}' is in {} here and in {} before", at.where(),
                               entry.name, entry.time_unit, first.time_unit));
}

// Entries of one benchmark may be apart (random interleaving of other tools): grouped by name,
// first seen first.
std::vector<Record> RecordsFromBenchmarks(const JsonReader& file) {
  std::vector<std::vector<Entry>> groups;
  std::vector<std::set<double>> repetitions;
  std::map<std::string, size_t> group_of;
  for (size_t i = 0; i < file.Array("benchmarks").size(); ++i) {
    const JsonReader at = file.Item("benchmarks", i);
    if (at.TextOr("run_type", "iteration") != "iteration") continue;
    Entry entry = EntryFromJson(at);
    const auto [found, added] = group_of.try_emplace(entry.name, groups.size());
    if (added) {
      groups.emplace_back();
      repetitions.emplace_back();
    }
    auto& group = groups[found->second];
    group.push_back(std::move(entry));
    CheckRepetition(at, group, repetitions[found->second]);
  }
  std::vector<Record> records;
  records.reserve(groups.size());
  for (const auto& group : groups) records.push_back(RecordFromEntries(group));
  return records;
}

void CheckSchema(const JsonReader& file) {
  if (!file.Has("context")) return;
  const JsonReader context = file.Object("context");
  if (!context.Has("dlroof")) return;
  const double schema = context.Object("dlroof").Number("schema");
  if (schema > kSchema)
    throw BadInput(fmt::format("{}: written by a newer dlroof (schema {}, this one reads up to {})",
                               file.where(), schema, kSchema));
}

RunFile FromJson(const json& whole, const std::string& where, bool cut) {
  const JsonReader file(whole, where);
  if (!file.Has("benchmarks") && !file.Has("records"))
    throw BadInput(where + ": neither 'benchmarks' nor 'records': not a run file");
  CheckSchema(file);
  RunFile run;
  if (file.Has("context")) run.context = file.Object("context").json();
  if (file.Has("machines"))
    for (size_t i = 0; i < file.Array("machines").size(); ++i)
      run.machines.push_back(
          MachineFromJson(file.Array("machines")[i], fmt::format("{}: machines[{}]", where, i)));
  if (file.Has("records") && !(cut && file.Has("benchmarks"))) {
    for (size_t i = 0; i < file.Array("records").size(); ++i)
      run.records.push_back(RecordFromJson(file.Item("records", i)));
  } else {
    run.records = RecordsFromBenchmarks(file);
  }
  return run;
}

}  // namespace

std::string BareName(const std::string& name) {
  constexpr std::array<std::string_view, 7> kSuffixes = {
      "/real_time", "/process_time", "/manual_time",     "/iterations:",
      "/repeats:",  "/min_time:",    "/min_warmup_time:"};
  size_t end = name.size();
  for (const auto suffix : kSuffixes) end = std::min(end, name.find(suffix));
  // The number of threads comes last and tells benchmarks apart.
  const size_t threads = name.rfind("/threads:");
  if (threads == std::string::npos || threads < end) return name.substr(0, end);
  return name.substr(0, end) + name.substr(threads);
}

Record RecordFromEntries(const std::vector<Entry>& entries) {
  Record record;
  record.name = entries.at(0).name;
  SplitName(record);
  for (const Entry& entry : entries) {
    if (entry.skipped) {
      ReadSkip(entry.message, record);
      ReadLabel(entry.label, record);
      continue;
    }
    Repetition repetition;
    repetition.seconds = entry.seconds;
    repetition.main_cpu_seconds =
        Find(entry.counters, kMainCpuSecondsCounter).value_or(entry.main_cpu_seconds);
    repetition.cpu_seconds = Find(entry.counters, kCpuSecondsCounter);
    repetition.run_delay_seconds = Find(entry.counters, kRunDelayCounter);
    repetition.core_share = Find(entry.counters, kCoreShareCounter);
    repetition.iterations = entry.iterations;
    repetition.gpu = GpuSampleFromCounters(entry.counters);
    record.repetitions.push_back(repetition);
    record.time_unit = entry.time_unit;
    ReadLabel(entry.label, record);
    ReadCounters(entry.counters, record);
  }
  MarkDisturbed(record.repetitions);
  if (record.status == Status::kOk && !Summarize(record.repetitions))
    record.reason = "too few undisturbed repetitions";
  return record;
}

RunFile ParseRunFile(const std::string& text, const std::string& where, std::ostream& warnings) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw BadInput(where + ": empty file, expected a run file");
  try {
    return FromJson(json::parse(text), where, false);
  } catch (const json::exception& error) {
    const auto mended = MendCutJson(text);
    if (!mended)
      throw BadInput(fmt::format("{}: not JSON that can be read, and no complete record: {}", where,
                                 error.what()));
    try {
      RunFile run = FromJson(json::parse(*mended), where, true);
      if (run.records.empty()) throw BadInput(where + ": cut off before the first complete record");
      warnings << fmt::format("{}: cut off; kept the {} complete record{}\n", where,
                              run.records.size(), run.records.size() == 1 ? "" : "s");
      return run;
    } catch (const json::exception& inner) {
      throw BadInput(fmt::format("{}: not JSON: {}", where, inner.what()));
    }
  }
}

RunFile ReadRunFile(const std::string& path, std::ostream& warnings, Keep keep) {
  std::ifstream file(path, std::ios::binary);
  // Only what can be read again: a pipe cannot.
  if (std::error_code none; file.is_open() && std::filesystem::is_regular_file(path, none)) {
    if (auto run = ReadLargeRunFile(file, path, keep)) return std::move(*run);
    file.clear();
    file.seekg(0);
  }
  std::ostringstream text;
  // A directory opens and fails at the first read; an empty file only sets failbit.
  if (!file.is_open() || (!(text << file.rdbuf()) && file.bad()) ||
      std::filesystem::is_directory(path))
    throw BadInput(path + ": cannot be read, expected a run file");
  return ParseRunFile(text.str(), path, warnings);
}

const Machine* MachineFor(const RunFile& file, const Record& record) {
  for (const auto& machine : file.machines)
    if (machine.device == record.device) return &machine;
  return nullptr;
}

}  // namespace dlroof
