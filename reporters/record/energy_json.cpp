#include "reporters/record/energy_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace dlroof {
namespace {

constexpr double kMostJoules = std::numeric_limits<double>::max();
constexpr double kLeastJoules = std::numeric_limits<double>::min();  // the smallest above 0

template <auto kField>
void ReadPositive(const JsonMember& member, Energy& energy) {
  energy.*kField = member.NumberIn(kLeastJoules, kMostJoules, "a number above 0");
}

template <auto kField>
void ReadJoulesByDomain(const JsonMember& member, Energy& energy) {
  const JsonObject domains = member.Object();
  for (const auto [name, value] : domains.members())
    (energy.*kField)[std::string(name)] =
        JsonMember{domains, name, value}.NumberIn(kLeastJoules, kMostJoules, "joules above 0");
}

void ReadEnergyInterval(const JsonMember& member, Energy& energy) {
  std::vector<double> ends;
  member.Each([&](simdjson::dom::element element, const JsonPlace&) {
    if (double number = 0; element.get(number) == simdjson::SUCCESS) ends.push_back(number);
  });
  if (member.Size() != 2 || ends.size() != 2 || !(ends[0] > 0 && ends[0] <= ends[1]))
    member.Refuse("two rising numbers above 0");
  energy.ci95 = {ends[0], ends[1]};
}

constexpr JsonReading<Energy> kEnergy[] = {
    {"beside", ReadJoulesByDomain<&Energy::beside>},
    {"calls", ReadPositive<&Energy::calls>},
    {"ci95", ReadEnergyInterval},
    {"covers", ReadText<&Energy::covers>},
    {"domains", ReadJoulesByDomain<&Energy::domains>},
    {"from", ReadText<&Energy::from>},
    {"joules", ReadPositive<&Energy::joules>},
    {"others_cpus", ReadNumber<&Energy::others_cpus>},
    {"seconds", ReadPositive<&Energy::seconds>},
    {"window_seconds", ReadPositive<&Energy::window_seconds>}};

}  // namespace

nlohmann::json ToJson(const Energy& energy) {
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

Energy EnergyFromJson(const JsonObject& at) {
  Energy energy;
  at.Read(kEnergy, energy);
  for (const char* needed : {"joules", "seconds", "window_seconds", "calls"}) at.Number(needed);
  for (const char* needed : {"from", "covers"}) at.Text(needed);
  return energy;
}

nlohmann::json ToJson(const IdlePower& idle) {
  return {{"idle_watts", idle.watts},
          {"idle_domains", idle.domains},
          {"idle_seconds", idle.seconds},
          {"from", idle.from},
          {"covers", idle.covers}};
}

}  // namespace dlroof
