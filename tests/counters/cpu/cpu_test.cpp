#include "counters/cpu/cpu.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/process_limits.h"
#include "tests/fakes/address_space.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cpu {
namespace {

using testing::AllOf, testing::ElementsAre, testing::HasSubstr, testing::IsSupersetOf,
    testing::Pair, testing::IsEmpty, testing::Not;
using Texts = std::map<std::string, std::string>;

// The CPU's description, its caches and memory.

constexpr std::uint64_t kAllStates = 0x600e6;

// A CPU that has every feature bit, family 6 model 0x8f stepping 4.
CpuidRegisters Everything(std::uint32_t leaf, std::uint32_t subleaf) {
  const std::uint32_t all = ~0U;
  if (leaf == 0) return {0x20, 0x756e6547, 0x6c65746e, 0x49656e69};  // "Genu" "ntel" "ineI"
  if (leaf == 1) return {0x000806f4, all, all, all};
  if (leaf == 7 && subleaf == 0) return {1, all, all, all};
  if (leaf == 7) return {all, all, all, all};
  if (leaf == 0x80000000) return {0x80000004, 0, 0, 0};
  if (leaf == 0x80000002) return {0x6d6f5320, 0x50432065, 0x55, 0};  // " Some CPU", NULs
  return {};
}

// AMD family 0x19: base family 0xf plus extended family 0xa; model 0x61.
TEST(CpuFromCpuid, ReadsNameExtendedModelAndExtendedFamily) {
  auto cpu = CpuFromCpuid(Everything, kAllStates, true);
  EXPECT_EQ(std::tuple(cpu.vendor, cpu.name, cpu.family, cpu.model, cpu.stepping),
            std::tuple("GenuineIntel", "Some CPU", 6, 0x8f, 4));
  const auto cpuid = [](std::uint32_t leaf, std::uint32_t) -> CpuidRegisters {
    if (leaf == 0) return {1, 0, 0, 0};
    if (leaf == 1) return {0x00a60f12, 0, 0, 0};
    return {};
  };
  cpu = CpuFromCpuid(cpuid, 0, false);
  EXPECT_EQ(std::tuple(cpu.family, cpu.model, cpu.stepping), std::tuple(0x19, 0x61, 2));
  EXPECT_TRUE(cpu.features.empty());
}

TEST(CpuFromCpuid, CountsFeaturesWhoseRegistersAreSavedAndAmxOnlyWithPermission) {
  const auto all = CpuFromCpuid(Everything, kAllStates, true).features;
  EXPECT_THAT(all, IsSupersetOf({"amx_int8", "avx512_fp16", "avx_vnni", "amx_fp16"}));
  const auto no_tiles = CpuFromCpuid(Everything, 0xe6, true).features;
  EXPECT_FALSE(no_tiles.contains("amx_tile"));
  EXPECT_TRUE(no_tiles.contains("avx512f"));
  const auto only_avx = CpuFromCpuid(Everything, 0x7, true).features;
  EXPECT_TRUE(only_avx.contains("avx2"));
  EXPECT_FALSE(only_avx.contains("avx512f"));
  EXPECT_FALSE(only_avx.contains("avx512_vnni"));
  const auto no_xsave = CpuFromCpuid(Everything, 0, true).features;
  EXPECT_EQ(no_xsave, (std::set<std::string>{"sse2", "ssse3", "sse4.1"}));
  auto features = CpuFromCpuid(Everything, kAllStates, false).features;
  for (const char* amx : {"amx_tile", "amx_bf16", "amx_int8"})
    EXPECT_FALSE(features.contains(amx)) << amx;
  EXPECT_TRUE(features.contains("avx512_bf16"));
  // CPUs answer a leaf above their highest with another leaf's bits.
  const auto cpuid = [](std::uint32_t leaf, std::uint32_t subleaf) {
    auto words = Everything(leaf, subleaf);
    if (leaf == 7 && subleaf == 0) words.eax = 0;
    return words;
  };
  features = CpuFromCpuid(cpuid, kAllStates, true).features;
  EXPECT_TRUE(features.contains("avx2"));
  EXPECT_FALSE(features.contains("avx_vnni"));
  EXPECT_FALSE(features.contains("avx512_bf16"));
}

// Two cores with two CPUs each (0,2 and 1,3), numbered as Linux does; an L3 for all.
Cpu TwoCores() {
  Cpu cpu{.allowed = {0, 1, 2, 3}};
  cpu.topology.core_of_cpu = {{0, 0}, {1, 1}, {2, 0}, {3, 1}};
  for (const int each : cpu.allowed) {
    cpu.topology.cache_of_cpu[Level::kL2][each] = {each % 2, 1024};
    cpu.topology.cache_of_cpu[Level::kL3][each] = {0, 8192};
  }
  return cpu;
}

TEST(SpreadCpus, TakesEveryCoreBeforeASecondCpuOfAnyWithinTheAffinityMask) {
  auto cpu = TwoCores();
  EXPECT_EQ(SpreadCpus(cpu, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(SpreadCpus(cpu, 4), (std::vector<int>{0, 1, 2, 3}));
  cpu.topology.core_of_cpu = {{0, 0}, {1, 0}, {2, 1}, {3, 1}};
  EXPECT_EQ(SpreadCpus(cpu, 2), (std::vector<int>{0, 2}));
  EXPECT_EQ(SpreadCpus(cpu, 3), (std::vector<int>{0, 2, 1}));
  auto masked = TwoCores();
  masked.allowed = {2, 3};
  EXPECT_EQ(SpreadCpus(masked, 2), (std::vector<int>{2, 3}));
  EXPECT_THROW(SpreadCpus(masked, 3), std::invalid_argument);
  EXPECT_THROW(SpreadCpus(masked, -1), std::invalid_argument);
  masked = TwoCores();
  masked.topology.core_of_cpu.clear();
  EXPECT_EQ(SpreadCpus(masked, 3), (std::vector<int>{0, 1, 2}));
}

TEST(ShareOf, CountsOnlyTheCpusInUseAndIsAbsentWhereTheCacheIsUnknown) {
  const auto topology = TwoCores().topology;
  const auto share = [&](Level level, const std::vector<int>& cpus) {
    const auto found = ShareOf(topology, level, cpus).value();
    return std::tuple(found.sharers, found.bytes, found.total_bytes);
  };
  EXPECT_EQ(share(Level::kL2, {0, 1}), std::tuple(1, 1024, 2048));
  EXPECT_EQ(share(Level::kL2, {0, 1, 2, 3}), std::tuple(2, 1024, 2048));
  EXPECT_EQ(share(Level::kL3, {0, 1, 3}), std::tuple(3, 8192, 8192));
  auto unknown = TwoCores().topology;
  EXPECT_EQ(ShareOf(unknown, Level::kL1, {0}), std::nullopt);
  EXPECT_EQ(ShareOf(unknown, Level::kL2, {0, 9}), std::nullopt);
  EXPECT_EQ(ShareOf(unknown, Level::kL2, {}), std::nullopt);
}

TEST(Facts, NameTheCachesAndLeaveTheAffinityMaskOut) {
  auto cpu = TwoCores();
  cpu.topology.cpus = 4;
  const auto facts = Facts(cpu);
  EXPECT_EQ(facts.at("topology.l2"), "2 x 1024 byte for 2 CPUs");
  EXPECT_EQ(facts.at("topology.l3"), "1 x 8192 byte for 4 CPUs");
  EXPECT_FALSE(facts.contains("topology.l1"));
  cpu.allowed = {1};
  EXPECT_EQ(Facts(cpu), facts);
}

TEST(ThisCpu, IsUsableAndStable) {
  const auto cpu = ThisCpu();
  EXPECT_FALSE(cpu.allowed.empty());
  EXPECT_TRUE(cpu.features.contains("sse2"));
  EXPECT_EQ(Facts(cpu), Facts(ThisCpu()));
}

TEST(AvailableMemoryBytes, IsNoMoreThanTheAddressSpaceHasLeft) {
  const auto limited = [] {
    fakes::LimitAddressSpace(64 << 20);
    const auto bytes = AvailableMemoryBytes();
    std::_Exit(bytes && *bytes <= 64 << 20 && *bytes > 48 << 20 ? 0 : 1);
  };
  EXPECT_EXIT(limited(), testing::ExitedWithCode(0), "");
}

TEST(CpuList, ReadsRangesAndParseMeminfoKibibytes) {
  EXPECT_THAT(CpuList("0-2,8\n"), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(CpuList("5\n"), ElementsAre(5));
  EXPECT_THAT(CpuList(""), testing::IsEmpty());
  const char* text = "MemTotal:       9 kB\nMemAvailable:   2048 kB\nX: 1\n";
  EXPECT_EQ(ParseMeminfo(text, "MemAvailable"), 2097152);
  EXPECT_EQ(ParseMeminfo(text, "MemTotal"), 9216);
  EXPECT_EQ(ParseMeminfo(text, "Mem"), std::nullopt);
  for (const char* bad : {"", "MemFree: 1 kB\n", "MemAvailable:", "MemAvailable: x kB"})
    EXPECT_EQ(ParseMeminfo(bad, "MemAvailable"), std::nullopt) << bad;
}

// Registers of a leaf 4: type, level, sharing threads - 1; ways - 1 and line - 1; sets - 1.
CpuidRegisters Cache(std::uint32_t type, std::uint32_t level, std::uint32_t threads,
                     std::uint32_t ways, std::uint32_t sets) {
  return {type | level << 5 | (threads - 1) << 14, (ways - 1) << 22 | 63, sets - 1, 0};
}

CpuidRegisters CascadeLake(std::uint32_t leaf, std::uint32_t subleaf) {
  if (leaf == 0) return {0x16, 0, 0, 0};
  if (leaf == 0xB && subleaf == 0) return {1, 2, 1 << 8, 0};
  if (leaf != 4) return {};
  const CpuidRegisters caches[] = {Cache(1, 1, 2, 8, 64), Cache(2, 1, 2, 8, 64),
                                   Cache(3, 2, 2, 16, 1024), Cache(3, 3, 64, 11, 53248)};
  return subleaf < 4 ? caches[subleaf] : CpuidRegisters{};
}

TEST(CoreCaches, AreThoseOfOneCoreAndItsShareOfASharedOneOnIntelAndAmd) {
  // 8 x 64 sets and 16 x 1024 sets of 64-byte lines. The instruction L1 and the L3 do not count.
  EXPECT_THAT(CoreCaches(CascadeLake),
              ElementsAre(Pair(Level::kL1, 32768), Pair(Level::kL2, 1048576)));
  const auto shared = [](std::uint32_t leaf, std::uint32_t subleaf) {
    if (leaf == 4 && subleaf == 2) return Cache(3, 2, 8, 16, 2048);  // 2 MiB of four cores
    return CascadeLake(leaf, subleaf);
  };
  EXPECT_EQ(CoreCaches(shared).at(Level::kL2), 524288);
  const auto amd = [](std::uint32_t leaf, std::uint32_t subleaf) -> CpuidRegisters {
    if (leaf == 0) return {0x10, 0, 0, 0};
    if (leaf == 0x80000000) return {0x8000001E, 0, 0, 0};
    if (leaf == 0xB && subleaf == 0) return {1, 2, 1 << 8, 0};
    if (leaf != 0x8000001D || subleaf > 1) return {};
    return subleaf == 0 ? Cache(1, 1, 2, 8, 64) : Cache(3, 2, 2, 8, 1024);
  };
  EXPECT_THAT(CoreCaches(amd), ElementsAre(Pair(Level::kL1, 32768), Pair(Level::kL2, 524288)));
  const auto nothing = [](std::uint32_t, std::uint32_t) { return CpuidRegisters{}; };
  EXPECT_THAT(CoreCaches(nothing), IsEmpty());
}

TEST(LinesOf, CountsEveryLineThatIsTouched) {
  alignas(64) char memory[256] = {};
  const std::tuple<int, std::size_t, int> cases[] = {{0, 0, 0},  {0, 1, 1},  {0, 64, 1}, {0, 65, 2},
                                                     {63, 1, 1}, {63, 2, 2}, {1, 128, 3}};
  for (const auto& [begin, bytes, lines] : cases)
    EXPECT_EQ(LinesOf({memory + begin, bytes}), lines) << begin << ' ' << bytes;
}

TEST(Evict, CountsItsBytesAndLeavesTheValues) {
  std::vector<int> first(100'000), second(333);
  std::iota(first.begin(), first.end(), 0);
  std::iota(second.begin(), second.end(), 7);
  const auto kept_first = first, kept_second = second;
  const MemorySpan a{first.data(), first.size() * sizeof(int)};
  const MemorySpan b{second.data(), second.size() * sizeof(int)};
  const auto bytes = Evict({a, b, {nullptr, 0}});
  EXPECT_EQ(bytes, static_cast<int64_t>(64 * (LinesOf(a) + LinesOf(b))));
  // A vector may begin anywhere in a line, so it touches at most one line more than its bytes fill.
  EXPECT_GE(bytes, 400'000 + 1'332);
  EXPECT_LE(bytes, 400'000 + 1'332 + 4 * 64);
  EXPECT_EQ(first, kept_first);
  EXPECT_EQ(second, kept_second);
}

TEST(ParseRunDelay, IsTheSecondFieldInSeconds) {
  EXPECT_DOUBLE_EQ(ParseRunDelay("123456 2500000000 17\n").value(), 2.5);
  for (const char* bad : {"", "12", "12 ", "12 x 3", "12 34"})
    EXPECT_EQ(ParseRunDelay(bad), std::nullopt) << bad;
}

TEST(ClockReading, DifferenceKeepsAnUnknownRunDelayUnknownAndNeverNegative) {
  ClockReading begin{1, 2, 3, 0.5};
  ClockReading end{11, 7, 23, 0.75};
  const auto spent = end - begin;
  EXPECT_EQ(std::tuple(spent.wall, spent.thread_cpu, spent.process_cpu, spent.run_delay),
            std::tuple(10, 5, 20, 0.25));
  end.run_delay = 0.25;
  EXPECT_EQ((end - begin).run_delay, 0);
  end.run_delay.reset();
  EXPECT_EQ((end - begin).run_delay, std::nullopt);
}

// One thread is busy for 2 ms of CPU time. Each clock shows that, except for the time between its
// reading and that of the first clock.
TEST(ReadClocks, EveryClockSeesABusyThread) {
  constexpr double kBusySeconds = 2e-3;
  const auto begin = ReadClocks();
  auto spent = ReadClocks() - begin;
  while (spent.thread_cpu < kBusySeconds) spent = ReadClocks() - begin;
  EXPECT_LT(spent.thread_cpu, 1);
  EXPECT_GE(spent.process_cpu, 0.9 * kBusySeconds);
  EXPECT_GE(spent.wall, 0.9 * kBusySeconds);
}

// CPUs run at 0.2 to 10 GHz. A chain that the core shortens (additions would give 14 to 21 "GHz")
// or a count that is wrong by a factor of ten falls outside.
TEST(MeasureCoreClock, AndTheRatesAreThoseOfACore) {
  const double clock = MeasureCoreClock();
  EXPECT_GT(clock, 0.2e9);
  EXPECT_LT(clock, 10e9);
  // At least one addition every eight cycles, and no more than eight in one: there are eight
  // chains. The clock may change between the two loops of a pair.
  const double issues = MeasureIssueRate();
  EXPECT_GT(issues, 0.125);
  EXPECT_LT(issues, 10);
  // Half of the loop of loads and additions is independent of the other half, so at least one
  // instruction starts in a nanosecond on any core above 1 GHz, and none starts 100.
  const double rate = MeasureInstructionRate();
  EXPECT_GT(rate, 1e8);
  EXPECT_LT(rate, 1e11);
}

// Clocks that stand still until the test moves them.
struct MadeUpClocks {
  double wall = 100, cpu = 7;

  BudgetClocks Clocks() {
    return {[this] { return wall; }, [this] { return cpu; }};
  }
  // This process computes while other programs take the CPU for `others`. [s]
  void Compute(double seconds, double others = 0) {
    cpu += seconds;
    wall += seconds + others;
  }
};

TEST(Budget, CountsCpuTimeWhileOtherProgramsTakeTheCpuAndMayHaveNoLimitAndEndsByWallTimeToo) {
  MadeUpClocks clocks;
  const Budget budget(4, 25, clocks.Clocks());
  EXPECT_FALSE(budget.IsSpent());
  clocks.Compute(3, 15);
  EXPECT_DOUBLE_EQ(budget.CpuLeft(), 1);
  EXPECT_DOUBLE_EQ(budget.WallLeft(), 7);
  EXPECT_FALSE(budget.IsSpent());
  clocks.Compute(1);
  EXPECT_TRUE(budget.IsSpent());
  EXPECT_EQ(budget.CpuLeft(), 0);
  const Budget endless(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(endless.IsSpent());
  EXPECT_FALSE(endless.Part(1e9).IsSpent());
  EXPECT_TRUE(endless.Part(0).IsSpent());
  EXPECT_TRUE(Budget(0).IsSpent());
  MadeUpClocks busy;
  const Budget by_wall(4, 25, busy.Clocks());
  busy.Compute(1, 24);
  EXPECT_TRUE(by_wall.IsSpent());
  busy.Compute(1);
  EXPECT_EQ(by_wall.WallLeft(), 0);
  EXPECT_DOUBLE_EQ(by_wall.CpuLeft(), 2);
}

TEST(Budget, APartEndsWithTheWhole) {
  MadeUpClocks clocks;
  const Budget whole(10, 25, clocks.Clocks());
  clocks.Compute(7, 1);
  EXPECT_DOUBLE_EQ(whole.Part(2).CpuLeft(), 2);
  EXPECT_DOUBLE_EQ(whole.Part(4).CpuLeft(), 3);
  EXPECT_DOUBLE_EQ(whole.Part(4).WallLeft(), 17);
  const auto part = whole.Part(2);
  clocks.Compute(2);
  EXPECT_TRUE(part.IsSpent());
  EXPECT_FALSE(whole.IsSpent());
}

// Two threads share a core and get 2 additions per cycle each; a single one gets all 4.
TEST(TeamIssueRate, IsTheLowestOfLooksBesideEachOther) {
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}}), 4);
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {0.05, 1.05, 2}}), 2);
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {0.5, 1.5, 4}}), std::nullopt);  // half the time alone
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {0, 3, 2}}), std::nullopt);      // it waited for its CPU
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {}}), std::nullopt);  // the second thread never measured
  EXPECT_EQ(TeamIssueRate({}), std::nullopt);
}

