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

// Tables of other tools, as they write them.

std::vector<double> SecondsOf(const record::Record& record) {
  std::vector<double> seconds;
  for (const auto& repetition : record.repetitions) seconds.push_back(repetition.seconds);
  return seconds;
}

// The quote would hide all brackets from a search in the whole text.
TEST(ToolTables, DeepJsonIsRefusedAlsoAfterALineWithAQuote) {
  constexpr int kLevels = 300000;
  const auto text =
      "\"\n{\"results\": [{\"command\": \"a\", \"mean\": 1, \"x\": " + std::string(kLevels, '[') +
      std::string(kLevels, ']') + "}]}\n";
  EXPECT_THAT(fakes::RefusalOf([&] { ReadAny(text); }), HasSubstr("more than 200 levels"));
}

TEST(ToolTables, KernelsAreSummedOverTheirLaunches) {
  const struct {
    const char* text;
    double seconds, launches;
  } cases[] = {
      {"Time (%),Total Time (ns),Instances,Avg (ns),Name\n62.5,1250000,10,125000.0,\"void k<f, "
       "1>(int)\"\n",
       1.25e-3, 10},
      {"Start (ns),Duration (ns),CorrId,Name\n1,1000,1,\"void k<f, 1>(int)\"\n9,500,2,\"void k<f, "
       "1>(int)\"\n9,7,3,[CUDA memcpy Host-to-Device]\n",
       1.5e-6, 2},
      {"\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\"\n\"void k<f, 1>(int)\",4,8000,2000\n",
       8e-6, 4},
      // A row for each counter of a launch, in nanoseconds since 1970.
      {"Kernel_Name,Counter_Name,Start_Timestamp,End_Timestamp\n\"void k<f, "
       "1>(int)\",A,1718000000000001000,1718000000000003500\n\"void k<f, "
       "1>(int)\",B,1718000000000001000,1718000000000003500\n",
       2.5e-6, 1},
      // What nsys stats says first, another table, another unit, an empty line at the end.
      {"Processing [r.sqlite] with [cuda_gpu_kern_sum.py]...\n\nTime (%),Total Time (us),Num "
       "Calls,Avg (us),Name\n1,9,1,9,cudaLaunchKernel\n\nTime (%),Total Time (us),Instances,Avg "
       "(us),Name\n62,1250.5,10,125,\"void k<f, 1>(int)\"\n\n",
       1.2505e-3, 10},
      {R"json([{"frame":{"name":"ROOT"},"metrics":{"count":0,"time (ns)":0},"children":[{"frame":
           {"name":"void k<f, 1>(int)"},"metrics":{"count":3,"time (ns)":6000,"flops16":1e9,
           "bytes":1e6},"children":[]}]}])json",
       6e-6, 3},
      {"Time (%);Total Time (us);Instances;Name\n62,5;1.250,500;10;\"void k<f, 1>(int)\"\n",
       1.2505e-3, 10}};
  for (const auto& [text, seconds, launches] : cases) {
    const auto records = ReadAny(text).records;
    ASSERT_EQ(records.size(), 1U) << text;
    EXPECT_EQ(records[0].name, "void k<f, 1>(int)") << text;
    EXPECT_EQ(records[0].device, "gpu") << text;
    EXPECT_THAT(SecondsOf(records[0]), testing::ElementsAre(testing::DoubleEq(seconds))) << text;
    EXPECT_EQ(records[0].work.at(Provenance::kMeasured).launches, launches) << text;
  }
  const auto proton = ReadAny(cases[5].text).records;
  const auto& declared = proton[0].work.at(Provenance::kModelled);
  EXPECT_EQ(declared.flops.at("fp16.matrix"), 1e9);
  EXPECT_EQ(declared.bytes.at(Level::kDram), 1e6);
}

