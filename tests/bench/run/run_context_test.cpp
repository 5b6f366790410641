#include "bench/run/run_context.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

nlohmann::json Counters(CounterChoice choice) {
  RunSettings settings;
  settings.cpus = {0};
  settings.counters = choice;
  return RunContext("dlroof_bench", settings).at("counters");
}

// A record made under `auto` shows modelled bytes; here is why nothing better counted.
TEST(RunContext, SaysOnceWhyHardwareCountersWereNotUsed) {
  const auto why = WhyUnavailable(CounterChoice::kPerf, "cpu", AllCounterSources());
  for (const auto choice : {CounterChoice::kAuto, CounterChoice::kPerf}) {
    const auto counters = Counters(choice);
    EXPECT_EQ(counters.at("asked"), Key(choice));
    EXPECT_EQ(counters.contains("unavailable"), !why.empty());
    if (!why.empty()) {
      EXPECT_EQ(counters.at("unavailable").at("perf"), why);
      EXPECT_EQ(counters.at("unavailable").size(), 1U);
    }
  }
  EXPECT_EQ(Counters(CounterChoice::kModel).dump(), R"({"asked":"model"})");
  EXPECT_EQ(Counters(CounterChoice::kOff).dump(), R"({"asked":"off"})");
}

// Readers of the file need no names of ops.
TEST(RunContext, HasWhatReportsNeedToKnowOfTheOps) {
  RunSettings settings;
  settings.cpus = {0};
  const auto context = RunContext("dlroof_bench", settings);
  EXPECT_EQ(context.at("ops").at("Conv2D").at("noun"), "convolution");
  EXPECT_EQ(context.at("ops").at("LSTM").at("sweep").at(1).dump(), R"({"key":"t","name":"steps"})");
  for (const auto* key : {"flops.conv2d", "flops.lstm"})
    EXPECT_TRUE(context.at("conventions").contains(key)) << key;
}

}  // namespace
}  // namespace dlroof
