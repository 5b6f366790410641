#include "reporters/imports/import.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>

#include "bench/conv2d/case.h"
#include "bench/profile/profile.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/numbers.h"
#include "counters/gpu/session.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"
#include "reporters/text/numbers.h"
#include "tests/fakes/ceilings.h"
#include "tests/fakes/refusal.h"
#include "tests/reporters/imports/variants.h"

namespace dlroof::imports {
namespace {

using testing::ElementsAre, testing::HasSubstr, testing::IsEmpty, testing::Pair,
    testing::StartsWith, testing::UnorderedElementsAre, testing::Contains, testing::Field,
    testing::AllOf;

const Work& Measured(const record::Record& record) { return record.work.at(Provenance::kMeasured); }

TEST(ReadCsv, FieldsKnowTheirPlacesAndABrokenFieldIsPlainText) {
  auto rows = text::ReadCsv(
      "\xEF\xBB\xBF"
      "a,\"b\"\"\nc\",d\r\n\n\xC3\xA9,,x\n",
      "f");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][1].text, "b\"\nc");
  EXPECT_EQ(text::PlaceOf(rows[0][2], "f"), "f:2: column 4");
  EXPECT_EQ(text::PlaceOf(rows[1][1], "f"), "f:4: column 3")
      << "a letter of two bytes is one column";
  EXPECT_EQ(rows[1][1].text, "");
  const auto refusal = [](std::string_view text) {
    return fakes::RefusalOf([&] { text::ReadCsv(text, "f"); });
  };
  EXPECT_EQ(refusal(std::string_view("a\0b", 3)), "f: not text, expected CSV");
  rows = text::ReadCsv("\"a\"b,\xff\n\"c,d\n", "f");
  EXPECT_EQ(rows.at(0).at(0).text, "ab");
  EXPECT_EQ(rows.at(0).at(1).text, "\\xFF");
  EXPECT_EQ(rows.at(1).at(0).text, "\"c");
  EXPECT_EQ(rows.at(1).at(1).text, "d");
}

TEST(ImportOwnCsv, RowsOfOneNameAreRepetitionsAndEveryErrorHasItsPlace) {
  const auto imported = FromFile("import_small.csv");
  ASSERT_EQ(imported.records.size(), 2U);
  const record::Record& first = imported.records[0];
  EXPECT_EQ(first.name, "a \"quoted\", name");
  ASSERT_EQ(first.repetitions.size(), 2U);
  EXPECT_EQ(first.repetitions[1].seconds, 0.25);
  EXPECT_EQ(first.threads, 2);
  EXPECT_THAT(Measured(first).flops, ElementsAre(Pair("fp32.vector", 1e9)));
  EXPECT_EQ(Measured(first).launches, 3);
  const Work& second = Measured(imported.records[1]);
  EXPECT_THAT(second.flops, ElementsAre(Pair("bf16.matrix", 2.5e6), Pair("fp32.vector", 0)));
  EXPECT_THAT(second.bytes, ElementsAre(Pair(Level::kDram, 1000)));
  EXPECT_FALSE(second.launches.has_value());
  EXPECT_THAT(imported.remarks,
              ElementsAre("import_small.csv: column 'comment' is not known and left out"));
  EXPECT_THAT(
      Refusal(ImportOwnCsv, "name,seconds,flops_fp16.tensor\n"),
      StartsWith("x.csv:1: column 14: column 'flops_fp16.tensor': expected flops_<type>.<unit> "
                 "with a type of fp64 "));
  EXPECT_EQ(
      Refusal(ImportOwnCsv, "name,seconds,bytes_hbm\n"),
      "x.csv:1: column 14: column 'bytes_hbm': expected bytes_<level> with a level of l1 l2 l3 "
      "dram host");
  const std::string head = "name,seconds,flops_fp32.vector\n";
  EXPECT_EQ(Refusal(ImportOwnCsv, head + "a,1,-5\n"),
            "x.csv:2: column 5: expected at least 0, got -5");
  EXPECT_EQ(Refusal(ImportOwnCsv, head + "\"a\",\"1,5\",\"1,000\"\na,2.5,1\n"),
            "x.csv:2: '1,5' has a decimal comma, but '2.5' in line 3 has a decimal point; expected "
            "one of them in the whole file");
  EXPECT_THAT(Refusal(ImportOwnCsv, head + "\n# note\na,0,1\n"),
              HasSubstr("x.csv:4: column 1: expected a time above 0 in 'seconds' of 'a'"));
  EXPECT_THAT(Refusal(ImportOwnCsv, head + "a,1\n"),
              HasSubstr("x.csv:2: column 3: expected 3 fields"));
  EXPECT_THAT(Refusal(ImportOwnCsv, head + ",1,1\n"),
              HasSubstr("x.csv:2: column 1: expected a name"));
  const auto one = ImportOwnCsv(head + "a,1,1\na,1,2\nb,0,1\n,1,1\nc,1,x\n", "x.csv");
  ASSERT_EQ(one.records.size(), 1U);
  EXPECT_THAT(one.remarks,
              Contains(HasSubstr("4 rows are left out; the first: x.csv:3: column 1: this "
                                 "row of 'a' has other FLOPs")));
  EXPECT_THAT(Refusal(ImportOwnCsv, "name,name,seconds\n"),
              HasSubstr("x.csv:1: column 6: column 'name' is there twice"));
  EXPECT_THAT(Refusal(ImportOwnCsv, "name,time\n"),
              HasSubstr("x.csv:1: column 1: expected a column 'seconds'"));
  EXPECT_THAT(Refusal(ImportOwnCsv, head), HasSubstr("x.csv:1: expected a row below the header"));
}

