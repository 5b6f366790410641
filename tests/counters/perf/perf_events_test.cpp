#include "counters/perf/perf_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace dlroof::perf {
namespace {

using testing::Contains;
using testing::HasSubstr;

// A kernel whose counters say what a test wants; two threads, each half of `values`.
struct FakeKernel {
  std::map<std::string, double> values;
  size_t slots = 4;                              // events that fit together
  std::map<std::string, int> refused;            // errno by event
  std::map<std::string, double> share;           // of its time that an event counts
  std::uint64_t begin = 0;                       // of every counter
  std::vector<std::vector<std::string>> groups;  // opened, with repetitions

  std::vector<std::vector<PerfReading>> operator()(const std::vector<PmuEvent>& events,
                                                   const std::function<void()>& call) {
    if (events.size() > slots) throw PerfRefused(EINVAL, PerfOpenSentence(EINVAL));
    std::vector<std::string> names;
    for (const auto& event : events) {
      names.push_back(event.name);
      if (refused.count(event.name) > 0)
        throw PerfRefused(refused.at(event.name), PerfOpenSentence(refused.at(event.name)));
    }
    groups.push_back(names);
    call();
    std::vector<std::vector<PerfReading>> readings;
    for (const auto& name : names) {
      const double part = share.count(name) > 0 ? share.at(name) : 1;
      const auto counted = static_cast<std::uint64_t>(values[name] / 2 * part);
      const PerfReading reading = {begin, begin + counted, 1000,
                                   static_cast<std::uint64_t>(1000 * part)};
      readings.push_back({reading, reading});
    }
    return readings;
  }
};

constexpr const char* kTable = R"({"name": "fake", "vendor": "x", "families": [1], "slots": 4,
  "source": "made up", "events": {
    "S": {"event": "0xc7", "umask": "0x02"}, "V4": {"event": "0xc7", "umask": "0x08"},
    "V8": {"event": "0xc7", "umask": "0x20"}, "V16": {"event": "0xc7", "umask": "0x80"},
    "IN": {"event": "0xf1", "umask": "0x1f"}, "OUT": {"event": "0xf0", "umask": "0x40"},
    "RD": {"pmu": "imc", "event": "0x04", "umask": "0x03"}},
  "quantities": [
    {"flops": "fp32.vector", "terms": {"S": 1, "V4": 4, "V8": 8, "V16": 16}},
    {"bytes": "l3", "terms": {"IN": 64, "OUT": 64}}, {"bytes": "dram", "terms": {"RD": 64}}]})";

FakeKernel Working() {
  return {
      .values = {{"S", 10}, {"V4", 20}, {"V8", 30}, {"V16", 40}, {"IN", 6}, {"OUT", 2}, {"RD", 8}}};
}

Counted CountOn(FakeKernel& kernel, std::vector<std::string> pipes = {"fp32.vector"}) {
  CountRequest request{.run = [] {}, .pipes = std::move(pipes)};
  return CountWithPerf(PmuTableFromText(kTable, "test"), request, std::ref(kernel));
}

TEST(IsDeviceOf, TakesNumberedUnitsAndNoOtherPmuOfTheSameBeginning) {
  EXPECT_TRUE(IsDeviceOf("uncore_imc", "uncore_imc"));
  EXPECT_TRUE(IsDeviceOf("uncore_imc", "uncore_imc_11"));
  EXPECT_FALSE(IsDeviceOf("uncore_imc", "uncore_imc_free_running"));
  EXPECT_FALSE(IsDeviceOf("uncore_imc", "uncore_imc_free_running_0"));
  EXPECT_FALSE(IsDeviceOf("uncore_imc", "uncore_imc_"));
  EXPECT_FALSE(IsDeviceOf("uncore_imc", "uncore_imcx"));
  EXPECT_FALSE(IsDeviceOf("uncore_imc", "cpu"));
}

TEST(CountWithPerf, AddsUpEventsTimesTheirFactorsOverAllThreads) {
  auto kernel = Working();
  const auto counted = CountOn(kernel);
  // 10 + 20*4 + 30*8 + 40*16; (6 + 2) lines; 8 lines.
  EXPECT_EQ(counted.work.flops.at("fp32.vector"), 970);
  EXPECT_EQ(counted.work.bytes.at(Level::kL3), 512);
  EXPECT_EQ(counted.work.bytes.at(Level::kDram), 512);
  EXPECT_THAT(counted.caveats, testing::ElementsAre(HasSubstr("other programs on the socket")));
  EXPECT_THAT(counted.how, HasSubstr("fake"));
}

