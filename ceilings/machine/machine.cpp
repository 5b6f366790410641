#include "ceilings/machine/machine.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <tuple>

#include "counters/base/json_members.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::machine {
namespace {

using nlohmann::json;

constexpr int kSchema = 2;
constexpr std::string_view kStablePrefixes[] = {"cpu.", "gpu.", "topology."};

bool IsStable(const std::string& key) {
  return std::ranges::any_of(kStablePrefixes, [&](auto prefix) { return key.starts_with(prefix); });
}

// Reads a whole number above 0, such as a number of threads. Returns nullopt for other text.
std::optional<int> CountIn(std::string_view text) {
  const auto count = ParseNumber<int>(text);
  return count > 0 ? count : std::nullopt;
}

constexpr std::pair<const char*, std::optional<double> Validation::*> kValidationNumbers[] = {
    {"doubling", &Validation::doubling},
    {"spread", &Validation::spread},
    {"drift", &Validation::drift},
    {"clean", &Validation::clean},
    {"scaling", &Validation::scaling},
    {"per_cycle", &Validation::per_cycle},
    {"per_cycle_expected", &Validation::per_cycle_expected}};

constexpr std::pair<const char*, std::map<std::string, std::string> CeilingSet::*> kSetTexts[] = {
    {"absent", &CeilingSet::absent},
    {"costs_how", &CeilingSet::costs_how},
    {"sustained", &CeilingSet::sustained}};

}  // namespace

void Members(auto& all, Validation& validation) {
  for (const auto& [key, member] : kValidationNumbers) all(Field(key, validation.*member));
  all(Field("result", validation.result));
}

void Members(auto& all, Visit& visit) {
  all(Required("at", visit.at), Required("per_second", visit.per_second),
      Required("clean", visit.clean), Field("clock_hz", visit.clock_hz),
      Field("per_cycle", visit.per_cycle), Field("per_cycle_expected", visit.per_cycle_expected),
      Field("proved", visit.validated));
}

void Members(auto& all, Ceiling& ceiling) {
  all(Required("per_second", ceiling.per_second), Required("how", ceiling.how),
      Field("mix", ceiling.mix), Field("ci95", ceiling.ci95), Field("clock_hz", ceiling.clock_hz),
      Field("sustained_per_second", ceiling.sustained_per_second),
      Field("sustained_clock_hz", ceiling.sustained_clock_hz),
      Field("moved_per_named", ceiling.moved_per_named), Field("unbounded", ceiling.unbounded),
      Field("reasons", ceiling.reasons), Field("proof", ceiling.validation),
      Field("visits", ceiling.visits));
}

namespace {

json CeilingToJson(Ceiling ceiling) {
  // Leaves out numbers that readers refuse: interference may cause such numbers.
  for (const auto& [key, member] : kValidationNumbers)
    if (auto& value = ceiling.validation.*member; value && !RangeOf(key).Contains(*value))
      value.reset();
  auto result = MembersJson(ceiling);
  result["threads"] = ceiling.threads;
  result["proved"] = ceiling.IsValidated();
  if (ceiling.IsSpecified()) result["given"] = true;
  return result;
}

// Returns the members that the JSON of a machine also has at its top level.
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
  for (const auto& [key, value] : {std::pair("issue_rate", set.best_state.issue_rate),
                                   std::pair("round_trip", set.best_state.round_trip)})
    if (value) result["best_state"][key] = *value;
  for (const auto& point : set.sweep) result["sweep"].push_back({point.bytes, point.per_second});
  for (const auto& [level, points] : set.ridges)
    for (const auto& point : points)
      result["ridges"][std::string(Key(level))].push_back(
          {point.intensity, point.flops_per_second});
  if (!set.effort.empty()) result["effort"] = set.effort;
  for (const auto& [key, texts] : kSetTexts)
    if (!(set.*texts).empty()) result[key] = set.*texts;
  for (const auto& [key, edge] : set.edges)
    result["edges"][key] = {{"text", edge.text}, {"disagrees", edge.disagrees}};
  return result;
}

// ---- schema 1, whose `facts` contained sentences in place of today's members ----

constexpr std::size_t kMaxMixLength = 24;

// The parts of a key "<row>.threads.<N>". `threads` is absent if N is not a positive number.
struct SplitKey {
  std::string row;
  std::optional<int> threads;
};
SplitKey Split(std::string_view key, std::string_view separator) {
  const auto at = key.rfind(separator);
  if (at == std::string_view::npos) return {};
  return {std::string(key.substr(0, at)), CountIn(key.substr(at + separator.size()))};
}

bool TakePrefix(std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.size() == prefix.size()) return false;
  text.erase(0, prefix.size());
  return true;
}