TEST(ImportNsightCompute, ACountThatCannotBeIsLeftOutAndNamedAndEachGpuHasItsRecords) {
  auto text = FileText("import_ncu_raw.csv");
  text.replace(text.find("1,000,000"), 9, "1e30");
  const auto imported = ImportNsightCompute(text, "x.csv");
  EXPECT_THAT(imported.remarks, testing::Contains(HasSubstr("expected a number, got '1e30'")));
  for (const auto& record : imported.records)
    EXPECT_LT(TotalFlops(Measured(record)).value_or(0), kLargestNumber);
  const auto two = ImportNsightCompute(FileText("faults/two.csv"), "t.csv");
  ASSERT_EQ(two.records.size(), 2U);
  EXPECT_EQ(two.records[0].name, "copy/Device=0");
  EXPECT_DOUBLE_EQ(two.records[0].repetitions[0].seconds, 1e-4);
  EXPECT_DOUBLE_EQ(two.records[1].repetitions[0].seconds, 4e-4);
}

TEST(ImportNsightCompute, LaunchesOfOneNameAreSummedUpAndNamesAreRepaired) {
  const auto imported = FromFile("import_ncu_raw.csv");
  ASSERT_EQ(imported.records.size(), 3U);
  const record::Record& scale = imported.records[0];
  EXPECT_EQ(scale.name, "void scale<float, 4>(float*, int)");
  EXPECT_DOUBLE_EQ(scale.repetitions.at(0).seconds, 40e-6);
  // Twice 1000 + 500 + 2 x 2000 FLOPs; 1.5 + 0.5, 2 + 1 and 3 + 1 MB.
  EXPECT_THAT(Measured(scale).flops,
              UnorderedElementsAre(Pair("fp16.matrix", 0), Pair("fp32.vector", 11000)));
  EXPECT_THAT(Measured(scale).bytes,
              ElementsAre(Pair(Level::kL1, 4e6), Pair(Level::kL2, 3e6), Pair(Level::kDram, 2e6)));
  EXPECT_EQ(Measured(scale).launches, 2);
  // A tensor instruction of Volta is 512 FLOPs.
  EXPECT_EQ(Measured(imported.records[1]).flops.at("fp16.matrix"), 512e6);
  EXPECT_EQ(TotalFlops(Measured(imported.records[2])), 0) << "a zero-FLOP kernel is a record, too";
  EXPECT_THAT(imported.remarks,
              ElementsAre("import_ncu_raw.csv: column 'launch__registers_per_thread' "
                          "is not known and left out"));
  // A kernel in a namespace without a name, as Nsight Compute 2025.3 simplifies it.
  const std::string head = "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n\"\",\"\",\"ns\"\n";
  const auto unnamed = ImportNsightCompute(head + "\"0\",\"void unnamed>::Copy()\",\"7\"\n", "x");
  EXPECT_EQ(unnamed.records.at(0).name, "void <unnamed>::Copy()");
}

