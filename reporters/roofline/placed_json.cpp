#include "reporters/roofline/placed_json.h"

#include <array>

#include "counters/gpu/nvml.h"
#include "reporters/record/work_counters.h"
#include "reporters/text/written_number.h"

namespace dlroof::roofline {
namespace {

using nlohmann::json;

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

json ToJson(const record::Prediction& prediction) {
  json object = {{"seconds", prediction.seconds}};
  for (const auto& [level, bytes] : prediction.bytes)
    object["bytes"][std::string(Key(level))] = bytes;
  PutIfSaid(object, "by", prediction.by);
  return object;
}

json ToJson(const record::GpuSample& sample) {
  json object = json::object();
  for (const auto& [key, member] : record::GpuSampleFields()) PutIfKnown(object, key, sample.*member);
  return object;
}

// Returns the sample of the clean repetitions; null where none is a GPU's.
json GpuSummary(const record::Record& record) {
  std::vector<record::GpuSample> samples;
  for (const auto& repetition : record.repetitions)
    if (repetition.gpu && !repetition.disturbed) samples.push_back(*repetition.gpu);
  if (samples.empty()) return nullptr;
  const record::GpuSample summary = record::SummarizeSamples(samples);
  json object = ToJson(summary);
  if (summary.throttle)
    object["throttle"] = gpu::ThrottleReasons(static_cast<std::uint64_t>(*summary.throttle));
  return object;
}

// Not disturbed goes without saying.
json ToJson(const record::Repetition& repetition) {
  json object = {{"seconds", repetition.seconds},
                 {"iterations", text::WholeOrReal(repetition.iterations)}};
  if (repetition.disturbed) object["disturbed"] = true;
  PutIfKnown(object, "cpu_seconds", repetition.cpu_seconds);
  PutIfKnown(object, "main_cpu_seconds", repetition.main_cpu_seconds);
  PutIfKnown(object, "run_delay_seconds", repetition.run_delay_seconds);
  PutIfKnown(object, "core_share", repetition.core_share);
  PutIfKnown(object, "link_share", repetition.link_share);
  PutIfKnown(object, "clean_calls", repetition.clean_calls);
  if (repetition.gpu) object["gpu"] = ToJson(*repetition.gpu);
  PutIfKnown(object, "block", repetition.block);
  return object;
}

json ToJson(const ClassicPoint& point) {
  json object = {{"level", Key(point.level)},
                 {"intensity", point.intensity},
                 {"flops_per_second", point.flops_per_second},
                 {"roof", point.roof},
                 {"bound", point.memory_bound ? "memory" : "compute"},
                 {"flops_from", Key(point.flops_from)},
                 {"bytes_from", Key(point.bytes_from)}};
  PutIfKnown(object, "fraction", point.fraction);
  if (point.ci95) object["flops_per_second_ci95"] = {point.ci95->first, point.ci95->second};
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
  if (!point.pipe_seconds.empty()) object["pipe_seconds"] = point.pipe_seconds;
  PutIfKnown(object, "overhead_seconds", point.overhead_seconds);
  if (point.bound_level) object["bound_level"] = Key(*point.bound_level);
  if (point.given) object["given"] = true;
  for (const Level level : point.unproved_levels)
    object["unproved_levels"].push_back(std::string(Key(level)));
  if (!point.gap) return object;
  object["gap"] = *point.gap;
  json scaled = {{"compute_seconds", *point.point_compute_seconds}};
  for (const auto& [level, seconds] : point.point_memory_seconds)
    scaled["memory_seconds"][std::string(Key(level))] = seconds;
  object["point"] = scaled;
  return object;
}

void PutIdentity(const record::Record& record, json& object) {
  object["name"] = record.name;
  const std::pair<const char*, const std::string*> parts[] = {
      {"op", &record.op},           {"device", &record.device},
      {"library", &record.library}, {"direction", &record.direction},
      {"type", &record.type},       {"problem", &record.problem}};
  for (const auto& [key, text] : parts) PutIfSaid(object, key, *text);
  if (!record.options.empty()) object["options"] = record.options;
  object["status"] = record::Key(record.status);
  PutIfSaid(object, "reason", record.reason);
  if (record.threads > 0) object["threads"] = record.threads;
  PutIfSaid(object, "cache", record.cache);
  PutIfKnown(object, "evicted_bytes", record.evicted_bytes);
  PutIfKnown(object, "heuristic_over_best", record.heuristic_over_best);
  PutIfKnown(object, "seed", record.seed);
}

void PutPlacement(const Placement& placement, json& object) {
  for (const auto& point : placement.classic) object["classic"].push_back(ToJson(point));
  if (placement.time) object["time"] = ToJson(*placement.time);
  if (!placement.remarks.empty()) object["remarks"] = placement.remarks;
  if (!placement.asides.empty()) object["asides"] = placement.asides;
  PutIfSaid(object, "advice", placement.advice);
}

void PutLedger(const breakdown::Ledger& ledger, json& time) {
  for (const auto& part : ledger.parts) {
    auto& object = time["parts"].emplace_back(
        json{{"part", breakdown::Key(part.kind)}, {"seconds", part.seconds}, {"provenance", Key(part.from)}});
    PutIfSaid(object, "how", part.how);
    if (part.ci95) object["ci95"] = {part.ci95->first, part.ci95->second};
  }
  const auto& found = ledger.efficiencies;
  if (!found) return;
  time["efficiencies"] = {{"parallel", found->parallel},
                          {"load_balance", found->load_balance},
                          {"serialisation", found->serialisation},
                          {"transfer", found->transfer}};
  PutIfKnown(time["efficiencies"], "computation", found->computation);
}

template <class Change>
void ChangeIfThere(json& object, const char* key, const Change& change) {
  if (const auto found = object.find(key); found != object.end()) change(*found);
}

// A record as ToStoredJson promises it.
void Slim(json& record) {
  constexpr std::array<std::pair<const char*, int>, 3> kClocks = {
      {{"cpu_seconds", text::kStoredDigits},
       {"main_cpu_seconds", text::kStoredDigits},
       {"run_delay_seconds", text::kStoredDelayDigits}}};
  for (const char* sentences : {"advice", "remarks", "asides"}) record.erase(sentences);
  ChangeIfThere(record, "time", [](json& time) {
    time.erase("point");
    text::RoundAll(time, text::kStoredDigits);
  });
  ChangeIfThere(record, "classic", [](json& points) {
    for (auto& point : points) point.erase("flops_per_second_ci95");
    text::RoundAll(points, text::kStoredDigits);
  });
  ChangeIfThere(record, "work", [](json& work) { text::RoundAll(work, text::kExactDigits); });
  ChangeIfThere(record, "repetitions", [&](json& repetitions) {
    for (auto& repetition : repetitions)
      for (const auto& clock : kClocks)
        ChangeIfThere(repetition, clock.first,
                      [&](json& seconds) { text::RoundAll(seconds, clock.second); });
  });
}

json ViewJson(const PlaceView& view) {
  json object = json::object();
  for (const Level level : view.levels) object["levels"].push_back(Key(level));
  if (view.tensor_balance) object["balance"] = "tensor";
  return object;
}

void PutParts(const ModelSummary& model, json& object) {
  const std::pair<const char*, const std::string*> parts[] = {
      {"suite", &model.suite},         {"op", &model.op},
      {"device", &model.device},       {"library", &model.library},
      {"direction", &model.direction}, {"type", &model.type}};
  for (const auto& [key, text] : parts) PutIfSaid(object, key, *text);
  if (!model.options.empty()) object["options"] = model.options;
}

}  // namespace

json ToJson(const ModelSummary& model) {
  json object = json::object();
  PutParts(model, object);
  object["layers"] = {{"measured", model.layers_measured}, {"total", model.layers_total}};
  object["calls"] = {{"measured", model.calls_measured}, {"total", model.calls_total}};
  PutIfKnown(object, "seconds", model.seconds);
  if (model.disturbed) object["disturbed"] = true;
  PutIfKnown(object, "flops", model.flops);
  PutIfKnown(object, "flops_per_second", model.flops_per_second);
  if (model.roof_fraction)
    object["roof"] = {{"layers", model.layers_placed},
                      {"seconds", *model.roof_seconds},
                      {"fraction", *model.roof_fraction}};
  if (model.roof_given) object["roof"]["given"] = true;
  for (const auto& layer : model.fix_first)
    object["fix_first"].push_back({{"name", layer.name},
                                   {"count", layer.count},
                                   {"seconds", layer.seconds},
                                   {"above_roof_seconds", layer.above_roof_seconds},
                                   {"share", layer.share}});
  return object;
}

json ToJson(const Census& census) {
  json object = {{"kernels", census.kernels},
                 {"zero_flop_kernels", census.zero_flop_kernels},
                 {"seconds", census.seconds},
                 {"zero_flop_seconds", census.zero_flop_seconds},
                 {"zero_flop_time_share", ZeroFlopTimeShare(census)},
                 {"flops", census.flops},
                 {"flops_per_second", FlopsPerSecond(census)}};
  PutIfSaid(object, "set", census.set);
  PutIfKnown(object, "matrix_share", MatrixShare(census));
  PutIfKnown(object, "launches", census.launches);
  PutIfKnown(object, "zero_flop_launches", census.zero_flop_launches);
  PutIfKnown(object, "zero_flop_launch_share", ZeroFlopLaunchShare(census));
  return object;
}

json FactsToJson(const record::Record& record) {
  json object = record::LabelFacts(record);
  PutIdentity(record, object);
  for (const auto& [from, work] : record.work)
    object["work"][std::string(Key(from))] = ToJson(work);
  if (record.prediction) object["prediction"] = ToJson(*record.prediction);
  return object;
}

json ToJson(const record::Record& record, const Placed& placed) {
  json object = FactsToJson(record);
  for (const auto& repetition : record.repetitions)
    object["repetitions"].push_back(ToJson(repetition));
  if (const auto& timing = placed.timing) {
    object["seconds"] = {{"median", timing->median}, {"clean", timing->clean}};
    if (timing->disturbed) object["seconds"]["disturbed"] = true;
    if (timing->ci95) object["seconds"]["ci95"] = {timing->ci95->first, timing->ci95->second};
    if (auto gpu = GpuSummary(record); !gpu.is_null()) object["gpu"] = std::move(gpu);
  }
  PutPlacement(placed.placement, object);
  if (placed.ledger) PutLedger(*placed.ledger, object["time"]);
  for (const char* derived : {"seconds", "classic", "time"})
    ChangeIfThere(object, derived, [](json& numbers) { text::RoundAll(numbers); });
  return object;
}

json ToJson(const record::Record& record, const machine::Machine* machine, const PlaceView& view) {
  const record::Record written = Written(record);
  return ToJson(written, PlaceWritten(written, machine, view));
}

json ToJson(const PlacedRun& run) {
  json whole = {
      {"context", run.file.context}, {"machines", json::array()}, {"records", json::array()}};
  for (const auto& machine : run.file.machines) whole["machines"].push_back(machine::ToJson(machine));
  for (std::size_t i = 0; i < run.places.size(); ++i)
    whole["records"].push_back(ToJson(run.file.records[i], run.places[i]));
  if (const auto view = ViewJson(run.view); !view.empty())
    whole["context"]["dlroof"]["view"] = view;
  for (const auto& model : run.models) whole["models"].push_back(ToJson(model));
  for (const auto& one : run.census) whole["census"].push_back(ToJson(one));
  return whole;
}

json ToJson(const record::RunFile& file, const PlaceView& view) { return ToJson(PlaceRun(file, view)); }

json ToStoredJson(const record::RunFile& file, const PlaceView& view) {
  record::RunFile stored = file;
  for (auto& machine : stored.machines) {
    for (auto& [threads, set] : machine.by_threads)
      for (auto& [mix, ceiling] : set.mixes) ceiling.proof = machine::Proof();
    json rounded = machine::ToJson(machine);
    text::RoundAll(rounded, text::kStoredDigits);
    machine = machine::MachineFromJson(rounded, "the machine");
  }
  json whole = ToJson(stored, view);
  text::RoundAll(whole["machines"], text::kStoredDigits);  // to whole numbers again
  for (auto& machine : whole["machines"])
    for (const char* twice : {"flops", "bytes", "launch_seconds"}) machine.erase(twice);
  for (auto& record : whole["records"]) Slim(record);
  return whole;
}

}  // namespace dlroof::roofline