// Moves a fact of schema 1 ("effort.<N>", "absent.<row>.threads.<N>", "sweep.<level>.threads.<N>",
// "sustained.<row>" or "<cost>.threads.<N>") to its CeilingSet. Returns false for other facts and
// if there is no such CeilingSet.
bool MoveFact(const std::string& key, const std::string& text, Machine& machine) {
  const auto set_of = [&](int threads) { return FindValue(machine.by_threads, threads); };
  if (auto row = key; TakePrefix(row, "sustained.")) {
    machine.by_threads.rbegin()->second.sustained[row] = text;
    return true;
  }
  if (const auto effort = Split(key, "effort."); effort.row.empty() && effort.threads)
    if (auto* set = set_of(*effort.threads)) {
      set->effort = text;
      return true;
    }
  auto [row, threads] = Split(key, ".threads.");
  auto* set = threads ? set_of(*threads) : nullptr;
  if (set == nullptr || row.empty()) return false;
  if (TakePrefix(row, "absent."))
    set->absent[row] = text;
  else if (TakePrefix(row, "sweep."))
    set->edges[row] = {text, text.ends_with(" disagree")};
  else
    set->costs_how[row] = text;
  return true;
}

// Removes from `how` the sentence about Validation::scaling that schema 1 appended.
void ConvertCeiling(Ceiling& ceiling) {
  if (ceiling.validation.scaling)
    ceiling.how = ceiling.how.substr(0, ceiling.how.find("; each of "));
}

// Sets `mix` from `how`, which in schema 1 begins with "copy.avx2, the best of 19 mixes: ".
void ConvertRoof(Ceiling& roof) {
  ConvertCeiling(roof);
  const auto mix = roof.how.substr(0, roof.how.find(','));
  if (mix.size() <= kMaxMixLength && mix.size() < roof.how.size()) roof.mix = mix;
}

std::vector<std::string> Schema1Reasons(const std::string& text) {
  constexpr std::string_view kBetween = "; ";
  std::vector<std::string> reasons;
  if (text.empty()) return reasons;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + kBetween.size()) {
    end = text.find(kBetween, begin);
    reasons.push_back(text.substr(begin, end - begin));
  }
  return reasons;
}

void ConvertSchema1(Machine& machine) {
  for (auto fact = machine.facts.begin(); fact != machine.facts.end();)
    fact = MoveFact(fact->first, fact->second, machine) ? machine.facts.erase(fact) : ++fact;
  for (auto& [threads, set] : machine.by_threads) {
    for (auto* rows : {&set.flops, &set.mixes})
      for (auto& [key, ceiling] : *rows) ConvertCeiling(ceiling);
    for (auto& [level, roof] : set.bytes) ConvertRoof(roof);
  }
}

Ceiling CeilingFrom(const JsonReader& at) {
  auto ceiling = FromMembers<Ceiling>(at);
  ceiling.threads = at.AtLeastOne("threads");
  if (ceiling.ci95 && ceiling.ci95->first > ceiling.ci95->second)
    at.Refuse("ci95", "the lower end first");
  const bool validated = at.Flag("proved"), specified = at.OptionalFlag("given");
  if (specified && validated)
    throw BadInput(
        at.where() +
        ": 'proved' (validated): expected false for a specified roof ('given'), got true");
  ceiling.status = specified   ? CeilingStatus::kSpecified
                   : validated ? CeilingStatus::kValidated
                               : CeilingStatus::kNotValidated;
  if (at.Has("reason")) ceiling.reasons = Schema1Reasons(at.Text("reason"));
  return ceiling;
}

Level LevelFrom(const std::string& key, const JsonReader& at) {
  if (const auto level = LevelFromKey(key)) return *level;
  throw BadInput("{}: '{}': no such memory level; expected l1, l2, l3, dram or host", at.where(),
                 key);
}

// Reads the members of a CeilingSet that files of older versions may lack.
void CurvesFrom(const JsonReader& at, CeilingSet& set) {
  at.EachObject("mixes", [&](const std::string& key, const JsonReader& mix) {
    set.mixes[key] = CeilingFrom(mix);
  });
  if (at.Has("overheads")) {
    const auto overheads = at.Object("overheads");
    for (const auto& key : overheads.Keys()) set.overheads[key] = overheads.Positive(key);
  }
  if (at.Has("best_state")) {
    const auto state = at.Object("best_state");
    set.best_state = {state.OptionalPositive("issue_rate"), state.OptionalPositive("round_trip")};
  }
  if (at.Has("sweep"))
    for (const auto& [bytes, rate] : at.PositivePairs("sweep")) set.sweep.push_back({bytes, rate});
  if (at.Has("ridges")) {
    const auto ridges = at.Object("ridges");
    for (const auto& key : ridges.Keys())
      for (const auto& [intensity, rate] : ridges.PositivePairs(key))
        set.ridges[LevelFrom(key, ridges)].push_back({intensity, rate});
  }
  set.effort = at.TextOr("effort", "");
  for (const auto& [key, texts] : kSetTexts)
    if (at.Has(key)) set.*texts = at.TextsByKey(key);
  at.EachObject("edges", [&](const std::string& key, const JsonReader& edge) {
    set.edges[key] = {edge.Text("text"), edge.Flag("disagrees")};
  });
}