TEST(ImportNsightCompute, OldNamesAndAMetricPerRowAndTensorInstructionsOfOtherChips) {
  const auto imported = FromFile("import_ncu_details.csv");
  ASSERT_EQ(imported.records.size(), 1U);
  const record::Record& axpy = imported.records[0];
  // 13000 cycles at 1.3 per ns; 1500 sectors of 32 byte; halves are two to an instruction: 2 x 10 +
  // 4 x 100.
  EXPECT_DOUBLE_EQ(axpy.repetitions.at(0).seconds, 10e-6);
  EXPECT_THAT(Measured(axpy).bytes, ElementsAre(Pair(Level::kDram, 48000)));
  EXPECT_THAT(Measured(axpy).flops,
              UnorderedElementsAre(Pair("fp16.vector", 420), Pair("bf16.matrix", 4096)));
  const MetricValues values = {{"sm__inst_executed_pipe_tensor.sum", 5}};
  EXPECT_EQ(WorkOfLaunch(values, "7.0").flops.at("fp16.matrix"), 2560);
  EXPECT_EQ(WorkOfLaunch(values, "8.0").unknown, LaunchWork::Unknown::kTensor);
  MetricValues fp32;
  for (const char* one : {"fadd", "fmul", "ffma"})
    fp32[fmt::format("sm__sass_thread_inst_executed_op_{}_pred_on.sum", one)] = 8;
  EXPECT_EQ(WorkOfLaunch(fp32, "9.0").flops.at("fp32.vector"), 8 + 8 + 16);
  EXPECT_EQ(WorkOfLaunch(fp32, "10.0").unknown, LaunchWork::Unknown::kVector) << "no packed ones";
  auto text = FileText("import_ncu_raw.csv");
  for (auto at = text.find("\"7.0\""); at != std::string::npos; at = text.find("\"7.0\""))
    text.replace(at, 5, "\"9.0\"");
  const auto other = ImportNsightCompute(text, "x.csv");
  EXPECT_THAT(Measured(other.records[1]).flops, IsEmpty());
  EXPECT_THAT(other.remarks, Contains(HasSubstr("volta_s884gemm_fp16_128x64: FLOPs left out")));
}

// The metrics that dlroof profile requests from ncu give the same work as CUPTI's counts.
TEST(ImportNsightCompute, GivesTheSameWorkAsCuptiAndRefusesWithThePlace) {
  const auto& table = gpu::BuiltInCuptiTable();
  for (const auto& chip : table.chips) {
    MetricValues values;
    std::vector<gpu::CuptiMetric> metrics;
    double value = 1e6;
    for (const auto& set : table.sets) {
      if (set.free || set.alone) continue;
      for (const auto* metric : gpu::MetricsOf(table, set, chip)) {
        values[metric->name] = value += 1e5;
        metrics.push_back(*metric);
        EXPECT_TRUE(IsKnownMetric(metric->name) || set.name == "time") << metric->name;
      }
    }
    const auto counted =
        gpu::DecodeCounters(metrics, {values.begin(), values.end()}, {"fp16.vector"});
    const auto imported = WorkOfLaunch(values, "8.0");
    EXPECT_EQ(imported.flops, counted.work.flops) << chip.name;
    EXPECT_EQ(imported.bytes, counted.work.bytes) << chip.name;
    EXPECT_EQ(imported.unknown, LaunchWork::Unknown::kNone);
    EXPECT_EQ(LaunchSeconds(values), values.at("gpu__time_duration.sum"));
  }
  const std::string head =
      "==PROF== x\n\"ID\",\"Kernel Name\",\"dram__bytes.sum\"\n\"\",\"\",\"byte\"\n";
  EXPECT_THAT(Refusal(ImportNsightCompute, head + "\"0\",\"k\"\n"),
              HasSubstr("x.csv:4: column 5: expected 3 fields"));
  EXPECT_THAT(Refusal(ImportNsightCompute, head + "\"0\",\"\",\"1\"\n"),
              HasSubstr("x.csv:4: column 5: expected a kernel's name"));
  EXPECT_THAT(Refusal(ImportNsightCompute, head), HasSubstr("x.csv:2: no launch below the header"));
}

