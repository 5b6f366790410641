#include "reporters/record/parts_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace dlroof::record {
namespace {

constexpr double kMostJoules = std::numeric_limits<double>::max();
constexpr double kLeastJoules = std::numeric_limits<double>::min();  // the smallest above 0

template <auto kField, class Out>
void ReadPositive(const JsonMember& member, Out& energy) {
  energy.*kField = member.NumberIn(kLeastJoules, kMostJoules, "a number above 0");
}

template <auto kField>
void ReadJoulesByDomain(const JsonMember& member, energy::Energy& energy) {
  const JsonObject domains = member.Object();
  for (const auto [name, value] : domains.members())
    (energy.*kField)[std::string(name)] =
        JsonMember{domains, name, value}.NumberIn(kLeastJoules, kMostJoules, "joules above 0");
}

template <class Out>
void ReadEnergyInterval(const JsonMember& member, Out& energy) {
  std::vector<double> ends;
  member.Each([&](simdjson::dom::element element, const JsonPlace&) {
    if (double number = 0; element.get(number) == simdjson::SUCCESS) ends.push_back(number);
  });
  if (member.Size() != 2 || ends.size() != 2 || !(ends[0] > 0 && ends[0] <= ends[1]))
    member.Refuse("two rising numbers above 0");
  energy.ci95 = {ends[0], ends[1]};
}

constexpr JsonReading<energy::Energy> kEnergy[] = {
    {"beside", ReadJoulesByDomain<&energy::Energy::beside>},
    {"calls", ReadPositive<&energy::Energy::calls>},
    {"ci95", ReadEnergyInterval<energy::Energy>},
    {"covers", ReadText<&energy::Energy::covers>},
    {"domains", ReadJoulesByDomain<&energy::Energy::domains>},
    {"from", ReadText<&energy::Energy::from>},
    {"joules", ReadPositive<&energy::Energy::joules>},
    {"others_cpus", ReadNumber<&energy::Energy::others_cpus>},
    {"seconds", ReadPositive<&energy::Energy::seconds>},
    {"window_seconds", ReadPositive<&energy::Energy::window_seconds>}};

constexpr JsonReading<energy::MeteredWindow> kMeteredWindow[] = {
    {"begin_seconds", ReadPositive<&energy::MeteredWindow::begin_seconds>},
    {"calls", ReadPositive<&energy::MeteredWindow::calls>},
    {"end_seconds", ReadPositive<&energy::MeteredWindow::end_seconds>}};

constexpr JsonReading<energy::MeteredEnergy> kMetered[] = {
    {"ci95", ReadEnergyInterval<energy::MeteredEnergy>},
    {"covers", ReadText<&energy::MeteredEnergy::covers>},
    {"from", ReadText<&energy::MeteredEnergy::from>},
    {"joules", ReadPositive<&energy::MeteredEnergy::joules>},
    {"nodes", ReadPositive<&energy::MeteredEnergy::nodes>},
    {"period_seconds", ReadPositive<&energy::MeteredEnergy::period_seconds>},
    {"samples", ReadPositive<&energy::MeteredEnergy::samples>},
    {"seconds", ReadPositive<&energy::MeteredEnergy::seconds>},
    {"window_seconds", ReadPositive<&energy::MeteredEnergy::window_seconds>}};

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
    {"instructions_reason",
     [](const JsonMember& member, ParallelTime& time) {
       time.instructions_reason = std::string(member.Text());
     }},
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

nlohmann::json ToJson(const energy::Energy& energy) {
  nlohmann::json object = {{"joules", energy.joules},
                           {"seconds", energy.seconds},
                           {"window_seconds", energy.window_seconds},
                           {"calls", energy.calls},
                           {"from", energy.from},
                           {"covers", energy.covers}};
  if (energy.ci95) object["ci95"] = {energy.ci95->first, energy.ci95->second};
  if (energy.others_cpus) object["others_cpus"] = *energy.others_cpus;
  if (!energy.domains.empty()) object["domains"] = energy.domains;
  if (!energy.beside.empty()) object["beside"] = energy.beside;
  return object;
}

energy::Energy EnergyFromJson(const JsonObject& at) {
  energy::Energy energy;
  at.Read(kEnergy, energy);
  for (const char* needed : {"joules", "seconds", "window_seconds", "calls"}) at.Number(needed);
  for (const char* needed : {"from", "covers"}) at.Text(needed);
  return energy;
}

nlohmann::json ToJson(const energy::MeteredWindow& window) {
  return {{"begin_seconds", window.begin_seconds},
          {"end_seconds", window.end_seconds},
          {"calls", window.calls}};
}

energy::MeteredWindow MeteredWindowFromJson(const JsonObject& at) {
  energy::MeteredWindow window;
  at.Read(kMeteredWindow, window);
  for (const char* needed : {"begin_seconds", "end_seconds", "calls"}) at.Number(needed);
  if (window.end_seconds <= window.begin_seconds)
    at.Refuse("end_seconds", "a time after 'begin_seconds'");
  return window;
}

nlohmann::json ToJson(const energy::MeteredEnergy& energy) {
  nlohmann::json object = {{"joules", energy.joules},
                           {"seconds", energy.seconds},
                           {"window_seconds", energy.window_seconds},
                           {"period_seconds", energy.period_seconds},
                           {"samples", energy.samples},
                           {"nodes", energy.nodes},
                           {"from", energy.from},
                           {"covers", energy.covers}};
  if (energy.ci95) object["ci95"] = {energy.ci95->first, energy.ci95->second};
  return object;
}

energy::MeteredEnergy MeteredEnergyFromJson(const JsonObject& at) {
  energy::MeteredEnergy energy;
  at.Read(kMetered, energy);
  for (const char* needed :
       {"joules", "seconds", "window_seconds", "period_seconds", "samples", "nodes"})
    at.Number(needed);
  for (const char* needed : {"from", "covers"}) at.Text(needed);
  return energy;
}

nlohmann::json ToJson(const energy::IdlePower& idle) {
  return {{"idle_watts", idle.watts},
          {"idle_domains", idle.domains},
          {"idle_seconds", idle.seconds},
          {"from", idle.from},
          {"covers", idle.covers}};
}

nlohmann::json ToJson(const energy::IdlePowers& idle) {
  auto object = idle.cpu ? ToJson(*idle.cpu) : nlohmann::json::object();
  if (idle.gpu) object["gpu"] = ToJson(*idle.gpu);
  return object;
}

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
  if (time.instructions_reason) object["instructions_reason"] = *time.instructions_reason;
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

}  // namespace dlroof::record
