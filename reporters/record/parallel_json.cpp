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
    {"function_instructions", ReadNumber<&PartSeconds::function_instructions>},
    {"function_seconds", ReadNumber<&PartSeconds::functions>},
    {"product_instructions", ReadNumber<&PartSeconds::product_instructions>},
    {"product_seconds", ReadNumber<&PartSeconds::products>}};
void ReadFrom(const JsonMember& member, InstructionCount& count) {
  const auto from = ProvenanceFromKey(member.Text());
  if (!from) member.Refuse("measured, simulated or modelled");
  count.from = *from;
}

constexpr JsonReading<InstructionCount> kInstructions[] = {
    {"all", ReadNumber<&InstructionCount::all>},
    {"arithmetic", ReadNumber<&InstructionCount::arithmetic>},
    {"from", ReadFrom},
    {"generated", ReadNumber<&InstructionCount::generated>},
    {"how", ReadText<&InstructionCount::how>},
    {"per_second", ReadNumber<&InstructionCount::per_second>},
    {"smallest", ReadNumber<&InstructionCount::smallest>}};

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

void ReadInstructions(const JsonMember& member, ParallelTime& time) {
  const auto at = member.Object();
  at.Read(kInstructions, time.instructions.emplace());
  if (!(time.instructions->all > 0)) at.Refuse("all", "a positive count");
}

constexpr JsonReading<ParallelTime> kParallel[] = {
    {"alone_seconds", ReadNumber<&ParallelTime::alone_seconds>},
    {"calls", ReadNumber<&ParallelTime::calls>},
    {"executed_over_useful", ReadNumber<&ParallelTime::executed_over_useful>},
    {"far_seconds", ReadNumber<&ParallelTime::far_seconds>},
    {"instructions", ReadInstructions},
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

void AddKnown(const std::vector<std::pair<const char*, std::optional<double>>>& numbers,
              nlohmann::json& object) {
  for (const auto& [key, number] : numbers)
    if (number) object[key] = *number;
}

nlohmann::json ToJson(const InstructionCount& count) {
  nlohmann::json object = {{"all", count.all}, {"from", Key(count.from)}, {"how", count.how}};
  AddKnown({{"arithmetic", count.arithmetic},
            {"generated", count.generated},
            {"smallest", count.smallest},
            {"per_second", count.per_second}},
           object);
  return object;
}

}  // namespace

nlohmann::json ToJson(const ParallelTime& time) {
  auto object = ToJson(time.mean);
  object["threads"] = time.threads;
  object["calls"] = time.calls;
  object["source"] = time.source;
  AddKnown({{"function_seconds", time.parts.functions},
            {"product_seconds", time.parts.products},
            {"function_instructions", time.parts.function_instructions},
            {"product_instructions", time.parts.product_instructions},
            {"alone_seconds", time.alone_seconds},
            {"smallest_seconds", time.smallest_seconds},
            {"near_seconds", time.near_seconds},
            {"far_seconds", time.far_seconds},
            {"executed_over_useful", time.executed_over_useful},
            {"vector_loads", time.vector_loads},
            {"vector_bytes", time.vector_bytes}},
           object);
  if (time.instructions) object["instructions"] = ToJson(*time.instructions);
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
