#include "reporters/record/energy_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace dlroof {
namespace {

constexpr double kMostJoules = std::numeric_limits<double>::max();
constexpr double kLeastJoules = std::numeric_limits<double>::min();  // the smallest above 0

template <auto kField, class Out>
void ReadPositive(const JsonMember& member, Out& energy) {
  energy.*kField = member.NumberIn(kLeastJoules, kMostJoules, "a number above 0");
}

template <auto kField>
void ReadJoulesByDomain(const JsonMember& member, Energy& energy) {
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

constexpr JsonReading<Energy> kEnergy[] = {
    {"beside", ReadJoulesByDomain<&Energy::beside>},
    {"calls", ReadPositive<&Energy::calls>},
    {"ci95", ReadEnergyInterval<Energy>},
    {"covers", ReadText<&Energy::covers>},
    {"domains", ReadJoulesByDomain<&Energy::domains>},
    {"from", ReadText<&Energy::from>},
    {"joules", ReadPositive<&Energy::joules>},
    {"others_cpus", ReadNumber<&Energy::others_cpus>},
    {"seconds", ReadPositive<&Energy::seconds>},
    {"window_seconds", ReadPositive<&Energy::window_seconds>}};

constexpr JsonReading<MeteredWindow> kMeteredWindow[] = {
    {"begin_seconds", ReadPositive<&MeteredWindow::begin_seconds>},
    {"calls", ReadPositive<&MeteredWindow::calls>},
    {"end_seconds", ReadPositive<&MeteredWindow::end_seconds>}};

constexpr JsonReading<MeteredEnergy> kMetered[] = {
    {"ci95", ReadEnergyInterval<MeteredEnergy>},
    {"covers", ReadText<&MeteredEnergy::covers>},
    {"from", ReadText<&MeteredEnergy::from>},
    {"joules", ReadPositive<&MeteredEnergy::joules>},
    {"nodes", ReadPositive<&MeteredEnergy::nodes>},
    {"period_seconds", ReadPositive<&MeteredEnergy::period_seconds>},
    {"samples", ReadPositive<&MeteredEnergy::samples>},
    {"seconds", ReadPositive<&MeteredEnergy::seconds>},
    {"window_seconds", ReadPositive<&MeteredEnergy::window_seconds>}};

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

nlohmann::json ToJson(const MeteredWindow& window) {
  return {{"begin_seconds", window.begin_seconds},
          {"end_seconds", window.end_seconds},
          {"calls", window.calls}};
}

MeteredWindow MeteredWindowFromJson(const JsonObject& at) {
  MeteredWindow window;
  at.Read(kMeteredWindow, window);
  for (const char* needed : {"begin_seconds", "end_seconds", "calls"}) at.Number(needed);
  if (window.end_seconds <= window.begin_seconds)
    at.Refuse("end_seconds", "a time after 'begin_seconds'");
  return window;
}

nlohmann::json ToJson(const MeteredEnergy& energy) {
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

MeteredEnergy MeteredEnergyFromJson(const JsonObject& at) {
  MeteredEnergy energy;
  at.Read(kMetered, energy);
  for (const char* needed :
       {"joules", "seconds", "window_seconds", "period_seconds", "samples", "nodes"})
    at.Number(needed);
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

nlohmann::json ToJson(const IdlePowers& idle) {
  auto object = idle.cpu ? ToJson(*idle.cpu) : nlohmann::json::object();
  if (idle.gpu) object["gpu"] = ToJson(*idle.gpu);
  return object;
}

}  // namespace dlroof
