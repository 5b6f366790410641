#include "ceilings/machine/machine.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "tests/fakes/refusal.h"

namespace dlroof::machine {
namespace {

using nlohmann::json;

// A rate, a clock or a number of bytes that can be (numbers.h), and a share.
double RandomRate(std::mt19937& random) {
  return std::exp(std::uniform_real_distribution<double>(14, 23)(random));
}
double RandomShare(std::mt19937& random) {
  return std::uniform_real_distribution<double>(0.25, 1)(random);
}

std::string RandomText(std::mt19937& random) {
  static const std::vector<std::string> kTexts = {"",
                                                  "avx512 fma",
                                                  "two\nlines",
                                                  "\"quoted\" \\ </script>",
                                                  "Grüße, 机器",
                                                  std::string(300, 'x')};
  return kTexts[random() % kTexts.size()];
}

Ceiling RandomCeiling(std::mt19937& random) {
  Ceiling ceiling;
  ceiling.per_second = RandomRate(random);
  ceiling.threads = 1 + static_cast<int>(random() % 300);
  ceiling.how = RandomText(random);
  ceiling.status = random() % 2 == 0   ? CeilingStatus::kValidated
                   : random() % 2 == 0 ? CeilingStatus::kSpecified
                                       : CeilingStatus::kNotValidated;
  ceiling.mix = RandomText(random);
  for (auto i = random() % 3; i > 0; --i) ceiling.reasons.push_back(RandomText(random));
  if (random() % 2 == 0) ceiling.clock_hz = RandomRate(random);
  if (random() % 2 == 0) {
    const double low = RandomShare(random) * ceiling.per_second;
    ceiling.ci95 = {low, low * 1.5};
  }
  if (random() % 2 == 0) ceiling.sustained_per_second = RandomRate(random);
  if (random() % 2 == 0) ceiling.moved_per_named = RandomShare(random);
  for (const auto member :
       {&Validation::doubling, &Validation::spread, &Validation::drift, &Validation::clean,
        &Validation::scaling, &Validation::per_cycle, &Validation::per_cycle_expected})
    if (random() % 3 == 0) ceiling.validation.*member = RandomShare(random);
  if (ceiling.IsValidated()) {  // else its rate would have to follow from them
    ceiling.clock_hz.reset();
    ceiling.validation.scaling.reset();
  }
  ceiling.validation.result = RandomText(random);
  ceiling.unbounded = random() % 4 == 0;
  return ceiling;
}

CeilingSet RandomSet(std::mt19937& random) {
  CeilingSet set;
  for (const char* pipe : {"fp32.vector", "fp32.vector.avx2", "bf16.matrix", "int8.vector"})
    if (random() % 2 == 0) set.flops[pipe] = RandomCeiling(random);
  for (const Level level : AllLevels())
    if (random() % 2 == 0) set.bytes[level] = RandomCeiling(random);
  if (random() % 2 == 0) set.launch_seconds = 1 / RandomRate(random);
  for (const char* mix : {"l1.load.avx2", "dram.copy-nt.avx512"})
    if (random() % 2 == 0) set.mixes[mix] = RandomCeiling(random);
  if (random() % 2 == 0) set.overheads = {{"fork-join", RandomRate(random)}, {"timer", 1e-8}};
  for (auto i = random() % 3; i > 0; --i)
    set.sweep.push_back({RandomRate(random), RandomRate(random)});
  for (const Level level : {Level::kL1, Level::kDram})
    for (auto i = random() % 3; i > 0; --i)
      set.ridges[level].push_back({RandomRate(random), RandomRate(random)});
  set.effort = RandomText(random);
  for (auto* texts : {&set.absent, &set.costs_how, &set.sustained})
    if (random() % 2 == 0) (*texts)[RandomText(random)] = RandomText(random);
  if (random() % 2 == 0) set.edges["l1"] = {RandomText(random), random() % 2 == 0};
  return set;
}

Machine RandomMachine(std::mt19937& random) {
  Machine machine{"cpu", RandomText(random), "0123456789abcdef", "2026-01-02T03:04:05Z", {}, {},
                  {}};
  for (const Level level : {Level::kL1, Level::kL2, Level::kL3})
    if (random() % 2 == 0) machine.cache_bytes[level] = RandomRate(random);
  for (const int threads : {1, 2, 10, 128})
    if (random() % 2 == 0) machine.by_threads[threads] = RandomSet(random);
  machine.by_threads[1] = RandomSet(random);
  machine.facts["cpu.name"] = RandomText(random);
  if (random() % 2 == 0) machine.issue_rate = static_cast<double>(1 + random() % 64) / 8;
  if (random() % 2 == 0)
    machine.by_threads.begin()->second.best_state = {RandomShare(random), RandomShare(random)};
  return machine;
}

json SmallMachine() {
  const json flops = {{"fp32.vector",
                       {{"per_second", 4.0},
                        {"threads", 2},
                        {"how", "x"},
                        {"proved", true},
                        {"ci95", {3.0, 3.5}},
                        {"clock_hz", 1e9},
                        {"reason", "r"}}}};
  const json bytes = {
      {"dram", {{"per_second", 2.0}, {"threads", 2}, {"how", "y"}, {"proved", false}}}};
  const json set = {{"flops", flops}, {"bytes", bytes}, {"launch_seconds", 1e-6}};
  json machine = set;
  machine.update({{"device", "cpu"},
                  {"name", "n"},
                  {"fingerprint", "f"},
                  {"measured_at", "t"},
                  {"facts", {{"cpu.name", "n"}}},
                  {"cache_bytes", {{"l1", 32768}}},
                  {"by_threads", {{"2", set}}}});
  return machine;
}

std::string Refusal(const json& machine) {
  return fakes::RefusalOf([&] { MachineFromJson(machine, "m.json"); });
}

TEST(MachineJson, ReadsBackWhatWasWrittenWithTheSetOfAllThreadsOnTop) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Machine machine = RandomMachine(random);
    const auto text = ToJson(machine).dump();
    EXPECT_EQ(MachineFromJson(json::parse(text), "m.json"), machine) << text;
  }
  std::mt19937 more(2);
  Machine machine = RandomMachine(more);
  machine.by_threads = {{1, RandomSet(more)}, {8, RandomSet(more)}, {12, {}}};
  machine.by_threads[12].launch_seconds = 3e-6;
  machine.by_threads[12].bytes[Level::kDram].per_second = 7;
  const auto written = ToJson(machine);
  EXPECT_EQ(written["launch_seconds"], 3e-6);
  EXPECT_EQ(written["bytes"]["dram"]["per_second"], 7);
  EXPECT_EQ(written["flops"], json::object());
  EXPECT_EQ(written["by_threads"].size(), 3);
  EXPECT_THROW(ToJson(Machine{}), std::logic_error);
  Machine least{"cpu", "n", "f", "t", {}, {}, {}};
  least.by_threads[1].flops["fp32.vector"].per_second = 1;
  EXPECT_FALSE(ToJson(least).contains("launch_seconds"));
  EXPECT_EQ(ToJson(least)["flops"]["fp32.vector"].size(),
            4);  // per_second, threads, how, validated
}

