// The CPUs' event tables held against libpfm4's, which come from other hands.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "counters/perf/perf_events.h"
#include "tests/fakes/pfm_encoding.h"

namespace dlroof::perf {
namespace {

constexpr const char* kNoPfm =
    "the tests were built without libpfm4 and its tables of x86 CPUs (Debian: libpfm4-dev)";

struct Pmu {
  std::string_view table;  // a file of counters/pmus
  std::string_view pmu;    // libpfm4's name of a CPU that it is for
};
constexpr std::string_view kZen2 = "amd64_fam17h_zen2";
constexpr std::string_view kZen3 = "amd64_fam19h_zen3";
constexpr std::string_view kZen4 = "amd64_fam19h_zen4";
constexpr Pmu kPmus[] = {{"skylake_sp", "skx"},
                         {"skylake_sp", "clx"},
                         {"ice_lake_sp", "icx"},
                         {"sapphire_rapids", "spr"},
                         {"sapphire_rapids", "emr"},
                         {"zen", kZen2},
                         {"zen", kZen3},
                         {"zen", kZen4}};

// AMD's events as libpfm4 spells them, in whose names for bits of the umask ours are put together.
struct Spelling {
  std::string_view pmu;  // empty for all PMUs
  std::string_view event;
  std::string_view pfm_event;
  std::string_view pfm_umask;
};
constexpr std::string_view kRequests = "REQUESTS_TO_L2_GROUP1";
constexpr std::string_view kZen4Prefetchers =
    "L2_STREAM:L2_NEXT_LINE:L2_UP_DOWN:L2_BURST:L2_STRIDE:L1_STREAM:L1_STRIDE:L1_REGION";
constexpr std::string_view kZen3Prefetchers = "L2_HW_PREFETCHER:L1_HW_PREFETCHER";
constexpr Spelling kSpellings[] = {
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

// Events that a libpfm4 may not know (Debian 12's 4.13 knows none). One that does must agree.
struct Unknown {
  std::string_view pmu;
  std::string_view events;  // all that begin so
  std::string_view reason;
};
constexpr Unknown kUnknown[] = {
    {"skx", "L2_TRANS.L1D_WB", "in likwid's tables and, for Broadwell, in Intel's"},
    {"clx", "L2_TRANS.L1D_WB", "as skx"},
    {"icx", "L2_TRANS.L1D_WB", "as skx"},
    {"spr", "L2_TRANS.L1D_WB", "as skx"},
    {"clx", "UNC_M_", "libpfm4 has skx's alone; the units are the same"},
    {"icx", "UNC_M_", "newer than 4.13"},
    {"spr", "UNC_M_", "newer than 4.13"},
    {"spr", "L2_TRANS.L2_WB", "newer than 4.13"},
    {"emr", "", "newer than 4.13"}};

// Bits of our umask that libpfm4 has no name for.
struct Unnamed {
  std::string_view pmu, event;
  std::uint64_t umask;
  std::string_view reason;
};
constexpr Unnamed kUnnamed[] = {
    {kZen2, "l2_pf_hit_l2", 0xe0, "Linux (amdzen2/cache.json) sets all: L1's prefetchers too"},
    {kZen2, "l2_pf_miss_l2_hit_l3", 0xe0, "the same"},
    {kZen2, "l2_pf_miss_l2_l3", 0xe0, "the same"},
    {kZen3, "l2_request_g1.all_no_prefetch", 0x01, "group2 of Linux (amdzen3/cache.json)"}};

// "skx::L2_TRANS:L2_WB", "skx_unc_imc0::UNC_M_CAS_COUNT:RD"
std::string PfmSpelling(std::string_view pmu, const PmuEvent& event) {
  for (const auto& row : kSpellings)
    if (row.event == event.name && (row.pmu.empty() || row.pmu == pmu))
      return fmt::format("{}::{}:{}", pmu, row.pfm_event, row.pfm_umask);
  std::string name = event.name;
  std::replace(name.begin(), name.end(), '.', ':');
  return fmt::format("{}{}::{}", pmu, event.pmu == "uncore_imc" ? "_unc_imc0" : "", name);
}

bool MayBeUnknown(std::string_view pmu, std::string_view event) {
  return std::any_of(std::begin(kUnknown), std::end(kUnknown), [&](const Unknown& row) {
    return row.pmu == pmu && event.starts_with(row.events);
  });
}

std::uint64_t UnnamedConfig(std::string_view pmu, std::string_view event) {
  for (const auto& row : kUnnamed)
    if (row.pmu == pmu && row.event == event) return row.umask << 8;
  return 0;
}

PmuTable Table(std::string_view name) {
  return PmuTableFromText(TextOf(BuiltInPmuTables(), name), std::string(name));
}

std::string Hex(std::uint64_t config) { return fmt::format("{:#x}", config); }

TEST(PmuEncoding, EveryEventOfEveryTableIsLibpfm4s) {
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

TEST(PmuEncoding, EveryTableIsLookedAt) {
  std::set<std::string_view> files, looked_at;
  for (const auto& table : BuiltInPmuTables()) files.insert(table.name);
  for (const auto& pmu : kPmus) looked_at.insert(pmu.table);
  EXPECT_EQ(files, looked_at);
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