TEST(TeamLook, SeesHowFarTheThreadsAreFromEachOtherAndDoesNotWaitForThoseThatDoNotCome) {
  TeamLook alone(2);
  alone.Measure(0);
  alone.Measure(7);
  EXPECT_EQ(alone.State(), TeamState());
  constexpr int kThreads = 2;
  for (int tries = 0; tries < 200;
       ++tries) {  // on a busy machine the threads do not always overlap
    TeamLook look(kThreads);
    {
      std::vector<std::jthread> team;
      for (int i = 0; i < kThreads; ++i) team.emplace_back([&look, i] { look.Measure(i); });
    }
    const auto state = look.State();
    if (!state.round_trip) continue;
    EXPECT_GT(*state.round_trip, 1e-9);
    return;
  }
  GTEST_SKIP() << "two threads never ran beside each other";
}

TEST(SharesOfBest, AreOverTheBestThatWasMetMoreThanOnceByTheNearestThreads) {
  SharesOfBest shares;
  const auto core = [&](double rate) { return shares.OfLower({rate, {}}, {}).core; };
  EXPECT_EQ(core(4), 1);
  EXPECT_EQ(core(4), 1);
  EXPECT_EQ(core(4), 1);
  EXPECT_EQ(core(2), 0.5);
  EXPECT_EQ(core(8), 1);  // an outlier that occurred once
  EXPECT_EQ(core(2), 0.5);
  SharesOfBest looks({4, 1e-7});
  EXPECT_EQ(looks.OfLower({4, 2e-7}, {3, 1e-7}), (TeamShares{0.75, 0.5}));
  EXPECT_EQ(looks.OfLower({1, {}}, {}), (TeamShares{0.25, {}}));
  EXPECT_EQ(looks.OfLower({}, {}), TeamShares());
  SharesOfBest earlier({4, {}});
  EXPECT_EQ(earlier.OfLower({3.8, {}}, {}).core, 0.95);
  EXPECT_EQ(earlier.OfLower({3, {}}, {}).core, 0.75);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(earlier.OfLower({5, {}}, {}).core, 1);
  EXPECT_EQ(earlier.OfLower({4, {}}, {}).core, 0.8);
  // 6.07 was stored for a core that issues 3.94: each repetition would be noisy.
  SharesOfBest nearest({6.07, {}});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(nearest.OfLower({3.94, {}}, {3.94, {}}).core, 1);
  EXPECT_EQ(nearest.OfLower({1.97, {}}, {}).core, 0.5);  // a neighbour
  // Threads that share a core have the shortest round trip, which does not apply to separate cores.
  SharesOfBest near;
  for (int i = 0; i < 5; ++i) near.OfLower({2, 0.4e-7}, {});
  for (int i = 0; i < 5; ++i) near.OfLower({4, 1e-7}, {});
  EXPECT_EQ(near.Best(), (TeamState{4, 1e-7}));
  EXPECT_EQ(near.OfLower({4, 4e-7}, {}), (TeamShares{1, 0.25}));
  EXPECT_EQ(near.OfLower({2, 0.4e-7}, {}), (TeamShares{0.5, 1}));
}

