#include "baselines/compare/paired_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/record/run_context.h"

namespace dlroof::compare {

namespace {

using Index = std::unordered_map<std::string_view, const record::Record*>;

Index IndexOf(const NamedRun& run) {
  Index records;
  records.reserve(run.file.records.size());
  for (const auto& record : run.file.records)
    if (!records.try_emplace(record.name, &record).second)
      throw BadInput("{}: the name '{}' occurs twice; names must be unique", run.where,
                     record.name);
  return records;
}

void CheckFormat(const NamedRun& base, const NamedRun& contender, bool across_machines) {
  const auto& a = record::Member(base.file.context, "dlroof");
  const auto& b = record::Member(contender.file.context, "dlroof");
  if (a.is_null() != b.is_null() && base.file.machines.empty() != contender.file.machines.empty()) {
    constexpr const char* kNames[] = {"dlroof run file", "plain Google Benchmark file"};
    record::RefuseDifference(base.where, contender.where, "the kind of file",
                             kNames[a.is_null() ? 1 : 0], kNames[b.is_null() ? 1 : 0]);
  }
  record::CheckMember(base.where, contender.where, a, b, "schema", "the schema");
  record::CheckConventions(base.where, base.file, contender.where, contender.file, across_machines);
}

std::string FirstOf(const record::RunFile& file) {
  return file.records.empty() ? "has none"
                              : fmt::format("begins with '{}'", file.records.front().name);
}

// `by_device`: device -> one of NEW's records on it.
void CheckMachines(const NamedRun& base, const NamedRun& contender,
                   const std::map<std::string, const record::Record*>& by_device) {
  bool unknown = false;  // a device has no fingerprint in one of the files
  for (const auto& [device, record] : by_device) {
    const auto* a = record::MachineFor(base.file, *record);
    const auto* b = record::MachineFor(contender.file, *record);
    unknown = unknown || a == nullptr || b == nullptr;
    if (a == nullptr || b == nullptr || a->fingerprint == b->fingerprint) continue;
    throw BadInput(
        "{} and {} cannot be compared: the machine's fingerprint ({}) differs: {} ({}) and {} "
        "({}); --across-machines compares percent of roof instead",
        base.where, contender.where, device, a->fingerprint, a->name, b->fingerprint, b->name);
  }
  if (!unknown) return;
  for (const char* key : {"num_cpus", "caches"})
    record::CheckMember(base.where, contender.where, base.file.context, contender.file.context, key,
                        std::string("the machine's ") + key);
}

void CheckPair(const NamedRun& base, const NamedRun& contender, const PairedRecord& pair,
               bool across_machines) {
  const auto check = [&](const char* what, const std::string& a, const std::string& b) {
    if (!a.empty() && !b.empty() && a != b)
      record::RefuseDifference(base.where, contender.where,
                               fmt::format("the {} of '{}'", what, pair.contender->name), a, b);
  };
  check("device", pair.base->device, pair.contender->device);
  check("type", pair.base->type, pair.contender->type);
  check("cache state", pair.base->cache.value_or(""), pair.contender->cache.value_or(""));
  const auto text = [](const auto& count) { return count ? std::to_string(*count) : ""; };
  if (!across_machines)
    check("number of threads", text(pair.base->threads), text(pair.contender->threads));
}

using Field = std::optional<double> record::GpuSample::*;

struct Kind {
  Field field;
  const char* timed;
  bool same;  // if Record::timed == timed, Repetition::seconds already is of this kind
};

constexpr Kind kKinds[] = {
    {&record::GpuSample::queued_seconds, record::timed::kDevice, true},
    {&record::GpuSample::graph_seconds, record::timed::kGraph, false},
    {&record::GpuSample::throughput_seconds, record::timed::kThroughput, false},
    {&record::GpuSample::call_seconds, record::timed::kCall, true}};

// Returns a copy with times of this kind, or nullopt if a repetition lacks it.
std::optional<record::Record> As(const Kind& kind, const record::Record& record) {
  if (kind.same && record.timed == kind.timed) return record;
  record::Record copy = record;
  copy.timed = kind.timed;
  for (auto& repetition : copy.repetitions) {
    if (!repetition.gpu || !((*repetition.gpu).*kind.field)) return std::nullopt;
    repetition.seconds = *((*repetition.gpu).*kind.field);
    // The host's noise does not affect device times; a throttled clock does.
    if (copy.timed != record::timed::kCall) repetition.noisy = record::IsThrottled(*repetition.gpu);
  }
  return copy;
}

bool HasSamples(const record::Record& record) {
  return std::ranges::any_of(record.repetitions,
                             [](const auto& repetition) { return repetition.gpu != nullptr; });
}

void CorrectForEmptyKernel(JudgedTimes& times) {
  const auto before = record::SampleMedian(times.base, &record::GpuSample::empty_seconds);
  const auto after = record::SampleMedian(times.contender, &record::GpuSample::empty_seconds);
  if (!before || !after) return;
  times.added_seconds = *before - *after;
  for (auto& repetition : times.contender.repetitions)
    repetition.seconds = std::max(repetition.seconds + *times.added_seconds, 0.0);
}

}  // namespace

void CheckNames(const NamedRun& run) { IndexOf(run); }

NameMap NamesIn(const NamedRun& base, const NameMap& names) {
  NameMap found;
  if (names.empty()) return found;
  for (const auto& record : base.file.records)
    if (const auto mapped = names.find(record.name); mapped != names.end()) found.insert(*mapped);
  return found;
}

std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& contender,
                                      const NameMap& names) {
  const Index bases = IndexOf(base), contenders = IndexOf(contender);
  Index renamed;  // BASE's records by NEW's names
  for (const auto& [base_name, contender_name] : names) {
    const auto check = [](const NamedRun& run, const Index& records, const std::string& name) {
      if (!records.contains(name))
        throw BadInput("{}: has no benchmark '{}', which is in the name map", run.where, name);
    };
    check(base, bases, base_name);
    check(contender, contenders, contender_name);
    renamed.insert_or_assign(contender_name, bases.at(base_name));
  }
  // A record of BASE mapped to another name must not be paired by its own name.
  const auto partner = [&](const record::Record& record) -> const record::Record* {
    if (const auto* mapped = FindValue(renamed, record.name)) return *mapped;
    return names.contains(record.name) ? nullptr : FindCopy(bases, record.name).value_or(nullptr);
  };
  std::vector<PairedRecord> pairs;
  pairs.reserve(contender.file.records.size());
  for (const auto& record : contender.file.records)
    pairs.push_back({partner(record), &record, &base});
  std::set<const record::Record*> paired;
  for (const auto& pair : pairs) paired.insert(pair.base);
  for (const auto& record : base.file.records)
    if (!paired.contains(&record)) pairs.push_back({&record, nullptr, &base});
  return pairs;
}

