#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "bench/suites/suite.h"
#include "bench/tune/tune.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "tests/fakes/refusal.h"

namespace dlroof::tune {
namespace {

using testing::AllOf, testing::HasSubstr, testing::Not;

constexpr const char* kConv = "Conv2D/cpu/onednn/fwd/f32/n4c16h28w28k16r3s3_p1";
constexpr const char* kLstm = "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32";

TunedMachine Machine() {
  TunedMachine machine{.huge_pages = "madvise"};
  machine.cpu.allowed = {0, 1};
  machine.cpu.topology.core_of_cpu = {{0, 0}, {1, 1}};
  machine.cpu.features = {"avx2", "avx512bw", "avx512_vnni"};
  return machine;
}

std::vector<settings::Coordinate> Space(const std::string& name, const SpaceRequest& request = {},
                                        const TunedMachine& machine = Machine()) {
  return SpaceOf(workload::ParseBenchmarkName(name), machine, request);
}

const settings::Coordinate* Find(const std::vector<settings::Coordinate>& all,
                                 const std::string& name) {
  const auto found = std::ranges::find(all, name, &settings::Coordinate::name);
  return found == all.end() ? nullptr : &*found;
}

bool Has(const settings::Coordinate* coordinate, const settings::Setting& values) {
  return coordinate != nullptr &&
         std::ranges::count(coordinate->choices, values, &settings::Choice::values) == 1;
}

TEST(Space, LayoutAndAlgorithmOfAConvolutionAreTriedTogetherAndEverySettingIsABenchmark) {
  const auto space = Space(kConv);
  const auto* both = Find(space, "layout and algorithm");
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->choices.size(), 8U);
  EXPECT_TRUE(Has(both, {{"layout", "nhwc"}, {"algorithm", "winograd"}}));
  for (const auto& choice : both->choices)
    EXPECT_NO_THROW(workload::MakeWorkload(
        workload::ToText(UnderSetting(workload::ParseBenchmarkName(kConv), choice.values).name)));
  const SpaceRequest all{true, {{"LD_PRELOAD", {"libjemalloc.so"}}}};
  for (const char* name : {kConv, kLstm, "Matmul/cpu/onednn/fwd/f32/m64n64k64"})
    for (const auto& coordinate : Space(name, all))
      for (const auto& choice : coordinate.choices) {
        const auto tuned = UnderSetting(workload::ParseBenchmarkName(name), choice.values);
        EXPECT_NO_THROW(workload::MakeWorkload(workload::ToText(tuned.name)))
            << settings::SettingText(choice.values);
        EXPECT_EQ(settings::With({}, coordinate, choice.values), choice.values);
      }
}

TEST(Space, WhatIsSetStaysAndDifferentResultsAreAskedFor) {
  const auto fixed = Space(std::string(kConv) + "/nhwc/threads1");
  EXPECT_EQ(Find(fixed, kThreadsCoordinate), nullptr);
  EXPECT_EQ(Find(fixed, "layout and algorithm"), nullptr);
  EXPECT_NE(Find(fixed, "algorithm"), nullptr);
  auto machine = Machine();
  machine.fixed = {"ONEDNN_MAX_CPU_ISA", "OMP_WAIT_POLICY", "GLIBC_TUNABLES"};
  auto space = Space(kLstm, {}, machine);
  EXPECT_EQ(Find(space, "instruction set"), nullptr);
  EXPECT_EQ(Find(space, "huge pages"), nullptr);
  EXPECT_EQ(Find(space, kThreadsCoordinate)->choices.size(), 1U) << "one thread alone";
  EXPECT_EQ(Find(Space(kLstm), "precision"), nullptr);
  space = Space(kLstm, {.precision = true});
  EXPECT_TRUE(Has(Find(space, "precision"), {{"fpmath", "fpmath-bf16"}}));
  EXPECT_TRUE(Has(Find(space, "precision"), {{"type", "bf16"}}));
  // Without VNNI oneDNN adds the products of integers in 16 bits.
  const std::string int8 = "Conv2D/cpu/onednn/fwd/int8/n4c16h28w28k16r3s3_p1";
  EXPECT_EQ(Find(Space(int8), "instruction set"), nullptr);
  EXPECT_NE(Find(Space(int8, {.precision = true}), "instruction set"), nullptr);
  auto single = Machine();
  EXPECT_EQ(Find(Space(kLstm, {}, single), "huge pages")->choices.size(), 1U);
  single.huge_pages = "always";
  EXPECT_EQ(Find(Space(kLstm, {}, single), "huge pages"), nullptr);
  single.reserved_pages = true;
  EXPECT_TRUE(Has(Find(Space(kLstm, {}, single), "huge pages"), {{"glibc.malloc.hugetlb", "2"}}));
}

TEST(UnderSetting, GivesLinesToCopy) {
  const auto tuned = UnderSetting(
      workload::ParseBenchmarkName(kLstm),
      {{"threads", "2"}, {"cpus", "0,4"}, {"glibc.malloc.hugetlb", "1"}, {"layout", "ldigo"}});
  EXPECT_EQ(workload::ToText(tuned.name), std::string(kLstm) + "/ldigo/threads2");
  EXPECT_EQ(EnvironmentLines(tuned), (Variables{{"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"},
                                                {"OMP_NUM_THREADS", "2"},
                                                {"OMP_PLACES", "{0},{4}"},
                                                {"OMP_PROC_BIND", "true"}}));
  EXPECT_EQ(CommandLineOf(tuned, "dlroof_bench"),
            "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 taskset -c 0,4 dlroof_bench "
            "--dlroof_suite=<(echo LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32/ldigo/threads2) "
            "--benchmark_filter='^LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32/ldigo/threads2$'");
}

// Two L3 caches of two cores each; CPU 4 is the second hardware thread of core 0, and so on.
cpu::Cpu EightCpus() {
  cpu::Cpu cpu;
  cpu.allowed = {0, 1, 2, 3, 4, 5, 6, 7};
  for (const int one : cpu.allowed) {
    cpu.topology.core_of_cpu[one] = one % 4;
    cpu.topology.node_of_cpu[one] = 0;
    cpu.topology.cache_of_cpu[Level::kL3][one] = {one % 4 / 2, 32e6};
  }
  return cpu;
}

bool Has(const std::vector<settings::Choice>& choices, const settings::Setting& values) {
  return std::ranges::count(choices, values, &settings::Choice::values) == 1;
}

TEST(TeamChoices, AreFewerThreadsWaysToWaitAndPinsAndNoneComesTwice) {
  const auto two_cores = Machine().cpu;
  const auto choices = TeamChoices(two_cores, std::nullopt, true, true);
  EXPECT_EQ(choices.size(), 4U);
  EXPECT_TRUE(Has(choices, {{"threads", "1"}}));
  EXPECT_TRUE(Has(choices, {{"OMP_WAIT_POLICY", "active"}}));
  EXPECT_TRUE(Has(choices, {{"OMP_WAIT_POLICY", "passive"}}));
  EXPECT_TRUE(Has(choices, {{"GOMP_SPINCOUNT", "10000"}}));
  auto pins = TeamChoices(EightCpus(), std::nullopt, true, false);
  for (const char* threads : {"1", "2", "4"})
    EXPECT_TRUE(Has(pins, {{"threads", threads}})) << threads;
  EXPECT_TRUE(Has(pins, {{"threads", "2"}, {"cpus", "0,2"}})) << "one on each L3";
  EXPECT_TRUE(Has(pins, {{"threads", "2"}, {"cpus", "0,4"}})) << "both on core 0";
  EXPECT_FALSE(Has(pins, {{"threads", "2"}, {"cpus", "0,1"}})) << "the default of two";
  EXPECT_TRUE(Has(pins, {{"threads", "4"}, {"cpus", "0,1,4,5"}})) << "one L3, both threads";
  EXPECT_FALSE(Has(pins, {{"threads", "8"}})) << "the default";
  for (const auto& choice : TeamChoices(EightCpus(), 2, true, true))
    EXPECT_EQ(choice.values.count("threads"), 0U);
  EXPECT_TRUE(Has(TeamChoices(EightCpus(), 2, true, true), {{"cpus", "0,4"}}));
  EXPECT_TRUE(TeamChoices(two_cores, 1, true, true).empty()) << "one thread waits for none";
  EXPECT_TRUE(TeamChoices(two_cores, 3, true, true).empty()) << "more than there are";
  pins = TeamChoices(EightCpus(), std::nullopt, true, true);
  for (const auto& choice : pins) EXPECT_TRUE(Has(pins, choice.values));
}

TEST(SpaceOnGpu, IsEngineLayoutAndPaddingOrPersistentAlgorithms) {
  const std::string conv = "Conv2D/gpu/cudnn/fwd/f32/n4c16h28w28k16r3s3_p1";
  auto space = Space(conv);
  ASSERT_EQ(space.size(), 1U);
  const auto& ways = space[0];
  EXPECT_EQ(ways.name, "layout and algorithm and padding");
  EXPECT_EQ(ways.choices.size(), 7U);  // nchw, best, padded: 2 x 2 x 2 - 1
  EXPECT_TRUE(Has(&ways, {{"layout", "nchw"}, {"algorithm", "best"}, {"padding", "padded"}}));
  const auto set = [](const std::string& name, const settings::Setting& values) {
    return workload::ToText(UnderSetting(workload::ParseBenchmarkName(name), values).name);
  };
  EXPECT_EQ(set(conv, {{"layout", "nchw"}, {"padding", "padded"}}), conv + "/nchw/padded");
  const std::string name = "LSTM/gpu/cudnn/fwd_inference/f16/t16n16i32h32";
  space = Space(name);
  for (const auto* algorithm : {"persist-static", "persist-small-h", "persist-dynamic"})
    EXPECT_TRUE(Has(Find(space, "algorithm"), {{"algorithm", algorithm}})) << algorithm;
  EXPECT_EQ(Find(space, kThreadsCoordinate), nullptr);
  EXPECT_EQ(Find(space, "huge pages"), nullptr);
}

TEST(CheckVariables, AFilesVariablesAndTunablesAreTheTunersOrRequestedAgain) {
  const auto refused = [](const settings::Setting& setting, const SpaceRequest& request = {}) {
    return fakes::RefusalOf(CheckVariables, setting, request, "tune.json") != "accepted";
  };
  EXPECT_FALSE(refused({{"glibc.malloc.hugetlb", "2"}, {"threads", "2"}, {"GOMP_SPINCOUNT", "9"}}));
  EXPECT_TRUE(refused({{"LD_PRELOAD", "x.so"}}));
  EXPECT_TRUE(refused({{"glibc.malloc.hugetlb", "1:glibc.rtld.optional_static_tls=0"}}));
  EXPECT_TRUE(refused({{"GLIBC_TUNABLES", "glibc.malloc.check=3"}}));
  const SpaceRequest same{.environment = {{"GLIBC_TUNABLES", {"glibc.malloc.check=3"}}}};
  EXPECT_FALSE(refused({{"GLIBC_TUNABLES", "glibc.malloc.check=3"}}, same));
}

TEST(GroupsOnGpu, ALayersEngineTakesTenSecondsAndAModelsTenMinutes) {
  const auto expect_decided_within = [](double seconds, const std::vector<std::string>& names) {
    std::vector<std::size_t> settings;
    for (const auto& name : names) {
      settings.push_back(1);
      for (const auto& coordinate : Space(name)) settings.back() += coordinate.choices.size();
    }
    double all_seconds = 0;
    for (const auto& group : GroupsOnGpu(0, settings)) all_seconds += group.seconds;
    EXPECT_LE(all_seconds, seconds);
    EXPECT_EQ(GroupsOnGpu(3, settings).back().end, 3 + names.size());
  };
  expect_decided_within(10, {"LSTM/gpu/cudnn/fwd_inference/f16/t16n16i32h64"});
  expect_decided_within(10, {"Conv2D/gpu/cudnn/fwd/f16/n16c64h112w112k64r3s3_s2p0:1x0:1"});
  std::vector<std::string> names;
  const auto suites =
      suites::OnDevices(suites::SelectSuites({"resnet50"}, {false, true}), false, true);
  for (const auto& workload : suites::WorkloadsOf(suites))
    names.push_back(workload::ToText(workload.name));
  expect_decided_within(600, names);
  EXPECT_EQ(names.size(), 159U);
  // Groups of at most 64 settings: 40 + 24, 8, then 70 alone.
  EXPECT_EQ(GroupsOnGpu(0, {40, 24, 8, 70}).size(), 3U);
}

settings::Tuning Won() {
  settings::Tuning tuning{.plan = {.subject = "LSTM/cpu/onednn/fwd_inference/f32/t16n16i32h32"}};
  tuning.state = settings::TuningState::kConfirmed;
  tuning.best = {{"threads", "1"}};
  // 1 / 0.8 = 1.25; 1 / 0.84 = 1.190 and 1 / 0.76 = 1.316.
  const settings::Effect effect{0.8, {0.76, 0.84}, 14, true};
  tuning.steps = {{"threads", {{"threads", "1"}}, "no fork, no join, no waiting", effect}};
  tuning.total = effect;
  tuning.default_seconds = 4e-5;
  tuning.tried = {{"instruction set", {{"ONEDNN_MAX_CPU_ISA", "AVX2"}}, 2, 2.68, false, "slower"}};
  return tuning;
}

std::string Written(const settings::Tuning& tuning) {
  std::ostringstream out;
  document::Write({{ReportOf(tuning, "dlroof_bench")}}, 0, out);
  return out.str();
}

TEST(TuningReport, TimesAreEstimatesWhereRepetitionsAreMostlyNoisy) {
  auto tuning = Won();
  const auto add = [&](const char* stage, bool noisy) {
    settings::TrialResult result;
    result.windows.assign(3, {.seconds = 4e-5, .noisy = noisy});
    tuning.blocks.push_back({stage, {{}, tuning.best}, {result, result}, 1});
  };
  add("confirmation 1", false);
  add("threads", true);
  add("threads", true);
  settings::JudgeNoise(tuning);
  EXPECT_THAT(Written(tuning),
              AllOf(HasSubstr("|   ~40.0 µs  default"), HasSubstr("confirmed by 14 blocks")));
}

TEST(TuningReport, WithoutAValidationThereIsNoRatio) {
  for (const auto state : {settings::TuningState::kNothingWon, settings::TuningState::kNotConfirmed,
                           settings::TuningState::kFailed, settings::TuningState::kUnfinished}) {
    auto tuning = Won();
    tuning.state = state;
    tuning.total.reset();
    EXPECT_THAT(Written(tuning), AllOf(Not(HasSubstr("as fast (")), Not(HasSubstr("export"))))
        << settings::Key(state);
  }
}

}  // namespace
}  // namespace dlroof::tune
