#include "reporters/roofline/placed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "counters/base/keys.h"
#include "counters/gpu/api.h"
#include "reporters/record/record_json.h"
#include "reporters/roofline/chart.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

using nlohmann::json;

constexpr int kShareDigits = 3;
constexpr std::size_t kMaxInJson = 40'000;  // [1] records whose JSON takes nearly 1 GB of memory

void Round(double& value) { value = text::Rounded(value); }

void Round(std::pair<double, double>& pair) {
  Round(pair.first);
  Round(pair.second);
}

template <class T>
void Round(std::optional<T>& value) {
  if (value) Round(*value);
}

template <class Key>
void Round(std::map<Key, double>& values) {
  for (auto& [key, value] : values) Round(value);
}

template <class... Values>
void RoundEach(Values&... values) {
  (Round(values), ...);
}

void Round(record::Timing& timing) { RoundEach(timing.median, timing.ci95); }

void Round(ClassicPoint& point) {
  RoundEach(point.intensity, point.flops_per_second, point.roof, point.share.value, point.ci95);
}

void Round(TimePoint& time) {
  if (time.pipe_seconds.size() == 1 && time.pipe_seconds.begin()->second == time.compute_seconds)
    time.pipe_seconds.clear();
  RoundEach(time.seconds, time.compute_seconds, time.pipe_seconds, time.memory_seconds,
            time.overhead_seconds, time.times_over_roof, time.point_compute_seconds,
            time.point_memory_seconds);
}

// Sets the binding roof and the times of the other memory levels in `facts`. If a memory level
// binds, sets `binding` to this level.
void AddRoofs(const Placement& placement, BreakdownFacts& facts, std::optional<Level>& binding) {
  const auto& time = *placement.time;
  if (!placement.classic.empty()) facts.roof_from = placement.classic.front().flops_from;
  for (const auto& point : placement.classic) {
    const auto seconds = FindCopy(time.memory_seconds, point.level);
    if (!seconds || *seconds <= facts.roof_seconds) continue;
    facts.roof_seconds = *seconds;
    facts.roof = LevelName(Key(point.level));
    facts.roof_from = point.bytes_from;
    facts.arithmetic = false;
    binding = point.level;
  }
  for (const auto& point : placement.classic) {
    const auto seconds = FindCopy(time.memory_seconds, point.level);
    if (!seconds || point.level == binding || point.level == Level::kL1) continue;
    facts.levels.push_back({LevelName(Key(point.level)), *seconds, point.bytes_from});
  }
}

// Returns whether a call's tensors are larger than every cache and pass DRAM about once, that is,
// whether the DRAM traffic is less than twice their (compulsory) bytes.
bool Streams(const record::Record& record, const machine::Machine& machine) {
  const auto* modelled = FindValue(record.work, Provenance::kModelled);
  if (modelled == nullptr || machine.cache_bytes.empty()) return false;
  const auto dram = FindCopy(modelled->bytes, Level::kDram);
  return dram && *dram > LargestCache(machine) &&
         BestKnown(record).bytes.at(Level::kDram).first < 2 * *dram;
}

// Sets the single-threaded roof times in `facts`, with the ceilings of one thread.
void AddSingleThreaded(const record::Record& record, const machine::Machine& machine,
                       const PlaceView& view, const std::optional<Level>& binding,
                       BreakdownFacts& facts) {
  record::Record single = record;
  single.threads = 1;
  // The call's time on one thread is unknown. With an infinite time the call exceeds no roof.
  const auto time = PlaceTime(single, std::numeric_limits<double>::infinity(), machine, view);
  if (!time) return;
  facts.single_thread_compute_seconds = time->compute_seconds;
  if (!binding)
    facts.single_thread_roof_seconds = time->compute_seconds;
  else if (const auto* seconds = FindValue(time->memory_seconds, *binding))
    facts.single_thread_roof_seconds = *seconds;
}

void PutIfKnown(json& object, const char* key, const auto& value) {
  if (value) object[key] = *value;
}

