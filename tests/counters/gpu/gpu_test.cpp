#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ceilings/gpu_ceilings/bench.h"
#include "counters/gpu/api.h"
#include "counters/gpu/clock.h"
#include "tests/paths.h"

namespace dlroof::gpu {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(NoDeviceReason, TellsAMissingDriverFromAnOldOne) {
  CudaState state{.error = 35, .runtime_version = 13000};
  EXPECT_THAT(NoDeviceReason(state).value().text, HasSubstr("no NVIDIA driver is loaded"));
  state.driver_version = 12040;
  EXPECT_THAT(NoDeviceReason(state).value().text,
              AllOf(HasSubstr("supports CUDA 12.4 and this build needs CUDA 13.0"),
                    HasSubstr("580 or newer")));
  state.runtime_version = 12080;
  EXPECT_THAT(NoDeviceReason(state).value().text, HasSubstr("525 or newer"));
}

TEST(NoDeviceReason, EachCauseHasItsCure) {
  const std::pair<int, const char*> cures[] = {{34, "stub"},
                                               {100, "CUDA_VISIBLE_DEVICES"},
                                               {46, "exclusive mode"},
                                               {802, "fabricmanager"},
                                               {803, "reboot"},
                                               {804, "compatibility libraries"},
                                               {999, "cudaErrorX): see the kernel's log"}};
  for (const auto& [error, cure] : cures)
    EXPECT_THAT(NoDeviceReason({.error = error, .error_name = "cudaErrorX"}).value().text,
                HasSubstr(cure));
  EXPECT_EQ(NoDeviceReason({}), NoDeviceReason({.error = 100}));  // no error, and no device either
}

TEST(NoDeviceReason, AGpuThatIsTooOldIsNamed) {
  CudaState state{.driver_version = 13000, .runtime_version = 13000, .gpus = {{"V100", 7, 0}}};
  EXPECT_THAT(NoDeviceReason(state).value().text, HasSubstr("V100 has compute capability 7.0"));
  state.gpus.push_back({"T4", 7, 5});
  EXPECT_EQ(NoDeviceReason(state), std::nullopt);
  EXPECT_FALSE(IsUsable(state.gpus[0], state));
  EXPECT_TRUE(IsUsable(state.gpus[1], state));
  EXPECT_TRUE(IsUsable({"H200", 9, 0}, state));
}

GpuIdentity H200() {
  return {.name = "NVIDIA H200",
          .major = 9,
          .sms = 132,
          .memory_bytes = 150.1e9,
          .l2_bytes = 62914560,
          .shared_bytes_per_sm = 233472,
          .memory_bus_bits = 6144,
          .ecc = true};
}

TEST(DescribeGpu, TheFingerprintIsOfTheGpuNotOfWhatItsDriverKeepsForItself) {
  const auto machine = gpu_ceilings::DescribeGpu(H200());
  EXPECT_EQ(machine.device, "gpu");
  EXPECT_EQ(machine.facts.at("gpu.memory"), "140 GiB");  // 150.1e9 / 2^30 = 139.8
  EXPECT_EQ(machine.cache_bytes.at(Level::kL2), 62914560);
  auto less = H200();
  less.memory_bytes -= 100e6;
  EXPECT_EQ(gpu_ceilings::DescribeGpu(less).fingerprint, machine.fingerprint);
  auto other = H200();
  other.sms = 114;
  EXPECT_NE(gpu_ceilings::DescribeGpu(other).fingerprint, machine.fingerprint);
  auto without_ecc = H200();
  without_ecc.ecc = false;
  EXPECT_NE(gpu_ceilings::DescribeGpu(without_ecc).fingerprint, machine.fingerprint);
}

Nvml FakeNvml(const char* pci_bus_id) {
  return Nvml::Open(DLROOF_FAKE_MODULES "/libnvml_fake.so", pci_bus_id);
}

TEST(Nvml, ReadsWhatTheDriverTellsAndLeavesOutWhatItDoesNot) {
  const auto nvml = FakeNvml("0000:01:00.0"), without_power = FakeNvml("0000:03:00.0");
  const auto health = nvml.Health();
  EXPECT_EQ(health.sm_clock_hz, 1980e6);
  EXPECT_EQ(health.memory_clock_hz, 3201e6);
  EXPECT_EQ(health.temperature_celsius, 41);
  EXPECT_EQ(health.power_watts, 651.234);  // at the moment, not the mean of 300 W
  EXPECT_FALSE(without_power.Health().power_watts);
  EXPECT_EQ(health.throttle, 0x44U);
  EXPECT_EQ(nvml.DriverVersion(), "580.65.06");
  EXPECT_EQ(nvml.EnergyJoules(), 8123456.789);
  EXPECT_FALSE(without_power.EnergyJoules());
}

TEST(Nvml, WithoutALibraryOrADeviceEveryAnswerIsAbsent) {
  const auto none = Nvml::Open("libdlroof_no_such_library.so", "0000:01:00.0");
  EXPECT_EQ(none.Health(), GpuHealth{});
  EXPECT_EQ(FakeNvml("0000:02:00.0").Health(), GpuHealth{});
  EXPECT_EQ(none.DriverVersion(), std::nullopt);
  EXPECT_FALSE(none.EnergyJoules());
}

TEST(ThrottleReasons, NamesEachBit) {
  EXPECT_THAT(ThrottleReasons(0), IsEmpty());
  EXPECT_THAT(ThrottleReasons(0x44), ElementsAre("sw_power_cap", "hw_thermal_slowdown"));
  EXPECT_THAT(ThrottleReasons(1ULL << 63), ElementsAre("bit 63"));
}

// In 400 us 1.0, 1.2 and 1.4 GHz; the fourth SM got no block the second time,
// the fifth none the first.
TEST(MeanClockHz, IsOfAllSmsThatHaveBothStamps) {
  const std::vector<SmStamp> stamps = {
      {1000, 7},        {1000, 8},        {2000, 9},        {1000, 7}, {0, 0},
      {401000, 400007}, {401000, 480008}, {402000, 560009}, {0, 0},    {401000, 9000000}};
  EXPECT_DOUBLE_EQ(MeanClockHz(stamps).value(), 1.2e9);
}

TEST(MeanClockHz, IsAbsentWhereTheTimerIsTooCoarse) {
  EXPECT_FALSE(MeanClockHz({{1000, 0}, {200999, 200000}}));
  EXPECT_TRUE(MeanClockHz({{1000, 0}, {201000, 200000}}));
  EXPECT_FALSE(MeanClockHz({{1000, 5}, {401000, 5}}));
  EXPECT_FALSE(MeanClockHz({}));
}

}  // namespace
}  // namespace dlroof::gpu
