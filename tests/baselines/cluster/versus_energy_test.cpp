#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "baselines/cluster/versus.h"
#include "baselines/cluster/versus_models.h"
#include "tests/fakes/small_run.h"

namespace dlroof::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto kMeasured = EnergyClass::kMeasured, kAssumed = EnergyClass::kAssumed;

energy::Energy Counted(double joules, double others = 0) {
  return {.joules = joules,
          .ci95 = {{0.9 * joules, 1.1 * joules}},
          .domains = {{"package-0", joules}},
          .seconds = 1,
          .window_seconds = 1,
          .calls = 3,
          .others_cpus = others,
          .from = "powercap",
          .covers = "packages"};
}

// A cluster whose record takes `seconds` and, if set, `joules`.
VersusCluster Side(const std::string& name, double seconds, std::optional<energy::Energy> energy,
                   const std::string& machine) {
  auto record = fakes::Measured("n1", 1);
  record.name = name;
  record.options.clear();
  record::SplitName(record);
  record.repetitions.assign(9, {.seconds = seconds, .iterations = 3});
  record.energy = std::move(energy);
  auto run = fakes::RunOf(machine, {record});
  run.file.machines[0].name = machine;
  run.file.machines[0].device = record.device;
  return {.where = machine, .run = roofline::PlaceRun(std::move(run.file))};
}

constexpr char kOnCpu[] = "Conv2D/cpu/onednn/fwd/f32/n1", kOnGpu[] = "Conv2D/gpu/cudnn/fwd/f32/n1";

Prices Watts(double cpu, std::optional<double> gpu) {
  Prices prices{.currency = "USD"};
  prices.kinds.push_back({.name = "Epyc", .per_node_hour = 1, .watts = cpu});
  prices.kinds.push_back({.name = "H200", .per_node_hour = 9, .devices = 8, .watts = gpu});
  return prices;
}

TEST(VersusEnergy, AMeasuredEnergyIsOnlyComparedWithAMeasuredOne) {
  const auto a = Side(kOnCpu, 6, Counted(600), "Epyc"), b = Side(kOnGpu, 2, Counted(150), "H200");
  const auto row = MakeVersus(a, b, {}).rows.at(0);
  EXPECT_EQ(row.energy_ratios.at(kMeasured).value, 4);
  const double distance = std::hypot(std::log(600 / 540.0), std::log(165 / 150.0));
  EXPECT_NEAR(row.energy_ratios.at(kMeasured).ci95->first, 4 * std::exp(-distance), 1e-9);
  EXPECT_FALSE(row.energy_ratios.contains(kAssumed));
}

// 500 W x 6 s; 8000 W of 8 devices, 2 s on one of them.
TEST(VersusEnergy, AnAssumedOneIsTheWattsOfTheFileOfPricesByItsShareOfTheNode) {
  const auto a = Side(kOnCpu, 6, {}, "Epyc"), b = Side(kOnGpu, 2, {}, "H200");
  const auto prices = Watts(500, 8000);
  const auto row = MakeVersus(a, b, {.prices = &prices}).rows.at(0);
  EXPECT_EQ(row.a.energies.at(kAssumed).value, 3000);
  EXPECT_EQ(row.b.energies.at(kAssumed).value, 2000);
  EXPECT_EQ(row.energy_ratios.at(kAssumed).value, 1.5);
  EXPECT_FALSE(row.a.energies.contains(kMeasured));
}

TEST(VersusEnergy, ClassesAreNeverMixedInOneRatio) {
  const auto a = Side(kOnCpu, 6, Counted(600), "Epyc"), b = Side(kOnGpu, 2, {}, "H200");
  const auto gpu_alone = Watts(500, 8000);
  auto prices = gpu_alone;
  prices.kinds[0].watts.reset();
  const auto row = MakeVersus(a, b, {.prices = &prices}).rows.at(0);
  EXPECT_TRUE(row.a.energies.contains(kMeasured));
  EXPECT_TRUE(row.b.energies.contains(kAssumed));
  EXPECT_THAT(row.energy_ratios, IsEmpty());
  // With watts on both sides there is an assumed ratio, but no measured one.
  const auto both = MakeVersus(a, b, {.prices = &gpu_alone}).rows.at(0);
  EXPECT_EQ(both.energy_ratios.size(), 1u);
  EXPECT_EQ(both.energy_ratios.at(kAssumed).value, 1.5);
}

TEST(VersusEnergy, OtherProgramsLeaveTheirMark) {
  const auto a = Side(kOnCpu, 6, Counted(600, 0.7), "Epyc"),
             b = Side(kOnGpu, 2, Counted(150), "H200");
  EXPECT_TRUE(MakeVersus(a, b, {}).rows.at(0).energy_ratios.at(kMeasured).noisy);
}

