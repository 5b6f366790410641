// The table of counters against CUPTI's host API, which needs neither a GPU nor a driver.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/cuda/cupti_calls.h"
#include "counters/gpu/session.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cuda {
namespace {

std::string Unknown(CuptiCalls& api, const gpu::CuptiChip& chip, const gpu::CuptiSet& set) {
  std::string unknown;
  for (const auto* metric : gpu::MetricsOf(gpu::BuiltInCuptiTable(), set, chip)) {
    api.OpenHost(chip.name, {});
    if (!api.AddMetrics({metric->name})) unknown += metric->name + " ";
    api.CloseHost();
  }
  return unknown;
}

// Adds all metrics of a set at once, and one by one only if that fails.
TEST(CuptiTableByHostApi, EveryMetricExistsOnEveryChipThatListsIt) {
  CuptiCalls api;
  for (const auto& chip : gpu::BuiltInCuptiTable().chips) {
    for (const bool alone : {false, true}) {
      std::vector<std::string> names;
      for (const auto& set : gpu::BuiltInCuptiTable().sets)
        if (set.alone == alone)
          for (const auto* metric : gpu::MetricsOf(gpu::BuiltInCuptiTable(), set, chip))
            names.push_back(metric->name);
      if (names.empty()) continue;
      api.OpenHost(chip.name, {});
      const bool all = api.AddMetrics(names);
      api.CloseHost();
      if (all) continue;
      for (const auto& set : gpu::BuiltInCuptiTable().sets) {
        if (set.alone != alone) continue;
        EXPECT_EQ(Unknown(api, chip, set), "") << chip.name << " " << set.name;
      }
      EXPECT_TRUE(all) << chip.name << ": not in one configuration";
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
  if (metric.find("_sass_") == std::string::npos) return 1;  // counted as instructions
  const bool fma = metric.find("fma") != std::string::npos;
  const bool wide =
      metric.find("_op_h") != std::string::npos || metric.find("2_pred") != std::string::npos;
  return (fma ? 2 : 1) * (wide ? 2 : 1);
}

TEST(CuptiTableByHostApi, EveryWeightIsTheSizeOfItsMetricsUnitOnEveryChip) {
  const std::map<std::string, double> sizes = {
      {"byte", 1},          {"l2_sector", 32}, {"sysl2_sector", 32},   {"l1tex_wavefront", 128},
      {"nanosecond", 1e-9}, {"math_op", 1},    {"gpc_cycle/second", 1}};
  int weights = 0;
  for (const auto& chip : gpu::BuiltInCuptiTable().chips) {
    auto params = DLROOF_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip.name.c_str();
    DLROOF_CUPTI(cuptiProfilerHostInitialize, params);
    for (const auto& set : gpu::BuiltInCuptiTable().sets)
      for (const auto* metric : gpu::MetricsOf(gpu::BuiltInCuptiTable(), set, chip)) {
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

bool HasCounters(const gpu::CuptiChip& chip, const std::string& set) {
  return std::ranges::any_of(gpu::BuiltInCuptiTable().metrics, [&](const auto& metric) {
    return metric.set == set && std::ranges::count(metric.families, chip.family) > 0;
  });
}

// Every type that a backend of a GPU may accept, and a problem of each operator and direction.
std::vector<std::string> AllTypes() {
  const std::vector<std::string> elements = {"f64", "f32", "f16", "bf16",
                                             "u8",  "s8",  "s32", "e4m3"};
  std::vector<std::string> types = {"f64", "f32", "tf32", "f16", "bf16", "int8", "fp8"};
  for (const auto& source : elements)
    for (const auto& weights : elements)
      for (const auto& destination : elements) types.push_back(source + weights + destination);
  return types;
}
const std::vector<std::string>& AllNames() {
  static const std::vector<std::string> names = {
      "Conv2D/gpu/cudnn/fwd/{}/n16c64h56w56k64r3s3_p1",
      "Conv2D/gpu/cudnn/bwd_data/{}/n16c64h56w56k64r3s3_p1",
      "Conv2D/gpu/cudnn/bwd_weights/{}/n16c64h56w56k64r3s3_p1",
      "LSTM/gpu/cudnn/fwd_inference/{}/t16n16i32h64",
      "LSTM/gpu/cudnn/fwd_training/{}/t16n16i32h64",
      "LSTM/gpu/cudnn/bwd/{}/t16n16i32h64",
      "Matmul/gpu/cublaslt/fwd/{}/m512n512k512",
      "Matmul/gpu/cublaslt/bwd_data/{}/m512n512k512",
      "Matmul/gpu/cublaslt/bwd_weights/{}/m512n512k512"};
  return names;
}

bool Accepts(const std::string& name) {
  try {
    workload::MakeWorkload(name);
    return true;
  } catch (const BadInput&) {
    return false;
  }
}

// Every pipe on which a call of this type may be modelled: that of tensor cores, and that of the
// vector units, on which engines without tensor cores and elementwise work run.
std::vector<std::vector<std::string>> PipesOf(const std::string& tensor) {
  const auto matrix = tensor + ".matrix";
  return {{matrix}, {matrix, "fp32.vector"}, {"fp32.vector"}};
}

// At most three passes on every chip, whatever the operator, its direction and its type, and with
// bytes of all levels and the FLOPs of the type on Hopper.
TEST(CuptiTableByHostApi, EveryOperatorAndTypeOfTheGpuTakesThreePassesAtMost) {
  CuptiCalls api;
  const auto& table = gpu::BuiltInCuptiTable();
  std::map<std::vector<std::string>, std::set<std::string>> calls;  // by types to count
  std::map<std::string, int> accepted;
  for (const auto& pattern : AllNames())
    for (const auto& type : AllTypes()) {
      const auto name = fmt::format(fmt::runtime(pattern), type);
      if (!Accepts(name)) continue;
      ++accepted[pattern];
      const auto* row = gpu::FindCallType(table, type);
      // Different source and weights are computed in f32. f32 calls have no pipe of tensor cores.
      for (const auto& pipes : PipesOf(row == nullptr ? "tf32" : row->tensor))
        if (row == nullptr || !row->check || pipes.front() == "fp32.vector")
          calls[gpu::TensorTypesOf(table, type, pipes)].insert(name);
    }
  for (const auto& pattern : AllNames()) EXPECT_GE(accepted[pattern], 4) << pattern;
  EXPECT_EQ(calls.size(), 5U) << "tf32, fp16, bf16, int8, fp8";
  for (const auto& [types, names] : calls) {
    const auto about = fmt::format("{}: {}", fmt::join(types, " "), *names.begin());
    ASSERT_EQ(types.size(), 1U) << about;
    for (const auto* chip : {"GH100", "GA100", "AD102", "GB100"}) {
      const auto& found = *gpu::FindChip(table, chip);
      const auto plan =
          gpu::PlanCounters(table, found, types, {}, gpu::AskHostApi(api, found.name, {}));
      EXPECT_LE(plan.passes, 3) << chip << " " << about;
      EXPECT_EQ(plan.configs.size(), 1U) << chip << " " << about;
      std::set<std::string> counted;
      for (const auto& metric : plan.metrics) counted.insert(metric.set);
      std::vector<std::string> expected = {"dram", "l2", "sass"};
      // Some types on Blackwell would take a fourth pass, and L1 is left out.
      if (found.name != "GB100") expected.emplace_back("l1");
      const auto tensor = "tensor." + types.front();
      if (HasCounters(found, tensor)) expected.push_back(tensor);
      EXPECT_THAT(counted, testing::IsSupersetOf(expected)) << chip << " " << about;
    }
  }
}

TEST(CuptiHostApi, ABadChipIsOneSentence) {
  CuptiCalls api;
  EXPECT_THAT(fakes::RefusalOf<gpu::CuptiError>([&] { api.OpenHost("XX999", {}); }),
              testing::HasSubstr("does not know the chip"));
}

// Without a driver or GPU the source has a reason. With one it counts or has a reason.
TEST(CuptiCalls, WithoutADeviceOpeningIsOneSentenceAndNoCrash) {
  CuptiCalls api;
  std::string said;
  try {
    gpu::OpenCuptiDevice(api, gpu::BuiltInCuptiTable(), 0);
  } catch (const std::exception& error) {
    said = error.what();
    EXPECT_GT(said.size(), 20U) << said;
  }
  EXPECT_EQ(said.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace dlroof::cuda