TEST(MachineFromJson, IgnoresUnknownKeysAndNamesAMissingOne) {
  auto machine = SmallMachine();
  machine["from_a_later_version"] = {1, 2};
  EXPECT_EQ(Refusal(machine), "accepted");
  for (const char* key : {"device", "name", "fingerprint", "measured_at", "facts", "cache_bytes",
                          "by_threads", "flops", "bytes"}) {
    auto lacking = SmallMachine();
    lacking.erase(key);
    EXPECT_THAT(Refusal(lacking),
                testing::StartsWith(std::string("m.json: '") + key + "': expected"))
        << key;
    EXPECT_THAT(Refusal(lacking), testing::EndsWith(", got nothing"));
  }
}

TEST(MachineFromJson, SaysWhereWhatAndWhatWasExpected) {
  struct Row {
    const char* pointer;
    json value;
    const char* message;
  };
  const Row rows[] = {
      {"/device", 5, "m.json: 'device': expected a text, got number"},
      {"/fingerprint", "", "m.json: 'fingerprint' is empty"},
      {"/facts/cpu.name", nullptr, "m.json: facts: 'cpu.name': expected a text, got null"},
      {"/cache_bytes/l1", 0, "m.json: cache_bytes: 'l1': expected a number above 0, got 0"},
      {"/cache_bytes/l7", 1,
       "m.json: cache_bytes: 'l7': no such memory level; expected l1, l2, l3, dram or host"},
      {"/by_threads", json::array(), "m.json: 'by_threads': expected an object, got array"},
      {"/by_threads", json::object(),
       "m.json: 'by_threads': expected the ceilings of at least one thread count, got object"},
      {"/by_threads/02", json::object(),
       "m.json: by_threads: 02: expected a number of threads as key, at least 1"},
      {"/by_threads/2/flops/fp32.vector/per_second", -1,
       "m.json: by_threads: 2: flops: fp32.vector: 'per_second': expected a rate per "
       "second from 1 to 1e+18, got -1"},
      {"/by_threads/2/flops/fp32.vector/ci95",
       {3, 2},
       "m.json: by_threads: 2: flops: fp32.vector: 'ci95': expected the lower end first, got "
       "array"},
      {"/by_threads/2/flops/fp32.vector/given", true,
       "m.json: by_threads: 2: flops: fp32.vector: 'proved' (validated): expected false for a "
       "specified roof ('given'), got true"},
      {"/by_threads/2/flops/fp32.vector/threads", 1.5,
       "m.json: by_threads: 2: flops: fp32.vector: 'threads': expected a whole number of at least "
       "1, got 1.5"},
      {"/flops/fp31.vector", json::object(),
       "m.json: flops: fp31.vector: no such pipe; expected <type>.<unit>, such as fp32.vector"},
      {"/launch_seconds", 2e-6,
       "m.json: \"flops\", \"bytes\" and \"launch_seconds\" differ from those of all threads in "
       "\"by_threads\"; expected the same"},
  };
  for (const auto& row : rows) {
    auto machine = SmallMachine();
    machine[json::json_pointer(row.pointer)] = row.value;
    EXPECT_EQ(Refusal(machine), row.message) << row.pointer;
  }
}