CeilingSet RoofsFrom(const JsonReader& at) {
  CeilingSet set;
  at.Object("flops");
  at.EachObject("flops", [&](const std::string& key, const JsonReader& ceiling) {
    if (!IsPipeKey(key))
      throw BadInput("{}: no such pipe; expected <type>.<unit>, such as fp32.vector",
                     ceiling.where());
    set.flops[key] = CeilingFrom(ceiling);
  });
  const auto bytes = at.Object("bytes");
  for (const auto& key : bytes.Keys())
    set.bytes[LevelFrom(key, bytes)] = CeilingFrom(bytes.Object(key));
  set.launch_seconds = at.OptionalPositive("launch_seconds");
  return set;
}

// Throws BadInput if the top-level roofs exist and differ from those of the largest thread count.
void RefuseOtherRoofs(const JsonReader& at, const CeilingSet& all) {
  if (!at.Has("flops") && !at.Has("bytes") && !at.Has("launch_seconds")) return;
  const auto roofs = RoofsFrom(at);
  if (roofs.flops != all.flops || roofs.bytes != all.bytes ||
      roofs.launch_seconds != all.launch_seconds)
    throw BadInput(
        "{}: \"flops\", \"bytes\" and \"launch_seconds\" differ from those of all threads in "
        "\"by_threads\"; expected the same",
        at.where());
}

// [1] Allowed relative difference of a stored rate from the rate that follows from other numbers of
// the same measurement (kSame), or of rows measured at other times (kAtOtherTimes).
constexpr double kSame = 0.05, kAtOtherTimes = 0.25;

// [1] Max rate / upper end of the median's interval. In files of busy machines it was up to 2.01.
constexpr double kMaxAboveInterval = 2.5;

// Limits of a validated ceiling's numbers, far wider than those that a measurement must meet.
struct ValidationLimits {
  std::optional<double> Validation::*number;
  double least, most;
  const char* what;
};
constexpr ValidationLimits kValidationLimits[] = {
    {&Validation::doubling, 1.8, 2.2, "time of twice the work / time of the work"},
    {&Validation::spread, 0, 2, "spread"},
    {&Validation::clean, 0.01, 1, "share of clean repetitions"}};

bool Differ(double a, double b, double tolerance) { return std::abs(a / b - 1) > tolerance; }

// Marks a validated ceiling as not validated if its numbers contradict each other. E.g. its rate
// must be FLOPs or bytes per cycle x clock x `units`, the number of threads or SMs, if known.
// `single`: the same row measured with one thread, or null.
void CheckNumbers(std::optional<double> units, const Ceiling* single, Ceiling& ceiling) {
  if (!ceiling.IsValidated()) return;
  const auto& [per_cycle, scaling] =
      std::tie(ceiling.validation.per_cycle, ceiling.validation.scaling);
  const double rate = ceiling.per_second;
  if (const auto& clock = ceiling.clock_hz; units && per_cycle && clock)
    if (const double expected = *per_cycle * *clock * *units; Differ(rate, expected, kSame))
      AddUnboundedReason(ceiling, fmt::format("its rate is {:.3g} times the rate per cycle x clock "
                                              "x {:g} threads or SMs",
                                              rate / expected, *units));
  if (single != nullptr && scaling && ceiling.threads > 1)
    if (const double expected = *scaling * ceiling.threads * single->per_second;
        Differ(rate, expected, kAtOtherTimes))
      AddUnboundedReason(ceiling, fmt::format("its rate is {:.3g} times the scaling x {} threads x "
                                              "the rate of one thread",
                                              rate / expected, ceiling.threads));
  if (ceiling.ci95 && ceiling.ci95->first > (1 + kSame) * rate)
    AddUnboundedReason(ceiling, "its rate is below the interval of its repetitions' median");
  if (ceiling.ci95 && rate > kMaxAboveInterval * ceiling.ci95->second)
    AddUnboundedReason(ceiling, "its rate is far above the interval of its repetitions' median");
  if (const auto& most = ceiling.validation.per_cycle_expected;
      most && per_cycle && *per_cycle > (1 + kSame) * *most)
    AddUnboundedReason(ceiling, fmt::format("its rate per cycle is {:.3g} times a possible one",
                                            *per_cycle / *most));
  if (const auto& sustained = ceiling.sustained_per_second;
      sustained && *sustained > (1 + kAtOtherTimes) * rate)
    AddUnboundedReason(
        ceiling, fmt::format("its sustained rate is {:.3g} times its rate", *sustained / rate));
  for (const auto& [number, least, limit, what] : kValidationLimits)
    if (const auto& value = ceiling.validation.*number; value && (*value < least || *value > limit))
      AddUnboundedReason(ceiling, fmt::format("its {} is {:.3g}, not from {:g} to {:g}", what,
                                              *value, least, limit));
}

