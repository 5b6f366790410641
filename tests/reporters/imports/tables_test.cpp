#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>
#include <string>

#include "reporters/imports/import.h"
#include "tests/fakes/refusal.h"
#include "tests/reporters/imports/variants.h"

namespace dlroof::imports {
namespace {

using testing::Contains, testing::ElementsAre, testing::HasSubstr, testing::IsEmpty, testing::Pair;

// Profiles of Proton, as it writes them.

TEST(Proton, DeepJsonIsRefused) {
  constexpr int kLevels = 300000;
  const auto text = "[{\"frame\": {}, \"metrics\": {}, \"children\": " + std::string(kLevels, '[') +
                    std::string(kLevels, ']') + "}]\n";
  EXPECT_THAT(fakes::RefusalOf([&] { ReadAny(text); }), HasSubstr("more than 200 levels"));
}

TEST(Proton, KernelsAreSummedOverTheirLaunchesAndGpusStayApart) {
  auto records = ReadAny(R"json([{"frame":{"name":"ROOT"},"metrics":{"count":0,"time (ns)":0},
      "children":[{"frame":{"name":"void k<f, 1>(int)"},"metrics":{"count":3,"time (ns)":6000,
      "flops16":1e9,"bytes":1e6},"children":[]}]}])json")
                     .records;
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].name, "void k<f, 1>(int)");
  EXPECT_EQ(records[0].device, "gpu");
  EXPECT_DOUBLE_EQ(records[0].repetitions.at(0).seconds, 6e-6);
  EXPECT_EQ(records[0].work.at(Provenance::kMeasured).launches, 3);
  const auto& declared = records[0].work.at(Provenance::kModelled);
  EXPECT_EQ(declared.flops.at("fp16.matrix"), 1e9);
  EXPECT_EQ(declared.bytes.at(Level::kDram), 1e6);
  records = ReadAny(R"json([{"frame":{"name":"ROOT"},"metrics":{},"children":[
      {"frame":{"name":"k"},"metrics":{"time (ns)":9,"device_id":"0"}},
      {"frame":{"name":"k"},"metrics":{"time (ns)":7,"device_id":"1"}}]}])json")
                .records;
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].name, "k/Device=0");
  EXPECT_DOUBLE_EQ(records[1].repetitions.at(0).seconds, 7e-9);
  const machine::Machine cpu{.device = "cpu", .by_threads = {{1, {}}}};
  std::ostringstream warnings;
  EXPECT_EQ(ImportedRun(std::move(records), cpu, {}, warnings).records[0].device, "gpu");
}

TEST(Proton, FlopsOfAnUnknownKindAreUnknownAndABadKernelIsLeftOutAlone) {
  const auto imported = ReadAny(
      R"json([{"frame":{"name":"ROOT"},"metrics":{},"children":[{"frame":{"name":"a"},"metrics":
           {"time (ns)":9,"flops6":1,"bytes":5}},{"frame":{"name":"b"},"metrics":{"time (ns)":7,
           "flops16":1}},{"frame":{"name":"b"},"metrics":{"time (ns)":NaN}},{"frame":{"name":"b"},
           "metrics":{"time (ns)":2}}]}])json");
  ASSERT_EQ(imported.records.size(), 2U);
  for (const auto& record : imported.records) {
    EXPECT_TRUE(record.work.at(Provenance::kModelled).flops.empty()) << record.name;
    EXPECT_DOUBLE_EQ(record.repetitions.at(0).seconds, 9e-9);
  }
  EXPECT_THAT(imported.remarks.at(0), HasSubstr("FLOPs of 'a': 'flops6' is not known"));
  EXPECT_THAT(Refusal(ImportProton, R"json([{"children":[{"frame":{"name":"a"},
      "metrics":{"time (us)":1}}],"metrics":{},"frame":{}}])json"),
              HasSubstr("'time (ns)'"));
}

// Kernels of a GPU that the machine file does not describe have no roofs.
TEST(ImportedRun, AnotherGpusKernelsHaveNoRoofs) {
  const auto imported = ReadAny(
      R"json({"deviceProperties":[{"id":0,"name":"H100"},{"id":1,"name":"Tesla T4"}],"traceEvents":[
           {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":0.009},
           {"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":1,"dur":0.007}]})json");
  const machine::Machine h100{.device = "gpu", .name = "NVIDIA H100 SXM", .by_threads = {{1, {}}}};
  std::ostringstream warnings;
  const auto run = ImportedRun(imported.records, h100, {}, warnings);
  ASSERT_EQ(run.records.size(), 2U);
  EXPECT_EQ(run.records[0].name, "k/Device=0");
  EXPECT_EQ(run.records[0].device, "gpu");
  EXPECT_THAT(run.records[1].device, HasSubstr("T4"));
}

// Tables of Nsight Compute of other locales, sections and counters; likwid-perfctr's with idle
// threads, several regions and groups.

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

