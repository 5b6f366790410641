#include "counters/perf/perf_events.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <set>
#include <thread>

#include "tests/fakes/pfm_encoding.h"

namespace dlroof::perf {
namespace {

using testing::Contains, testing::HasSubstr;

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
  for (const char* device : {"uncore_imc", "uncore_imc_11"})
    EXPECT_TRUE(IsDeviceOf("uncore_imc", device)) << device;
  for (const char* device : {"uncore_imc_free_running", "uncore_imc_free_running_0", "uncore_imc_",
                             "uncore_imcx", "cpu"})
    EXPECT_FALSE(IsDeviceOf("uncore_imc", device)) << device;
}

struct CountOnKernel : testing::Test {
  FakeKernel kernel = Working();
};

TEST_F(CountOnKernel, AddsUpEventsTimesTheirFactorsOverAllThreads) {
  const auto counted = CountOn(kernel);
  // 10 + 20*4 + 30*8 + 40*16; (6 + 2) lines; 8 lines.
  EXPECT_EQ(counted.work.flops.at("fp32.vector"), 970);
  EXPECT_EQ(counted.work.bytes.at(Level::kL3), 512);
  EXPECT_EQ(counted.work.bytes.at(Level::kDram), 512);
  EXPECT_THAT(counted.caveats, testing::ElementsAre(HasSubstr("other programs on the socket")));
  EXPECT_THAT(counted.how, HasSubstr("fake"));
  // Seven events: four and two of the core, one of the memory controllers, three calls each. No
  // group is larger than the slots nor mixes PMUs.
  EXPECT_EQ(kernel.groups.size(), 9u);
  for (const auto& group : kernel.groups) {
    EXPECT_LE(group.size(), 4);
    if (group.size() > 1) {
      EXPECT_THAT(group, testing::Not(Contains("RD")));
    }
  }
  // A program that does not say which pipes its call uses: those with events of their own.
  const auto without_pipes = CountOn(kernel, {});
  EXPECT_EQ(without_pipes.work.flops.at("fp32.vector"), 970);
  EXPECT_EQ(without_pipes.work.bytes.at(Level::kDram), 512);
  // A group that the kernel finds too big is halved.
  kernel.slots = 1;
  const auto halved = CountOn(kernel);
  EXPECT_EQ(halved.work.flops.at("fp32.vector"), 970);
  EXPECT_THAT(halved.caveats, testing::Each(HasSubstr("other programs on the socket")));
}

TEST_F(CountOnKernel, ARefusedEventTakesAwayOnlyWhatNeedsIt) {
  kernel.refused = {{"RD", EACCES}};
  const auto blocked = CountOn(kernel);
  EXPECT_EQ(blocked.work.bytes.count(Level::kDram), 0);
  EXPECT_EQ(blocked.work.bytes.at(Level::kL3), 512);
  EXPECT_THAT(blocked.caveats, Contains(AllOf(HasSubstr("RD"), HasSubstr("perf_event_paranoid"))));
  kernel.refused = {{"RD", ENOENT}};
  EXPECT_THAT(CountOn(kernel).caveats, Contains(HasSubstr("does not have this event")));
}

TEST_F(CountOnKernel, ASharedCounterIsScaledOpenlyAndAHardlyCountingOneIsRefused) {
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

TEST_F(CountOnKernel, CountersThatWrapCountOn) {
  kernel.begin = ~std::uint64_t{0} - 3;
  EXPECT_EQ(CountOn(kernel).work.flops.at("fp32.vector"), 970);
  const std::uint64_t width = std::uint64_t{1} << 48;
  EXPECT_EQ(Difference({width - 5, 7, 1, 1}), 12);
  EXPECT_EQ(Difference({~std::uint64_t{0}, 7, 1, 1}), 8);
  EXPECT_EQ(Difference({5, 12, 1, 1}), 7);
}

TEST_F(CountOnKernel, FlopsOfPipesThatTheCallHasNotAreNotAsked) {
  const auto counted = CountOn(kernel, {"int8.vector"});
  EXPECT_THAT(counted.work.flops, testing::IsEmpty());
  for (const auto& group : kernel.groups) EXPECT_THAT(group, testing::Not(Contains("V16")));
}

TEST_F(CountOnKernel, ReadyRunsBeforeEachCallAndIsNotCounted) {
  std::string order;
  CountRequest request;
  request.run = [&] { order += 'r'; };
  request.ready = [&] { order += 'e'; };
  CountWithPerf(PmuTableFromText(kTable, "test"), request, std::ref(kernel));
  EXPECT_EQ(order.substr(0, 4), "erer");
}

TEST(PmuTables, EveryBuiltInOneIsWholeAndAreFoundByFamilyAndModel) {
  EXPECT_EQ(BuiltInPmuTables().size(), 4);
  for (const auto& [name, text, sha256] : BuiltInPmuTables()) {
    const auto table = PmuTableFromText(text, std::string(name));
    EXPECT_FALSE(table.source.empty());
    EXPECT_GE(table.quantities.size(), 4) << name;
  }
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

TEST(PerfSentence, TellsTheCauseFromTheAnswerNotFromTheErrnoAlone) {
  for (const auto& [error, cause] :
       {std::pair(EMFILE, "ulimit"), {EBUSY, "watchdog"}, {ENOSPC, "do not fit"}, {EIO, "errno 5"}})
    EXPECT_THAT(PerfOpenSentence(error), HasSubstr(cause));
  for (const auto& [answer, cause] :
       {std::pair(PerfAnswer{0, true, 2}, "can be read"),
        {{ENOENT, false, 2}, "has no PMU"},
        {{EACCES, true, 3}, "perf_event_paranoid is 3"},
        {{EPERM, true, std::nullopt}, "perf_event_paranoid is not readable"},
        {{ENOSYS, true, std::nullopt}, "built without perf events"},
        {{EBUSY, true, 2}, "NMI watchdog"},
        {{ENOENT, true, 2}, "errno 2"}})
    EXPECT_THAT(PerfSentence(answer), HasSubstr(cause));
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

// OpenMP's other threads spin after a call and execute instructions that are not the call's.
TEST(CountInstructions, CountsOnTheCallingThreadAlone) {
  std::atomic<bool> end = false;
  std::thread other([&] { end.wait(false); });
  std::vector<PerfPlace> places;
  const PerfBackend backend = [&](const std::vector<PmuEvent>& events, const auto& /*call*/) {
    places = PlacesOf(events.at(0).pmu);
    return std::vector(1, std::vector(places.size(), PerfReading{1, 8, 5, 5}));
  };
  const auto count = CountInstructions([] {}, backend);
  end = true;
  end.notify_all();
  other.join();
  EXPECT_EQ(count, 7);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].thread, 0);
}

// The CPUs' event tables held against libpfm4's, which come from other hands.

constexpr const char* kNoPfm =
    "the tests were built without libpfm4 and its tables of x86 CPUs (Debian: libpfm4-dev)";

constexpr std::string_view kZen2 = "amd64_fam17h_zen2";
constexpr std::string_view kZen3 = "amd64_fam19h_zen3";
constexpr std::string_view kZen4 = "amd64_fam19h_zen4";
// Files of counters/pmus, with libpfm4's names of CPUs that they are for.
constexpr std::pair<std::string_view, std::string_view> kPmus[] = {{"skylake_sp", "skx"},
                                                                   {"skylake_sp", "clx"},
                                                                   {"ice_lake_sp", "icx"},
                                                                   {"sapphire_rapids", "spr"},
                                                                   {"sapphire_rapids", "emr"},
                                                                   {"zen", kZen2},
                                                                   {"zen", kZen3},
                                                                   {"zen", kZen4}};

// AMD's events as libpfm4 spells them, in whose names for bits of the umask ours are put together:
// PMU (empty for all), event, libpfm4's event and umask.
constexpr std::string_view kRequests = "REQUESTS_TO_L2_GROUP1";
constexpr std::string_view kZen4Prefetchers =
    "L2_STREAM:L2_NEXT_LINE:L2_UP_DOWN:L2_BURST:L2_STRIDE:L1_STREAM:L1_STRIDE:L1_REGION";
constexpr std::string_view kZen3Prefetchers = "L2_HW_PREFETCHER:L1_HW_PREFETCHER";
constexpr std::array<std::string_view, 4> kSpellings[] = {
    {"", "fp_ret_sse_avx_ops.all", "RETIRED_SSE_AVX_FLOPS",
     "ADD_SUB_FLOPS:MULT_FLOPS:DIV_FLOPS:MAC_FLOPS"},
    {"", "l2_cache_req_stat.ic_dc_miss_in_l2", "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS",
     "LS_RD_BLK_C:IC_FILL_MISS"},
    {kZen2, "l2_request_g1.all_no_prefetch", kRequests,
     "RD_BLK_L:RD_BLK_X:LS_RD_BLK_C_S:CACHEABLE_IC_READ:CHANGE_TO_X:GROUP2"},
    {kZen3, "l2_request_g1.all_no_prefetch", kRequests,
     "RD_BLK_L:RD_BLK_X:LS_RD_BLK_C_S:CACHEABLE_IC_READ:CHANGE_TO_X"},
    {kZen4, "l2_request_g1.all_no_prefetch", kRequests,
     "RD_BLK_L:RD_BLK_X:LS_RD_BLK_C_S:CACHEABLE_IC_READ:CHANGE_TO_X:MISC"},
    {kZen2, "l2_pf_hit_l2", "L2_PREFETCH_HIT_L2", "ANY"},
    {kZen3, "l2_pf_hit_l2", "L2_PREFETCH_HIT_L2", kZen3Prefetchers},
    {kZen4, "l2_pf_hit_l2", "L2_PREFETCH_HIT_L2", kZen4Prefetchers},
    {kZen2, "l2_pf_miss_l2_hit_l3", "L2_PREFETCH_HIT_L3", "ANY"},
    {kZen3, "l2_pf_miss_l2_hit_l3", "L2_PREFETCH_HIT_L3", kZen3Prefetchers},
    {kZen4, "l2_pf_miss_l2_hit_l3", "L2_PREFETCH_HIT_L3", kZen4Prefetchers},
    {kZen2, "l2_pf_miss_l2_l3", "L2_PREFETCH_MISS_L3", "ANY"},
    {kZen3, "l2_pf_miss_l2_l3", "L2_PREFETCH_MISS_L3", kZen3Prefetchers},
    {kZen4, "l2_pf_miss_l2_l3", "L2_PREFETCH_MISS_L3", kZen4Prefetchers}};

// PMU, begin of events that a libpfm4 may not know (Debian 12's 4.13 knows none), and why. One that
// does must agree.
constexpr std::array<std::string_view, 3> kUnknown[] = {
    {"skx", "L2_TRANS.L1D_WB", "in likwid's tables and, for Broadwell, in Intel's"},
    {"clx", "L2_TRANS.L1D_WB", "as skx"},
    {"icx", "L2_TRANS.L1D_WB", "as skx"},
    {"spr", "L2_TRANS.L1D_WB", "as skx"},
    {"clx", "UNC_M_", "libpfm4 has skx's alone; the units are the same"},
    {"icx", "UNC_M_", "newer than 4.13"},
    {"spr", "UNC_M_", "newer than 4.13"},
    {"spr", "L2_TRANS.L2_WB", "newer than 4.13"},
    {"emr", "", "newer than 4.13"}};

// PMU, event, bits of our umask that libpfm4 has no name for, and why.
constexpr std::tuple<std::string_view, std::string_view, std::uint64_t, std::string_view>
    kUnnamed[] = {
        {kZen2, "l2_pf_hit_l2", 0xe0, "Linux (amdzen2/cache.json) sets all: L1's prefetchers too"},
        {kZen2, "l2_pf_miss_l2_hit_l3", 0xe0, "the same"},
        {kZen2, "l2_pf_miss_l2_l3", 0xe0, "the same"},
        {kZen3, "l2_request_g1.all_no_prefetch", 0x01, "group2 of Linux (amdzen3/cache.json)"}};

// "skx::L2_TRANS:L2_WB", "skx_unc_imc0::UNC_M_CAS_COUNT:RD"
std::string PfmSpelling(std::string_view pmu, const PmuEvent& event) {
  for (const auto& [of, own, pfm_event, pfm_umask] : kSpellings)
    if (own == event.name && (of.empty() || of == pmu))
      return fmt::format("{}::{}:{}", pmu, pfm_event, pfm_umask);
  std::string name = event.name;
  std::replace(name.begin(), name.end(), '.', ':');
  return fmt::format("{}{}::{}", pmu, event.pmu == "uncore_imc" ? "_unc_imc0" : "", name);
}

bool MayBeUnknown(std::string_view pmu, std::string_view event) {
  return std::ranges::any_of(
      kUnknown, [&](const auto& row) { return row[0] == pmu && event.starts_with(row[1]); });
}

std::uint64_t UnnamedConfig(std::string_view pmu, std::string_view event) {
  for (const auto& [of, name, umask, reason] : kUnnamed)
    if (of == pmu && name == event) return umask << 8;
  return 0;
}

PmuTable Table(std::string_view name) {
  return PmuTableFromText(TextOf(BuiltInPmuTables(), name), std::string(name));
}

std::string Hex(std::uint64_t config) { return fmt::format("{:#x}", config); }

TEST(PmuEncoding, EveryEventOfEveryTableIsLibpfm4sAndEveryTableIsLookedAt) {
  std::set<std::string_view> files, looked_at;
  for (const auto& table : BuiltInPmuTables()) files.insert(table.name);
  for (const auto& pmu : kPmus) looked_at.insert(pmu.first);
  EXPECT_EQ(files, looked_at);
  if (!fakes::HasPfm()) GTEST_SKIP() << kNoPfm;
  for (const auto& [file, pmu] : kPmus) {
    const auto table = Table(file);
    for (const auto& [name, event] : table.events) {
      const auto spelling = PfmSpelling(pmu, event);
      const auto encoding = fakes::PfmEncoding(spelling);
      if (encoding)
        EXPECT_EQ(Hex(event.config), Hex(*encoding | UnnamedConfig(pmu, name))) << spelling;
      else
        EXPECT_TRUE(MayBeUnknown(pmu, name)) << spelling << ": libpfm4 does not know it";
    }
  }
}

// libpfm4 has it for Broadwell alone, whose umasks of L2_TRANS later CPUs keep.
TEST(PmuEncoding, WriteBacksFromL1AreBroadwellsUmaskOfTheEventThatCountsThoseFromL2) {
  if (!fakes::HasPfm()) GTEST_SKIP() << kNoPfm;
  const auto broadwell = fakes::PfmEncoding("bdw_ep::L2_TRANS:L1D_WB");
  ASSERT_TRUE(broadwell);
  for (const char* file : {"skylake_sp", "ice_lake_sp", "sapphire_rapids"}) {
    const auto events = Table(file).events;
    EXPECT_EQ(Hex(events.at("L2_TRANS.L1D_WB").config),
              Hex((events.at("L2_TRANS.L2_WB").config & 0xff) | (*broadwell & 0xff00)))
        << file;
  }
}

TEST(PfmEncoding, IsTheRegistersEventAndUmaskAndAbsentForWhatNobodyKnows) {
  if (!fakes::HasPfm()) GTEST_SKIP() << kNoPfm;
  // Intel's manual, volume 3B: L1D.REPLACEMENT of Skylake is event 0x51, umask 0x01.
  EXPECT_EQ(fakes::PfmEncoding("skx::L1D:REPLACEMENT"), 0x0151U);
  // A cmask of 1 stands in bits 24 to 31: it would not be lost.
  EXPECT_EQ(fakes::PfmEncoding("skx::L1D:REPLACEMENT:c=1"), 0x1000151U);
  EXPECT_EQ(fakes::PfmEncoding("skx::L1D:REPLACED"), std::nullopt);
  EXPECT_EQ(fakes::PfmEncoding("skx::L1DATA:REPLACEMENT"), std::nullopt);
  EXPECT_EQ(fakes::PfmEncoding("nosuchcpu::L1D:REPLACEMENT"), std::nullopt);
}

}  // namespace
}  // namespace dlroof::perf
