#include "ceilings/machine/machine_schema1.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dlroof::machine {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

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

TEST(Schema1, FactsBecomeFieldsOfTheirSet) {
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
}

TEST(Schema1, CeilingsHaveTheirMixAndReasons) {
  const auto set = MachineFromJson(Schema1Machine(), "m.json").by_threads.at(2);
  EXPECT_EQ(set.bytes.at(Level::kL1).mix, "load.avx2");
  EXPECT_EQ(set.flops.at("fp32.vector").mix, "");
  EXPECT_THAT(set.flops.at("fp32.vector").reasons, ElementsAre("a", "b"));
}

TEST(Schema1, TheRemarkAboutScalingLeavesTheText) {
  auto file = Schema1Machine();
  auto& ceiling = file["by_threads"]["2"]["flops"]["fp32.vector"];
  ceiling["how"] = "x, best of 3; each of 2 threads has 71 % of what one alone has";
  EXPECT_EQ(MachineFromJson(file, "m").by_threads.at(2).flops.at("fp32.vector").how,
            ceiling["how"].get<std::string>());
  ceiling["proof"] = {{"scaling", 0.71}};
  EXPECT_EQ(MachineFromJson(file, "m").by_threads.at(2).flops.at("fp32.vector").how,
            "x, best of 3");
}

TEST(Schema1, IsNotSearchedForInANewMachine) {
  auto machine = MachineFromJson(Schema1Machine(), "m.json");
  machine.facts["sustained.x"] = "a fact";
  EXPECT_EQ(MachineFromJson(ToJson(machine), "m.json"), machine);
}

}  // namespace
}  // namespace dlroof::machine