void CheckComparable(const NamedRun& base, const NamedRun& contender,
                     const std::vector<PairedRecord>& pairs, bool across_machines) {
  CheckFormat(base, contender, across_machines);
  const auto in_both = [&](const PairedRecord& pair) {
    return pair.run == &base && pair.base != nullptr && pair.contender != nullptr;
  };
  std::map<std::string, const record::Record*> by_device;
  for (const auto& pair : pairs)
    if (in_both(pair)) by_device.emplace(pair.contender->device, pair.contender);
  if (by_device.empty())
    throw BadInput("{} and {} have no benchmark in common (the first {}, the second {})",
                   base.where, contender.where, FirstOf(base.file), FirstOf(contender.file));
  if (!across_machines) CheckMachines(base, contender, by_device);
  for (const auto& pair : pairs)
    if (in_both(pair)) CheckPair(base, contender, pair, across_machines);
}

std::optional<JudgedTimes> ChooseTimes(const record::Record& base,
                                       const record::Record& contender) {
  if (!HasSamples(base) || !HasSamples(contender)) return std::nullopt;
  const bool alike = base.timed == contender.timed;
  if (alike && (base.timed == record::timed::kGraph || base.timed == record::timed::kThroughput))
    return std::nullopt;
  for (const Kind& kind : kKinds) {
    auto before = As(kind, base), after = As(kind, contender);
    if (!before || !after) continue;
    JudgedTimes times{*std::move(before), *std::move(after), kind.timed};
    if (times.timed == record::timed::kDevice) CorrectForEmptyKernel(times);
    if (alike && base.timed == times.timed && !times.added_seconds) return std::nullopt;
    return times;
  }
  if (alike) return std::nullopt;
  throw Unsupported("the two runs have no time of the same kind: BASE has '{}', NEW '{}'",
                    base.timed.value_or("unknown"), contender.timed.value_or("unknown"));
}

std::optional<statistics::LevelPair> LevelsOfTimes(const record::Record& base,
                                                   const record::Record& contender) {
  try {
    const auto chosen = contender.device == "gpu" ? ChooseTimes(base, contender) : std::nullopt;
    return chosen ? statistics::LevelsOf(chosen->base, chosen->contender)
                  : statistics::LevelsOf(base, contender);
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

bool IsSameMeasurement(const record::Record& base, const record::Record& contender) {
  const auto clean = [](const record::Record& record) {
    std::vector<double> seconds;
    for (const auto& repetition : record.repetitions)
      if (!repetition.noisy) seconds.push_back(repetition.seconds);
    return seconds;
  };
  const auto seconds = clean(base);
  return !seconds.empty() && seconds == clean(contender);
}

bool CanTell(const record::Record& record) {
  return record.status == record::Status::kOk && LevelsOfTimes(record, record).has_value();
}

}  // namespace dlroof::compare
