// Tables of Nsight Compute of other locales, sections and counters; likwid-perfctr's with idle
// threads, several regions and groups.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/base/files.h"
#include "reporters/imports/import.h"
#include "tests/fakes/refusal.h"
#include "tests/test_data.h"

namespace dlroof::imports {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// A table of one kernel `k` with metric, unit and value per row.
std::string Details(const std::vector<std::array<std::string, 3>>& rows,
                    const std::string& capability = "8.0") {
  std::string text =
      "\"ID\",\"Kernel Name\",\"CC\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
  for (const auto& [metric, unit, value] : rows)
    text +=
        fmt::format("\"0\",\"k\",\"{}\",\"{}\",\"{}\",\"{}\"\n", capability, metric, unit, value);
  return text;
}

Imported Read(const std::string& text) { return ImportNsightCompute(text, "x.csv"); }

Imported ReadLikwid(const std::string& text) { return ImportLikwid(text, "x.csv"); }

const Work& MeasuredOf(const record::Record& record) {
  return record.work.at(Provenance::kMeasured);
}
const Work& Measured(const Imported& imported) { return MeasuredOf(imported.records.at(0)); }

double Seconds(const Imported& imported) {
  return imported.records.at(0).repetitions.at(0).seconds;
}

std::string Refusal(const std::string& text) {
  constexpr std::string_view kFirst = "; the first: ";
  Imported imported;
  const auto refusal = fakes::RefusalOf([&] { imported = Read(text); });
  for (const auto& remark : imported.remarks)
    if (const auto at = remark.find(kFirst); at != remark.npos)
      return remark.substr(at + kFirst.size());
  return refusal;
}

TEST(NsightLocales, TwoReadingsAreRefusedWithBoth) {
  EXPECT_EQ(
      Refusal(Details({{"gpu__time_duration.sum", "usecond", "1.234"}})),
      "x.csv:2: '1.234' may be 1.234 (decimal point) or 1234 (decimal comma), and no number of "
      "the file tells which: run the tool with LC_ALL=C");
  EXPECT_DOUBLE_EQ(Seconds(Read(Details({{"gpu__time_duration.sum", "usecond", "1.234"},
                                         {"sm__inst_executed.sum", "inst", "7,000,000"}}))),
                   1.234e-6)
      << "a metric that is not known tells, too";
}

TEST(NsightUnits, MustBeThoseOfTheMetric) {
  EXPECT_THAT(Refusal(Details({{"gpu__time_duration.sum", "", "5"}})),
              HasSubstr("the unit '' of 'gpu__time_duration.sum' is not known"));
  EXPECT_THAT(Refusal(Details({{"dram__bytes.sum", "usecond", "5"}})),
              HasSubstr("the unit 'usecond' of 'dram__bytes.sum' is not known"));
  EXPECT_DOUBLE_EQ(Seconds(Read(Details({{"gpu__time_duration.sum", "ms", "5"}}))), 5e-3);
}

constexpr std::array<const char*, 3> kSingle = {"fadd", "fmul", "ffma"};

std::vector<std::array<std::string, 3>> Singles(const std::string& suffix, const std::string& unit,
                                                std::array<const char*, 3> values) {
  std::vector<std::array<std::string, 3>> rows;
  for (std::size_t i = 0; i < 3; ++i)
    rows.push_back(
        {fmt::format("smsp__sass_thread_inst_executed_op_{}_pred_on.sum{}", kSingle[i], suffix),
         unit, values[i]});
  return rows;
}

TEST(NsightCounters, TensorInstructionsThatAreNotKnownMakeFlopsUnknown) {
  for (const auto* metric :
       {"sm__inst_executed_pipe_tensor_op_hmma.sum", "smsp__inst_executed_pipe_tensor_op_imma.sum",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__inst_executed_pipe_tc.sum", "sm__pipe_tmem_cycles_active.sum",
        "smsp__inst_executed_pipe_tcgen05.sum", "sm__ops_path_tensor_src_int99.sum"}) {
    auto rows = Singles("", "inst", {"0", "16,777,216", "0"});
    rows.push_back({metric, "inst", "33,554,432"});
    const auto imported = Read(Details(rows));
    EXPECT_THAT(Measured(imported).flops, IsEmpty()) << metric;
    EXPECT_THAT(imported.remarks, Contains(HasSubstr("k: FLOPs left out: tensor"))) << metric;
    rows.back()[2] = "0";
    EXPECT_THAT(Measured(Read(Details(rows))).flops, ElementsAre(Pair("fp32.vector", 16777216)))
        << metric;
  }
}

TEST(NsightCounters, PartOfARecipeMakesFlopsUnknown) {
  auto rows = Singles("", "inst", {"10", "0", "20"});
  rows.erase(rows.begin());
  const auto imported = Read(Details(rows));
  EXPECT_THAT(Measured(imported).flops, IsEmpty());
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("a counter is missing")));
}

