#include "ceilings/machine/machine.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/fakes/ceilings.h"
#include "tests/fakes/refusal.h"

namespace dlroof::machine {
namespace {

using nlohmann::json;

// A ceiling with all members set.
Ceiling FullCeiling(double per_second) {
  return {.per_second = per_second,
          .ci95 = {{0.8 * per_second, 0.9 * per_second}},
          .sustained_per_second = per_second / 3,
          .sustained_clock_hz = 2e9,
          .moved_per_named = 1.5,
          .threads = 3,
          .how = "two\nlines, \"quoted\" \\ </script>, Grüße, 机器",
          .mix = "copy.avx2",
          .clock_hz = 3e9,
          .unbounded = true,
          .reasons = {"one", ""},
          .validation = {.doubling = 2,
                         .spread = 0.1,
                         .drift = 0.2,
                         .clean = 0.3,
                         .scaling = 0.4,
                         .per_cycle = 31,
                         .per_cycle_expected = 32,
                         .result = "right"},
          .visits = {{.at = "t", .per_second = 2},
                     {.at = "u",
                      .per_second = 3,
                      .clean = 4,
                      .clock_hz = 3e9,
                      .per_cycle = 31,
                      .per_cycle_expected = 32,
                      .validated = true}}};
}

// A set with all members set.
CeilingSet FullSet() {
  return {.flops = {{"fp32.vector", FullCeiling(1e12)}, {"bf16.matrix", fakes::Validated(5)}},
          .bytes = {{Level::kL1, FullCeiling(1e10)}, {Level::kHost, fakes::Specified(6)}},
          .mixes = {{"dram.copy-nt.avx512", FullCeiling(1e9)}},
          .launch_seconds = 1e-6,
          .overheads = {{"fork-join", 1e-6}, {"timer", 1e-8}},
          .best_state = {4, 1e-7},
          .sweep = {{1024, 2e9}, {2048, 1e9}},
          .ridges = {{Level::kDram, {{0.5, 1e9}, {1, 2e9}}}},
          .effort = "full",
          .absent = {{"dram.load.avx2", "why"}},
          .costs_how = {{"launch", "eltwise"}},
          .sustained = {{"fp32.vector", "0.9 of the burst"}},
          .edges = {{"l1", {"they disagree", true}}}};
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
  Machine machine{"cpu", "Some CPU", "0123456789abcdef", "2026-01-02T03:04:05Z", {}, {}, {}, 4};
  machine.cache_bytes[Level::kL1] = 32768;
  machine.facts["cpu.name"] = "Some CPU";
  machine.by_threads = {{1, FullSet()}, {8, FullSet()}, {12, {}}};
  EXPECT_EQ(MachineFromJson(json::parse(ToJson(machine).dump()), "m.json"), machine);
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
  const std::tuple<const char*, json, const char*> rows[] = {
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
       "\"by_threads\"; expected the same"}};
  for (const auto& [pointer, value, message] : rows) {
    auto machine = SmallMachine();
    machine[json::json_pointer(pointer)] = value;
    EXPECT_EQ(Refusal(machine), message) << pointer;
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

TEST(MachineFromJson, ACeilingWhoseNumbersContradictEachOtherIsNotValidated) {
  const auto row = [](const char* patch) {
    auto machine = SmallMachine();
    for (const char* key : {"flops", "bytes", "launch_seconds"}) machine.erase(key);
    auto& ceiling = machine["by_threads"]["2"]["flops"]["fp32.vector"];
    ceiling = json::parse(R"({"per_second": 128e9, "threads": 2, "how": "x", "proved": true,
        "ci95": [120e9, 127e9], "clock_hz": 1e9, "sustained_per_second": 120e9, "proof":
        {"doubling": 2.03, "spread": 0.05, "clean": 0.8, "per_cycle": 64,
         "per_cycle_expected": 64}})");
    ceiling.merge_patch(json::parse(patch));
    return MachineFromJson(machine, "m.json").by_threads.at(2).flops.at("fp32.vector");
  };
  EXPECT_TRUE(row("{}").IsValidated());
  const std::pair<const char*, const char*> cases[] = {
      {R"({"per_second": 384e9})", "times the rate per cycle x clock"},
      {R"({"per_second": 384e9, "clock_hz": null, "proof": null})", "far above the interval"},
      {R"({"per_second": 384e9, "ci95": [360e9, 380e9], "proof": {"per_cycle": 192}})",
       "its rate per cycle is 3 times a possible one"},
      {R"({"proof": {"doubling": 4}})", "time of the work is 4, not from 1.8 to 2.2"},
      {R"({"proof": {"spread": 1000}})", "its spread is 1e+03"},
      {R"({"proof": {"clean": 0}})", "its share of clean repetitions is 0"},
      {R"({"sustained_per_second": 360e9})", "its sustained rate is 2.81 times its rate"}};
  for (const auto& [patch, reason] : cases) {
    const auto ceiling = row(patch);
    EXPECT_FALSE(ceiling.IsValidated()) << patch;
    EXPECT_THAT(ceiling.ReasonText(), testing::HasSubstr(reason)) << patch;
  }
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
  EXPECT_EQ(two.bytes.at(Level::kL1).mix, "load.avx2");
  EXPECT_EQ(two.flops.at("fp32.vector").mix, "");
  EXPECT_THAT(two.flops.at("fp32.vector").reasons, ElementsAre("a", "b"));
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