TEST(ToolTables, GpusAndOtherParametersStayApart) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"Start (ns),Duration (ns),CorrId,Device,Name\n1,9,1,NVIDIA H100 (0),k\n2,7,2,Tesla T4 "
       "(1),k\n",
       {"k/Device=NVIDIA H100 (0)", "k/Device=Tesla T4 (1)"}},
      {"Agent_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n1,k,10,19\n2,k,10,17\n",
       {"k/Device=1", "k/Device=2"}},
      {"Benchmark,Device,Device Name,T,Skipped,GPU Time (sec)\nb,0,H100,F32,No,9e-9\n"
       "b,1,T4,F32,No,7e-9\n",
       {"b/T=F32/Device=0 H100", "b/T=F32/Device=1 T4"}},
      {R"json([{"frame":{"name":"ROOT"},"metrics":{},"children":[{"frame":{"name":"k"},"metrics":
           {"time (ns)":9,"device_id":"0"}},{"frame":{"name":"k"},"metrics":{"time (ns)":7,
           "device_id":"1"}}]}])json",
       {"k/Device=0", "k/Device=1"}},
      {R"json({"model_filename":"m","n_threads":4,"avg_ns":9}
{"model_filename":"m","n_threads":8,"avg_ns":7})json",
       {"m", "m (2)"}},
      {R"json({"deviceProperties":[{"id":0,"name":"H100"},{"id":1,"name":"Tesla T4"}],"traceEvents":[
           {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":0.009},
           {"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":1,"dur":0.007}]})json",
       {"k/Device=0", "k/Device=1"}}};
  for (const auto& [text, names] : cases) {
    const auto records = ReadAny(text).records;
    ASSERT_EQ(records.size(), 2U) << text;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(records[i].name, names[i]);
      EXPECT_DOUBLE_EQ(records[i].repetitions.at(0).seconds, i == 0 ? 9e-9 : 7e-9);
    }
  }
  // A T4 has no roofs in the file of an H100.
  const machine::Machine h100{.device = "gpu", .name = "NVIDIA H100 SXM", .by_threads = {{1, {}}}};
  std::ostringstream warnings;
  for (const auto* text : {cases[0].first, cases[2].first, cases[5].first}) {
    const auto run = ImportedRun(ReadAny(text).records, h100, {}, warnings);
    EXPECT_EQ(run.records[0].device, "gpu") << text;
    EXPECT_THAT(run.records[1].device, HasSubstr("T4"));
  }
  const machine::Machine cpu{.device = "cpu", .by_threads = {{1, {}}}};
  EXPECT_EQ(ImportedRun(ReadAny(cases[1].first).records, cpu, {}, warnings).records[0].device,
            "gpu");
}

TEST(ToolTables, FlopsOfAnUnknownKindAreUnknownAndSamplesAreRepetitions) {
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
  const struct {
    const char* text;
    const char* name;
    std::vector<double> seconds;
  } cases[] = {
      {R"({"results":[{"command":"./a 1","mean":1.3,"times":[1.2,1.4]}]})", "./a 1", {1.2, 1.4}},
      {R"({"results":[{"command":"./b","mean":9,"times":[1.2,9],"exit_codes":[0,1]}]})",
       "./b",
       {1.2}},
      {R"({"machine_info":{},"benchmarks":[{"fullname":"t.py::f[1]","stats":{"median":2,
           "data":[1,3]}}]})",
       "t.py::f[1]",
       {1, 3}},
      {"command,mean,stddev,median,user,system\n./a,1.3,0.1,1.25,0,0\n", "./a", {1.25}},
      {R"(loading
[{"model_filename":"m.gguf","n_prompt":512,"n_gen":0,"avg_ns":2e9,"samples_ns":[1e9,NaN,3e9]}]
done)",
       "m.gguf/512/0",
       {1, 3}},
      {R"({"Title":"BenchmarkDotNet","Benchmarks":[{"FullName":"B.M","Statistics":{"Median":5}}]})",
       "B.M",
       {5e-9}},
      {"Device,Device Name,T,Elements,Skipped,Samples,GPU Time (sec),GlobalMem BW (bytes/sec)\n"
       "0,H100,F32,1024,No,64,2.0e-05,4.0e11\n",
       "T=F32/Elements=1024",
       {2e-5}},
      {"Benchmark,T,Skipped,Samples,CPU Time (sec)\nh,I32,No,10,0.5\n", "h/T=I32", {0.5}},
      {"Problem,OperationKind,Operation,m,n,k,Runtime\n1,gemm,cutlass_s1688,64,32,16,0.5\n",
       "cutlass_s1688/64/32/16",
       {5e-4}}};
  for (const auto& [text, name, seconds] : cases) {
    const auto records = ReadAny(text).records;
    ASSERT_EQ(records.size(), 1U) << text;
    EXPECT_EQ(records[0].name, name);
    EXPECT_EQ(SecondsOf(records[0]), seconds) << text;
  }
  EXPECT_EQ(ReadAny(cases[6].text).records[0].work.at(Provenance::kModelled).bytes.at(Level::kDram),
            8e6);
}