std::string Refusal(const std::string& text) { return Refusal(ImportNsightCompute, text); }

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
       {"smsp__inst_executed_pipe_tcgen05.sum", "sm__ops_path_tensor_src_int99.sum"}) {
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

TEST(NsightCounters, PartOfARecipeMakesFlopsUnknownAndTheDetailsPageHasTheTime) {
  auto rows = Singles("", "inst", {"10", "0", "20"});
  rows.erase(rows.begin());
  auto imported = Read(Details(rows));
  EXPECT_THAT(Measured(imported).flops, IsEmpty());
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("a counter is missing")));
  // The roofline section: 47.28 multiply-adds per cycle x 1.41 GHz x 100 us; 800 GB/s x 100 us.
  rows = Singles(".per_cycle_elapsed", "inst/cycle", {"0", "0", "47.28"});
  rows.push_back({"smsp__cycles_elapsed.avg.per_second", "cycle/nsecond", "1.41"});
  rows.push_back({"dram__bytes.sum.per_second", "Gbyte/second", "800"});
  rows.push_back({"gpu__time_duration.sum", "usecond", "100.00"});
  imported = Read(Details(rows));
  EXPECT_NEAR(Measured(imported).flops.at("fp32.vector"), 2 * 47.28 * 1.41e9 * 100e-6, 1);
  EXPECT_NEAR(Measured(imported).bytes.at(Level::kDram), 80e6, 1);
  rows[2] = {"derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2", "inst", "94.56"};
  imported = Read(Details(rows));
  EXPECT_NEAR(Measured(imported).flops.at("fp32.vector"), 2 * 47.28 * 1.41e9 * 100e-6, 1);
  const auto details = Read(Details({{"Duration", "us", "100.00"},
                                     {"Memory Throughput", "%", "50.10"},
                                     {"Memory Throughput", "Gbyte/s", "800.5"},
                                     {"Cluster Scheduling Policy", "", "PolicySpread"}}));
  EXPECT_DOUBLE_EQ(Seconds(details), 100e-6);
  EXPECT_NEAR(Measured(details).bytes.at(Level::kDram), 80.05e6, 1);
  // 141,000 cycles at 1.41 GHz.
  EXPECT_DOUBLE_EQ(Seconds(Read(Details(
                       {{"Elapsed Cycles", "cycle", "141,000"}, {"SM Frequency", "Ghz", "1.41"}}))),
                   100e-6);
}

TEST(NsightTables, DoubledLaunchesAreRefusedAndQuantitiesThatALaunchLacksAreRemarked) {
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
  EXPECT_THAT(answer("r.csv", "Time (%),Total Time (ns),Num Calls,Min (ns),Name\n"),
              HasSubstr("dlroof profile --gpu"));
  EXPECT_THAT(answer("r.csv", R"("Invocations","Metric Name")"), HasSubstr("--print-summary"));
  EXPECT_THAT(answer("r.json", R"("benchmarks" "library_build_type")"), HasSubstr("list_tests"));
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
TEST(LikwidThreads, IdleThreadsHaveNoFlopsAndThreadThatRanWithoutAValueMakesTheSumUnknown) {
  const auto imported =
      ReadLikwid(Table("solve", "MEM_DP",
                       {"Runtime (RDTSC) [s],2.0,2.0,2.0,0", "CPI,1.5,1.5,1.5,-",
                        "DP [MFLOP/s],100,200,300,-", "Memory data volume [GBytes],3.5,0,0,0"}));
  const auto& solve = imported.records.at(0);
  EXPECT_THAT(MeasuredOf(solve).flops, ElementsAre(Pair("fp64.vector", 1.2e9)));
  EXPECT_THAT(MeasuredOf(solve).bytes, ElementsAre(Pair(Level::kDram, 3.5e9)));
  EXPECT_EQ(solve.threads, 3);
  EXPECT_THAT(imported.remarks, IsEmpty());
  const auto lacking = ReadLikwid(Table(
      "", "FLOPS_DP", {"Runtime (RDTSC) [s],2.0,2.0,2.0,2.0", "DP [MFLOP/s],100,200,nan,100"}));
  EXPECT_THAT(Measured(lacking).flops, IsEmpty());
  EXPECT_THAT(lacking.remarks, Contains(HasSubstr("x.csv:1: FLOPs or bytes are left out")));
}

const char* const kRan = "Runtime (RDTSC) [s],1,1,1,1";

TEST(LikwidRegions, RegionsOfOneNameStayApartAndZenCountsHalfOfTheChannelsInEachGroup) {
  const auto imported =
      ReadLikwid(Table("nil", "MEM", {kRan, "Memory data volume [GBytes],1.5,0,0,0"}) +
                 Table("nil", "MEM", {kRan, "Memory data volume [GBytes],2.5,0,0,0"}));
  ASSERT_EQ(imported.records.size(), 2U);
  EXPECT_EQ(imported.records[1].name, "nil (2)");
  EXPECT_EQ(MeasuredOf(imported.records[0]).bytes.at(Level::kDram), 1.5e9);
  EXPECT_EQ(MeasuredOf(imported.records[1]).bytes.at(Level::kDram), 2.5e9);
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("several regions 'nil' of the group 'MEM'")));
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
