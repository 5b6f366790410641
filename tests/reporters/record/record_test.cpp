#include "reporters/record/record.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <tuple>

#include "counters/base/files.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/record/record_json.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/placed_files.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/run_files.h"
#include "tests/test_data.h"

namespace dlroof::record {
namespace {

using testing::Each, testing::ElementsAre, testing::Field, testing::HasSubstr;

std::vector<Repetition> Times(std::initializer_list<double> seconds) {
  std::vector<Repetition> repetitions;
  for (const double value : seconds) repetitions.push_back({.seconds = value});
  return repetitions;
}

TEST(Summarize, IsTheMedianOfThreeCleanRepetitionsAndHalfOfAllOrTheOnlyOne) {
  auto repetitions = Times({1, 2, 3, 4, 5, 6, 100});
  repetitions[6].noisy = true;
  const auto timing = Summarize(repetitions).value();
  EXPECT_EQ(timing.median, 3.5);
  EXPECT_EQ(timing.clean, 6);
  EXPECT_EQ(timing.ci95, (std::pair<double, double>{1, 6}));  // n = 6: minimum and maximum, 96.9 %
  auto fewer = Times({1, 2, 3, 4});
  fewer[0].noisy = fewer[1].noisy = true;
  EXPECT_FALSE(Summarize(fewer));
  fewer = Times({1, 1, 1, 1, 2, 2, 2, 2});
  for (std::size_t i = 4; i < fewer.size(); ++i) fewer[i].noisy = true;
  EXPECT_EQ(Summarize(fewer).value().median, 1);
  fewer.push_back(fewer.back());
  EXPECT_FALSE(Summarize(fewer));
  EXPECT_TRUE(TimeOf(fewer).value().noisy);
  EXPECT_FALSE(Summarize({}));
  EXPECT_EQ(Summarize(Times({2})).value().median, 2);
  EXPECT_FALSE(Summarize(Times({2})).value().ci95);
}

TEST(TimeOf, UsesTheCleanRepetitionsIfTheySufficeAndOfSeveralThreadsIsTheFastestThatWasMeasured) {
  auto repetitions = Times({1, 2, 3, 100});
  repetitions[3].noisy = true;
  auto timing = TimeOf(repetitions).value();
  EXPECT_EQ(timing.median, 2);
  EXPECT_FALSE(timing.noisy);
  EXPECT_FALSE(TimeOf({}).has_value());
  // The first call has several threads, which waited 1.5 s in total: it needs at least 0.25 s.
  repetitions = Times({1.75, 1, 1.1});
  repetitions[0] = {.seconds = 1.75, .main_cpu_seconds = 1.25, .run_delay_seconds = 1.5};
  repetitions[1].core_share = 0.8;
  repetitions[0].noisy = repetitions[1].noisy = true;
  timing = TimeOf(repetitions).value();
  EXPECT_TRUE(timing.noisy);
  EXPECT_EQ(timing.clean, 1);
  EXPECT_EQ(timing.median, 1);  // the fastest
  EXPECT_FALSE(FastestMeasured(repetitions, timing));
  EXPECT_EQ(timing.ci95, std::pair(0.25, 1.1));  // all but the waits; the median of all
  repetitions[0].run_delay_seconds = 3;          // two threads, one after the other
  EXPECT_DOUBLE_EQ(TimeOf(repetitions).value().ci95.value().first, 0.0175);
  // One thread needs its CPU time: the waits were longer than the call, so they began before it.
  repetitions[0].cpu_seconds = 1.25;
  EXPECT_EQ(TimeOf(repetitions).value().ci95.value().first, 1);  // the fastest: below 1.25 s
  repetitions[0].cpu_seconds = repetitions[0].main_cpu_seconds = 0.75;
  EXPECT_EQ(TimeOf(repetitions).value().ci95.value().first, 0.75);
}

// Returns a noisy call of 15 ms whose thread ran for 7 ms and waited for 8 ms.
Repetition OnOneThread() {
  return {.seconds = 15e-3,
          .cpu_seconds = 7e-3,
          .main_cpu_seconds = 7e-3,
          .run_delay_seconds = 8e-3,
          .noisy = true};
}

TEST(TimeOf, OfOneThreadLeavesOutItsWaitsIfTheClocksAgree) {
  std::vector<Repetition> repetitions(3, OnOneThread());
  repetitions[1].seconds = 14.8e-3;
  const auto timing = TimeOf(repetitions).value();
  EXPECT_EQ(timing.median, 7e-3);
  EXPECT_EQ(FastestMeasured(repetitions, timing), 14.8e-3);
  EXPECT_THAT(EstimateText(repetitions, timing),
              testing::AllOf(testing::StartsWith("7.00 ms is the CPU time of its only thread"),
                             testing::EndsWith("the fastest repetition took 14.8 ms")));
  EXPECT_DOUBLE_EQ(timing.ci95.value().first, 7e-3);  // all but the waits leaves 6.8 ms: less
  EXPECT_DOUBLE_EQ(timing.ci95.value().second, 7e-3);
}

// CPU time alone does not show what a call needs: its thread may have slept, another one may have
// worked, and a clock may be missing or wrong.
TEST(TimeOf, KeepsTheMeasuredTimeIfTheClocksDisagree) {
  const auto estimate = [](const std::function<void(Repetition&)>& change) {
    std::vector<Repetition> repetitions(3, OnOneThread());
    for (auto& repetition : repetitions) change(repetition);
    const auto timing = TimeOf(repetitions).value();
    EXPECT_EQ(EstimateText(repetitions, timing), "");
    return timing.median;
  };
  EXPECT_EQ(estimate([](Repetition& one) { one.run_delay_seconds = 7.6e-3; }), 15e-3);
  EXPECT_EQ(estimate([](Repetition& one) { one.run_delay_seconds = 8.4e-3; }), 15e-3);
  EXPECT_EQ(estimate([](Repetition& one) { one.cpu_seconds = 14e-3; }), 15e-3);
  EXPECT_EQ(estimate([](Repetition& one) { one.cpu_seconds.reset(); }), 15e-3);
  EXPECT_EQ(estimate([](Repetition& one) { one.main_cpu_seconds.reset(); }), 15e-3);
  EXPECT_EQ(estimate([](Repetition& one) { one.run_delay_seconds.reset(); }), 15e-3);
}

// Waits for a CPU above 1 %, less than 0.9 of the core, threads three times as far apart. What was
// not measured does not count.
TEST(MarkNoisy, MarksWhatOtherProgramsDisturbedAndAcceptsAMainThreadThatAlwaysWaitsForAWorker) {
  const std::tuple<std::optional<double> Repetition::*, double, double> rows[] = {
      {&Repetition::run_delay_seconds, 0.009, 0.011},
      {&Repetition::core_share, 0.91, 0.89},
      {&Repetition::link_share, 0.31, 0.29}};
  for (const auto& [field, clean, noisy] : rows) {
    auto repetitions = Times({1, 1, 1});
    repetitions[0].*field = clean;
    repetitions[1].*field = noisy;
    MarkNoisy(repetitions);
    EXPECT_FALSE(repetitions[0].noisy) << clean;
    EXPECT_TRUE(repetitions[1].noisy) << noisy;
    EXPECT_FALSE(repetitions[2].noisy);
  }
  auto repetitions = Times({1, 1, 1});
  for (auto& repetition : repetitions) repetition.main_cpu_seconds = 0.6;
  MarkNoisy(repetitions);
  for (const auto& repetition : repetitions) EXPECT_FALSE(repetition.noisy);
  repetitions[1].main_cpu_seconds = 0.57;  // off its CPU for 43 %, the best for 40 %: 3 % more
  MarkNoisy(repetitions);
  EXPECT_TRUE(repetitions[1].noisy);
  EXPECT_FALSE(repetitions[0].noisy);
}

// Each repetition left out some of its ten calls; in the last one even the clean calls waited.
TEST(TimeOf, IsTheMedianOfTheCleanCallsInAnIntervalThatWasMeasured) {
  auto repetitions = Times({10, 12, 11, 80});
  for (auto& repetition : repetitions) {
    repetition.iterations = 10;
    repetition.clean_calls = 3;
    repetition.core_share = 1;
  }
  repetitions[3].run_delay_seconds = 40;
  MarkNoisy(repetitions);
  EXPECT_FALSE(Summarize(repetitions));
  const auto timing = TimeOf(repetitions).value();
  EXPECT_TRUE(timing.noisy);
  EXPECT_EQ(timing.median, 11);
  EXPECT_EQ(timing.clean, 0);
  EXPECT_EQ(timing.ci95, std::pair(10.0, 12.0));
  auto unknown = repetitions;
  for (auto& repetition : unknown) repetition.core_share.reset();  // half a core, for all we know
  EXPECT_EQ(TimeOf(unknown).value().median, 10);
  repetitions[0].clean_calls = 9;  // of ten: enough
  MarkNoisy(repetitions);
  EXPECT_FALSE(repetitions[0].noisy);
  // Seventeen repetitions within 4.3 % on cores that seemed to have a fifth of their best rate: the
  // interval is as wide as they are, not five times as wide.
  std::vector<Repetition> few;
  for (int i = 0; i < 17; ++i)
    few.push_back({.seconds = 1 + 0.043 * i / 16, .core_share = 0.2, .link_share = 0.2});
  MarkNoisy(few);
  const auto narrow = TimeOf(few).value();
  EXPECT_TRUE(narrow.noisy);
  EXPECT_EQ(narrow.ci95, std::pair(1.0, 1 + 0.043 / 2));
  EXPECT_THAT(NoiseText({{.repetitions = few}}),
              testing::AllOf(testing::StartsWith("in 17 of 17 noisy repetitions a core was slower"),
                             testing::Not(testing::HasSubstr("stop"))));
}

// Half of the calls of each repetition were left out.
TEST(TimeOf, IsCleanIfTheIntervalOfRepetitionsWithoutTheirNoisyCallsIsNarrow) {
  std::vector<Repetition> repetitions;
  for (int i = 0; i < 12; ++i)
    repetitions.push_back(
        {.seconds = 1 + 0.01 * i, .core_share = 1, .clean_calls = 5, .iterations = 10});
  MarkNoisy(repetitions);
  EXPECT_FALSE(Summarize(repetitions));
  const auto timing = TimeOf(repetitions).value();
  EXPECT_FALSE(timing.noisy);
  EXPECT_DOUBLE_EQ(timing.median, 1.055);
  EXPECT_EQ(timing.ci95, std::pair(1.02, 1.09));
  EXPECT_EQ(NoiseText({{.repetitions = repetitions}}), "");
  for (int i = 0; i < 5; ++i) repetitions[i].seconds -= 0.2;
  EXPECT_TRUE(TimeOf(repetitions).value().noisy);
  EXPECT_THAT(NoiseText({{.repetitions = repetitions}}), testing::HasSubstr("were interrupted"));
}

TEST(NoiseText, SaysToStopOtherProgramsOnlyWhereTheyWereSeen) {
  auto repetitions = Times({1, 1, 1});
  repetitions[0].run_delay_seconds = repetitions[1].run_delay_seconds = 0.1;
  repetitions[2].main_cpu_seconds = 0.9;
  for (auto& repetition : repetitions) repetition.noisy = true;
  EXPECT_EQ(NoiseText({{.repetitions = repetitions}}),
            "in 2 of 3 noisy repetitions threads waited while other programs ran: stop those, or "
            "wait, and run again; in 1 of 3 noisy repetitions the main thread lost its CPU to no "
            "program of this system: a hypervisor takes it");
  EXPECT_EQ(NoiseText({{.repetitions = Times({1})}}), "");
}

TEST(SplitName, SetsPartsAndOptionsOfOwnAndForeignNames) {
  Record record{.name = "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4/cold/nhwc"};
  SplitName(record);
  EXPECT_EQ(record.op, "LSTM");
  EXPECT_EQ(record.problem, "t1n2i3h4");
  EXPECT_THAT(record.options, testing::ElementsAre("cold", "nhwc"));
  Record foreign{.name = "BM_Sort/1024"};
  SplitName(foreign);
  EXPECT_EQ(foreign.op, "BM_Sort");
  EXPECT_EQ(foreign.device, "1024");
  EXPECT_EQ(foreign.library, "");
}

TEST(IsThrottled, BelowThreeQuartersOfTheDefaultClock) {
  EXPECT_FALSE(IsThrottled({.clock_hz = 1.5e9, .default_clock_hz = 2e9}));  // just 75 %
  EXPECT_TRUE(IsThrottled({.clock_hz = 1.499e9, .default_clock_hz = 2e9}));
  EXPECT_FALSE(IsThrottled({.clock_hz = 1e6}));
  EXPECT_FALSE(IsThrottled({.default_clock_hz = 2e9}));
  // The power limit is no fault.
  EXPECT_FALSE(IsThrottled({.clock_hz = 1e9, .default_clock_hz = 2e9, .throttle = 0x4}));
  EXPECT_TRUE(IsThrottled({.clock_hz = 1e9, .default_clock_hz = 2e9, .throttle = 0x24}));
  EXPECT_TRUE(IsThrottled({.clock_hz = 1e9, .default_clock_hz = 2e9, .throttle = 1e300}));
}

TEST(SummarizeSamples, HasMediansAndAllThrottleBits) {
  const auto summary =
      SummarizeSamples({{.throughput_seconds = 1, .power_watts = 100, .throttle = 4},
                        {.throughput_seconds = 3, .throttle = 1},
                        {.throughput_seconds = 2, .host_seconds = 9}});
  EXPECT_EQ(summary.throughput_seconds, 2);
  EXPECT_EQ(summary.power_watts, 100);
  EXPECT_EQ(summary.throttle, 5);
  EXPECT_FALSE(summary.graph_seconds);
  EXPECT_FALSE(summary.host_seconds);
  EXPECT_FALSE(SummarizeSamples({{.throttle = -1}, {.throttle = 1e300}}).throttle);
}

TEST(GpuCounters, RoundTripEveryQuantity) {
  GpuSample sample;
  double value = 1;
  for (const auto& [key, member] : GpuSampleFields()) sample.*member = ++value;
  const auto counters = ToCounters(Record(), {.gpu = std::make_shared<GpuSample>(sample)});
  EXPECT_EQ(counters.size(), GpuSampleFields().size());
  EXPECT_EQ(counters.at("dlroof/gpu/throughput_seconds"), 2);
  EXPECT_EQ(GpuSampleFromCounters(counters), sample);
  EXPECT_FALSE(GpuSampleFromCounters({{"dlroof/threads", 1}}));
}

std::vector<Repetition> Repetitions(double clock_hz, double run_delay, double host_seconds) {
  Repetition repetition{.seconds = 1e-5, .iterations = 10};
  repetition.main_cpu_seconds = 1e-6;
  repetition.run_delay_seconds = run_delay;
  GpuSample sample{.host_seconds = host_seconds, .clock_hz = clock_hz, .default_clock_hz = 2e9};
  repetition.gpu = std::make_shared<GpuSample>(sample);
  Repetition clean = repetition;
  clean.main_cpu_seconds = 9e-6;
  clean.run_delay_seconds = 0;
  sample.clock_hz = 1.9e9;
  clean.gpu = std::make_shared<GpuSample>(sample);
  return {repetition, clean};
}

// A host that waits for the GPU is off its CPU for 90 %, in the other repetition for 10 %. It may
// wait for a CPU 1 % of its own time, which is more of the call's.
TEST(MarkNoisyOnAGpu, MarksThrottlingAndAHostThatWaitsForACpu) {
  const std::tuple<double, double, bool> rows[] = {
      {1.4e9, 0, true}, {1.9e9, 0, false}, {1.9e9, 4e-7, false}, {1.9e9, 6e-7, true}};
  for (const auto& [clock_hz, run_delay, noisy] : rows) {
    auto repetitions = Repetitions(clock_hz, run_delay, 5e-5);
    MarkNoisy(repetitions);
    EXPECT_EQ(repetitions[0].noisy, noisy) << clock_hz << " " << run_delay;
    EXPECT_FALSE(repetitions[1].noisy);
  }
}

TEST(GpuRecord, HasTheSamplesNamesThrottleReasonsAndIgnoresTheHostsWaits) {
  Record record{.name = "Conv2D/gpu/cudnn/fwd/f32/n1", .timed = timed::kCall};
  SplitName(record);
  for (int i = 0; i < 4; ++i) {
    Repetition repetition{.seconds = 2};
    repetition.noisy = i == 3;
    repetition.gpu = std::make_shared<GpuSample>(
        GpuSample{.throughput_seconds = i < 3 ? 1 : 50, .graph_seconds = 0.5, .throttle = 0x24});
    record.repetitions.push_back(repetition);
  }
  const auto json = roofline::ToJson(record, nullptr);
  EXPECT_EQ(json["seconds"]["median"], 2);
  EXPECT_EQ(json["gpu"]["throughput_seconds"], 1);
  EXPECT_EQ(json["gpu"]["graph_seconds"], 0.5);
  EXPECT_EQ(json["gpu"]["throttle"],
            (std::vector<std::string>{"sw_power_cap", "sw_thermal_slowdown"}));
  EXPECT_FALSE(json["gpu"].contains("power_watts"));
  EXPECT_EQ(json["repetitions"][3]["gpu"]["throughput_seconds"], 50);
  const Record on_cpu{.name = "x", .repetitions = Times({1, 1, 1})};
  EXPECT_FALSE(roofline::ToJson(on_cpu, nullptr).contains("gpu"));
  EXPECT_EQ(roofline::ToJson(RecordFromJson(json.dump(), "x"), nullptr), json);
  std::vector<Repetition> repetitions(2);
  EXPECT_FALSE(TimedBySamples(repetitions));
  repetitions[0].gpu = std::make_shared<GpuSample>(GpuSample{.call_seconds = 3});
  EXPECT_EQ(TimedBySamples(repetitions), timed::kDevice);
  for (const auto& [sample, kind] :
       {std::pair(GpuSample{.call_seconds = 3, .graph_calls = 50}, timed::kGraph),
        std::pair(GpuSample{.call_seconds = 3, .stream_calls = 50}, timed::kThroughput)}) {
    repetitions[0].gpu = std::make_shared<GpuSample>(sample);
    EXPECT_EQ(TimedBySamples(repetitions), kind);
  }
  repetitions[1].gpu = std::make_shared<GpuSample>(GpuSample{.graph_seconds = 1});
  EXPECT_EQ(TimedBySamples(repetitions), timed::kCall);
  // The host waited, but a queued call's time is the device's.
  std::vector<Repetition> waited = {
      {.seconds = 1, .cpu_seconds = 1, .run_delay_seconds = 0.5, .iterations = 1}};
  waited[0].gpu = std::make_shared<GpuSample>();
  MarkNoisy(waited);
  EXPECT_TRUE(waited[0].noisy);
  waited[0].gpu = std::make_shared<GpuSample>(GpuSample{.call_seconds = 3});
  MarkNoisy(waited);
  EXPECT_FALSE(waited[0].noisy);
}

nlohmann::json Plain() {
  return {{"joules", 2.0}, {"seconds", 0.5},     {"window_seconds", 0.5},
          {"calls", 3},    {"from", "powercap"}, {"covers", "packages"}};
}

Record Read(const nlohmann::json& energy) {
  return RecordFromJson(nlohmann::json{{"name", "x"}, {"energy", energy}}.dump(), "run.json");
}

std::string RefusedWith(const char* key, const nlohmann::json& value) {
  auto energy = Plain();
  energy[key] = value;
  return fakes::RefusalOf([&] { Read(energy); });
}

TEST(EnergyJson, RoundTripsInARecordAndReportsThePlaceOfWrongMembers) {
  Record record{.name = "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4"};
  SplitName(record);
  record.energy = energy::Energy{.joules = 0.75,
                                 .ci95 = {{0.5, 1.0}},
                                 .domains = {{"package-0", 0.5}, {"dram-0", 0.25}},
                                 .beside = {{"psys", 1.5}},
                                 .seconds = 0.0625,
                                 .window_seconds = 0.5,
                                 .calls = 24,
                                 .others_cpus = 0.25,
                                 .from = "powercap",
                                 .covers = "packages and DRAM"};
  const auto json = ToJson(record);
  const auto read = RecordFromJson(json.dump(), "x");
  EXPECT_EQ(read.energy, record.energy);
  EXPECT_EQ(ToJson(read), json);
  EXPECT_THAT(RefusedWith("joules", -1),
              HasSubstr("run.json: energy: 'joules': expected joules from 1e-12"));
  EXPECT_THAT(RefusedWith("joules", 0), HasSubstr("expected joules from 1e-12"));
  EXPECT_THAT(RefusedWith("ci95", {1}), HasSubstr("'ci95': expected two rising numbers above 0"));
  EXPECT_THAT(RefusedWith("ci95", {3, 1}), HasSubstr("two rising numbers"));
  EXPECT_THAT(RefusedWith("ci95", {1, 2, 3}), HasSubstr("two rising numbers"));
  EXPECT_THAT(RefusedWith("domains", {{"dram", "x"}}), HasSubstr("energy: domains: 'dram'"));
  auto without = Plain();
  without.erase("from");
  EXPECT_THAT(fakes::RefusalOf([&] { Read(without); }), HasSubstr("'from'"));
}

struct Reading {
  std::map<std::string, double> nanoseconds;  // of each record with a time
  RunFile run;
  std::string warnings;
};

Reading ReadText(const std::string& text) {
  std::ostringstream warnings;
  Reading reading{.run = ParseRunFile(text, "gb.json", warnings)};
  reading.warnings = warnings.str();
  for (const auto& record : reading.run.records)
    if (const auto time = TimeOf(record.repetitions))
      reading.nanoseconds[record.name] = std::round(time->median * 1e13) / 1e4;
  return reading;
}

Reading FromFile(const std::string& name) {
  return ReadText(ReadFile(fakes::TestData("faults/" + name), "a file of Google Benchmark"));
}

const std::map<std::string, double> kBoth = {{"BM_A", 100}, {"BM_B", 200}};

TEST(BenchmarkEntries, InvalidJsonLosesNoOtherEntryAndLinesBeforeTheJsonAreLeftOut) {
  for (const char* name : {"winpath.json", "rms.json", "skipesc.json", "ctrl.json"})
    EXPECT_EQ(FromFile(name).nanoseconds, kBoth) << name;
  EXPECT_EQ(FromFile("skipesc.json").run.records.at(1).reason, "File not found c:\\hello.txt.");
  EXPECT_EQ(FromFile("ctrl.json").run.records.at(1).reason, "no device");
  EXPECT_EQ(Text(FromFile("winpath.json").run.context, "executable"),
            "C:\\Users\\me\\new\\bench.exe");
  for (const char* name : {"pre.json", "warn.json"}) {
    const auto read = FromFile(name);
    EXPECT_EQ(read.nanoseconds, kBoth) << name;
    EXPECT_THAT(read.warnings, HasSubstr("gb.json: lines before its JSON are left out"));
  }
}

TEST(BenchmarkEntries, OfAnotherLocaleOrWithTextOfTheProgramAmongThemAreRefused) {
  for (const char* name : {"de.json", "midtext.json", "ctxcomma.json"})
    EXPECT_THAT(fakes::RefusalOf([&] { FromFile(name); }),
                testing::AllOf(HasSubstr("gb.json: not JSON: "), HasSubstr("LC_ALL=C")))
        << name;
  auto own = ReadFile(fakes::TestData("run_small.json"), "a run file");
  own.insert(own.find("\"num_cpus\""), "oops\n");
  EXPECT_THAT(fakes::RefusalOf([&] { ReadText(own); }), HasSubstr("gb.json: not JSON: "));
}

// The profile of a ResNet-50 on an H200: 240 launches took 503 us, and a launch costs 3.66 us.
TEST(CompleteOldKernels, AnOldProfileHasNoLaunchCost) {
  const auto run = fakes::ReadPlaced("h200_profile_resnet50.json");
  ASSERT_EQ(run.places.size(), 1U);
  EXPECT_EQ(run.file.records[0].timed, "kernels");
  const auto& placement = run.places[0].placement;
  ASSERT_TRUE(placement.time);
  EXPECT_FALSE(placement.time->overhead_seconds);
  EXPECT_EQ(placement.time->bound, roofline::Bound::kMemory);
  EXPECT_NEAR(run.places[0].timing->median, 503e-6, 0.5e-6);
  for (const auto& point : placement.classic) EXPECT_LT(point.share.value, 1);
}

TEST(CompleteOldKernels, OtherRunsStayAsTheyAreAndANewFileIsWrittenAndReadWithItsMark) {
  auto run = fakes::StoredRun("h200_profile_resnet50.json");
  run.records[0].timed.reset();
  run.context["dlroof"]["command"] = "dlroof_bench --benchmark_out=x.json";
  EXPECT_FALSE(CompleteOldKernels(run));
  EXPECT_FALSE(run.records[0].timed);
  run.context["dlroof"]["imported"] = {{"file", "x.csv"}, {"format", "ncu"}};
  CompleteOldKernels(run);
  EXPECT_EQ(run.records[0].timed, "kernels");
  // A new file says what its times are, so nothing is removed from it.
  run = fakes::StoredRun("h200_profile_resnet50.json");
  const auto json = roofline::ToJson(run);
  EXPECT_EQ(json["records"][0]["timed"], "kernels");
  std::ostringstream none;
  const auto again = ParseRunFile(json.dump(), "x.json", none);
  EXPECT_EQ(again.records[0].timed, "kernels");
  EXPECT_EQ(none.str(), "");
}

// The file is compressed. 3 launches of Hold and 2 of WriteStamps, together 30.014464 ms.
TEST(LeaveOutClockKernels, RemovesThemWithASentence) {
  std::ostringstream warnings;
  const auto run = ReadRunFile(fakes::TestData("h200_profile_conv.json.gz"), warnings);
  EXPECT_THAT(run.records, ElementsAre(Field(&Record::name, HasSubstr("fprop_implicit_gemm"))));
  EXPECT_THAT(warnings.str(),
              HasSubstr("left out: dlroof's own kernels, with which it times calls (Hold, "
                        "WriteStamps): 5 launches, 30.0 ms\n"));
}

TEST(IsClockKernel, IsOnlyAKernelOfDlroofsClockAndKnowsEveryKernelOfTheClock) {
  for (const char* own :
       {"dlroof::<unnamed>::Hold(const volatile int *, int *, unsigned long long)",
        "dlroof::cuda::(anonymous namespace)::ReadAll(uint4 const*, unsigned*)"})
    EXPECT_TRUE(IsClockKernel(own)) << own;
  for (const char* other : {"Hold(int)", "app::Hold(int)", "dlroof::cuda::<unnamed>::Copy(int)",
                            "void app::run<dlroof::Hold>(int)"})
    EXPECT_FALSE(IsClockKernel(other)) << other;
  // A kernel that is added to the clock must be left out too.
  std::ifstream file(fakes::TestData("../../counters/cuda/clock_kernels.cu"));
  const std::string source((std::istreambuf_iterator<char>(file)), {});
  const std::regex kernel(R"(__global__ void (\w+)\()");
  int found = 0;
  for (auto at = std::sregex_iterator(source.begin(), source.end(), kernel);
       at != std::sregex_iterator(); ++at, ++found)
    EXPECT_TRUE(IsClockKernel("dlroof::cuda::<unnamed>::" + (*at)[1].str() + "()")) << (*at)[1];
  EXPECT_GE(found, 3);
}

TEST(KernelNameOf, SplitsAtTheSlashBehindTheSet) {
  const auto parts = [](const std::string& name) {
    Record record{.name = name};
    const auto [set, kernel] = KernelNameOf(record);
    return std::string(set) + " | " + std::string(kernel);
  };
  EXPECT_EQ(parts("python3/void f<a/b>(int)"), "python3 | void f<a/b>(int)");
  EXPECT_EQ(parts("f<a/b>(int)"), " | f<a/b>(int)");
  EXPECT_EQ(parts("gemm"), " | gemm");
}

}  // namespace
}  // namespace dlroof::record
