#include "ceilings/machine/machine.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "counters/base/error.h"
#include "counters/base/text_hash.h"

namespace dlroof {
namespace {

using nlohmann::json;

constexpr std::string_view kStablePrefixes[] = {"cpu.", "gpu.", "topology."};

bool IsStable(const std::string& key) {
  for (const auto prefix : kStablePrefixes)
    if (key.starts_with(prefix)) return true;
  return false;
}

// Members of a proof by their key in files; one table for both directions.
struct ProofNumber {
  const char* key;
  std::optional<double> Proof::*member;
};
constexpr ProofNumber kProofNumbers[] = {{"doubling", &Proof::doubling},
                                         {"spread", &Proof::spread},
                                         {"drift", &Proof::drift},
                                         {"clean", &Proof::clean},
                                         {"scaling", &Proof::scaling},
                                         {"per_cycle", &Proof::per_cycle},
                                         {"per_cycle_expected", &Proof::per_cycle_expected}};

json ProofToJson(const Proof& proof) {
  json result = json::object();
  for (const auto& [key, member] : kProofNumbers)
    if (proof.*member) result[key] = *(proof.*member);
  if (!proof.result.empty()) result["result"] = proof.result;
  return result;
}

json CeilingToJson(const Ceiling& ceiling) {
  json result = {{"per_second", ceiling.per_second},
                 {"threads", ceiling.threads},
                 {"how", ceiling.how},
                 {"proved", ceiling.proved}};
  if (ceiling.ci95) result["ci95"] = {ceiling.ci95->first, ceiling.ci95->second};
  if (ceiling.clock_hz) result["clock_hz"] = *ceiling.clock_hz;
  if (ceiling.sustained_per_second) result["sustained_per_second"] = *ceiling.sustained_per_second;
  if (ceiling.moved_per_named) result["moved_per_named"] = *ceiling.moved_per_named;
  if (ceiling.unbounded) result["unbounded"] = true;
  if (!ceiling.reason.empty()) result["reason"] = ceiling.reason;
  if (ceiling.proof != Proof()) result["proof"] = ProofToJson(ceiling.proof);
  return result;
}

// What a set says at the machine's top level too.
json RoofsToJson(const CeilingSet& set) {
  json result = {{"flops", json::object()}, {"bytes", json::object()}};
  for (const auto& [pipe, ceiling] : set.flops) result["flops"][pipe] = CeilingToJson(ceiling);
  for (const auto& [level, ceiling] : set.bytes)
    result["bytes"][std::string(Key(level))] = CeilingToJson(ceiling);
  if (set.launch_seconds) result["launch_seconds"] = *set.launch_seconds;
  return result;
}

json SetToJson(const CeilingSet& set) {
  json result = RoofsToJson(set);
  for (const auto& [mix, ceiling] : set.mixes) result["mixes"][mix] = CeilingToJson(ceiling);
  if (!set.overheads.empty()) result["overheads"] = set.overheads;
  for (const auto& point : set.sweep) result["sweep"].push_back({point.bytes, point.per_second});
  for (const auto& [level, points] : set.ridges)
    for (const auto& point : points)
      result["ridges"][std::string(Key(level))].push_back(
          {point.intensity, point.flops_per_second});
  return result;
}

// A JSON value with the way that led to it, so that every refusal can say where.
struct Place {
  const json& value;
  std::string where;

  [[noreturn]] void Refuse(const std::string& expected) const {
    throw BadInput(fmt::format("{} is {}; expected {}", where, Shown(), expected));
  }

  std::string Shown() const {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array";
    auto text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    if (text.size() > 40) text = text.substr(0, 37) + "...";
    return text;
  }

  Place Member(const std::string& key) const {
    if (!value.is_object()) Refuse("an object");
    const auto found = value.find(key);
    if (found == value.end())
      throw BadInput(fmt::format("{}: the key \"{}\" is missing", where, key));
    return {*found, fmt::format("{}: \"{}\"", where, key)};
  }

  std::optional<Place> Optional(const std::string& key) const {
    if (!value.is_object()) Refuse("an object");
    if (!value.contains(key)) return std::nullopt;
    return Member(key);
  }

  std::string Text() const {
    if (!value.is_string()) Refuse("a string");
    return value.get<std::string>();
  }

  std::string NonEmptyText() const {
    if (Text().empty()) Refuse("a string that is not empty");
    return Text();
  }

  bool Truth() const {
    if (!value.is_boolean()) Refuse("true or false");
    return value.get<bool>();
  }

