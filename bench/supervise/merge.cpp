#include "bench/supervise/merge.h"

#include <algorithm>
#include <sstream>

#include "reporters/roofline/placed_json.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;

record::Record FailedRecord(const std::string& listed, const std::string& reason) {
  record::Record record{.name = record::BareName(listed)};
  record::SplitName(record);
  record.status = record::Status::kFailed;
  record.reason = reason;
  return record;
}

// As Google Benchmark writes a benchmark that broke.
json FailedEntry(const std::string& listed, const std::string& reason) {
  return {{"name", listed},         {"run_name", listed},     {"run_type", "iteration"},
          {"repetitions", 1},       {"repetition_index", 0},  {"threads", 1},
          {"error_occurred", true}, {"error_message", reason}};
}

bool IsRepetition(const json& entry) {
  return entry.is_object() && entry.value("run_type", "iteration") == "iteration";
}

// The windows of all blocks; aggregates of one block say nothing of the whole.
json EntriesOfBlocks(const std::vector<Part>& parts) {
  json entries = json::array();
  for (const auto& part : parts) {
    std::size_t seen = 0;
    for (const auto& entry : part.benchmarks)
      if (IsRepetition(entry) && ++seen > kAloneRepetitions) entries.push_back(entry);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i]["repetitions"] = entries.size();
    entries[i]["repetition_index"] = i;
  }
  return entries;
}

json EntriesOf(const std::string& listed, const std::vector<Part>& parts, const record::Record& record) {
  for (const auto& part : parts)
    if (!part.failed.empty()) return json::array({FailedEntry(listed, record.reason)});
  const Part& first = parts.front();
  return first.block && record.status == record::Status::kOk ? EntriesOfBlocks(parts) : first.benchmarks;
}

// True if the run judges no repetition (--dlroof_disturbed=keep).
bool KeepsDisturbed(const json& context) {
  return context.is_object() && context.contains("dlroof") &&
         context["dlroof"].value("disturbed", "") == "keep";
}

}  // namespace

Part PartFrom(const std::string& listed, const Outcome& outcome, std::optional<int> block) {
  Part part{.block = block, .failed = outcome.failed};
  if (!part.failed.empty()) return part;
  std::ostringstream warnings;
  try {
    const record::RunFile run = record::ParseRunFile(outcome.result.dump(), "its run file", warnings);
    const auto found = std::ranges::find(run.records, record::BareName(listed), &record::Record::name);
    if (found == run.records.end()) {
      part.failed = "it ended well, but left no result";
      return part;
    }
    part.record = *found;
    part.context = run.context;
    part.benchmarks = outcome.result.value("benchmarks", json::array());
  } catch (const std::exception& error) {
    part.failed.assign(error.what());
  }
  return part;
}

record::Record RecordOf(const std::string& listed, const std::vector<Part>& parts) {
  for (const auto& part : parts)
    if (!part.failed.empty()) return FailedRecord(listed, part.failed);
  for (const auto& part : parts)
    if (!part.block || part.record.status != record::Status::kOk) return part.record;
  record::Record record = parts.front().record;
  record.reason.clear();
  record.repetitions.clear();
  for (const auto& part : parts) {
    const auto& windows = part.record.repetitions;
    for (std::size_t i = kAloneRepetitions; i < windows.size(); ++i) {
      record.repetitions.push_back(windows[i]);
      record.repetitions.back().block = part.block;
    }
  }
  if (!KeepsDisturbed(parts.front().context)) record::MarkDisturbed(record.repetitions);
  return record;
}

Merged MergedRun(const std::vector<Supervised>& supervised, const json& machines,
                 const json& about) {
  record::RunFile run;
  if (machines.is_array())
    for (const auto& machine : machines)
      run.machines.push_back(machine::MachineFromJson(machine, "machine"));
  json entries = json::array();
  for (std::size_t i = 0; i < supervised.size(); ++i) {
    const auto& [listed, parts] = supervised[i];
    for (const auto& part : parts)
      if (run.context.empty() && part.context.is_object()) run.context = part.context;
    run.records.push_back(RecordOf(listed, parts));
    for (json& entry : EntriesOf(listed, parts, run.records.back())) {
      entry["family_index"] = i;
      entries.push_back(std::move(entry));
    }
  }
  json& own = run.context["dlroof"];
  own["schema"] = record::kSchema;
  own.update(about);
  return {roofline::PlaceRun(std::move(run)), std::move(entries)};
}

json ToJson(const Merged& merged) {
  json whole = roofline::ToJson(merged.run);
  whole["benchmarks"] = merged.benchmarks;
  return whole;
}

}  // namespace dlroof::supervise
