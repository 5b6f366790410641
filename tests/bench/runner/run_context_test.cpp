#include "bench/runner/run_context.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dlroof::runner