// A program that does not say which pipes its call uses.
TEST(CountWithPerf, WithoutPipesCountsThoseWithEventsOfTheirOwn) {
  auto kernel = Working();
  const auto counted = CountOn(kernel, {});
  EXPECT_EQ(counted.work.flops.at("fp32.vector"), 970);
  EXPECT_EQ(counted.work.bytes.at(Level::kDram), 512);
}

TEST(CountWithPerf, NoGroupIsLargerThanTheSlotsNorMixesPmus) {
  auto kernel = Working();
  const auto counted = CountOn(kernel);
  // Seven events: four and two of the core, one of the memory controllers, three calls each.
  EXPECT_EQ(counted.passes, 9);
  for (const auto& group : kernel.groups) {
    EXPECT_LE(group.size(), 4);
    if (group.size() > 1) {
      EXPECT_THAT(group, testing::Not(Contains("RD")));
    }
  }
}

TEST(CountWithPerf, AGroupThatTheKernelFindsTooBigIsHalved) {
  auto kernel = Working();
  kernel.slots = 1;
  const auto counted = CountOn(kernel);
  EXPECT_EQ(counted.work.flops.at("fp32.vector"), 970);
  EXPECT_THAT(counted.caveats, testing::Each(HasSubstr("other programs on the socket")));
}

TEST(CountWithPerf, ARefusedEventTakesAwayOnlyWhatNeedsIt) {
  auto kernel = Working();
  kernel.refused = {{"RD", EACCES}};
  const auto blocked = CountOn(kernel);
  EXPECT_EQ(blocked.work.bytes.count(Level::kDram), 0);
  EXPECT_EQ(blocked.work.bytes.at(Level::kL3), 512);
  EXPECT_THAT(blocked.caveats, Contains(AllOf(HasSubstr("RD"), HasSubstr("perf_event_paranoid"))));
  kernel.refused = {{"RD", ENOENT}};
  EXPECT_THAT(CountOn(kernel).caveats, Contains(HasSubstr("does not have this event")));
}

TEST(CountWithPerf, ASharedCounterIsScaledOpenlyAndAHardlyCountingOneIsRefused) {
  auto kernel = Working();
  kernel.values["RD"] = 80;
  kernel.share = {{"RD", 0.8}};
  const auto scaled = CountOn(kernel);
  EXPECT_DOUBLE_EQ(scaled.work.bytes.at(Level::kDram), 80 * 64);
  EXPECT_THAT(scaled.caveats,
              Contains(HasSubstr("RD was scaled: it was counted for only part of the call")));
  kernel.share = {{"RD", 0.25}};
  const auto refused = CountOn(kernel);
  EXPECT_EQ(refused.work.bytes.count(Level::kDram), 0);
  EXPECT_THAT(refused.caveats, Contains(HasSubstr("25 % of the call")));
}

TEST(CountWithPerf, CountersThatWrapCountOn) {
  auto kernel = Working();
  kernel.begin = ~std::uint64_t{0} - 3;
  EXPECT_EQ(CountOn(kernel).work.flops.at("fp32.vector"), 970);
  const std::uint64_t width = std::uint64_t{1} << 48;
  EXPECT_EQ(Difference({width - 5, 7, 1, 1}), 12);
  EXPECT_EQ(Difference({~std::uint64_t{0}, 7, 1, 1}), 8);
  EXPECT_EQ(Difference({5, 12, 1, 1}), 7);
}

TEST(CountWithPerf, FlopsOfPipesThatTheCallHasNotAreNotAsked) {
  auto kernel = Working();
  const auto counted = CountOn(kernel, {"int8.vector"});
  EXPECT_THAT(counted.work.flops, testing::IsEmpty());
  for (const auto& group : kernel.groups) EXPECT_THAT(group, testing::Not(Contains("V16")));
}