void PutUnlessEmpty(json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

// Returns the summary of the clean repetitions' GPU samples, or JSON null without samples.
json GpuSummary(const record::Record& record) {
  std::vector<record::GpuSample> samples;
  for (const auto& repetition : record.repetitions)
    if (repetition.gpu && !repetition.noisy) samples.push_back(*repetition.gpu);
  if (samples.empty()) return nullptr;
  const record::GpuSample summary = record::SummarizeSamples(samples);
  json object = record::ToJson(summary);
  if (summary.throttle)
    object["throttle"] = gpu::ThrottleReasons(static_cast<std::uint64_t>(*summary.throttle));
  return object;
}

const char* KeyOf(const RoofShare& share) {
  return share.at_most ? "fraction_at_most" : "fraction";
}

json ToJson(const ClassicPoint& point) {
  json object = {{"level", Key(point.level)},
                 {"intensity", point.intensity},
                 {"flops_per_second", point.flops_per_second},
                 {"roof", point.roof},
                 {"bound", point.memory_bound ? "memory" : "compute"},
                 {"flops_from", Key(point.flops_from)},
                 {"bytes_from", Key(point.bytes_from)},
                 {KeyOf(point.share), point.share.value}};
  if (point.ci95) object["flops_per_second_ci95"] = {point.ci95->first, point.ci95->second};
  return object;
}

json ToJson(const BandwidthPoint& point) {
  return {{"level", Key(point.level)},
          {"bytes_per_second", point.bytes_per_second},
          {"roof", point.roof},
          {"bytes_from", Key(point.bytes_from)},
          {KeyOf(point.share), point.share.value}};
}

// Member "point" is the time point with all levels; TimePlace (chart.h) is the one of a level.
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
  for (const auto& [level, wrong] : point.above_roof)
    object["above_roof"][std::string(Key(level))] = Key(wrong);
  if (point.bound_level) object["bound_level"] = Key(*point.bound_level);
  if (point.specified) object["given"] = true;
  for (const Level level : point.not_validated_levels)
    object["unproved_levels"].push_back(std::string(Key(level)));
  object[point.at_least ? "gap_at_least" : "gap"] = point.times_over_roof;
  if (!point.point_compute_seconds) return object;
  json scaled = {{"compute_seconds", *point.point_compute_seconds}};
  for (const auto& [level, seconds] : point.point_memory_seconds)
    scaled["memory_seconds"][std::string(Key(level))] = seconds;
  object["point"] = scaled;
  return object;
}

void PutPlacement(const Placement& placement, json& object) {
  for (const auto& point : placement.classic) object["classic"].push_back(ToJson(point));
  if (placement.time) object["time"] = ToJson(*placement.time);
  if (placement.bandwidth) object["bandwidth"] = ToJson(*placement.bandwidth);
  if (!placement.uncertain.empty()) object["limited_by"] = placement.uncertain;
  if (!placement.remarks.empty()) object["remarks"] = placement.remarks;
  if (!placement.asides.empty()) object["asides"] = placement.asides;
  PutUnlessEmpty(object, "advice", placement.advice);
}

void PutBreakdown(const Breakdown& breakdown, json& time) {
  for (const auto& component : breakdown.components) {
    auto& object = time["parts"].emplace_back(json{{"part", Key(component.kind)},
                                                   {"seconds", component.seconds},
                                                   {"provenance", Key(component.from)}});
    PutUnlessEmpty(object, "how", component.how);
    if (component.ci95) object["ci95"] = {component.ci95->first, component.ci95->second};
  }
  const auto& efficiencies = breakdown.efficiencies;
  if (!efficiencies) return;
  time["efficiencies"] = {{"parallel", efficiencies->parallel},
                          {"load_balance", efficiencies->load_balance},
                          {"serialisation", efficiencies->serialisation},
                          {"transfer", efficiencies->transfer}};
  PutIfKnown(time["efficiencies"], "computation", efficiencies->computation);
}

template <class Change>
void ChangeIfThere(json& object, const char* key, const Change& change) {
  if (const auto found = object.find(key); found != object.end()) change(*found);
}

