#include "reporters/record/parallel_json.h"

#include <nlohmann/json.hpp>

namespace dlroof {
namespace {

nlohmann::json ToJson(const RegionPass& pass) {
  nlohmann::json object = {{"seconds", pass.seconds},
                           {"regions", pass.regions.regions},
                           {"region_seconds", pass.regions.seconds},
                           {"longest_seconds", pass.regions.longest_seconds},
                           {"busy_seconds", pass.regions.busy_seconds}};
  if (pass.run_delay_seconds) object["run_delay_seconds"] = *pass.run_delay_seconds;
  return object;
}

constexpr JsonReading<RegionSums> kSums[] = {
    {"busy_seconds", ReadNumber<&RegionSums::busy_seconds>},
    {"longest_seconds", ReadNumber<&RegionSums::longest_seconds>},
    {"region_seconds", ReadNumber<&RegionSums::seconds>},
    {"regions", ReadNumber<&RegionSums::regions>}};
constexpr JsonReading<RegionPass> kPass[] = {
    {"run_delay_seconds", ReadNumber<&RegionPass::run_delay_seconds>},
    {"seconds", ReadNumber<&RegionPass::seconds>}};
constexpr JsonReading<PartSeconds> kParts[] = {
    {"function_seconds", ReadNumber<&PartSeconds::functions>},
    {"product_seconds", ReadNumber<&PartSeconds::products>}};

RegionPass PassFromJson(const JsonObject& at) {
  RegionPass pass;
  at.Read(kPass, pass);
  at.Read(kSums, pass.regions);
  if (!(pass.seconds > 0)) at.Refuse("seconds", "a positive time");
  return pass;
}

void ReadPasses(const JsonMember& member, ParallelTime& time) {
  member.Each([&](simdjson::dom::element element, const JsonPlace& place) {
    time.passes.push_back(PassFromJson({element, place}));
  });
}

constexpr JsonReading<ParallelTime> kParallel[] = {
    {"alone_seconds", ReadNumber<&ParallelTime::alone_seconds>},
    {"calls", ReadNumber<&ParallelTime::calls>},
    {"executed_over_useful", ReadNumber<&ParallelTime::executed_over_useful>},
    {"far_seconds", ReadNumber<&ParallelTime::far_seconds>},
    {"near_seconds", ReadNumber<&ParallelTime::near_seconds>},
    {"passes", ReadPasses},
    {"smallest_seconds", ReadNumber<&ParallelTime::smallest_seconds>},
    {"source", ReadText<&ParallelTime::source>},
    {"threads",
     [](const JsonMember& member, ParallelTime& time) {
       time.threads = static_cast<int>(member.NumberIn(1, 1e6, "a thread count"));
     }},
    {"vector_bytes", ReadNumber<&ParallelTime::vector_bytes>},
    {"vector_loads", ReadNumber<&ParallelTime::vector_loads>}};

}  // namespace

nlohmann::json ToJson(const ParallelTime& time) {
  auto object = ToJson(time.mean);
  object["threads"] = time.threads;
  object["calls"] = time.calls;
  object["source"] = time.source;
  const std::pair<const char*, std::optional<double>> numbers[] = {
      {"function_seconds", time.parts.functions},
      {"product_seconds", time.parts.products},
      {"alone_seconds", time.alone_seconds},
      {"smallest_seconds", time.smallest_seconds},
      {"near_seconds", time.near_seconds},
      {"far_seconds", time.far_seconds},
      {"executed_over_useful", time.executed_over_useful},
      {"vector_loads", time.vector_loads},
      {"vector_bytes", time.vector_bytes}};
  for (const auto& [key, number] : numbers)
    if (number) object[key] = *number;
  for (const auto& pass : time.passes) object["passes"].push_back(ToJson(pass));
  return object;
}

ParallelTime ParallelFromJson(const JsonObject& at) {
  ParallelTime time;
  at.Read(kParallel, time);
  at.Read(kParts, time.parts);
  time.mean = PassFromJson(at);
  return time;
}

}  // namespace dlroof
