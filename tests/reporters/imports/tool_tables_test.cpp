// Tables of other tools, as they write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "reporters/imports/import.h"
#include "tests/fakes/refusal.h"

namespace dlroof::imports {
namespace {

using testing::HasSubstr;

// Reads a text by the first format that recognises it.
Imported Read(const std::string& text) {
  for (const auto& format : ImportFormats())
    if (format.recognise(text)) return format.read(text, "file");
  throw BadInput("unknown format");
}

std::vector<double> SecondsOf(const record::Record& record) {
  std::vector<double> seconds;
  for (const auto& repetition : record.repetitions) seconds.push_back(repetition.seconds);
  return seconds;
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
      {"Kernel_Name,Start_Timestamp,End_Timestamp\n\"void k<f, 1>(int)\",1000,3500\n", 2.5e-6, 1},
      {R"json([{"frame":{"name":"ROOT"},"metrics":{"count":0,"time (ns)":0},"children":[{"frame":
           {"name":"void k<f, 1>(int)"},"metrics":{"count":3,"time (ns)":6000,"flops16":1e9,
           "bytes":1e6},"children":[]}]}])json",
       6e-6, 3}};
  for (const auto& [text, seconds, launches] : cases) {
    const auto records = Read(text).records;
    ASSERT_EQ(records.size(), 1U) << text;
    EXPECT_EQ(records[0].name, "void k<f, 1>(int)") << text;
    EXPECT_EQ(records[0].device, "gpu") << text;
    EXPECT_THAT(SecondsOf(records[0]), testing::ElementsAre(testing::DoubleEq(seconds))) << text;
    EXPECT_EQ(records[0].work.at(Provenance::kMeasured).launches, launches) << text;
  }
  const auto proton = Read(cases[4].text).records;
  const auto& declared = proton[0].work.at(Provenance::kModelled);
  EXPECT_EQ(declared.flops.at("fp16.matrix"), 1e9);
  EXPECT_EQ(declared.bytes.at(Level::kDram), 1e6);
}

TEST(ToolTables, SamplesOfBenchmarksAreRepetitions) {
  const struct {
    const char* text;
    const char* name;
    std::vector<double> seconds;
  } cases[] = {
      {R"({"results":[{"command":"./a 1","mean":1.3,"times":[1.2,1.4]}]})", "./a 1", {1.2, 1.4}},
      {R"({"machine_info":{},"benchmarks":[{"fullname":"t.py::f[1]","stats":{"median":2,
           "data":[1,3]}}]})",
       "t.py::f[1]",
       {1, 3}},
      {R"([{"model_filename":"m.gguf","n_prompt":512,"n_gen":0,"avg_ns":2e9,
           "samples_ns":[1e9,3e9]}])",
       "m.gguf/512/0",
       {1, 3}},
      {R"({"Title":"BenchmarkDotNet","Benchmarks":[{"FullName":"B.M","Statistics":{"Median":5}}]})",
       "B.M",
       {5e-9}},
      {"Device,Device Name,T,Elements,Skipped,Samples,GPU Time (sec),GlobalMem BW (bytes/sec)\n"
       "0,H100,F32,1024,No,64,2.0e-05,4.0e11\n",
       "T=F32/Elements=1024",
       {2e-5}},
      {"Problem,OperationKind,Operation,m,n,k,Runtime\n1,gemm,cutlass_s1688,64,32,16,0.5\n",
       "cutlass_s1688/64/32/16",
       {5e-4}}};
  for (const auto& [text, name, seconds] : cases) {
    const auto records = Read(text).records;
    ASSERT_EQ(records.size(), 1U) << text;
    EXPECT_EQ(records[0].name, name);
    EXPECT_EQ(SecondsOf(records[0]), seconds) << text;
  }
  EXPECT_EQ(Read(cases[4].text).records[0].work.at(Provenance::kModelled).bytes.at(Level::kDram),
            8e6);
}

TEST(ToolTables, ABadRowIsLeftOutAlone) {
  const auto imported =
      Read("Time (%),Total Time (ns),Instances,Name\n1,x,10,a\n1,0,1,b\n1,1000,1,c\n1,2000,1\n");
  ASSERT_EQ(imported.records.size(), 1U);
  EXPECT_EQ(imported.records[0].name, "c");
  EXPECT_THAT(imported.remarks.at(0),
              HasSubstr("3 rows or benchmarks are left out; the first: file:2"));
  const auto json =
      Read(R"({"results":[{"command":"a","mean":"x"},{"mean":1},7,{"command":"b","mean":1}]})");
  EXPECT_EQ(json.records.size(), 1U);
  EXPECT_THAT(fakes::RefusalOf([] { Read(R"({"results":[{"command":"a","mean":-1}]})"); }),
              HasSubstr("file: /results[0]: expected a time above 0"));
}

TEST(BenchmarkTable, CsvAndConsoleHaveTheTimesAndRatesOfTheJson) {
  const char* const texts[] = {
      "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,label,error_occurred,\"FLOPS\""
      "\n\"BM_A/real_time\",50,2,1,ms,1048576000,,,5e9\n\"BM_A/real_time_mean\",1,2,1,ms,,,,\n",
      "Run on (2 X 2596 MHz CPU s)\n-----\nBenchmark   Time   CPU Iterations "
      "UserCounters...\n-----\n"
      "BM_A/real_time    2.00 ms    1.00 ms   50 FLOPS=5G/s bytes_per_second=1000Mi/s\n"
      "the program's own line\nBM_A/real_time_mean    2.00 ms  1.00 ms   1\n"};
  for (const auto* text : texts) {
    const auto records = Read(text).records;
    ASSERT_EQ(records.size(), 1U) << text;
    EXPECT_EQ(records[0].name, "BM_A/real_time");
    EXPECT_THAT(SecondsOf(records[0]), testing::ElementsAre(testing::DoubleEq(2e-3)));
    const auto& work = records[0].work.at(Provenance::kModelled);
    EXPECT_NEAR(work.flops.at("fp32.vector"), 1e7, 1);
    EXPECT_NEAR(work.bytes.at(Level::kDram), 2097152, 1);
  }
}

TEST(PerfStat, HasTheElapsedTimeAndCountedFlops) {
  for (const char* text :
       {"# started on Mon\n\n1250.12,msec,task-clock,1250120000,100.00,0.998,CPUs\n1000000000,ns,"
        "duration_time,1,100.00,,\n64000000,,fp_arith_inst_retired.256b_packed_single,1,100.00,,\n",
        "\n Performance counter stats for './a':\n\n     64,000,000      "
        "fp_arith_inst_retired.256b_packed_single:u\n\n       1.000000000 seconds time "
        "elapsed\n"}) {
    const auto records = Read(text).records;
    ASSERT_EQ(records.size(), 1U);
    EXPECT_THAT(SecondsOf(records[0]), testing::ElementsAre(1.0));
    EXPECT_EQ(records[0].work.at(Provenance::kMeasured).flops.at("fp32.vector"), 512e6);
  }
  EXPECT_THAT(fakes::RefusalOf([] { Read("# started on Mon\n\n3,,cycles,1,100.00,,\n"); }),
              HasSubstr("-e duration_time"));
}

}  // namespace
}  // namespace dlroof::imports