// Reduces a record to the form that ToStoredJson documents.
void MakeCompact(json& record) {
  constexpr std::array<std::pair<const char*, int>, 3> kClocks = {
      {{"cpu_seconds", text::kStoredDigits},
       {"main_cpu_seconds", text::kStoredDigits},
       {"run_delay_seconds", text::kStoredDelayDigits}}};
  for (const char* sentences : {"advice", "limited_by", "remarks", "asides"})
    record.erase(sentences);
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

// Raises the lower end of a noisy time's interval to at least the roof's time, or to the median if
// that is shorter: without its CPU waits a call may seem faster than its roof allows.
void BoundByRoof(Placed& placed) {
  auto& [timing, placement, breakdown] = placed;
  if (!timing || !timing->noisy || !timing->ci95 || !placement.time) return;
  const auto& time = *placement.time;
  if (time.at_least || !(time.times_over_roof > 0)) return;
  const double least =
      std::max(timing->ci95->first, timing->median / std::max(1.0, time.times_over_roof));
  for (auto& point : placement.classic)
    if (point.ci95) point.ci95->second *= timing->ci95->first / least;
  timing->ci95->first = least;
}

// Replaces the proposal in `advice` by BreakdownAdvice, except if that would be on kUnexplained.
void ReplaceProposal(const Breakdown& breakdown, std::string& advice) {
  const auto* largest = breakdown.Largest();
  const auto proposal = advice.find(": ");
  const auto better = BreakdownAdvice(breakdown);
  if (largest == nullptr || largest->kind == ComponentKind::kUnexplained || !better ||
      proposal == std::string::npos)
    return;
  advice = fmt::format("{}{}.", advice.substr(0, proposal + 2), *better);
}

}  // namespace

record::Record Written(record::Record record) {
  for (auto& repetition : record.repetitions) {
    const double iterations = repetition.clean_calls.value_or(repetition.iterations);
    repetition.seconds = text::RoundedToClock(repetition.seconds, iterations, text::kWrittenDigits);
    for (auto* clock :
         {&repetition.cpu_seconds, &repetition.main_cpu_seconds, &repetition.run_delay_seconds})
      if (*clock) *clock = text::RoundedToClock(**clock, iterations);
    for (auto* share : {&repetition.core_share, &repetition.link_share})
      if (*share) *share = text::Rounded(**share, kShareDigits);
  }
  return record;
}

Placed PlaceWritten(const record::Record& written, const machine::Machine* machine,
                    const PlaceView& view) {
  Placed placed;
  if (written.status == record::Status::kOk) placed.timing = record::TimeOf(written.repetitions);
  placed.placement = Place(written, machine, view);
  BoundByRoof(placed);
  const auto* ceilings =
      machine == nullptr ? nullptr : machine::ForThreads(*machine, written.threads);
  if (placed.timing && ceilings != nullptr)
    AddFindings(written, *placed.timing, *ceilings, view.words, placed.placement);
  if (ceilings != nullptr)
    placed.breakdown = BreakdownOf(written, placed.placement, *machine, view);
  if (placed.breakdown) ReplaceProposal(*placed.breakdown, placed.placement.advice);
  if (placed.timing) Round(*placed.timing);
  for (auto& point : placed.placement.classic) Round(point);
  if (placed.placement.time) Round(*placed.placement.time);
  return placed;
}

PlacedRun PlaceRun(record::RunFile file, const PlaceView& view) {
  PlacedRun run{{}, view, {}, SummarizeModels(file), CountZeroFlopKernels(file.records)};
  run.view.words = WordsOf(file.context);
  run.file = std::move(file);
  run.places.reserve(run.file.records.size());
  for (auto& record : run.file.records) {
    record = Written(std::move(record));
    run.places.push_back(PlaceWritten(record, record::MachineFor(run.file, record), run.view));
  }
  return run;
}

std::optional<Breakdown> BreakdownOf(const record::Record& record, const Placement& placement,
                                     const machine::Machine& machine, const PlaceView& view) {
  const auto* ceilings = machine::ForThreads(machine, record.threads);
  const bool gpu = record.device == "gpu";
  if ((!gpu && !record.parallel) || !placement.time || ceilings == nullptr) return std::nullopt;
  BreakdownFacts facts{.seconds = placement.time->seconds,
                       .roof_seconds = placement.time->compute_seconds,
                       .roof = "arithmetic",
                       .call_seconds = LaunchCost(record, *ceilings),
                       .parallel = record.parallel.value_or(ParallelTime{})};
  std::optional<Level> binding;
  AddRoofs(placement, facts, binding);
  if (placement.time->at_least) facts.roof += ", not validated: at most";
  facts.streams = binding == Level::kDram && Streams(record, machine);
  if (gpu) return MakeGpuBreakdown(facts, record.kernels);
  AddSingleThreaded(record, machine, view, binding, facts);
  return MakeBreakdown(facts);
}