TEST(ToolTables, ABadRowIsLeftOutAlone) {
  const auto imported =
      ReadAny("Time (%),Total Time (ns),Instances,Name\n1,x,10,a\n1,0,1,b\n1,1000,1,c\n1,2000,1\n");
  ASSERT_EQ(imported.records.size(), 1U);
  EXPECT_EQ(imported.records[0].name, "c");
  EXPECT_THAT(imported.remarks.at(0),
              HasSubstr("3 rows, benchmarks or FLOPs are left out; the first: file:2"));
  EXPECT_THAT(Refusal(ImportToolTable,
                      "Benchmark,Device,Device Name,Skipped,Skip Reason,GPU Time (sec)\n"
                      "b,0,H100,Yes,too large,\n"),
              HasSubstr("x.csv:2: column 1: skipped: too large"));
  EXPECT_THAT(Refusal(ImportToolTable, R"json([{"children":[{"frame":{"name":"a"},
      "metrics":{"time (us)":1}}],"metrics":{},"frame":{}}])json"),
              HasSubstr("'time (ns)'"));
  EXPECT_THAT(fakes::RefusalOf([] { ReadAny("Name,Calls,TotalDurationNs\nHIP_API,1,9\n"); }),
              HasSubstr("file:2: column 1: 'HIP_API' is no kernel"));
  EXPECT_THAT(fakes::RefusalOf([] { ReadAny(R"({"results":[{"command":"a","mean":-1}]})"); }),
              HasSubstr("file: /results[0]: expected a time above 0"));
}

TEST(BenchmarkTable, CsvAndConsoleHaveTheTimesAndRatesOfTheJson) {
  const char* const texts[] = {
      "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,label,error_occurred,\"FLOPS\""
      "\n\"BM_A/real_time\",50,2,1,ms,1048576000,,,5e9\n",
      "name;iterations;real_time;cpu_time;time_unit;bytes_per_second;FLOPS\n"
      "BM_A/real_time;50;2,0;1,0;ms;1,048576e9;5e9\n",
      "Run on (2 X 2596 MHz CPU s)\n-----\nBenchmark   Time   CPU Iterations "
      "UserCounters...\n-----\n"
      "BM_A/real_time    2.00 ms    1.00 ms   50 FLOPS=5G/s bytes_per_second=1000Mi/s\n"
      "the program's own line\n"};
  for (const auto* text : texts) {
    const auto records = ReadAny(text).records;
    ASSERT_EQ(records.size(), 1U) << text;
    EXPECT_EQ(records[0].name, "BM_A/real_time");
    EXPECT_THAT(SecondsOf(records[0]), testing::ElementsAre(testing::DoubleEq(2e-3)));
    const auto& work = records[0].work.at(Provenance::kModelled);
    EXPECT_NEAR(work.flops.at("fp32.vector"), 1e7, 1);
    EXPECT_NEAR(work.bytes.at(Level::kDram), 2097152, 1);
  }
}

TEST(BenchmarkTable, HasMeansErrorsAndCountersInColumns) {
  const auto csv = ReadAny(
      "name,iterations,real_time,cpu_time,time_unit,label,error_occurred,error_message\n"
      "\"A_mean\",3,9,9,us,7,,\n\"A_median\",3,8,9,us,7,,\n\"A_stddev\",3,1,1,us,7,,\n"
      "\"A_cv\",3,0.1,0.1,,,,\n\"B\",,,,,,true,\"no GPU\"\n");
  const auto console = ReadAny(
      "A_mean      9,0 us    9 us    3\nA_median  8 us  9 us  3\nA_stddev  1 us  1 us  3\n"
      "A_cv        10 %      9 %     3\nB ERROR OCCURRED: 'no GPU'\n");
  for (const auto* imported : {&csv, &console}) {
    ASSERT_EQ(imported->records.size(), 2U);
    EXPECT_EQ(imported->records[0].reason, "no GPU");
    EXPECT_EQ(imported->records[1].name, "A");
    EXPECT_THAT(SecondsOf(imported->records[1]), testing::ElementsAre(testing::DoubleEq(8e-6)));
  }
  const auto commas = ReadAny(
      "name,iterations,real_time,cpu_time,time_unit,FLOPS\n\"A\",1.000,100,5,99,25,us,5e9\n"
      "\"B\",5,1,5,2,5,us,\n\"D\",5,7,8,us,2,5e9\n");
  ASSERT_EQ(commas.records.size(), 3U);
  EXPECT_DOUBLE_EQ(SecondsOf(commas.records[0])[0], 100.5e-6);
  EXPECT_DOUBLE_EQ(SecondsOf(commas.records[2])[0], 7e-6);
  EXPECT_THAT(commas.remarks.back(), HasSubstr("LC_ALL=C"));
  const auto tabular = ReadAny(
      "-----\nBenchmark             Time       CPU Iterations      FLOPS bytes_per_second\n-----\n"
      "BM<int, float>     2.00 us   2.00 us         50                    1000Mi/s\n"
      "B                  2.00 us   2.00 us         50       5G/s         1000Mi/s a label\n");
  ASSERT_EQ(tabular.records.size(), 2U);
  EXPECT_EQ(tabular.records[0].name, "BM<int, float>");
  const auto& work = tabular.records[1].work.at(Provenance::kModelled);
  EXPECT_NEAR(work.flops.at("fp32.vector"), 1e4, 1);
  EXPECT_NEAR(work.bytes.at(Level::kDram), 2097.152, 1e-3);
  EXPECT_TRUE(tabular.records[0].work.at(Provenance::kModelled).flops.empty());
}