TEST(ImportErt,
     MakesCeilingsAlsoOfAFileOfTheToolkitAndWhatIsThereTwiceIsLeftOutAndNoCountIsRefused) {
  const auto imported = FromFile("import_ert.json");
  ASSERT_TRUE(imported.machine.has_value());
  EXPECT_THAT(imported.records, IsEmpty());
  const machine::CeilingSet& set = imported.machine->by_threads.at(1);
  EXPECT_DOUBLE_EQ(set.flops.at("fp32.vector").per_second, 15158.2e9);
  EXPECT_DOUBLE_EQ(set.bytes.at(Level::kDram).per_second, 828.758e9);
  EXPECT_EQ(set.bytes.size(), 2U);
  EXPECT_EQ(imported.machine->device, "gpu");
  EXPECT_THAT(
      imported.remarks,
      ElementsAre("import_ert.json: the ceilings are specified by the toolkit, not measured "
                  "here; percentages depend on them",
                  "import_ert.json: 'INT4 GFLOPs' is not known and left out"));
  EXPECT_EQ(machine::MachineFromJson(machine::ToJson(*imported.machine), "m"), *imported.machine);
  EXPECT_EQ(
      Refusal(
          ImportErt,
          R"({"empirical": {"gflops": {"data": [["GFLOPs", 1], ["FP32 GFLOPs", -1]]}, "gbytes": {"data": [["L1", 9]]}}})"),
      "x.csv: empirical: gflops: data[1]: expected a rate per second from 1 to 1e+18");
  // A file of the toolkit on Edison, whose nodes have 24 cores.
  const auto edison = FromFile("import_ert_edison.json");
  const auto& cpu = edison.machine->by_threads.at(24);
  EXPECT_DOUBLE_EQ(cpu.flops.at("fp64.vector").per_second, 355.79e9);
  EXPECT_DOUBLE_EQ(cpu.bytes.at(Level::kDram).per_second, 83e9);
  EXPECT_EQ(edison.machine->device, "cpu");
  const auto file = [](const char* rates, const char* metadata) {
    return fmt::format(
        R"({{"empirical": {{"gbytes": {{"data": [{}]}}, "gflops": {{"data": [["GFLOPs", 3]], "metadata": {}}}}}}})",
        rates, metadata);
  };
  EXPECT_EQ(Refusal(ImportErt, file(R"(["L1", 9], ["L1", 8])", "{}")),
            "x.csv: empirical: 'L1' is there with the rates 9e+09 and 8e+09 per second");
  EXPECT_EQ(Refusal(ImportErt, file(R"(["L1", 9])", R"({"MPI_PROCS": "2,5"})")),
            "x.csv: empirical: metadata: 'MPI_PROCS': expected a count of at least 1, got "
            "\"2,5\"");
  EXPECT_EQ(Refusal(ImportErt, file(R"(["L1", 9])", R"({"A": 1, "A": 2})")),
            "x.csv: the key 'A' is there twice in one object");
  EXPECT_THAT(ImportErt(file(R"(["L1", 9], ["L1", 9])", "{}"), "x").remarks,
              Contains(HasSubstr("taken as those of 1 thread")));
}

TEST(ImportLikwid, GroupsOfARegionAreOneRecord) {
  const auto imported = FromFile("import_likwid.csv");
  ASSERT_EQ(imported.records.size(), 1U);
  const record::Record& triad = imported.records[0];
  EXPECT_EQ(triad.name, "triad");
  EXPECT_EQ(triad.threads, 2);
  // The slowest thread; 100 MFLOP/s x 2 s + 200 x 1.5; one thread per socket has a volume.
  EXPECT_EQ(triad.repetitions.at(0).seconds, 2.0);
  EXPECT_EQ(triad.repetitions.at(1).seconds, 2.1) << "the second group ran again";
  EXPECT_DOUBLE_EQ(Measured(triad).flops.at("fp64.vector"), 500e6);
  EXPECT_THAT(Measured(triad).bytes, ElementsAre(Pair(Level::kL2, 9e9), Pair(Level::kDram, 3.5e9)));
  EXPECT_THAT(imported.remarks,
              ElementsAre(HasSubstr("'AVX DP [MFLOP/s]', 'Operational intensity [FLOP/Byte]'")));
  EXPECT_EQ(Refusal(ImportLikwid,
                    "TABLE,Group 1 Metric,MEM,1\nMetric,HWThread 0\nRuntime (RDTSC) [s],0\n"),
            "x.csv:1: expected a row 'Runtime (RDTSC) [s]' with a time above 0 in this table");
  EXPECT_EQ(Refusal(ImportLikwid, "TABLE,Group 1 Metric,MEM,1\nRuntime (RDTSC) [s],x\n"),
            "x.csv:2: column 21: expected a number, got 'x'");
}