TEST(MachineFromJson, TakesTheRoofsFromTheSetOfAllThreadsAndRefusesASchemaThatItDoesNotKnow) {
  auto machine = SmallMachine();
  for (const char* key : {"flops", "bytes", "launch_seconds"}) machine.erase(key);
  EXPECT_EQ(MachineFromJson(machine, "m.json"), MachineFromJson(SmallMachine(), "m.json"));
  machine["launch_seconds"] = 1e-6;
  EXPECT_EQ(Refusal(machine), "m.json: 'flops': expected an object, got nothing");
  auto later = SmallMachine();
  later["schema"] = 3;
  EXPECT_THAT(Refusal(later), testing::StartsWith("m.json: 'schema': expected 2"));
}

// Every node replaced by every kind of value: accepted or refused in one sentence, nothing else.
TEST(MachineFromJson, SurvivesEveryMutationOfEveryNode) {
  json replacements =
      json::parse(R"([null, true, -1, 0, 1.5, 1e300, "", "text", [], [1, "a"], {}, {"l1": 1}])");
  replacements.push_back(std::string(5000, 'y'));
  replacements.push_back("\xff\xfe");
  int refused = 0;
  const auto flat = SmallMachine().flatten();
  for (const auto& leaf : flat.items()) {
    for (auto pointer = json::json_pointer(leaf.key());; pointer = pointer.parent_pointer()) {
      for (const auto& replacement : replacements) {
        auto machine = SmallMachine();
        machine[pointer] = replacement;
        const auto message = Refusal(machine);
        if (message == "accepted") continue;
        ++refused;
        EXPECT_TRUE(message.starts_with("m.json")) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        EXPECT_LT(message.size(), 300) << message;
      }
      if (pointer.empty()) break;
    }
  }
  EXPECT_GT(refused, 200);
}

TEST(Fingerprint, DependsOnStableFactsOnlyAndKeepsKeysAndTextsApartAndIsFnv1aInSixteenHexDigits) {
  const std::map<std::string, std::string> facts = {{"cpu.name", "A"}, {"topology.l1", "B"}};
  auto more = facts;
  more["effort.1"] = "quick";
  more["memory"] = "1 GB";
  EXPECT_EQ(Fingerprint(more), Fingerprint(facts));
  for (const char* key : {"cpu.name", "cpu.other", "topology.l1", "gpu.name"}) {
    auto other = facts;
    other[key] = "C";
    EXPECT_NE(Fingerprint(other), Fingerprint(facts)) << key;
  }
  EXPECT_NE(Fingerprint({{"cpu.a", "bc"}}), Fingerprint({{"cpu.ab", "c"}}));
  EXPECT_NE(Fingerprint({{"cpu.a", "b"}, {"cpu.c", "d"}}), Fingerprint({{"cpu.a", "bcpu.cd"}}));
  // FNV-1a of nothing is its offset basis; files that people keep depend on this never changing.
  EXPECT_EQ(Fingerprint({}), "cbf29ce484222325");
  EXPECT_THAT(Fingerprint({{"cpu.name", "x"}}), testing::MatchesRegex("[0-9a-f]{16}"));
}

