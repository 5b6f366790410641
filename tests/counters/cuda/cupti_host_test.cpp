// The table of counters against CUPTI's host API, which needs neither a GPU nor a driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "counters/cuda/cupti_calls.h"
#include "counters/cupti/session.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cuda {
namespace {

std::string Unknown(CuptiCalls& api, const cupti::CuptiChip& chip, const cupti::CuptiSet& set) {
  std::string unknown;
  for (const auto* metric : cupti::MetricsOf(cupti::BuiltInCuptiTable(), set, chip)) {
    api.OpenHost(chip.name, {});
    if (!api.AddMetrics({metric->name})) unknown += metric->name + " ";
    api.CloseHost();
  }
  return unknown;
}

// Adds all metrics of a set at once, and one by one only if that fails.
TEST(CuptiTableByHostApi, EveryMetricExistsOnEveryChipThatListsIt) {
  CuptiCalls api;
  for (const auto& chip : cupti::BuiltInCuptiTable().chips) {
    for (const bool alone : {false, true}) {
      std::vector<std::string> names;
      for (const auto& set : cupti::BuiltInCuptiTable().sets)
        if (set.alone == alone)
          for (const auto* metric : cupti::MetricsOf(cupti::BuiltInCuptiTable(), set, chip))
            names.push_back(metric->name);
      if (names.empty()) continue;
      api.OpenHost(chip.name, {});
      const bool all = api.AddMetrics(names);
      api.CloseHost();
      if (all) continue;
      for (const auto& set : cupti::BuiltInCuptiTable().sets) {
        if (set.alone != alone) continue;
        EXPECT_EQ(Unknown(api, chip, set), "") << chip.name << " " << set.name;
      }
      EXPECT_TRUE(all) << chip.name << ": not in one configuration";
    }
  }
}

// A chip may have several peak metrics; the table has that of the fastest instruction.
TEST(CuptiTableByHostApi, AMetricThatAFamilyDoesNotListIsRefusedThere) {
  CuptiCalls api;
  for (const auto* chip : cupti::Representatives(cupti::BuiltInCuptiTable())) {
    for (const auto& metric : cupti::BuiltInCuptiTable().metrics) {
      const bool listed = std::ranges::count(metric.families, chip->family) > 0;
      if (listed || metric.set.rfind("peak.", 0) == 0) continue;
      // A host object that has refused a metric cannot be used any more.
      api.OpenHost(chip->name, {});
      EXPECT_FALSE(api.AddMetrics({metric.name})) << chip->name << " " << metric.name;
      api.CloseHost();
    }
  }
}

// Returns a metric's unit as CUPTI reports it.
std::string UnitOf(CUpti_Profiler_Host_Object* host, const std::string& metric) {
  auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_GetMetricProperties);
  params.pHostObject = host;
  params.pMetricName = metric.c_str();
  DLROOF_CUPTI(cuptiProfilerHostGetMetricProperties, params);
  return params.pDimUnit;
}

// Returns the FLOPs of an instruction by its name: hfma and ffma2 are two wide, a multiply-add
// is 2.
double FlopsOfInstruction(const std::string& metric) {
  if (metric.find("_op_") == std::string::npos) return 1;  // counted as instructions
  const bool fma = metric.find("fma") != std::string::npos;
  const bool wide =
      metric.find("_op_h") != std::string::npos || metric.find("2_pred") != std::string::npos;
  return (fma ? 2 : 1) * (wide ? 2 : 1);
}

TEST(CuptiTableByHostApi, EveryWeightIsTheSizeOfItsMetricsUnitOnEveryChip) {
  const std::map<std::string, double> sizes = {
      {"byte", 1},          {"l2_sector", 32}, {"sysl2_sector", 32},     {"l1tex_wavefront", 128},
      {"nanosecond", 1e-9}, {"math_op", 1},    {"math_op/gpc_cycle", 1}, {"gpc_cycle/second", 1}};
  int weights = 0;
  for (const auto& chip : cupti::BuiltInCuptiTable().chips) {
    auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip.name.c_str();
    DLROOF_CUPTI(cuptiProfilerHostInitialize, params);
    for (const auto& set : cupti::BuiltInCuptiTable().sets)
      for (const auto* metric : cupti::MetricsOf(cupti::BuiltInCuptiTable(), set, chip)) {
        const auto unit = UnitOf(params.pHostObject, metric->name);
        const auto size = sizes.find(unit);
        EXPECT_TRUE(size != sizes.end() || unit == "instruction") << metric->name << ": " << unit;
        EXPECT_EQ(metric->weight,
                  size == sizes.end() ? FlopsOfInstruction(metric->name) : size->second)
            << chip.name << ' ' << metric->name << " in " << unit;
        ++weights;
      }
    auto end = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize);
    end.pHostObject = params.pHostObject;
    cuptiProfilerHostDeinitialize(&end);
  }
  EXPECT_GT(weights, 500);
}

TEST(CuptiTableByHostApi, PcieSharesNoConfigurationWithTheOthers) {
  CuptiCalls api;
  api.OpenHost("GH100", {});
  EXPECT_FALSE(api.AddMetrics({"pcie__read_bytes.sum", "dram__bytes.sum"}));
  api.CloseHost();
}