// The roofline section: 47.28 multiply-adds per cycle x 1.41 GHz x 100 us; 800 GB/s x 100 us.
TEST(NsightCounters, RatesOfTheRooflineSectionAreCounts) {
  auto rows = Singles(".per_cycle_elapsed", "inst/cycle", {"0", "0", "47.28"});
  rows.push_back({"smsp__cycles_elapsed.avg.per_second", "cycle/nsecond", "1.41"});
  rows.push_back({"dram__bytes.sum.per_second", "Gbyte/second", "800"});
  rows.push_back({"gpu__time_duration.sum", "usecond", "100.00"});
  auto imported = Read(Details(rows));
  EXPECT_NEAR(Measured(imported).flops.at("fp32.vector"), 2 * 47.28 * 1.41e9 * 100e-6, 1);
  EXPECT_NEAR(Measured(imported).bytes.at(Level::kDram), 80e6, 1);
  rows[2] = {"derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2", "inst", "94.56"};
  imported = Read(Details(rows));
  EXPECT_NEAR(Measured(imported).flops.at("fp32.vector"), 2 * 47.28 * 1.41e9 * 100e-6, 1);
}

TEST(NsightCounters, TheDetailsPageHasTheTime) {
  const auto imported = Read(Details({{"Duration", "us", "100.00"},
                                      {"Memory Throughput", "%", "50.10"},
                                      {"Memory Throughput", "Gbyte/s", "800.5"},
                                      {"Cluster Scheduling Policy", "", "PolicySpread"}}));
  EXPECT_DOUBLE_EQ(Seconds(imported), 100e-6);
  EXPECT_NEAR(Measured(imported).bytes.at(Level::kDram), 80.05e6, 1);
  // 141,000 cycles at 1.41 GHz.
  EXPECT_DOUBLE_EQ(Seconds(Read(Details(
                       {{"Elapsed Cycles", "cycle", "141,000"}, {"SM Frequency", "Ghz", "1.41"}}))),
                   100e-6);
}

TEST(NsightTables, DoubledLaunchesAndOtherValuesAreRefused) {
  const std::string raw =
      "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n\"\",\"\",\"ns\"\n\"0\",\"k\",\"5\"\n";
  const auto two = Read(raw + "\n" + raw.substr(0, raw.find("\"0\"")) + "\"1\",\"k\",\"6\"\n");
  EXPECT_DOUBLE_EQ(Seconds(two), 11e-9) << "two runs in one file";
  EXPECT_THAT(two.remarks, IsEmpty());
  EXPECT_THAT(Refusal(raw + "\"0\",\"k\",\"5\"\n"),
              HasSubstr("x.csv:4: column 1: the launch with this ID is there twice"));
  EXPECT_THAT(Refusal(Details(
                  {{"gpu__time_duration.sum", "ns", "5"}, {"gpu__time_duration.sum", "ns", "6"}})),
              HasSubstr("is there with another value for this launch"));
}

TEST(NsightTables, QuantitiesThatALaunchLacksAreRemarked) {
  const auto imported = Read(
      "\"ID\",\"Kernel "
      "Name\",\"gpu__time_duration.sum\",\"dram__bytes.sum\"\n\"\",\"\",\"ns\",\"byte\"\n"
      "\"0\",\"k\",\"5\",\"100\"\n\"1\",\"k\",\"5\",\"n/a\"\n");
  EXPECT_THAT(Measured(imported).bytes, IsEmpty());
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("k: FLOPs or bytes that a launch lacks")));
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("1 values are no numbers")));
}

TEST(OtherTools, AreAnsweredWithTheirExport) {
  const auto answer = [](std::string_view path, std::string_view text) {
    const auto reason = ExportOfOtherTool(path, text);
    return reason ? reason->text : "";
  };
  EXPECT_THAT(answer("a.ncu-rep", "NVR"), HasSubstr("'ncu --import a.ncu-rep --csv --page raw"));
  EXPECT_THAT(answer("r.csv", "Intel(R) Advisor Command Line Tool\n"), HasSubstr("Advisor"));
  EXPECT_THAT(answer("m.log", "MKL_VERBOSE SGEMM(N,N,8,8,8) 2.50ms\n"), HasSubstr("oneMKL"));
  EXPECT_THAT(answer("r.csv", "Time (%),Total Time (ns),Num Calls,Min (ns),Name\n"),
              HasSubstr("nsys stats --report cuda_gpu_kern_sum"));
  EXPECT_THAT(answer("r.md", "# Benchmark Results\n| Samples |\n"), HasSubstr("--json"));
  EXPECT_EQ(answer("r.csv", "name,seconds\n"), "");
}