TEST(ImportNvbench, AStateIsARecordAndSkippedStatesRemain) {
  const auto imported = FromFile("import_nvbench.json");
  ASSERT_EQ(imported.records.size(), 2U);
  const record::Record& copy = imported.records[0];
  EXPECT_EQ(copy.name, "copy/Elements=1048576/T=F32");
  EXPECT_EQ(copy.repetitions.at(0).seconds, 2e-5);
  // 419.4304 GB/s for 20 us, as the author declared.
  EXPECT_DOUBLE_EQ(copy.work.at(Provenance::kModelled).bytes.at(Level::kDram), 8388608);
  EXPECT_EQ(imported.records[1].status, record::Status::kUnsupported);
  EXPECT_EQ(imported.records[1].reason, "out of memory");
  EXPECT_THAT(imported.remarks,
              ElementsAre(HasSubstr("nvbench has no FLOPs"), HasSubstr("by the GPU's clock")));
  EXPECT_EQ(copy.repetitions.at(0).aggregate->repetitions, 64);
  auto text = FileText("import_nvbench.json");
  text.replace(text.find("2.0e-5"), 6, "\"");
  EXPECT_THAT(Refusal(ImportNvbench, text), HasSubstr("x.csv: not JSON"));
}

// A state of nvbench with these summaries, each "tag": value.
std::string NvbenchState(const std::vector<std::pair<std::string, std::string>>& summaries,
                         const std::string& device = "0") {
  std::string all;
  for (const auto& [tag, value] : summaries)
    all += fmt::format(
        R"({}{{"tag": "{}", "data": [{{"name": "value", "type": "float64", "value": "{}"}}]}})",
        all.empty() ? "" : ",", tag, value);
  return fmt::format(R"({{"name": "s", "device": {}, "axis_values": null, "summaries": [{}]}})",
                     device, all);
}

Imported NvbenchStates(const std::string& states, const std::string& where = "x.json") {
  return ImportNvbench(
      R"({"devices": [{"id": 0, "name": "NVIDIA H100 PCIe"}, {"id": 1, "name": "NVIDIA H200"}],
          "benchmarks": [{"name": "mul", "states": [)" +
          states + "]}]}",
      where);
}

TEST(ImportNvbench, GpusOfOneFileKeepTheirNamesAndRoofs) {
  const std::string time = "nv/cold/time/gpu/mean", rate = "nv/cold/bw/global/bytes_per_second";
  auto imported = NvbenchStates(NvbenchState({{time, "2e-4"}, {rate, "1e12"}}) + "," +
                                NvbenchState({{time, "1e-4"}, {rate, "2e12"}}, "1"));
  ASSERT_EQ(imported.records.size(), 2U);
  EXPECT_EQ(imported.records[0].name, "mul/Device=0 NVIDIA H100 PCIe");
  EXPECT_EQ(imported.records[1].name, "mul/Device=1 NVIDIA H200");
  machine::Machine h100{.device = "gpu", .name = "NVIDIA H100 80GB HBM3"};
  h100.by_threads[1].bytes[Level::kDram] = fakes::Specified(3e12);
  std::ostringstream warnings;
  const auto run = ImportedRun(std::move(imported.records), h100, {}, warnings);
  EXPECT_EQ(record::MachineFor(run, run.records[0]), &run.machines[0]);
  EXPECT_EQ(record::MachineFor(run, run.records[1]), nullptr);
  EXPECT_THAT(warnings.str(), HasSubstr("'NVIDIA H200' have no roofs"));
  const auto placed = roofline::Place(run.records[0], &run.machines[0]);
  ASSERT_TRUE(placed.bandwidth.has_value());
  EXPECT_DOUBLE_EQ(placed.bandwidth->bytes_per_second, 1e12);
  EXPECT_DOUBLE_EQ(placed.bandwidth->share.value, 1.0 / 3);
}

TEST(ImportNvbench, OneStateWithoutAFiniteTimeLeavesTheOthersAndCpuOnlyAndBatchedTimes) {
  auto imported = NvbenchStates(NvbenchState({{"nv/cold/time/gpu/mean", "inf"}}) + "," +
                                NvbenchState({{"nv/cold/time/gpu/mean", "1e-3"},
                                              {"nv/cold/time/gpu/stdev/relative", "inf"}}));
  EXPECT_THAT(imported.records.at(0).reason, HasSubstr("nv/cold/time/gpu/mean is inf"));
  EXPECT_TRUE(imported.records[0].repetitions.empty());
  EXPECT_EQ(imported.records.at(1).repetitions.at(0).seconds, 1e-3);
  EXPECT_EQ(imported.records[1].name, "mul (2)");
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("is there more than once")));
  imported = NvbenchStates(
      NvbenchState({{"nv/cpu_only/time/cpu/mean", "1e-3"},
                    {"nv/cpu_only/bw/global/bytes_per_second", "2e10"}},
                   "null") +
      "," + NvbenchState({{"nv/batch/time/gpu/mean", "5e-4"}, {"nv/batch/sample_size", "40"}}));
  const auto& cpu = imported.records.at(0);
  EXPECT_EQ(cpu.device, "cpu");
  EXPECT_EQ(cpu.repetitions.at(0).seconds, 1e-3);
  EXPECT_DOUBLE_EQ(cpu.work.at(Provenance::kModelled).bytes.at(Level::kDram), 2e7);
  EXPECT_EQ(imported.records.at(1).repetitions.at(0).seconds, 5e-4);
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("calls back to back")));
}