std::vector<std::string> MetricsOfSets(const cupti::CuptiChip& chip,
                                       const std::vector<std::string>& sets) {
  std::vector<std::string> names;
  for (const auto& set : cupti::BuiltInCuptiTable().sets)
    if (std::ranges::count(sets, set.name) > 0)
      for (const auto* metric : cupti::MetricsOf(cupti::BuiltInCuptiTable(), set, chip))
        names.push_back(metric->name);
  return names;
}

// Returns a reason if the stored passes are of another version of CUPTI, which may need others.
std::optional<Reason> OtherCupti(CuptiCalls& api) {
  const auto version = api.Version();
  if (version == cupti::BuiltInStoredPasses().cupti) return std::nullopt;
  return Reason{"counters/cupti/tables/passes.json is of CUPTI " +
                cupti::BuiltInStoredPasses().cupti + ", this is " + version};
}

cupti::StoredPlan StoredPlanBy(CuptiCalls& api, const cupti::CuptiChip& chip,
                               const std::string& type) {
  std::vector<std::string> types;
  if (!type.empty()) types.push_back(type);
  const auto& table = cupti::BuiltInCuptiTable();
  const auto plan =
      cupti::PlanCounters(table, chip, types, {}, cupti::AskHostApi(api, chip.name, {}));
  cupti::StoredPlan stored{plan.passes, {}, {}};
  for (const auto& metric : plan.metrics)
    if (std::ranges::count(stored.counted, metric.set) == 0) stored.counted.push_back(metric.set);
  // The table already tells which counters the chip lacks.
  for (const auto& left_out : plan.left_out)
    if (cupti::HasCounters(table, chip, left_out.set)) stored.left_out.push_back(left_out.set);
  return stored;
}

TEST(CuptiTableByHostApi, DefaultSetsTakeThePassesThatAreStoredAndThreeAtMost) {
  CuptiCalls api;
  if (const auto reason = OtherCupti(api)) GTEST_SKIP() << reason->text;
  for (const auto* chip : cupti::Representatives(cupti::BuiltInCuptiTable())) {
    const auto stored = cupti::BuiltInStoredPasses().plans.find(chip->name);
    ASSERT_NE(stored, cupti::BuiltInStoredPasses().plans.end()) << chip->name;
    for (const auto& [type, plan] : stored->second) {
      const auto passes =
          cupti::AskHostApi(api, chip->name, {})(MetricsOfSets(*chip, plan.counted));
      EXPECT_EQ(passes, plan.passes) << chip->name << " " << type;
      EXPECT_LE(plan.passes, 3) << chip->name << " " << type;
    }
  }
}

// Tests the chips with the most passes; the file's generation covered the others.
TEST(CuptiTableByHostApi, PlansAreThoseThatAreStored) {
  CuptiCalls api;
  if (const auto reason = OtherCupti(api)) GTEST_SKIP() << reason->text;
  for (const auto& [chip, type] :
       std::vector<std::pair<std::string, std::string>>{{"GH100", "bf16"},
                                                        {"GH100", "fp16"},
                                                        {"GB100", "tf32"},
                                                        {"GB110", "fp8"},
                                                        {"TU116", ""}})
    EXPECT_EQ(StoredPlanBy(api, *cupti::FindChip(cupti::BuiltInCuptiTable(), chip), type),
              cupti::BuiltInStoredPasses().plans.at(chip).at(type))
        << chip << " " << type;
}

// Not a test: makes counters/cupti/tables/passes.json anew (--gtest_also_run_disabled_tests).
TEST(CuptiTableByHostApi, DISABLED_WriteStoredPasses) {
  CuptiCalls api;
  cupti::StoredPasses passes{.cupti = api.Version()};
  auto types = cupti::TensorTypes(cupti::BuiltInCuptiTable());
  types.insert(types.begin(), "");
  for (const auto* chip : cupti::Representatives(cupti::BuiltInCuptiTable()))
    for (const auto& type : types)
      if (type.empty() || cupti::HasCounters(cupti::BuiltInCuptiTable(), *chip, "tensor." + type))
        passes.plans[chip->name][type] = StoredPlanBy(api, *chip, type);
  const auto path = testing::TempDir() + "cupti_passes.json";
  std::ofstream(path) << cupti::ToJson(passes).dump(1) << '\n';
  std::cout << "wrote " << path << '\n';
}

TEST(CuptiHostApi, ABadChipIsOneSentence) {
  CuptiCalls api;
  EXPECT_THAT(fakes::RefusalOf<cupti::CuptiError>([&] { api.OpenHost("XX999", {}); }),
              testing::HasSubstr("does not know the chip"));
}

// Without a driver or GPU the source has a reason. With one it counts or has a reason.
TEST(CuptiCalls, WithoutADeviceOpeningIsOneSentenceAndNoCrash) {
  CuptiCalls api;
  std::string said;
  try {
    cupti::OpenCuptiDevice(api, cupti::BuiltInCuptiTable(), 0);
  } catch (const std::exception& error) {
    said = error.what();
    EXPECT_GT(said.size(), 20U) << said;
  }
  EXPECT_EQ(said.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace dlroof::cuda