TEST(CountWithPerf, ReadyRunsBeforeEachCallAndIsNotCounted) {
  auto kernel = Working();
  std::string order;
  CountRequest request;
  request.run = [&] { order += 'r'; };
  request.ready = [&] { order += 'e'; };
  CountWithPerf(PmuTableFromText(kTable, "test"), request, std::ref(kernel));
  EXPECT_EQ(order.substr(0, 4), "erer");
}

TEST(PmuTables, EveryBuiltInOneIsWhole) {
  EXPECT_EQ(BuiltInPmuTables().size(), 4);
  for (const auto& [name, text, sha256] : BuiltInPmuTables()) {
    const auto table = PmuTableFromText(text, std::string(name));
    EXPECT_FALSE(table.source.empty());
    EXPECT_GE(table.quantities.size(), 4) << name;
  }
}

TEST(PmuTables, AreFoundByFamilyAndModel) {
  cpu::Cpu cpu{.vendor = "GenuineIntel", .family = 6, .model = 85};
  ASSERT_TRUE(PmuTableFor(cpu));
  // Intel perfmon: event 0xc7, umask 0x80.
  EXPECT_EQ(PmuTableFor(cpu)->events.at("FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE").config, 0x80c7);
  cpu.model = 167;  // Rocket Lake
  EXPECT_FALSE(PmuTableFor(cpu));
  cpu.vendor = "AuthenticAMD";
  cpu.family = 0x17;
  cpu.model = 0x01;  // Zen 1
  EXPECT_FALSE(PmuTableFor(cpu));
  cpu.model = 0x31;  // Rome
  EXPECT_TRUE(PmuTableFor(cpu));
}

TEST(PerfOpenSentence, TellsTheCause) {
  EXPECT_THAT(PerfOpenSentence(EMFILE), HasSubstr("ulimit"));
  EXPECT_THAT(PerfOpenSentence(EBUSY), HasSubstr("watchdog"));
  EXPECT_THAT(PerfOpenSentence(ENOSPC), HasSubstr("do not fit"));
  EXPECT_THAT(PerfOpenSentence(EIO), HasSubstr("errno 5"));
}

TEST(PerfSentence, TellsTheCauseFromTheAnswerNotFromTheErrnoAlone) {
  EXPECT_THAT(PerfSentence({0, true, 2}), HasSubstr("can be read"));
  EXPECT_THAT(PerfSentence({ENOENT, false, 2}), HasSubstr("has no PMU"));
  EXPECT_THAT(PerfSentence({EACCES, true, 3}), HasSubstr("perf_event_paranoid is 3"));
  EXPECT_THAT(PerfSentence({EPERM, true, std::nullopt}),
              HasSubstr("perf_event_paranoid is not readable"));
  EXPECT_THAT(PerfSentence({ENOSYS, true, std::nullopt}), HasSubstr("built without perf events"));
  EXPECT_THAT(PerfSentence({EBUSY, true, 2}), HasSubstr("NMI watchdog"));
  EXPECT_THAT(PerfSentence({ENOENT, true, 2}), HasSubstr("errno 2"));
}

// A cycle counter opened by hand gets the same answer.
TEST(AskPerf, AnswersAsTheKernelDoes) {
  perf_event_attr cycles = {};
  cycles.size = sizeof cycles;
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.config = PERF_COUNT_HW_CPU_CYCLES;
  cycles.disabled = cycles.exclude_kernel = cycles.exclude_hv = 1;
  const auto opened = syscall(SYS_perf_event_open, &cycles, 0, -1, -1, 0UL);
  const int error = opened < 0 ? errno : 0;
  if (opened >= 0) close(static_cast<int>(opened));
  EXPECT_EQ(AskPerf().error, error);
}

// n more rounds of a loop add n times the instructions of a round: load, multiplication, store.
TEST(CountInstructions, GrowsByTheRoundsOfALoop) {
  volatile double value = 1;
  const auto count = [&](int rounds) {
    return CountInstructions([&] {
      for (int i = 0; i < rounds; ++i) value = value * 1.5;
    });
  };
  const auto none = count(0), thousand = count(1000);
  if (!thousand) GTEST_SKIP() << PerfSentence(AskPerf());
  ASSERT_TRUE(none);
  EXPECT_GE(*thousand - *none, 3000);
}

}  // namespace
}  // namespace dlroof::perf