TEST(ImportNvbench, SamplesBesideTheFileAreRepetitionsAndATimeThatIsThereTwiceIsRefused) {
  const TemporaryFolder folder;
  const float samples[] = {1e-3F, 2e-3F, 3e-3F};
  WriteFile(folder / "samples.bin",
            std::string_view(reinterpret_cast<const char*>(samples), sizeof samples));
  const auto state = [](const char* file, const char* mean) {
    return fmt::format(
        R"({{"name": "s", "device": 0, "summaries": [
          {{"tag": "nv/cold/time/gpu/mean", "data": [{{"name": "value", "value": "{}"}}]}},
          {{"tag": "nv/json/bin:nv/cold/sample_times", "data": [
            {{"name": "filename", "value": "{}"}}, {{"name": "size", "value": "3"}}]}}]}})",
        mean, file);
  };
  const auto read = NvbenchStates(state("samples.bin", "0.002"), folder / "r.json");
  ASSERT_EQ(read.records.at(0).repetitions.size(), 3U);
  EXPECT_NEAR(read.records[0].repetitions[2].seconds, 3e-3, 1e-9);
  for (const auto& other : {state("gone.bin", "0.002"), state("samples.bin", "0.003")}) {
    const auto mean = NvbenchStates(other, folder / "r.json");
    EXPECT_EQ(mean.records.at(0).repetitions.size(), 1U);
    EXPECT_THAT(mean.remarks, Contains(HasSubstr("the means are read")));
  }
  const auto* time = "nv/cold/time/gpu/mean";
  EXPECT_THAT(fakes::RefusalOf([&] {
                NvbenchStates(NvbenchState({{time, "1"}, {time, "2"}}));
              }),
              HasSubstr("'nv/cold/time/gpu/mean' is twice in this state, with different values"));
}

TEST(ImportGoogleBenchmark, RatesAreOnThePipeThatIsNamed) {
  auto imported = ImportGoogleBenchmark(
      R"({"context": {}, "benchmarks": [{"name": "A<double>/8", "real_time": 1e6, "FLOPS": 2e9,
          "cpu_time": 1e6, "time_unit": "ns", "iterations": 1, "threads": 1}]})",
      "x.json");
  SetPipeOfRates("fp32.matrix", imported.records);
  EXPECT_THAT(imported.records.at(0).work.at(Provenance::kModelled).flops,
              ElementsAre(Pair("fp32.matrix", 2e6)));
}