void CheckNumbers(Machine& machine) {
  std::optional<double> sms;
  if (const auto* fact = FindValue(machine.facts, "gpu.sms")) sms = CountIn(*fact);
  const auto* const single_set = ForThreads(machine, 1);
  for (auto& [threads, set] : machine.by_threads) {
    const auto check = [&](auto CeilingSet::*rows) {
      for (auto& [key, ceiling] : set.*rows) {
        const Ceiling* single = single_set == nullptr ? nullptr : FindValue(single_set->*rows, key);
        CheckNumbers(machine.device == "gpu" ? sms : ceiling.threads, single, ceiling);
      }
    };
    check(&CeilingSet::flops);
    check(&CeilingSet::bytes);
    check(&CeilingSet::mixes);
  }
}

int ThreadsFromKey(const std::string& key, const JsonReader& at) {
  const auto threads = CountIn(key);
  // Accepts only ToJson's spelling: "01" beside "1" would be two CeilingSets of one thread count.
  if (!threads || std::to_string(*threads) != key)
    throw BadInput("{}: expected a number of threads as key, at least 1", at.where());
  return *threads;
}

}  // namespace

std::string Ceiling::ReasonText() const { return fmt::format("{}", fmt::join(reasons, "; ")); }

const CeilingSet& AllThreads(const Machine& machine) {
  if (machine.by_threads.empty()) throw std::logic_error("AllThreads: the machine has no ceilings");
  return machine.by_threads.rbegin()->second;
}

const CeilingSet* ForThreads(const Machine& machine, std::optional<int> threads) {
  return threads ? FindValue(machine.by_threads, *threads) : nullptr;
}

const Ceiling* FindRow(const CeilingSet& set, const std::string& row) {
  const auto* const pipe = FindValue(set.flops, row);
  return pipe != nullptr ? pipe : FindValue(set.mixes, row);
}

CeilingSet Sustained(CeilingSet ceilings) {
  const auto slow_down = [](auto& rows) {
    for (auto& [key, row] : rows)
      if (row.sustained_per_second) row.per_second = *row.sustained_per_second;
  };
  slow_down(ceilings.flops);
  slow_down(ceilings.bytes);
  return ceilings;
}

std::string NowUtc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::string Fingerprint(const std::map<std::string, std::string>& facts) {
  std::uint64_t hash = kHashOfNothing;
  const auto add = [&](const std::string& text) {
    hash = HashOf({"\0", 1}, HashOf(text, hash));  // separator: "a", "bc" differs from "ab", "c"
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
  result["schema"] = kSchema;
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
  const JsonReader at(value, where);
  Machine machine;
  machine.device = at.NonEmptyText("device");
  machine.name = at.Text("name");
  machine.fingerprint = at.NonEmptyText("fingerprint");
  machine.measured_at = at.Text("measured_at");
  machine.facts = at.TextsByKey("facts");
  const auto caches = at.Object("cache_bytes");
  for (const auto& key : caches.Keys())
    machine.cache_bytes[LevelFrom(key, caches)] = caches.Positive(key);
  machine.issue_rate = at.OptionalPositive("issue_rate");
  if (at.Object("by_threads").Keys().empty())
    at.Refuse("by_threads", "the ceilings of at least one thread count");
  at.EachObject("by_threads", [&](const std::string& key, const JsonReader& set) {
    const int threads = ThreadsFromKey(key, set);
    auto& read = machine.by_threads[threads] = RoofsFrom(set);
    CurvesFrom(set, read);
  });
  RefuseOtherRoofs(at, AllThreads(machine));
  if (!at.Has("schema"))
    ConvertSchema1(machine);
  else if (at.Number("schema") != kSchema)
    at.Refuse("schema", fmt::format("{}, the schema of this version", kSchema));
  CheckNumbers(machine);
  return machine;
}

}  // namespace dlroof::machine
