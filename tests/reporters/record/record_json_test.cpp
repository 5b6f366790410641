#include "reporters/record/record_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporters/record/google_benchmark.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"

namespace dlroof::record {
namespace {

using testing::HasSubstr;

nlohmann::json Plain() {
  return {{"joules", 2.0}, {"seconds", 0.5},     {"window_seconds", 0.5},
          {"calls", 3},    {"from", "powercap"}, {"covers", "packages"}};
}

Record Read(const nlohmann::json& energy) {
  return RecordFromJson(nlohmann::json{{"name", "x"}, {"energy", energy}}.dump(), "run.json");
}

std::string RefusedWith(const char* key, const nlohmann::json& value) {
  auto energy = Plain();
  energy[key] = value;
  return fakes::RefusalOf([&] { Read(energy); });
}

TEST(EnergyJson, RoundTripsInARecord) {
  Record record{.name = "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4"};
  SplitName(record);
  record.energy = energy::Energy{.joules = 0.75,
                                 .ci95 = {{0.5, 1.0}},
                                 .domains = {{"package-0", 0.5}, {"dram-0", 0.25}},
                                 .beside = {{"psys", 1.5}},
                                 .seconds = 0.0625,
                                 .window_seconds = 0.5,
                                 .calls = 24,
                                 .others_cpus = 0.25,
                                 .from = "powercap",
                                 .covers = "packages and DRAM"};
  const auto json = ToJson(record);
  const auto read = RecordFromJson(json.dump(), "x");
  EXPECT_EQ(read.energy, record.energy);
  EXPECT_EQ(ToJson(read), json);
}

TEST(EnergyJson, ReportsThePlaceOfWrongMembers) {
  EXPECT_THAT(RefusedWith("joules", -1),
              HasSubstr("run.json: energy: 'joules': expected joules from 1e-12"));
  EXPECT_THAT(RefusedWith("joules", 0), HasSubstr("expected joules from 1e-12"));
  EXPECT_THAT(RefusedWith("ci95", {1}), HasSubstr("'ci95': expected two rising numbers above 0"));
  EXPECT_THAT(RefusedWith("ci95", {3, 1}), HasSubstr("two rising numbers"));
  EXPECT_THAT(RefusedWith("ci95", {1, 2, 3}), HasSubstr("two rising numbers"));
  EXPECT_THAT(RefusedWith("domains", {{"dram", "x"}}), HasSubstr("energy: domains: 'dram'"));
  auto without = Plain();
  without.erase("from");
  EXPECT_THAT(fakes::RefusalOf([&] { Read(without); }), HasSubstr("'from'"));
}

TEST(EnergyJson, IdlePowerOfAGpuIsBesideThatOfTheCpu) {
  const energy::IdlePower cpu{12, {{"package-0", 12}}, 1, "powercap", "packages"},
      gpu{70, {{"gpu", 70}}, 2, "nvml", "the GPU's board"};
  auto both = ToJson(energy::IdlePowers{cpu, gpu});
  EXPECT_EQ(ToJson(energy::IdlePowers{{}, gpu}), (nlohmann::json{{"gpu", both["gpu"]}}));
  EXPECT_EQ(both["gpu"]["idle_watts"], 70);
  both.erase("gpu");
  EXPECT_EQ(both, (nlohmann::json{{"idle_watts", 12.0},
                                  {"idle_domains", {{"package-0", 12.0}}},
                                  {"idle_seconds", 1.0},
                                  {"from", "powercap"},
                                  {"covers", "packages"}}));
  EXPECT_TRUE(ToJson(energy::IdlePowers{}).empty());
}

}  // namespace
}  // namespace dlroof::record