  double Positive() const {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= 0)
      Refuse("a finite number above 0");
    return value.get<double>();
  }

  double NotNegative() const {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
      Refuse("a finite number, at least 0");
    return value.get<double>();
  }

  int Threads() const {
    const bool fits = value.is_number_integer() && value >= 1 && value <= 1 << 30;
    if (!fits) Refuse("a whole number of threads, at least 1");
    return value.get<int>();
  }

  std::pair<double, double> Pair() const {
    if (!value.is_array() || value.size() != 2) Refuse("an array of 2 numbers");
    return {Place{value[0], where + "[0]"}.Positive(), Place{value[1], where + "[1]"}.Positive()};
  }

  std::pair<double, double> Interval() const {
    const auto ends = Pair();
    if (ends.first > ends.second)
      throw BadInput(fmt::format("{} is [{}, {}]; expected the lower end first", where, ends.first,
                                 ends.second));
    return ends;
  }

  // Calls visit(key, place) for each member.
  template <class Visit>
  void EachMember(const Visit& visit) const {
    if (!value.is_object()) Refuse("an object");
    for (const auto& item : value.items()) visit(item.key(), Member(item.key()));
  }

  // Calls visit(pair) for each element of an array of pairs.
  template <class Visit>
  void EachPair(const Visit& visit) const {
    if (!value.is_array()) Refuse("an array of pairs of numbers");
    for (std::size_t i = 0; i < value.size(); ++i)
      visit(Place{value[i], fmt::format("{}[{}]", where, i)}.Pair());
  }
};

Proof ProofFrom(const Place& place) {
  Proof proof;
  for (const auto& [key, member] : kProofNumbers)
    if (const auto number = place.Optional(key)) proof.*member = number->NotNegative();
  if (const auto result = place.Optional("result")) proof.result = result->Text();
  return proof;
}

Ceiling CeilingFrom(const Place& place) {
  Ceiling ceiling;
  ceiling.per_second = place.Member("per_second").Positive();
  ceiling.threads = place.Member("threads").Threads();
  ceiling.how = place.Member("how").Text();
  ceiling.proved = place.Member("proved").Truth();
  if (const auto ci95 = place.Optional("ci95")) ceiling.ci95 = ci95->Interval();
  if (const auto clock = place.Optional("clock_hz")) ceiling.clock_hz = clock->Positive();
  if (const auto sustained = place.Optional("sustained_per_second"))
    ceiling.sustained_per_second = sustained->Positive();
  if (const auto moved = place.Optional("moved_per_named"))
    ceiling.moved_per_named = moved->Positive();
  if (const auto unbounded = place.Optional("unbounded")) ceiling.unbounded = unbounded->Truth();
  if (const auto reason = place.Optional("reason")) ceiling.reason = reason->Text();
  if (const auto proof = place.Optional("proof")) ceiling.proof = ProofFrom(*proof);
  return ceiling;
}

Level LevelFrom(const std::string& key, const Place& place) {
  const auto level = LevelFromKey(key);
  if (!level)
    throw BadInput(
        fmt::format("{}: no such memory level; expected l1, l2, l3, dram or host", place.where));
  return *level;
}

// What stands beside the roofs: every mix, overheads, curves. Older files have none.
void CurvesFrom(const Place& place, CeilingSet& set) {
  if (const auto mixes = place.Optional("mixes"))
    mixes->EachMember(
        [&](const std::string& key, const Place& mix) { set.mixes[key] = CeilingFrom(mix); });
  if (const auto overheads = place.Optional("overheads"))
    overheads->EachMember([&](const std::string& key, const Place& seconds) {
      set.overheads[key] = seconds.Positive();
    });
  if (const auto sweep = place.Optional("sweep"))
    sweep->EachPair([&](const auto& pair) { set.sweep.push_back({pair.first, pair.second}); });
  if (const auto ridges = place.Optional("ridges"))
    ridges->EachMember([&](const std::string& key, const Place& points) {
      auto& ridge = set.ridges[LevelFrom(key, points)];
      points.EachPair([&](const auto& pair) { ridge.push_back({pair.first, pair.second}); });
    });
}

// What RoofsToJson writes.
CeilingSet RoofsFrom(const Place& place) {
  CeilingSet set;
  place.Member("flops").EachMember([&](const std::string& key, const Place& ceiling) {
    if (!IsPipeKey(key))
      throw BadInput(fmt::format("{}: no such pipe; expected <type>.<unit>, such as fp32.vector",
                                 ceiling.where));
    set.flops[key] = CeilingFrom(ceiling);
  });
  place.Member("bytes").EachMember([&](const std::string& key, const Place& ceiling) {
    set.bytes[LevelFrom(key, ceiling)] = CeilingFrom(ceiling);
  });
  if (const auto launch = place.Optional("launch_seconds")) set.launch_seconds = launch->Positive();
  return set;
}

CeilingSet SetFrom(const Place& place) {
  CeilingSet set = RoofsFrom(place);
  CurvesFrom(place, set);
  return set;
}

CeilingSet WithoutCurves(CeilingSet set) {
  set.mixes.clear();
  set.overheads.clear();
  set.sweep.clear();
  set.ridges.clear();
  return set;
}

// Any of what RoofsToJson writes.
bool SaysRoofs(const json& machine) {
  return machine.contains("flops") || machine.contains("bytes") ||
         machine.contains("launch_seconds");
}

int ThreadsFromKey(const std::string& key, const Place& place) {
  int threads = 0;
  const char* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, threads);
  // Only the spelling that ToJson writes: "01" beside "1" would be two sets of one thread count.
  if (error != std::errc() || stop != end || threads < 1 || std::to_string(threads) != key)
    throw BadInput(fmt::format("{}: expected a number of threads as key, at least 1", place.where));
  return threads;
}

}  // namespace