json ToJson(const ModelSummary& model, const record::RunFile& file) {
  json object = json::object();
  const auto& parts = model.parts;
  const std::pair<const char*, const std::string*> texts[] = {
      {"suite", &model.suite},         {"op", &parts.op},
      {"device", &parts.device},       {"library", &parts.library},
      {"direction", &parts.direction}, {"type", &parts.type}};
  for (const auto& [key, text] : texts) PutUnlessEmpty(object, key, *text);
  if (!parts.options.empty()) object["options"] = parts.options;
  object["layers"] = {{"measured", model.layers_measured}, {"total", model.layers_total}};
  object["calls"] = {{"measured", model.calls_measured}, {"total", model.calls_total}};
  PutIfKnown(object, "seconds", model.seconds);
  if (model.noisy) object["disturbed"] = true;
  PutIfKnown(object, "flops", model.flops);
  PutIfKnown(object, "flops_per_second", model.flops_per_second);
  const bool at_most = model.roof_at_most;
  if (model.roof_fraction)
    object["roof"] = {{"layers", model.layers_placed},
                      {at_most ? "seconds_at_most" : "seconds", *model.roof_seconds},
                      {at_most ? "fraction_at_most" : "fraction", *model.roof_fraction}};
  if (model.roof_specified) object["roof"]["given"] = true;
  for (const auto& layer : model.fix_first)
    object["fix_first"].push_back(
        {{"name", file.records.at(layer.record).name},
         {"count", layer.count},
         {"seconds", layer.seconds},
         {layer.at_least ? "above_roof_seconds_at_least" : "above_roof_seconds",
          layer.above_roof_seconds},
         {"share", layer.seconds / *model.seconds}});
  return object;
}

json ToJson(const ZeroFlopSummary& summary) {
  json object = {{"kernels", summary.kernels},
                 {"zero_flop_kernels", summary.zero_flop_kernels},
                 {"seconds", summary.seconds},
                 {"zero_flop_seconds", summary.zero_flop_seconds},
                 {"zero_flop_time_share", summary.ZeroFlopTimeShare()},
                 {"flops", summary.flops},
                 {"flops_per_second", summary.FlopsPerSecond()}};
  PutUnlessEmpty(object, "set", summary.set);
  PutIfKnown(object, "matrix_share", summary.MatrixShare());
  PutIfKnown(object, "launches", summary.launches);
  PutIfKnown(object, "zero_flop_launches", summary.zero_flop_launches);
  PutIfKnown(object, "zero_flop_launch_share", summary.ZeroFlopLaunchShare());
  return object;
}

json ToJson(const record::Record& record, const Placed& placed) {
  json object = record::ToJson(record);
  for (const auto& repetition : record.repetitions)
    object["repetitions"].push_back(record::ToJson(repetition));
  if (const auto& timing = placed.timing) {
    object["seconds"] = {{"median", timing->median}, {"clean", timing->clean}};
    if (timing->noisy) object["seconds"]["disturbed"] = true;
    if (timing->ci95) object["seconds"]["ci95"] = {timing->ci95->first, timing->ci95->second};
    PutIfKnown(object["seconds"], "fastest_measured",
               record::FastestMeasured(record.repetitions, *timing));
    if (auto gpu = GpuSummary(record); !gpu.is_null()) object["gpu"] = std::move(gpu);
  }
  PutPlacement(placed.placement, object);
  if (placed.breakdown) PutBreakdown(*placed.breakdown, object["time"]);
  for (const char* derived : {"seconds", "classic", "time", "bandwidth"})
    ChangeIfThere(object, derived, [](json& numbers) { text::RoundAll(numbers); });
  return object;
}

json ToJson(const record::Record& record, const machine::Machine* machine, const PlaceView& view) {
  const record::Record written = Written(record);
  return ToJson(written, PlaceWritten(written, machine, view));
}

json ToJson(const PlacedRun& run) {
  if (run.places.size() > kMaxInJson)
    throw BadInput("more than {} benchmarks for a page or JSON: use dlroof export --format=csv",
                   kMaxInJson);
  json whole = {
      {"context", run.file.context}, {"machines", json::array()}, {"records", json::array()}};
  for (const auto& machine : run.file.machines)
    whole["machines"].push_back(machine::ToJson(machine));
  for (std::size_t i = 0; i < run.places.size(); ++i)
    whole["records"].push_back(ToJson(run.file.records[i], run.places[i]));
  for (const Level level : run.view.levels)
    whole["context"]["dlroof"]["view"]["levels"].push_back(Key(level));
  if (run.view.tensor_balance) whole["context"]["dlroof"]["view"]["balance"] = "tensor";
  for (const auto& model : run.models) whole["models"].push_back(ToJson(model, run.file));
  for (const auto& summary : run.zero_flop_kernels) whole["census"].push_back(ToJson(summary));
  return whole;
}