TEST(Better, HasMoreOfTheCoresOrThenNearerThreads) {
  EXPECT_EQ(Better({4, 5e-7}, {2, 1e-7}), (TeamState{4, 5e-7}));
  EXPECT_EQ(Better({2, 1e-7}, {4, 5e-7}), (TeamState{4, 5e-7}));
  EXPECT_EQ(Better({4, 5e-7}, {3.9, 1e-7}), (TeamState{4, 1e-7}));
  EXPECT_EQ(Better({}, {4, 1e-7}), (TeamState{4, 1e-7}));
  EXPECT_EQ(Better({{}, 1e-7}, {}), (TeamState{{}, 1e-7}));
}

// Control groups, and what limits a process.

// Returns a reader of files that exist in the test alone.
ReadText Files(Texts files) {
  return [files = std::move(files)](const std::filesystem::path& path) {
    return FindCopy(files, path.string()).value_or("");
  };
}

Environment Variables(Texts variables) {
  return [variables = std::move(variables)](const std::string& variable) {
    return FindCopy(variables, variable);
  };
}

// Four CPUs, all given, and files that exist in the test alone.
LimitFacts Facts(Texts files = {}, Texts variables = {}) {
  LimitFacts facts;
  facts.cpu.topology = {.cpus = 4};
  facts.cpu.allowed = {0, 1, 2, 3};
  facts.environment = Variables(std::move(variables));
  facts.read = Files(std::move(files));
  return facts;
}