TEST(ForThreads, FindsJustThatCount) {
  Machine machine;
  machine.by_threads[4].launch_seconds = 1;
  EXPECT_EQ(ForThreads(machine, 4), &machine.by_threads[4]);
  EXPECT_EQ(ForThreads(machine, 2), nullptr);
}

using nlohmann::json;
using testing::ElementsAre, testing::IsEmpty, testing::Pair, testing::UnorderedElementsAre;

json Schema1Ceiling(const std::string& how) {
  return {{"per_second", 4.0}, {"threads", 2}, {"how", how}, {"proved", false}, {"reason", "a; b"}};
}

json Schema1Machine() {
  const json two = {{"flops", {{"fp32.vector", Schema1Ceiling("x, y")}}},
                    {"bytes", {{"l1", Schema1Ceiling("load.avx2, the best of 4 mixes: x")}}}};
  return {{"device", "cpu"},
          {"name", "n"},
          {"fingerprint", "f"},
          {"measured_at", "t"},
          {"facts",
           {{"cpu.name", "n"},
            {"effort.1", "quick"},
            {"effort.2", "full"},
            {"effort.4", "full"},
            {"absent.l3.load.avx2.threads.1", "no memory"},
            {"launch.threads.2", "eltwise"},
            {"sweep.l2.threads.1", "hwloc says 1 MiB: they agree"},
            {"sweep.l3.threads.2", "hwloc says 9 MiB: they disagree"},
            {"sustained.fp32.vector.avx2", "0.98 of the burst"},
            {"live_check", "agrees"}}},
          {"cache_bytes", json::object()},
          {"by_threads", {{"1", two}, {"2", two}}}};
}

TEST(Schema1, FactsBecomeFieldsAndTheRemarkAboutScalingLeavesTheText) {
  const auto machine = MachineFromJson(Schema1Machine(), "m.json");
  // No set has 4 threads.
  EXPECT_THAT(machine.facts, UnorderedElementsAre(Pair("cpu.name", "n"), Pair("effort.4", "full"),
                                                  Pair("live_check", "agrees")));
  const auto &one = machine.by_threads.at(1), &two = machine.by_threads.at(2);
  EXPECT_EQ(one.effort, "quick");
  EXPECT_EQ(two.effort, "full");
  EXPECT_THAT(one.absent, ElementsAre(Pair("l3.load.avx2", "no memory")));
  EXPECT_THAT(two.absent, IsEmpty());
  EXPECT_THAT(two.costs_how, ElementsAre(Pair("launch", "eltwise")));
  EXPECT_FALSE(one.edges.at("l2").disagrees);
  EXPECT_TRUE(two.edges.at("l3").disagrees);
  EXPECT_THAT(two.sustained, ElementsAre(Pair("fp32.vector.avx2", "0.98 of the burst")));
  const auto set = MachineFromJson(Schema1Machine(), "m.json").by_threads.at(2);
  EXPECT_EQ(set.bytes.at(Level::kL1).mix, "load.avx2");
  EXPECT_EQ(set.flops.at("fp32.vector").mix, "");
  EXPECT_THAT(set.flops.at("fp32.vector").reasons, ElementsAre("a", "b"));
  auto file = Schema1Machine();
  auto& ceiling = file["by_threads"]["2"]["flops"]["fp32.vector"];
  ceiling["how"] = "x, best of 3; each of 2 threads has 71 % of what one alone has";
  EXPECT_EQ(MachineFromJson(file, "m").by_threads.at(2).flops.at("fp32.vector").how,
            ceiling["how"].get<std::string>());
  ceiling["proof"] = {{"scaling", 0.71}};
  EXPECT_EQ(MachineFromJson(file, "m").by_threads.at(2).flops.at("fp32.vector").how,
            "x, best of 3");
  auto scaled = MachineFromJson(Schema1Machine(), "m.json");
  scaled.facts["sustained.x"] = "a fact";
  EXPECT_EQ(MachineFromJson(ToJson(scaled), "m.json"), scaled);
}

}  // namespace
}  // namespace dlroof::machine
