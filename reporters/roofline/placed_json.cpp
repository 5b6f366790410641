#include "reporters/roofline/placed_json.h"

#include <array>

#include "counters/gpu/nvml.h"
#include "reporters/roofline/census.h"
#include "reporters/roofline/network.h"
#include "reporters/roofline/roofline.h"
#include "reporters/text/written_number.h"

namespace dlroof {
namespace {

using nlohmann::json;

constexpr int kShareDigits = 3;

template <class T>
void PutIfKnown(json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

void PutIfSaid(json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

json ToJson(const Work& work) {
  json object = json::object();
  if (!work.flops.empty()) object["flops"] = work.flops;
  for (const auto& [level, bytes] : work.bytes) object["bytes"][std::string(Key(level))] = bytes;
  if (!work.parts.empty()) object["parts"] = work.parts;
  PutIfKnown(object, "launches", work.launches);
  return object;
}

json ToJson(const Prediction& prediction) {
  json object = {{"seconds", prediction.seconds}};
  for (const auto& [level, bytes] : prediction.bytes)
    object["bytes"][std::string(Key(level))] = bytes;
  PutIfSaid(object, "by", prediction.by);
  return object;
}

json ToJson(const GpuSample& sample) {
  json object = json::object();
  for (const auto& [key, member] : GpuSampleFields()) PutIfKnown(object, key, sample.*member);
  return object;
}

// Of the clean repetitions; null where none is a GPU's.
json GpuSummary(const Record& record) {
  std::vector<GpuSample> samples;
  for (const auto& repetition : record.repetitions)
    if (repetition.gpu && !repetition.disturbed) samples.push_back(*repetition.gpu);
  if (samples.empty()) return nullptr;
  const GpuSample summary = SummarizeSamples(samples);
  json object = ToJson(summary);
  if (summary.throttle)
    object["throttle"] = ThrottleReasons(static_cast<std::uint64_t>(*summary.throttle));
  return object;
}

// Such as they are written. What is derived from them is derived from these digits: who reads the
// file derives the same.
Repetition Written(Repetition repetition) {
  const double iterations = repetition.iterations;
  repetition.seconds = RoundedToClock(repetition.seconds, iterations, kWrittenDigits);
  for (auto* clock :
       {&repetition.cpu_seconds, &repetition.main_cpu_seconds, &repetition.run_delay_seconds})
    if (*clock) *clock = RoundedToClock(**clock, iterations);
  if (repetition.core_share) *repetition.core_share = Rounded(*repetition.core_share, kShareDigits);
  return repetition;
}

// Not disturbed goes without saying.
json ToJson(const Repetition& repetition) {
  json object = {{"seconds", repetition.seconds},
                 {"iterations", WholeOrReal(repetition.iterations)}};
  if (repetition.disturbed) object["disturbed"] = true;
  PutIfKnown(object, "cpu_seconds", repetition.cpu_seconds);
  PutIfKnown(object, "main_cpu_seconds", repetition.main_cpu_seconds);
  PutIfKnown(object, "run_delay_seconds", repetition.run_delay_seconds);
  PutIfKnown(object, "core_share", repetition.core_share);
  if (repetition.gpu) object["gpu"] = ToJson(*repetition.gpu);
  PutIfKnown(object, "block", repetition.block);
  return object;
}

// `timing`: null where the record has none.
json ToJson(const ClassicPoint& point, const Timing* timing) {
  json object = {{"level", Key(point.level)},
                 {"intensity", point.intensity},
                 {"flops_per_second", point.flops_per_second},
                 {"roof", point.roof},
                 {"bound", point.memory_bound ? "memory" : "compute"},
                 {"flops_from", Key(point.flops_from)},
                 {"bytes_from", Key(point.bytes_from)}};
  PutIfKnown(object, "fraction", point.fraction);
  if (timing != nullptr && timing->ci95) {
    const double flops = point.flops_per_second * timing->median;
    object["flops_per_second_ci95"] = {flops / timing->ci95->second, flops / timing->ci95->first};
  }
  return object;
}

// "point" is the time point of all levels together; TimePlace (chart.h) has that of one level.
json ToJson(const TimePoint& point) {
  json object = {{"seconds", point.seconds},
                 {"compute_seconds", point.compute_seconds},
                 {"memory_seconds", json::object()},
                 {"bound", Key(point.bound)}};
  for (const auto& [level, seconds] : point.memory_seconds)
    object["memory_seconds"][std::string(Key(level))] = seconds;
  if (!point.compute_roofs.empty()) object["compute_roofs"] = point.compute_roofs;
  // One pipe judged by its own ceiling is compute_seconds again.
  if (point.pipe_seconds.size() > 1 ||
      (point.pipe_seconds.size() == 1 &&
       point.pipe_seconds.begin()->second != point.compute_seconds))
    object["pipe_seconds"] = point.pipe_seconds;
  PutIfKnown(object, "overhead_seconds", point.overhead_seconds);
  if (point.bound_level) object["bound_level"] = Key(*point.bound_level);
  for (const Level level : point.unproved_levels)
    object["unproved_levels"].push_back(std::string(Key(level)));
  if (!point.gap) return object;
  object["gap"] = *point.gap;
  json scaled = {{"compute_seconds", point.compute_seconds * *point.gap}};
  for (const auto& [level, seconds] : point.memory_seconds)
    scaled["memory_seconds"][std::string(Key(level))] = seconds * *point.gap;
  object["point"] = scaled;
  return object;
}

void PutIdentity(const Record& record, json& object) {
  object["name"] = record.name;
  const std::pair<const char*, const std::string*> parts[] = {
      {"op", &record.op},           {"device", &record.device},
      {"library", &record.library}, {"direction", &record.direction},
      {"type", &record.type},       {"problem", &record.problem}};
  for (const auto& [key, text] : parts) PutIfSaid(object, key, *text);
  if (!record.options.empty()) object["options"] = record.options;
  object["status"] = Key(record.status);
  PutIfSaid(object, "reason", record.reason);
  PutIfSaid(object, "algorithm", record.algorithm);
  PutIfSaid(object, "verified", record.verified);
  PutIfSaid(object, "repro", record.repro);
  if (record.threads > 0) object["threads"] = record.threads;
  PutIfSaid(object, "cache", record.cache);
  PutIfKnown(object, "evicted_bytes", record.evicted_bytes);
  PutIfKnown(object, "heuristic_over_best", record.heuristic_over_best);
  PutIfKnown(object, "seed", record.seed);
}

void PutPlacement(const Placement& placement, const Timing* timing, json& object) {
  for (const auto& point : placement.classic) object["classic"].push_back(ToJson(point, timing));
  if (placement.time) object["time"] = ToJson(*placement.time);
  if (!placement.remarks.empty()) object["remarks"] = placement.remarks;
  PutIfSaid(object, "advice", placement.advice);
}

template <class Change>
void ChangeIfThere(json& object, const char* key, const Change& change) {
  if (const auto found = object.find(key); found != object.end()) change(*found);
}

// A record as ToStoredJson promises it.
void Slim(json& record) {
  constexpr std::array<std::pair<const char*, int>, 3> kClocks = {
      {{"cpu_seconds", kStoredDigits},
       {"main_cpu_seconds", kStoredDigits},
       {"run_delay_seconds", kStoredDelayDigits}}};
  for (const char* sentences : {"advice", "remarks"}) record.erase(sentences);
  ChangeIfThere(record, "time", [](json& time) {
    time.erase("point");
    RoundAll(time, kStoredDigits);
  });
  ChangeIfThere(record, "classic", [](json& points) {
    for (auto& point : points) point.erase("flops_per_second_ci95");
    RoundAll(points, kStoredDigits);
  });
  ChangeIfThere(record, "work", [](json& work) { RoundAll(work, kExactDigits); });
  ChangeIfThere(record, "repetitions", [&](json& repetitions) {
    for (auto& repetition : repetitions)
      for (const auto& clock : kClocks)
        ChangeIfThere(repetition, clock.first,
                      [&](json& seconds) { RoundAll(seconds, clock.second); });
  });
}

json ViewJson(const PlaceView& view) {
  json object = json::object();
  for (const Level level : view.levels) object["levels"].push_back(Key(level));
  if (view.tensor_balance) object["balance"] = "tensor";
  return object;
}

}  // namespace

json FactsToJson(const Record& record) {
  json object = json::object();
  PutIdentity(record, object);
  for (const auto& [from, work] : record.work)
    object["work"][std::string(Key(from))] = ToJson(work);
  if (!record.counting.empty()) object["counting"] = record.counting;
  if (record.prediction) object["prediction"] = ToJson(*record.prediction);
  return object;
}

json ToJson(const Record& exact, const Machine* machine, const PlaceView& view) {
  Record record = exact;
  for (auto& repetition : record.repetitions) repetition = Written(repetition);
  json object = FactsToJson(record);
  for (const auto& repetition : record.repetitions)
    object["repetitions"].push_back(ToJson(repetition));
  const auto timing = record.status == Status::kOk ? Summarize(record.repetitions) : std::nullopt;
  if (timing) {
    object["seconds"] = {{"median", timing->median}, {"clean", timing->clean}};
    if (timing->ci95) object["seconds"]["ci95"] = {timing->ci95->first, timing->ci95->second};
  }
  if (auto gpu = GpuSummary(record); timing && !gpu.is_null()) object["gpu"] = std::move(gpu);
  PutPlacement(Place(record, machine, view), timing ? &*timing : nullptr, object);
  for (const char* derived : {"seconds", "classic", "time"})
    if (const auto found = object.find(derived); found != object.end()) RoundAll(*found);
  return object;
}

json ToJson(const RunFile& file, const PlaceView& view) {
  json whole = {{"context", file.context}, {"machines", json::array()}, {"records", json::array()}};
  for (const auto& machine : file.machines) whole["machines"].push_back(ToJson(machine));
  PlaceView with_words = view;
  with_words.words = WordsOf(file.context);
  for (const auto& record : file.records)
    whole["records"].push_back(ToJson(record, MachineFor(file, record), with_words));
  if (const auto said = ViewJson(view); !said.empty()) whole["context"]["dlroof"]["view"] = said;
  if (const auto models = SummarizeModels(file); !models.empty()) whole["models"] = ToJson(models);
  if (const auto census = TakeCensus(file.records); !census.empty())
    whole["census"] = ToJson(census);
  return whole;
}

json ToStoredJson(const RunFile& file, const PlaceView& view) {
  RunFile stored = file;
  for (auto& machine : stored.machines) {
    for (auto& [threads, set] : machine.by_threads)
      for (auto& [mix, ceiling] : set.mixes) ceiling.proof = Proof();
    json rounded = ToJson(machine);
    RoundAll(rounded, kStoredDigits);
    machine = MachineFromJson(rounded, "the machine");
  }
  json whole = ToJson(stored, view);
  RoundAll(whole["machines"], kStoredDigits);  // to whole numbers again
  for (auto& machine : whole["machines"])
    for (const char* twice : {"flops", "bytes", "launch_seconds"}) machine.erase(twice);
  for (auto& record : whole["records"]) Slim(record);
  return whole;
}

}  // namespace dlroof
