// The CPU's description, its caches and memory.
#include "counters/cpu/cpu.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "counters/base/files.h"
#include "tests/fakes/address_space.h"

namespace dlroof::cpu {
namespace {

using testing::ElementsAre, testing::IsSupersetOf, testing::Pair;

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

TEST(CpuFromCpuid, ReadsNameAndExtendedModel) {
  const auto cpu = CpuFromCpuid(Everything, kAllStates, true);
  EXPECT_EQ(std::tuple(cpu.vendor, cpu.name, cpu.family, cpu.model, cpu.stepping),
            std::tuple("GenuineIntel", "Some CPU", 6, 0x8f, 4));
}

// AMD family 0x19: base family 0xf plus extended family 0xa; model 0x61.
TEST(CpuFromCpuid, AddsTheExtendedFamilyOfAmd) {
  const auto cpuid = [](std::uint32_t leaf, std::uint32_t) -> CpuidRegisters {
    if (leaf == 0) return {1, 0, 0, 0};
    if (leaf == 1) return {0x00a60f12, 0, 0, 0};
    return {};
  };
  const auto cpu = CpuFromCpuid(cpuid, 0, false);
  EXPECT_EQ(std::tuple(cpu.family, cpu.model, cpu.stepping), std::tuple(0x19, 0x61, 2));
  EXPECT_TRUE(cpu.features.empty());
}

TEST(CpuFromCpuid, CountsAFeatureOnlyWhenTheSystemSavesItsRegisters) {
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
}

TEST(CpuFromCpuid, CountsAmxOnlyWithTheKernelsPermissionAndIgnoresLeavesThatTheCpuDoesNotHave) {
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
  EXPECT_THAT(CpuList("0-2,8"), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(CpuList("5"), ElementsAre(5));
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
  EXPECT_THAT(CoreCaches(nothing), testing::IsEmpty());
}

TEST(CacheWays, AreThoseOfTheDataCacheOfTheLevel) {
  const TemporaryFolder temporary;
  const std::filesystem::path folder = temporary / "cpus";
  const auto write = [&](const char* index, const char* level, const char* type, const char* ways) {
    const auto cache = folder / "cpu3" / "cache" / index;
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level;
    std::ofstream(cache / "type") << type;
    std::ofstream(cache / "ways_of_associativity") << ways;
  };
  write("index0", "1", "Instruction", "4");
  write("index1", "1", "Data", "12");
  write("index2", "2", "Unified", "16");
  EXPECT_EQ(CacheWays(Level::kL1, 3, folder), 12);
  EXPECT_EQ(CacheWays(Level::kL2, 3, folder), 16);
  EXPECT_EQ(CacheWays(Level::kL3, 3, folder), std::nullopt);
  EXPECT_EQ(CacheWays(Level::kL1, 0, folder), std::nullopt);
}

constexpr const char* kSmaps =
    "55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]\n"
    "Size:                132 kB\n"
    "Rss:                 100 kB\n"
    "AnonHugePages:         0 kB\n"
    "7f1200000000-7f1208000000 rw-p 00000000 00:00 0 \n"
    "Size:             131072 kB\n"
    "Rss:                8192 kB\n"
    "AnonHugePages:      6144 kB\n"
    "VmFlags: rd wr mr mw me ac hg \n"
    "7f1208000000-7f1208001000 rw-p 00000000 00:00 0 \n"
    "Rss:                   0 kB\n"
    "AnonHugePages:         0 kB\n";

std::optional<double> Share(std::uintptr_t address) {
  std::istringstream smaps(kSmaps);
  return HugePageShare(smaps, address);
}

TEST(HugePageShare, IsOfTheMappingThatHoldsTheAddressIfItIsKnown) {
  EXPECT_EQ(Share(0x7f1200000000), 0.75);  // 6144 of 8192 KiB
  EXPECT_EQ(Share(0x7f1207ffffff), 0.75);
  EXPECT_EQ(Share(0x55d0c0000100), 0);
  EXPECT_EQ(Share(0x7f1208000000), std::nullopt) << "nothing is resident";
  EXPECT_EQ(Share(0x1000), std::nullopt) << "not mapped";
  std::istringstream other("Rss: many\n");
  EXPECT_EQ(HugePageShare(other, 0), std::nullopt);
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

}  // namespace
}  // namespace dlroof::cpu