// A table of four hardware threads.
std::string Table(const std::string& region, const std::string& group,
                  const std::vector<std::string>& rows) {
  auto text = fmt::format(
      "TABLE,{}Group 1 Metric,{},{}\nMetric,HWThread 0,HWThread 1,HWThread 2,HWThread 3\n",
      region.empty() ? "" : fmt::format("Region {},", region), group, rows.size());
  for (const auto& row : rows) text += row + '\n';
  return text;
}

// (100 + 200 + 300) MFLOP/s x 2 s; the fourth thread never entered the region.
TEST(LikwidThreads, IdleThreadsHaveNoFlops) {
  const auto imported =
      ReadLikwid(Table("solve", "MEM_DP",
                       {"Runtime (RDTSC) [s],2.0,2.0,2.0,0", "CPI,1.5,1.5,1.5,-",
                        "DP [MFLOP/s],100,200,300,-", "Memory data volume [GBytes],3.5,0,0,0"}));
  const auto& solve = imported.records.at(0);
  EXPECT_THAT(MeasuredOf(solve).flops, ElementsAre(Pair("fp64.vector", 1.2e9)));
  EXPECT_THAT(MeasuredOf(solve).bytes, ElementsAre(Pair(Level::kDram, 3.5e9)));
  EXPECT_EQ(solve.threads, 3);
  EXPECT_THAT(imported.remarks, IsEmpty());
}

TEST(LikwidThreads, ThreadThatRanWithoutAValueMakesTheSumUnknown) {
  const auto imported = ReadLikwid(Table(
      "", "FLOPS_DP", {"Runtime (RDTSC) [s],2.0,2.0,2.0,2.0", "DP [MFLOP/s],100,200,nan,100"}));
  EXPECT_THAT(Measured(imported).flops, IsEmpty());
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("x.csv:1: FLOPs or bytes are left out")));
}

const char* const kRan = "Runtime (RDTSC) [s],1,1,1,1";

TEST(LikwidRegions, RegionsOfOneNameStayApart) {
  const auto imported =
      ReadLikwid(Table("nil", "MEM", {kRan, "Memory data volume [GBytes],1.5,0,0,0"}) +
                 Table("nil", "MEM", {kRan, "Memory data volume [GBytes],2.5,0,0,0"}));
  ASSERT_EQ(imported.records.size(), 2U);
  EXPECT_EQ(imported.records[1].name, "nil (2)");
  EXPECT_EQ(MeasuredOf(imported.records[0]).bytes.at(Level::kDram), 1.5e9);
  EXPECT_EQ(MeasuredOf(imported.records[1]).bytes.at(Level::kDram), 2.5e9);
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("several regions 'nil' of the group 'MEM'")));
}

TEST(LikwidRegions, ZenCountsHalfOfTheChannelsInEachGroup) {
  const auto first =
      Table("", "MEM1", {kRan, "Memory data volume (channels 0-3) [GBytes],1.5,0,0,0"});
  const auto both = ReadLikwid(
      first + Table("", "MEM2", {kRan, "Memory data volume (channels 4-7) [GBytes],2.5,0,0,0"}));
  EXPECT_EQ(Measured(both).bytes.at(Level::kDram), 4e9);
  const auto one = ReadLikwid(first);
  EXPECT_THAT(Measured(one).bytes, IsEmpty());
  EXPECT_THAT(one.remarks, Contains(HasSubstr("only half of its channels")));
}

TEST(LikwidTables, FieldsAndRowsAreCounted) {
  // Decimal commas that are separators, too: eight values for four threads.
  EXPECT_THAT(fakes::RefusalOf(
                  [] { ReadLikwid(Table("", "MEM", {"Runtime (RDTSC) [s],1,5,1,5,1,5,1,5"})); }),
              HasSubstr("x.csv:3: column 1: expected 4 values of hardware threads"));
  EXPECT_THAT(ReadLikwid(Table("", "MEM", {kRan, kRan})).remarks,
              Contains(HasSubstr("is twice in this table")));
  auto cut = Table("", "MEM", {kRan, "CPI,1,1,1,1"});
  cut.resize(cut.find("CPI"));
  EXPECT_THAT(ReadLikwid(cut).remarks,
              Contains("x.csv:1: this table has 1 rows, its title says 2"));
}

}  // namespace
}  // namespace dlroof::imports