LimitFacts OnCpus(std::vector<int> allowed) {
  auto facts = Facts();
  facts.cpu.allowed = std::move(allowed);
  return facts;
}

// Returns the limits of one kind as "found: effect".
std::vector<std::string> Found(const LimitFacts& facts, LimitKind kind) {
  std::vector<std::string> found;
  for (const auto& limit : FindLimits(facts))
    if (limit.kind == kind) found.push_back(limit.found + ": " + limit.effect);
  return found;
}

std::string Only(const LimitFacts& facts, LimitKind kind) {
  const auto found = Found(facts, kind);
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? "" : found.front();
}

TEST(FindLimits, NamesWithheldCpusVariablesAndAQuota) {
  EXPECT_TRUE(FindLimits(Facts()).empty());
  EXPECT_THAT(Only(OnCpus({0, 1, 3}), LimitKind::kCpus), HasSubstr("3 of 4 (taskset"));
  EXPECT_THAT(Found(OnCpus({0, 1, 2, 3}), LimitKind::kCpus), IsEmpty());
  EXPECT_THAT(Only(Facts({}, {{"OMP_PROC_BIND", "close"}}), LimitKind::kPinning),
              HasSubstr("OMP_PROC_BIND=close: OpenMP binds"));
  EXPECT_THAT(Only(Facts({}, {{"OMP_THREAD_LIMIT", "3"}}), LimitKind::kThreads),
              HasSubstr("--dlroof_threads=3"));
  EXPECT_TRUE(Found(Facts({}, {{"OMP_THREAD_LIMIT", "4"}}), LimitKind::kThreads).empty());
  const std::string enabled = "/sys/kernel/mm/transparent_hugepage/enabled";
  EXPECT_TRUE(Found(Facts({{enabled, "always [madvise] never\n"}}), LimitKind::kHugePages).empty());
  const auto limited = Facts({{"/proc/self/cgroup", "0::/box\n"},
                              {"/sys/fs/cgroup/box/cpu.max", "250000 100000\n"},
                              {"/sys/fs/cgroup/box/cpu.stat", "nr_periods 40\nnr_throttled 12\n"}});
  fakes::ExpectHas(
      Only(limited, LimitKind::kCpuQuota),
      {"2.5 CPUs (/sys/fs/cgroup/box/cpu.max)", "stopped its programs in 12 of 40 periods",
       "4 threads use it up", "rest of 100 ms", "no waiting ends that", "--dlroof_threads=2"});
  const auto half = Facts({{"/proc/self/cgroup", "1:cpu:/\n"},
                           {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000"},
                           {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"}});
  EXPECT_THAT(Only(half, LimitKind::kCpuQuota),
              AllOf(HasSubstr("0.5 CPUs"), Not(HasSubstr("--dlroof_threads"))));
  const auto enough =
      Facts({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "400000 100000\n"}});
  EXPECT_THAT(Only(enough, LimitKind::kCpuQuota), HasSubstr("enough for 4 threads"));
}

TEST(OpenMpThreadLimit, IsAbsentForOtherTexts) {
  EXPECT_EQ(OpenMpThreadLimit(Variables({{"OMP_THREAD_LIMIT", " 12 "}})), 12);
  for (const char* text : {"", "0", "-1", "x", "3x"})
    EXPECT_EQ(OpenMpThreadLimit(Variables({{"OMP_THREAD_LIMIT", text}})), std::nullopt) << text;
  EXPECT_EQ(OpenMpThreadLimit(Variables({})), std::nullopt);
}

TEST(GroupFolders, BeginWithTheMountThatIsTheGroupInAContainer) {
  EXPECT_EQ(GroupFolders("1:cpu:/a/b\n", "cpu", "/sys"),
            (std::vector<GroupFolder>{{false, "/sys/fs/cgroup/cpu"},
                                      {false, "/sys/fs/cgroup/cpu/a"},
                                      {false, "/sys/fs/cgroup/cpu/a/b"}}));
  EXPECT_EQ(GroupFolders("0::/../x\n", "cpu", "/s"),
            (std::vector<GroupFolder>{{true, "/s/fs/cgroup"}, {true, "/s/fs/cgroup/unified"}}));
}

TEST(SmallestQuota, IsThatOfTheGroupOrOfAParentInBothVersions) {
  const auto read = Files({{"/sys/fs/cgroup/pod/cpu.max", "150000 100000\n"},
                           {"/sys/fs/cgroup/pod/box/cpu.max", "max 100000\n"}});
  const auto quota = SmallestQuota("0::/pod/box\n", "/sys", read).value();
  EXPECT_EQ(quota.cpus, 1.5);
  EXPECT_DOUBLE_EQ(quota.period_seconds, 0.1);
  EXPECT_EQ(quota.file, "/sys/fs/cgroup/pod/cpu.max");
  EXPECT_EQ(quota.stat, "/sys/fs/cgroup/pod/cpu.stat");
  EXPECT_EQ(SmallestQuota("0::/other\n", "/sys", read), std::nullopt);
  for (const char* text : {"", "max", "x 100000", "50000", "50000 0", "-1 100000"})
    EXPECT_EQ(SmallestQuota("0::/\n", "/sys", Files({{"/sys/fs/cgroup/cpu.max", text}})),
              std::nullopt)
        << text;
  const auto version_one = Files({{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
                                  {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
                                  {"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n"},
                                  {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "200000\n"}});
  const auto first = SmallestQuota("1:cpu,cpuacct:/a\n", "/sys", version_one).value();
  EXPECT_EQ(first.cpus, 0.25);
  EXPECT_DOUBLE_EQ(first.period_seconds, 0.2);
  EXPECT_EQ(first.file, "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us");
}

TEST(ParseThrottling, ReadsBothVersionsAndIsCountedBetweenTwoReadings) {
  EXPECT_EQ(ParseThrottling("nr_periods 40\nnr_throttled 12\nthrottled_time 500000000\n"),
            (Throttling{40, 12}));
  EXPECT_EQ(ParseThrottling("usage_usec 9\nnr_periods 4\nnr_throttled 1\nthrottled_usec 250000\n"),
            (Throttling{4, 1}));
  EXPECT_EQ(ParseThrottling("usage_usec 9\n"), std::nullopt);
  EXPECT_EQ(ParseThrottling(""), std::nullopt);
  EXPECT_EQ((Throttling{40, 12} - Throttling{30, 10}), (Throttling{10, 2}));
  EXPECT_EQ((Throttling{10, 2} + Throttling{1, 1}), (Throttling{11, 3}));
}

}  // namespace
}  // namespace dlroof::cpu
