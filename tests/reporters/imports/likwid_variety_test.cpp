// likwid-perfctr's tables with idle threads, several regions and groups.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporters/imports/import.h"
#include "tests/fakes/refusal.h"

namespace dlroof::imports {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// A table of four hardware threads.
std::string Table(const std::string& region, const std::string& group,
                  const std::vector<std::string>& rows) {
  auto text = fmt::format(
      "TABLE,{}Group 1 Metric,{},{}\nMetric,HWThread 0,HWThread 1,HWThread 2,HWThread 3\n",
      region.empty() ? "" : fmt::format("Region {},", region), group, rows.size());
  for (const auto& row : rows) text += row + '\n';
  return text;
}

Imported Read(const std::string& text) { return ImportLikwid(text, "x.csv"); }

const Work& Measured(const record::Record& record) { return record.work.at(Provenance::kMeasured); }

// (100 + 200 + 300) MFLOP/s x 2 s; the fourth thread never entered the region.
TEST(LikwidThreads, IdleThreadsHaveNoFlops) {
  const auto imported =
      Read(Table("solve", "MEM_DP",
                 {"Runtime (RDTSC) [s],2.0,2.0,2.0,0", "CPI,1.5,1.5,1.5,-",
                  "DP [MFLOP/s],100,200,300,-", "Memory data volume [GBytes],3.5,0,0,0"}));
  const auto& solve = imported.records.at(0);
  EXPECT_THAT(Measured(solve).flops, ElementsAre(Pair("fp64.vector", 1.2e9)));
  EXPECT_THAT(Measured(solve).bytes, ElementsAre(Pair(Level::kDram, 3.5e9)));
  EXPECT_EQ(solve.threads, 3);
  EXPECT_THAT(imported.remarks, IsEmpty());
}

TEST(LikwidThreads, ThreadThatRanWithoutAValueMakesTheSumUnknown) {
  const auto imported = Read(Table(
      "", "FLOPS_DP", {"Runtime (RDTSC) [s],2.0,2.0,2.0,2.0", "DP [MFLOP/s],100,200,nan,100"}));
  EXPECT_THAT(Measured(imported.records.at(0)).flops, IsEmpty());
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("x.csv:1: FLOPs or bytes are left out")));
}

TEST(LikwidThreads, InfinityInARowThatIsNotUsedIsNoError) {
  const auto imported =
      Read(Table("", "MEM_DP",
                 {"Runtime (RDTSC) [s],2.0,2.0,2.0,2.0", "DP [MFLOP/s],100,200,100,100",
                  "Memory data volume [GBytes],3.5,0,4.5,0",
                  "Operational intensity [FLOP/Byte],0.0571,inf,0.0444,inf"}));
  EXPECT_THAT(Measured(imported.records.at(0)).flops, ElementsAre(Pair("fp64.vector", 1e9)));
  EXPECT_THAT(Measured(imported.records.at(0)).bytes, ElementsAre(Pair(Level::kDram, 8e9)));
}

const char* const kRan = "Runtime (RDTSC) [s],1,1,1,1";

TEST(LikwidRegions, RegionsOfOneNameStayApart) {
  const auto imported = Read(Table("nil", "MEM", {kRan, "Memory data volume [GBytes],1.5,0,0,0"}) +
                             Table("nil", "MEM", {kRan, "Memory data volume [GBytes],2.5,0,0,0"}));
  ASSERT_EQ(imported.records.size(), 2U);
  EXPECT_EQ(imported.records[1].name, "nil (2)");
  EXPECT_EQ(Measured(imported.records[0]).bytes.at(Level::kDram), 1.5e9);
  EXPECT_EQ(Measured(imported.records[1]).bytes.at(Level::kDram), 2.5e9);
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("several regions 'nil' of the group 'MEM'")));
}

TEST(LikwidRegions, GroupsOfAWholeProgramAreOneRecord) {
  const auto imported = Read(Table("", "FLOPS_DP", {kRan, "DP [MFLOP/s],100,200,300,0"}) +
                             Table("", "MEM", {kRan, "Memory data volume [GBytes],3.5,0,0,0"}));
  ASSERT_EQ(imported.records.size(), 1U);
  EXPECT_THAT(Measured(imported.records[0]).flops, ElementsAre(Pair("fp64.vector", 6e8)));
  EXPECT_THAT(Measured(imported.records[0]).bytes, ElementsAre(Pair(Level::kDram, 3.5e9)));
}

TEST(LikwidRegions, ZenCountsHalfOfTheChannelsInEachGroup) {
  const auto first =
      Table("", "MEM1", {kRan, "Memory data volume (channels 0-3) [GBytes],1.5,0,0,0"});
  const auto both = Read(
      first + Table("", "MEM2", {kRan, "Memory data volume (channels 4-7) [GBytes],2.5,0,0,0"}));
  EXPECT_EQ(Measured(both.records.at(0)).bytes.at(Level::kDram), 4e9);
  const auto one = Read(first);
  EXPECT_THAT(Measured(one.records.at(0)).bytes, IsEmpty());
  EXPECT_THAT(one.remarks, Contains(HasSubstr("only half of its channels")));
}

TEST(LikwidTables, UnitsAndSeparatorsMayDiffer) {
  const auto imported = Read(
      "TABLE;Group 1 Metric;MEM_DP;3\nMetric;HWThread 0\nRuntime (RDTSC) [s];0,5\n"
      "DP [GFLOP/s];1,5\nMemory data volume [MBytes];1.250,5\n");
  EXPECT_DOUBLE_EQ(Measured(imported.records.at(0)).flops.at("fp64.vector"), 0.75e9);
  EXPECT_DOUBLE_EQ(Measured(imported.records.at(0)).bytes.at(Level::kDram), 1250.5e6);
}

TEST(LikwidTables, FieldsAndRowsAreCounted) {
  // Decimal commas that are separators, too: eight values for four threads.
  EXPECT_THAT(
      fakes::RefusalOf([] { Read(Table("", "MEM", {"Runtime (RDTSC) [s],1,5,1,5,1,5,1,5"})); }),
      HasSubstr("x.csv:3: column 1: expected 4 values of hardware threads"));
  EXPECT_THAT(fakes::RefusalOf([] {
                Read(Table("", "MEM", {kRan, kRan}));
              }),
              HasSubstr("is twice in this table"));
  auto cut = Table("", "MEM", {kRan, "CPI,1,1,1,1"});
  cut.resize(cut.find("CPI"));
  EXPECT_THAT(Read(cut).remarks, Contains("x.csv:1: this table has 1 rows, its title says 2"));
}

}  // namespace
}  // namespace dlroof::imports