TEST(PerfStat, HasTheElapsedTimeAndCountedFlops) {
  for (const char* text :
       {"# started on Mon\n\n1250.12,msec,task-clock,1250120000,100.00,0.998,CPUs\n1000000000,ns,"
        "duration_time:u,1,100.00,,\n64000000,,fp_arith_inst_retired.256b_packed_single,1,1,,\n",
        "1000000000;ns;duration_time;1;100,00;;\n64000000;;"
        "fp_arith_inst_retired.256b_packed_single;1;100,00;;\n",
        "\n Performance counter stats for './a':\n\n     64,000,000      "
        "fp_arith_inst_retired.256b_packed_single:upp\n\n       1.000000000 seconds time "
        "elapsed\n",
        "\n Performance counter stats for './a':\n\n     64.000.000      "
        "cpu_core/fp_arith_inst_retired.256b_packed_single/ppp   (80,00%)\n\n  1,000000000 +- "
        "0,001 seconds time elapsed  ( +-  0,10% )\n"}) {
    const auto records = ReadAny(text).records;
    ASSERT_EQ(records.size(), 1U);
    EXPECT_THAT(SecondsOf(records[0]), testing::ElementsAre(1.0));
    EXPECT_EQ(records[0].work.at(Provenance::kMeasured).flops.at("fp32.vector"), 512e6);
  }
  EXPECT_THAT(fakes::RefusalOf([] { ReadAny("# started on Mon\n\n3,,cycles,1,100.00,,\n"); }),
              HasSubstr("-e duration_time"));
  const auto two = ReadAny(
      " Performance counter stats for './a':\n  <not counted>  "
      "fp_arith_inst_retired.scalar_single\n  8 "
      "fp_arith_inst_retired.scalar_double\n 1.5 seconds time elapsed\n"
      " Performance counter stats for './b':\n  8 "
      "fp_arith_inst_retired.scalar_double\n 2.5 seconds time elapsed\n");
  ASSERT_EQ(two.records.size(), 2U);
  EXPECT_TRUE(two.records[0].work.empty());
  EXPECT_THAT(two.remarks.at(0), HasSubstr("scalar_single' was not counted"));
  EXPECT_EQ(two.records[1].work.at(Provenance::kMeasured).flops.at("fp64.vector"), 8);
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
  EXPECT_THAT(answer("r.csv", "Intel(R) Advisor Command Line Tool\n"), HasSubstr("Advisor"));
  EXPECT_THAT(answer("m.log", "MKL_VERBOSE SGEMM(N,N,8,8,8) 2.50ms\n"), HasSubstr("oneMKL"));
  EXPECT_THAT(answer("r.csv", "Time (%),Total Time (ns),Num Calls,Min (ns),Name\n"),
              HasSubstr("nsys stats --report cuda_gpu_kern_sum"));
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
  const auto timeless = Table("a", "MEM", {"CPI,1,1,1,1"});
  const auto other = ReadLikwid(timeless + Table("b", "MEM", {kRan, "CPI,1,1,1,1"}));
  ASSERT_EQ(other.records.size(), 1U) << "a table without a time costs no other";
  EXPECT_EQ(other.records[0].name, "b");
}

}  // namespace
}  // namespace dlroof::imports