// benchdnn's own output, with six digits of its count. Two of three have no padding to leave out.
TEST(ImportBenchdnn, CountsTheFlopsAsWeDoAndOurProblemsGetTheirNames) {
  auto imported = profile::ImportBenchdnn(FileText("import_benchdnn_resnet50.txt"), "b.txt");
  ASSERT_EQ(imported.records.size(), 3U);
  for (const auto& record : imported.records) {
    const auto flops = static_cast<double>(conv2d::Flops(conv2d::ParseConv2d(record.problem)));
    EXPECT_NEAR(TotalFlops(record.work.at(Provenance::kModelled)).value() / flops, 1, 1e-5)
        << record.name;
  }
  imported = profile::ImportBenchdnn(FileText("faults/benchdnn_def.txt"), "b.txt");
  ASSERT_EQ(imported.records.size(), 2U);
  EXPECT_EQ(imported.records[0].name, "Matmul/cpu/onednn/fwd/f32/m1024n1024k1024/any");
  EXPECT_DOUBLE_EQ(imported.records[0].repetitions[0].seconds, 2.6e-3);
  EXPECT_DOUBLE_EQ(imported.records[1].repetitions[0].seconds, 4.2e-3);
  EXPECT_THAT(Refusal(profile::ImportBenchdnn, FileText("faults/benchdnn_csv.txt")),
              HasSubstr("run benchdnn with --perf-template=def"));
  const auto bad =
      profile::ImportBenchdnn(FileText("import_benchdnn_resnet50.txt") + "perf,cpu\n", "b.txt");
  EXPECT_EQ(bad.records.size(), 3U);
  EXPECT_THAT(bad.remarks, Contains(HasSubstr("1 lines are left out; the first: b.txt:")));
  const auto named = profile::ImportBenchdnn(FileText("import_benchdnn.txt"), "b.txt");
  ASSERT_EQ(named.records.size(), 3U);
  const record::Record& first = named.records[0];
  EXPECT_EQ(first.name, "Conv2D/cpu/onednn/fwd/f32/n1c64h56w56k256r1s1");
  EXPECT_EQ(first.algorithm, "brgconv:avx512_core");
  EXPECT_DOUBLE_EQ(first.repetitions.at(0).seconds, 1e-3);
  const Work& work = first.work.at(Provenance::kModelled);
  EXPECT_THAT(work.flops, ElementsAre(Pair("fp32.vector", 102760448)));
  // f32: 64 x 56 x 56 in, 256 x 56 x 56 out, 64 x 256 weights.
  EXPECT_EQ(work.bytes.at(Level::kDram), 4.0 * (64 * 3136 + 256 * 3136 + 64 * 256));
  EXPECT_THAT(named.records[2].name, HasSubstr("--softmax --stag=ab,cd 16x1000"))
      << "commas are the problem's";
  EXPECT_THAT(named.records[2].repetitions.at(0).seconds, 1.2e-3);
  EXPECT_THAT(named.remarks, Contains(HasSubstr("b.txt:3: not a benchmark of dlroof (1-D")));
  EXPECT_THAT(Refusal(profile::ImportBenchdnn, "perf,cpu,x,,--conv,1,1,1,1,many,1\n"),
              HasSubstr("x.csv:1: column 28: expected a number, got 'many'"));
  EXPECT_THAT(Refusal(profile::ImportBenchdnn, "perf,cpu,x,,--conv ic4ih8oc4kh3,1,1,1,1,1,5,1\n"),
              HasSubstr("decimal commas"));
  EXPECT_THAT(profile::ImportBenchdnn("perf,gpu,x,,--matmul 8x8:8x8,1,1,1,1,1,1\n", "x").remarks,
              Contains(HasSubstr("since it ran on a GPU")));
  EXPECT_THAT(Refusal(profile::ImportBenchdnn, "perf,cpu\n"),
              HasSubstr("x.csv:1: expected 11 fields"));
}

// A benchdnn problem with 2 Gop.
Imported OnePerfLine(const std::string& implementation, const std::string& problem) {
  return profile::ImportBenchdnn(
      fmt::format("perf,cpu,{},,--mode=P {},2,1,1,1,1,1\n", implementation, problem), "b.txt");
}

Imported OneLstm(const std::string& implementation, const std::string& cfg) {
  return OnePerfLine(
      implementation,
      fmt::format("--rnn --alg=VANILLA_LSTM --cfg={} l1t16mb16sic32slc32dhc32dic32", cfg));
}