const CeilingSet& AllThreads(const Machine& machine) {
  if (machine.by_threads.empty()) throw std::logic_error("a machine without ceilings");
  return machine.by_threads.rbegin()->second;
}

const CeilingSet* ForThreads(const Machine& machine, int threads) {
  const auto found = machine.by_threads.find(threads);
  return found == machine.by_threads.end() ? nullptr : &found->second;
}

std::string Fingerprint(const std::map<std::string, std::string>& facts) {
  std::uint64_t hash = kHashOfNothing;
  const auto add = [&](const std::string& text) {
    hash = HashOf({"\0", 1}, HashOf(text, hash));  // the byte 0: "a", "bc" differs from "ab", "c"
  };
  for (const auto& [key, text] : facts)
    if (IsStable(key)) {
      add(key);
      add(text);
    }
  return fmt::format("{:016x}", hash);
}

json ToJson(const Machine& machine) {
  json result = RoofsToJson(AllThreads(machine));
  result["device"] = machine.device;
  result["name"] = machine.name;
  result["fingerprint"] = machine.fingerprint;
  result["measured_at"] = machine.measured_at;
  result["facts"] = machine.facts;
  result["cache_bytes"] = json::object();
  for (const auto& [level, bytes] : machine.cache_bytes)
    result["cache_bytes"][std::string(Key(level))] = bytes;
  if (machine.issue_rate) result["issue_rate"] = *machine.issue_rate;
  for (const auto& [threads, set] : machine.by_threads)
    result["by_threads"][std::to_string(threads)] = SetToJson(set);
  return result;
}

Machine MachineFromJson(const json& value, const std::string& where) {
  const Place place{value, where};
  Machine machine;
  machine.device = place.Member("device").NonEmptyText();
  machine.name = place.Member("name").Text();
  machine.fingerprint = place.Member("fingerprint").NonEmptyText();
  machine.measured_at = place.Member("measured_at").Text();
  place.Member("facts").EachMember(
      [&](const std::string& key, const Place& fact) { machine.facts[key] = fact.Text(); });
  place.Member("cache_bytes").EachMember([&](const std::string& key, const Place& bytes) {
    machine.cache_bytes[LevelFrom(key, bytes)] = bytes.Positive();
  });
  if (const auto rate = place.Optional("issue_rate")) machine.issue_rate = rate->Positive();
  place.Member("by_threads").EachMember([&](const std::string& key, const Place& set) {
    const int threads = ThreadsFromKey(key, set);
    machine.by_threads[threads] = SetFrom(set);
  });
  if (machine.by_threads.empty())
    place.Member("by_threads").Refuse("the ceilings of at least one thread count");
  if (SaysRoofs(value) && RoofsFrom(place) != WithoutCurves(AllThreads(machine)))
    throw BadInput(fmt::format(
        "{}: \"flops\", \"bytes\" and \"launch_seconds\" differ from those in \"by_threads\": "
        "\"{}\"; expected the same, they are of all threads",
        where, machine.by_threads.rbegin()->first));
  return machine;
}

}  // namespace dlroof
