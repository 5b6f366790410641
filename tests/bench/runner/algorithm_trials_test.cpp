#include "bench/runner/algorithm_trials.h"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

#include "counters/base/error.h"

namespace dlroof::runner {
namespace {

workload::Workload Tried(const std::string& name,
                         const std::vector<workload::AlgorithmTrial>& trials) {
  return {.name = workload::ParseBenchmarkName(name),
          .try_algorithms = [trials](const workload::RunSettings&) { return trials; }};
}

workload::AlgorithmTrial Ran(const std::string& algorithm, double seconds, double error) {
  return {.algorithm = algorithm,
          .verified = workload::Verification{error <= 1, error, 1, "all 8 outputs"},
          .seconds = seconds};
}

const std::vector<workload::AlgorithmTrial> kTrials = {
    Ran("engine 20", 1e-3, 6780),
    Ran("engine 1", 3e-3, 0.25),
    {.algorithm = "engine 68", .unused = Reason{"tensor cores round f32 inputs to tf32"}},
    Ran("engine 67", 2e-3, 0.5)};

TEST(TryAlgorithms, TheTableSaysWhichAreWrongAndComparesTimesWithTheFastestRightOne) {
  const auto tried = TryAlgorithms({Tried("Fake/gpu/none/fwd/f32/n1", kTrials)}, {});
  std::ostringstream out;
  WriteTrials(tried, out);
  EXPECT_EQ(out.str(), R"(Fake/gpu/none/fwd/f32/n1
     time / fastest    error result  algorithm
  1.00 ms     0.50x 6.78e+03  WRONG  engine 20
  3.00 ms     1.50x     0.25  right  engine 1
                             unused  engine 68: tensor cores round f32 inputs to tf32
  2.00 ms     1.00x      0.5  right  engine 67

)");
  EXPECT_TRUE(EachHasARightAlgorithm(tried));
}

TEST(TryAlgorithms, TheFileHasTheNumbers) {
  const auto json = ToJson(TryAlgorithms({Tried("Fake/gpu/none/fwd/f32/n1", kTrials)}, {}));
  const auto& trials = json.at("algorithms").at(0).at("trials");
  EXPECT_EQ(trials.at(0), nlohmann::json::parse(R"({"algorithm": "engine 20", "status": "wrong",
      "max_error": 6780.0, "tolerance": 1.0, "checked": "all 8 outputs", "seconds": 0.001})"));
  EXPECT_EQ(trials.at(2), nlohmann::json::parse(R"({"algorithm": "engine 68", "status": "unused",
      "reason": "tensor cores round f32 inputs to tf32"})"));
  EXPECT_EQ(trials.at(3).at("status"), "ok");
}

TEST(TryAlgorithms, AFailureIsTheReasonOfItsBenchmarkAlone) {
  auto breaks = Tried("Fake/gpu/none/fwd/f32/n2", {});
  breaks.try_algorithms =
      [](const workload::RunSettings&) -> std::vector<workload::AlgorithmTrial> {
    throw std::runtime_error("no memory");
  };
  const workload::Workload cannot{.name = workload::ParseBenchmarkName("Fake/cpu/none/fwd/f32/n1")};
  const auto tried =
      TryAlgorithms({breaks, cannot, Tried("Fake/gpu/none/fwd/f32/n1", kTrials)}, {});
  ASSERT_EQ(tried.size(), 3U);
  EXPECT_EQ(tried[0].reason, Reason{"no memory"});
  EXPECT_EQ(tried[1].reason, Reason{"the algorithms of Fake/cpu/none cannot be tried one by one"});
  EXPECT_FALSE(tried[2].reason);
  EXPECT_FALSE(EachHasARightAlgorithm(tried));
}

}  // namespace
}  // namespace dlroof::runner