TEST(QuantitySum, AddsDistancesAsSquaresAndHasAnIntervalOnlyIfAllHave) {
  QuantitySum sum;
  EXPECT_FALSE(sum.Total());
  sum.Add({10, {{7, 13}}}, 2);
  sum.Add({20, {{16, 24}}}, 1);
  EXPECT_EQ(sum.Total()->value, 40);
  // Distances 2 x 3 and 4: the root of 52.
  EXPECT_NEAR(sum.Total()->ci95->first, 40 - std::sqrt(52.0), 1e-12);
  EXPECT_NEAR(sum.Total()->ci95->second, 40 + std::sqrt(52.0), 1e-12);
  EXPECT_FALSE(sum.Total()->noisy);
  sum.Add({1, {}, true}, 1);
  EXPECT_FALSE(sum.Total()->ci95);
  EXPECT_TRUE(sum.Total()->noisy);
}

TEST(VersusModels, HaveAClassOnlyIfEveryLayerHas) {
  auto a = Side(kOnCpu, 6, Counted(600), "Epyc");
  auto file = a.run.file;
  file.records.push_back(file.records[0]);
  file.records[1].name = "Conv2D/cpu/onednn/fwd/f32/n2";
  record::SplitName(file.records[1]);
  file.records[1].energy.reset();
  a.run = roofline::PlaceRun(std::move(file));
  const auto prices = Watts(500, {});
  const auto model = ModelFromNames("net", {{kOnCpu, 1}, {"Conv2D/cpu/onednn/fwd/f32/n2", 1}}, {});
  const auto rows = MakeVersusModels(a, a, {model}, {.prices = &prices});
  EXPECT_FALSE(rows.at(0).energies_a.contains(kMeasured));
  EXPECT_EQ(rows[0].energies_a.at(kAssumed).value, 6000);
}

TEST(VersusModels, AddEnergiesOfLayersInBoth) {
  const auto a = Side(kOnCpu, 6, Counted(600), "Epyc"), b = Side(kOnGpu, 2, Counted(150), "H200");
  const auto model = ModelFromNames("net", {{kOnCpu, 3}}, {});
  const auto prices = Watts(500, {});
  const auto rows = MakeVersusModels(a, b, {model}, {.prices = &prices});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].energies_a.at(kMeasured).value, 1800);
  EXPECT_EQ(rows[0].energies_b.at(kMeasured).value, 450);
  EXPECT_EQ(rows[0].energy_ratios.at(kMeasured).value, 4);
  EXPECT_EQ(rows[0].energies_a.at(kAssumed).value, 9000);
  EXPECT_FALSE(rows[0].energy_ratios.contains(kAssumed));
}

TEST(WriteVersus, ShowsEnergiesByTheirClass) {
  const auto a = Side(kOnCpu, 6, Counted(600), "Epyc"), b = Side(kOnGpu, 2, Counted(150), "H200");
  const auto prices = Watts(500, 8000);
  VersusReport report{.a = &a, .b = &b, .versus = MakeVersus(a, b, {.prices = &prices})};
  std::ostringstream table, csv;
  document::Write(VersusDocument(report), 0, table);
  EXPECT_THAT(table.str(), AllOf(HasSubstr("A/B energy  A energy (assumed)"), HasSubstr("600 J"),
                                 HasSubstr("3.00 kJ"), HasSubstr("not measured, and never"),
                                 HasSubstr("A: powercap: packages. B: powercap: packages")));
  WriteVersusCsv(report, csv);
  EXPECT_THAT(csv.str(), AllOf(HasSubstr("differences,a_measured_joules,b_measured_joules"),
                               HasSubstr(",600,150,4,3000,2000,1.5,,\n")));
  const auto row = VersusJson(report)["rows"][0];
  EXPECT_EQ(row["a"]["energy"]["measured"]["joules"], 600);
  EXPECT_EQ(row["a"]["energy"]["measured"]["covers"], "packages");
  EXPECT_EQ(row["energy_ratio"]["assumed"]["a_over_b"], 1.5);
}

TEST(WriteVersus, WithoutEnergyHasNoColumnOfIt) {
  const auto a = Side(kOnCpu, 6, {}, "Epyc"), b = Side(kOnGpu, 2, {}, "H200");
  VersusReport report{.a = &a, .b = &b, .versus = MakeVersus(a, b, {})};
  std::ostringstream table;
  document::Write(VersusDocument(report), 0, table);
  EXPECT_THAT(table.str(), Not(HasSubstr("energy")));
  EXPECT_THAT(VersusJson(report).dump(), Not(HasSubstr("energy")));
}

}  // namespace
}  // namespace dlroof::cluster