json ToJson(const record::RunFile& file, const PlaceView& view) {
  return ToJson(PlaceRun(file, view));
}

json ToStoredJson(const record::RunFile& file, const PlaceView& view) {
  record::RunFile stored = file;
  for (auto& machine : stored.machines) {
    for (auto& [threads, set] : machine.by_threads)
      for (auto& [mix, ceiling] : set.mixes) ceiling.validation = machine::Validation();
    json rounded = machine::ToJson(machine);
    text::RoundAll(rounded, text::kStoredDigits);
    machine = machine::MachineFromJson(rounded, "the machine");
  }
  json whole = ToJson(PlaceRun(std::move(stored), view));
  text::RoundAll(whole["machines"], text::kStoredDigits);  // makes whole numbers integers again
  for (auto& machine : whole["machines"])
    for (const char* repeated : {"flops", "bytes", "launch_seconds"}) machine.erase(repeated);
  for (auto& record : whole["records"]) MakeCompact(record);
  return whole;
}

const ClassicPoint* PointOf(const Placement& placement, Level level) {
  return FindIf(placement.classic, [&](const auto& point) { return point.level == level; });
}

const ClassicPoint* Binding(const Placement& placement) {
  const ClassicPoint* binding = nullptr;
  for (const auto& point : placement.classic) {
    if (placement.time && placement.time->above_roof.contains(point.level)) continue;
    if (binding == nullptr || point.roof <= binding->roof) binding = &point;
  }
  return binding;
}

std::optional<RoofShare> RoofShareOf(const Placement& placement) {
  if (placement.bandwidth && !placement.time) return placement.bandwidth->share;
  if (!placement.time) return std::nullopt;
  const TimePoint& time = *placement.time;
  if (const auto* binding = Binding(placement);
      binding != nullptr && binding->share.at_most == time.at_least)
    return binding->share;
  if (!(time.times_over_roof > 0)) return std::nullopt;
  return RoofShare{1 / time.times_over_roof, time.at_least};
}

std::string RoofShareText(const std::optional<RoofShare>& share, bool noisy) {
  if (!share) return "";
  return fmt::format("{}{}", noisy ? kNoisyMark : AtMostMark(share->at_most),
                     text::PercentText(share->value));
}

std::string TimesOverRoofText(const TimePoint& time, bool noisy) {
  return fmt::format("{}{}x", noisy ? kNoisyMark : AtLeastMark(time.at_least),
                     text::ThreeDigits(time.times_over_roof));
}

std::optional<WorkRate> WorkRateOf(const record::Record& record, const record::Timing& timing,
                                   const PlaceView& view) {
  const auto flops = BestKnownFlops(record);
  if (!flops || !(*flops > 0) || !(timing.median > 0)) return std::nullopt;
  WorkRate rate{.flops_per_second = *flops / timing.median};
  auto known = BestKnown(record, view).bytes;
  std::erase_if(known, [](const auto& level) { return !(level.second.first > 0); });
  if (known.empty()) return rate;
  rate.level = known.contains(Level::kDram) ? Level::kDram : known.rbegin()->first;
  rate.intensity = *flops / known.at(*rate.level).first;
  return rate;
}

std::string SpreadText(const record::Timing& timing) {
  if (!(timing.median > 0)) return "";
  if (!timing.ci95) return fmt::format("n={}", timing.clean);
  const double half =
      std::max(timing.median - timing.ci95->first, timing.ci95->second - timing.median);
  return text::PercentText(half / timing.median);
}

std::string BoundText(const TimePoint& time) {
  return fmt::format(
      "{}{}", time.bound_level ? LevelName(Key(*time.bound_level)) : std::string(Key(time.bound)),
      time.specified ? " (specified)" : "");
}

std::string BoundText(const BandwidthPoint& point) {
  return fmt::format("{} roof{}", LevelName(Key(point.level)),
                     point.specified ? " (specified)" : "");
}

}  // namespace dlroof::roofline
