#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "counters/base/error.h"
#include "counters/delta/prediction.h"
#include "tests/fakes/refusal.h"

namespace dlroof::delta {
namespace {

using testing::HasSubstr;

nlohmann::json V100Text() {
  for (const auto& gpu : BuiltInGpus())
    if (gpu.name == "v100") return nlohmann::json::parse(gpu.text);
  return {};
}

// The refusal of V100's figures with a patch (RFC 7396: null takes away).
std::string Refusal(const nlohmann::json& patch) {
  auto json = V100Text();
  json.merge_patch(patch);
  return fakes::RefusalOf([&] { GpuFromJson(json, "my.json"); });
}

TEST(BuiltInGpus, AreReadAndEveryFigureSaysWhereItIsFrom) {
  std::vector<std::string> names;
  for (const auto& gpu : BuiltInGpus()) {
    names.emplace_back(gpu.name);
    const auto spec = FindGpu(std::string(gpu.name));
    for (const auto& [key, source] : spec.sources) EXPECT_GT(source.size(), 3U) << key;
    EXPECT_GT(MacsPerClock(spec, "f32"), 0);
  }
  EXPECT_THAT(names, testing::ElementsAre("a100", "h100", "h200", "p100", "titan_xp", "v100"));
}

// Published peaks [TFLOP/s]: 12.15, 10.6, 15.7, 19.5 in f32, 312 in f16 on A100.
TEST(BuiltInGpus, PeaksAreThePublishedOnes) {
  const auto tflops = [](const char* name, const char* type) {
    const auto gpu = FindGpu(name);
    return 2e-12 * gpu.sms * gpu.clock_hz * MacsPerClock(gpu, type);
  };
  EXPECT_NEAR(tflops("titan_xp", "f32"), 12.15, 0.01);
  EXPECT_NEAR(tflops("p100", "f32"), 10.6, 0.05);
  EXPECT_NEAR(tflops("v100", "f32"), 15.7, 0.05);
  EXPECT_NEAR(tflops("a100", "f32"), 19.5, 0.05);
  EXPECT_NEAR(tflops("a100", "f16"), 312, 0.5);
  EXPECT_NEAR(tflops("h100", "f16"), 989.4, 1);
}

TEST(GpuFromJson, RefusesInOneSentence) {
  EXPECT_EQ(Refusal(nlohmann::json::object()), "accepted");
  EXPECT_THAT(Refusal({{"l2_bytes_per_second", nullptr}}),
              HasSubstr("my.json: 'l2_bytes_per_second': expected an object"));
  EXPECT_EQ(Refusal({{"dram_latency_clocks", {{"value", -1}}}}),
            "my.json: dram_latency_clocks: 'value': expected a number above 0, got -1");
  EXPECT_THAT(Refusal({{"sms", {{"source", nullptr}}}}), HasSubstr("my.json: sms: 'source'"));
  EXPECT_EQ(Refusal({{"smss", V100Text()["sms"]}}), "my.json: 'smss' is not a figure of a GPU");
  EXPECT_THAT(Refusal({{"sector_bytes", {{"value", 48}}}}),
              HasSubstr("sector_bytes: expected a power of two"));
  EXPECT_THAT(Refusal({{"macs_per_clock_f32", nullptr}, {"macs_per_clock_f16", nullptr}}),
              HasSubstr("expected at least one 'macs_per_clock_<type>'"));
  EXPECT_THAT(Refusal(nlohmann::json::array()), HasSubstr("expected an object"));
}

TEST(GpuFromJson, RefusesFiguresOfNoGpu) {
  const auto with = [](const char* key, double value) {
    return Refusal({{key, {{"value", value}}}});
  };
  EXPECT_EQ(with("sms", 80.5), "my.json: sms: expected a whole number from 1 to 65536, got 80.5");
  EXPECT_THAT(with("sms", 1e18),
              HasSubstr("my.json: sms: expected a whole number from 1 to 65536"));
  EXPECT_THAT(with("sms", 0.5), HasSubstr("sms: expected a whole number"));
  EXPECT_EQ(with("sms", 65536), "accepted");
  EXPECT_EQ(with("clock_hz", 1e5),
            "my.json: clock_hz: expected 1e+06 to 1e+12 per second, got 100000");
  EXPECT_EQ(with("clock_hz", 1e-300),
            "my.json: clock_hz: 'value': expected 0 or a magnitude from 1e-18 to 1e+18, got "
            "1e-300");
  EXPECT_THAT(with("dram_bytes_per_second", 1e300),
              HasSubstr("'value': expected 0 or a magnitude from 1e-18 to 1e+18"));
}

TEST(GpuFromJson, PartitionsAndCoalescedSmsMayBeMissing) {
  EXPECT_EQ(FindGpu("v100").l2_partitions, 1);
  EXPECT_EQ(FindGpu("v100").coalesced_sms, 1);
  EXPECT_EQ(FindGpu("h200").l2_partitions, 2);
  EXPECT_EQ(FindGpu("h200").coalesced_sms, 2);
  EXPECT_EQ(FindGpu("a100").coalesced_sms, 1);
  const auto with = [](double value) {
    return Refusal({{"l2_partitions", {{"value", value}, {"source", "a book"}}}});
  };
  EXPECT_EQ(with(2), "accepted");
  EXPECT_EQ(with(1.5), "my.json: l2_partitions: expected a whole number from 1 to 16, got 1.5");
  EXPECT_EQ(with(17), "my.json: l2_partitions: expected a whole number from 1 to 16, got 17");
  EXPECT_THAT(Refusal({{"coalesced_sms", {{"value", 2}}}}), HasSubstr("'source'"));
  // Both are written where they were read.
  EXPECT_EQ(GpuFromJson(ToJson(FindGpu("h200")), "x").l2_partitions, 2);
  EXPECT_FALSE(ToJson(FindGpu("v100")).contains("l2_partitions"));
}

TEST(FindGpu, AnUnknownNameListsThoseThereAre) {
  EXPECT_THAT(fakes::RefusalOf([] { FindGpu("v1000"); }),
              HasSubstr("unknown GPU 'v1000'; expected a100, h100, h200, p100,"));
  EXPECT_THROW(FindGpu("./none.json"), BadInput);
  EXPECT_THROW(MacsPerClock(FindGpu("v100"), "int8"), BadInput);
}

TEST(Scaled, ChangesOneResource) {
  const auto gpu = FindGpu("v100");
  EXPECT_EQ(Scaled(gpu, "sm", 2).sms, 160);
  EXPECT_EQ(Scaled(gpu, "dram", 1.5).dram_bytes_per_second, 1.5 * gpu.dram_bytes_per_second);
  EXPECT_EQ(Scaled(gpu, "mac", 2).macs_per_clock.at("f32"), 128);
  for (const auto resource : ScalableResources())
    EXPECT_NO_THROW(Scaled(gpu, std::string(resource), 2)) << resource;
  EXPECT_THROW(Scaled(gpu, "dram", 0), BadInput);
  EXPECT_THROW(Scaled(gpu, "dram", -2), BadInput);
  EXPECT_THROW(Scaled(gpu, "dram", 1e9), BadInput);
  EXPECT_THROW(Scaled(gpu, "cache", 2), BadInput);
  EXPECT_THROW(Scaled(gpu, "dram", std::numeric_limits<double>::quiet_NaN()), BadInput);
}

}  // namespace
}  // namespace dlroof::delta