const Work& Modelled(const Imported& imported) {
  return imported.records.at(0).work.at(Provenance::kModelled);
}

TEST(ImportBenchdnn, FlopsWithoutAnInstructionSetAreOnNoPipe) {
  for (const char* cfg : {"bf16", "bf16f32", "u8u8u8u8", "f32u8f32u8"})
    for (const char* implementation : {"brgemm", "ref"}) {
      const auto imported = OneLstm(implementation, cfg);
      EXPECT_THAT(imported.records.at(0).name, HasSubstr("LSTM/cpu/onednn/")) << cfg;
      EXPECT_THAT(Modelled(imported).flops, IsEmpty()) << cfg;
      EXPECT_EQ(Modelled(imported).launches, 1);
      const auto named = fmt::format("implementation '{}' does not name it", implementation);
      EXPECT_THAT(imported.records.at(0).counting,
                  ElementsAre(Field(&CountingNote::text, HasSubstr(named))))
          << cfg;
      EXPECT_THAT(imported.remarks,
                  ElementsAre(AllOf(HasSubstr("b.txt:1: FLOPs left out"), HasSubstr(named))));
    }
  const auto conv = OnePerfLine("gemm:jit", "--conv --dir=FWD_I --cfg=u8s8f32 mb1ic4ih8oc6kh1");
  EXPECT_THAT(Modelled(conv).flops, IsEmpty());
  // u8 in, s8 weights, f32 out.
  EXPECT_EQ(Modelled(conv).bytes.at(Level::kDram), 4 * 64 + 4 * 6 + 4 * 6 * 64);
}

TEST(ImportBenchdnn, FlopsAreOnThePipeOfTheNamedInstructionSet) {
  const auto flops = [](const Imported& imported) {
    EXPECT_THAT(imported.remarks, IsEmpty());
    return Modelled(imported).flops;
  };
  EXPECT_THAT(flops(OneLstm("brgemm:avx512_core_amx", "bf16f32")),
              ElementsAre(Pair("bf16.matrix", 2e9)));
  EXPECT_THAT(flops(OneLstm("brgemm:avx512_core_vnni", "f32u8f32u8")),
              ElementsAre(Pair("int8.vector", 2e9)));
  EXPECT_THAT(flops(OneLstm("brgemm", "f32")), ElementsAre(Pair("fp32.vector", 2e9)));
  EXPECT_THAT(flops(OnePerfLine("brgconv:avx512_core_bf16",
                                "--conv --dir=FWD_I --cfg=bf16bf16f32 mb1ic4ih8oc6kh1")),
              ElementsAre(Pair("bf16.vector", 2e9)));
}

TEST(ImportedRun, ForeignNamesAreOnTheMachinesDevice) {
  machine::Machine machine{.device = "gpu", .fingerprint = "x"};
  machine.by_threads[1].flops["fp32.vector"] = fakes::Validated(100);
  machine.by_threads[1].bytes[Level::kDram] = fakes::Validated(10);
  record::Record kernel{
      .name = "void a/b/c/d/e/f<1>()", .threads = 7, .repetitions = {{.seconds = 10}}};
  kernel.work[Provenance::kMeasured] = {.flops = {{"fp32.vector", 100}},
                                        .bytes = {{Level::kDram, 50}}};
  std::ostringstream warnings;
  const record::RunFile run =
      ImportedRun({kernel}, machine, {"set", Provenance::kModelled}, warnings);
  EXPECT_THAT(warnings.str(), HasSubstr("1 of 1 records ran with a number of threads"));
  const auto written = roofline::ToJson(run);
  EXPECT_EQ(written["records"][0]["name"], "set/void a/b/c/d/e/f<1>()");
  EXPECT_FALSE(written["records"][0].contains("op"));
  // 5 s of bytes in 10 s.
  EXPECT_DOUBLE_EQ(written["records"][0]["time"]["gap"], 2);
  EXPECT_EQ(written["records"][0]["classic"][0]["flops_from"], "modelled");
  // Reading the file from memory and as a large file gives the same record.
  const auto again = roofline::ToJson(record::ParseRunFile(written.dump(), "x", warnings));
  EXPECT_EQ(again["records"], written["records"]);
}

}  // namespace
}  // namespace dlroof::imports
