#include "bench/runner/run_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "bench/runner/parts_of_run.h"

namespace dlroof::runner {
namespace {

nlohmann::json Counters(const std::string& choice) {
  return RunContext("dlroof_bench", {.cpus = {0}, .counters = choice}).at("counters");
}

// A record made under `auto` shows modelled bytes. The context has the reason of a silent source.
TEST(RunContext, HasTheReasonOfASourceThatCannotCount) {
  static const bool registered =
      RegisterCounterSource({"locked", "cpu", Provenance::kMeasured,
                             [] { return Reason{"the fake keeps its counters to root"}; },
                             [](const CountRequest&) { return Counted{}; }});
  ASSERT_TRUE(registered);
  const auto counters = Counters("auto");
  EXPECT_EQ(counters.at("asked"), "auto");
  EXPECT_EQ(counters.at("unavailable").at("locked"), "the fake keeps its counters to root");
}

TEST(RunContext, AsksNoOtherSourceThanTheNamedOne) {
  EXPECT_EQ(Counters("model").dump(), R"({"asked":"model"})");
  EXPECT_EQ(Counters("off").dump(), R"({"asked":"off"})");
  const auto perf = Counters("perf");
  const auto silent = perf.value("unavailable", nlohmann::json::object());
  for (const auto& [source, why] : silent.items()) EXPECT_EQ(source, "perf") << why;
}

// Readers of the file need no names of ops.
TEST(RunContext, HasWhatReportsNeedToKnowOfTheOps) {
  const auto context = RunContext("dlroof_bench", {.cpus = {0}});
  EXPECT_EQ(context.at("ops").at("Conv2D").at("noun"), "convolution");
  EXPECT_EQ(context.at("ops").at("LSTM").at("sweep").at(1).dump(), R"({"key":"t","name":"steps"})");
  for (const auto* key : {"flops.conv2d", "flops.fma", "flops.lstm"})
    EXPECT_TRUE(context.at("conventions").contains(key)) << key;
}

using Pipes = std::set<std::string>;

TEST(NeededPipes, AreThoseOfTheTypeAndOfElementwiseParts) {
  EXPECT_EQ(NeededPipes("f32", ""), Pipes{"fp32.vector"});
  EXPECT_EQ(NeededPipes("bf16", ""), (Pipes{"bf16.matrix", "bf16.vector", "fp32.vector"}));
  EXPECT_EQ(NeededPipes("f16", ""), (Pipes{"fp16.matrix", "fp16.vector", "fp32.vector"}));
  EXPECT_EQ(NeededPipes("f64", ""), (Pipes{"fp64.matrix", "fp64.vector", "fp32.vector"}));
  for (const auto* type : {"int8", "s8s8f32", "u8u8u8u8"})
    EXPECT_EQ(NeededPipes(type, ""), (Pipes{"int8.matrix", "int8.vector", "fp32.vector"})) << type;
}

TEST(NeededPipes, OfMixedTypesAreThoseOfEach) {
  EXPECT_EQ(NeededPipes("bf16f16f32", ""),
            (Pipes{"bf16.matrix", "bf16.vector", "fp16.matrix", "fp16.vector", "fp32.vector"}));
}

TEST(NeededPipes, OfF32MayBeThoseOfTheTypeThatItIsConvertedTo) {
  const auto pipes = NeededPipes("f32", "fpmath=bf16");
  EXPECT_TRUE(pipes.contains("bf16.matrix"));
  EXPECT_TRUE(pipes.contains("fp32.vector"));
}

using testing::HasSubstr;

cpu::Environment OneVariable(const std::string& name, const std::string& value) {
  return [=](const std::string& variable) {
    return variable == name ? std::optional(value) : std::nullopt;
  };
}

TEST(RefusePinning, NamesTheVariable) {
  EXPECT_NO_THROW(RefusePinning(OneVariable("OMP_NUM_THREADS", "2")));
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"}) try {
      RefusePinning(OneVariable(name, "x"));
      FAIL() << name;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(name));
    }
}

TEST(RefuseThreadLimit, RefusesMoreThreadsThanTheLimit) {
  const auto two = OneVariable("OMP_THREAD_LIMIT", "2");
  EXPECT_NO_THROW(RefuseThreadLimit(2, two));
  EXPECT_NO_THROW(RefuseThreadLimit(8, OneVariable("OMP_NUM_THREADS", "2")));
  try {
    RefuseThreadLimit(3, two);
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("OMP_THREAD_LIMIT=2 allows fewer threads than the 3"));
  }
}

TEST(LimitsContext, HasARowPerLimit) {
  EXPECT_TRUE(LimitsContext({}).is_null());
  EXPECT_EQ(LimitsContext({{cpu::LimitKind::kPriority, "nice 5", "waits"}}).dump(),
            R"([{"effect":"waits","found":"nice 5","limit":"priority"}])");
}

TEST(QuotaWatch, SaysHowOftenTheQuotaStoppedTheProcess) {
  const auto stat = std::make_shared<std::string>("nr_periods 10\nnr_throttled 4\n");
  const cpu::CpuQuota quota{.cpus = 0.5, .file = "/g/cpu.max", .stat = "/g/cpu.stat"};
  const QuotaWatch watch(quota, [stat](const std::filesystem::path& path) {
    return path == "/g/cpu.stat" ? *stat : "";
  });
  EXPECT_EQ(watch.Stopped(watch.Read()), std::nullopt);
  *stat = "nr_periods 30\nnr_throttled 11\n";
  EXPECT_THAT(watch.Stopped(watch.Read()).value().text,
              testing::AllOf(HasSubstr("the CPU quota of 0.5 CPUs (/g/cpu.max) stopped this "
                                       "process in 7 of 20 periods"),
                             HasSubstr("no waiting ends that")));
  stat->clear();
  EXPECT_EQ(watch.Stopped({}), std::nullopt);
}

// The counts of the control group before the run are not the run's.
TEST(QuotaWatch, SaysNothingIfTheCountsCouldNotBeReadAtFirst) {
  std::string stat;
  const QuotaWatch watch({.cpus = 0.5, .file = "/g/cpu.max", .stat = "/g/cpu.stat"},
                         [&stat](const std::filesystem::path&) { return stat; });
  stat = "nr_periods 3000\nnr_throttled 400\n";
  EXPECT_EQ(watch.Stopped(watch.Read()), std::nullopt);
}

}  // namespace
}  // namespace dlroof::runner
