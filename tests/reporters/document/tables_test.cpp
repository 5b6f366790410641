#include "reporters/document/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "reporters/record/record.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"
#include "tests/fakes/placed_files.h"
#include "tests/fakes/trajectory_points.h"
#include "tests/test_data.h"

namespace dlroof::document {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string Written(const Document& document, int width = 0) {
  std::ostringstream out;
  Write(document, width, out);
  return out.str();
}

std::string Tables(const roofline::PlacedRun& run, int width, const TableOptions& options = {}) {
  return Written(RunDocument(run, options), width);
}

TEST(RunDocument, GoldenTable) {
  std::ifstream file(fakes::TestData("run_small_tables.txt"));
  const std::string golden((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(Tables(fakes::SmallRun(), 120), golden);
}

TEST(RunDocument, NoRowOfBenchmarksIsWiderThanTheTerminal) {
  for (const int width : {80, 100, 120, 200}) {
    std::istringstream lines(Tables(fakes::SmallRun(), width));
    for (std::string line; std::getline(lines, line) && !line.empty();)
      EXPECT_LE(text::TextWidth(line), width) << line;
  }
}

TEST(RunDocument, ANarrowTerminalGetsNamesOnLinesOfTheirOwn) {
  EXPECT_THAT(Tables(fakes::SmallRun(), 80),
              HasSubstr("\nLSTM/cpu/onednn/fwd_inference/f32/t1n1i16h16\n"));
}

TEST(RunDocument, OnlyVerboseShowsRemarksThatTakeNoNumberAway) {
  auto run = fakes::SmallRun();
  run.places[0].placement.asides = {"an aside"};
  run.file.machines[0].by_threads.at(2).edges["l3"] = {"the sweep agrees", false};
  EXPECT_THAT(Tables(run, 0), Not(AnyOf(HasSubstr("an aside"), HasSubstr("the sweep agrees"))));
  EXPECT_THAT(Tables(run, 0, {.verbose = true}),
              AllOf(HasSubstr("an aside"), HasSubstr("the sweep agrees")));
}

TEST(RunDocument, WithoutCeilingsRatesComeFromWorkAndTime) {
  auto file = fakes::SmallRun().file;
  file.machines.clear();
  const auto tables = Tables(roofline::PlaceRun(file), 0);
  EXPECT_THAT(tables, HasSubstr("23.1 ms  0.175 %   160 GFLOP/s         57.5\n"));
  EXPECT_THAT(tables, HasSubstr("1.23 TFLOP/s"));
  EXPECT_THAT(tables, Not(HasSubstr("compute")));
}

// The second benchmark's bytes are known at L2 only: its intensity is of no level of this column.
TEST(RunDocument, AColumnHasTheIntensityOfOneLevel) {
  record::RunFile file;
  file.records = {{.name = "x", .repetitions = {{.seconds = 0.5, .iterations = 1}}},
                  {.name = "y", .repetitions = {{.seconds = 0.5, .iterations = 1}}}};
  auto& work = file.records[0].work[Provenance::kModelled];
  work = {.flops = {{"fp32.vector", 1e9}}, .bytes = {{Level::kL2, 1e8}, {Level::kDram, 5e7}}};
  file.records[1].work = file.records[0].work;
  file.records[1].work[Provenance::kModelled].bytes.erase(Level::kDram);
  const auto text = Tables(roofline::PlaceRun(file), 0);
  EXPECT_THAT(text, HasSubstr("  FLOP/B DRAM\n"));
  EXPECT_THAT(text, HasSubstr("\nx          500 ms  n=1  2.00 GFLOP/s         20.0\n"));
  EXPECT_THAT(text, HasSubstr("\ny          500 ms  n=1  2.00 GFLOP/s\n"));
  EXPECT_THAT(Tables(roofline::PlaceRun(file, {.levels = {Level::kL2}}), 0),
              HasSubstr("FLOP/B L2\n"));
}

TEST(CaveatsDocument, IsALineForEachCeilingThatMakesPercentagesLimits) {
  auto run = fakes::SmallRun();
  for (const int i : {0, 1, 2}) run.places[i].placement.uncertain = {{"dram", "too noisy"}};
  const auto text = Written(CaveatsDocument(run));
  EXPECT_THAT(text, testing::StartsWith("<= and >= are limits: a roof is not validated"));
  EXPECT_THAT(text, HasSubstr("\n  f32: 3 benchmarks, dram is not validated: too noisy\n"));
  for (auto& placed : run.places) placed.placement.uncertain.clear();
  EXPECT_TRUE(CaveatsDocument(run).blocks.empty());
}

TEST(RunDocument, NothingOfTheFileControlsTheTerminal) {
  auto run = fakes::SmallRun();
  run.file.records[0].name = "\x1b]0;owned\x07 \xc2\x9b 31m";
  run.file.records[6].reason = "\x1b[2J";
  run.file.machines[0].name = "\r\x7f";
  const auto tables = Tables(run, 120);
  for (const char* bad : {"\x1b", "\x07", "\r", "\x7f", "\xc2\x9b"})
    EXPECT_THAT(tables, Not(HasSubstr(bad)));
}

TEST(RunDocument, AnEmptyFileHasNoTable) { EXPECT_EQ(Tables(roofline::PlacedRun(), 80), ""); }

record::Record WithEnergy() {
  record::Record record{.name = "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4"};
  record.work[Provenance::kModelled].flops = {{"fp32.vector", 3e9}, {"bf16.matrix", 1e9}};
  record.energy = energy::Energy{.joules = 0.5,
                                 .ci95 = {{0.45, 0.55}},
                                 .domains = {{"package-0", 0.5}},
                                 .beside = {{"psys", 0.75}},
                                 .seconds = 0.004,
                                 .from = "powercap",
                                 .covers = "packages; no DRAM"};
  return record;
}

TEST(EnergyTable, ShowsJoulesRateAndPowerOfACall) {
  // 4e9 FLOP / 0.5 J; 0.5 J / 4 ms; half of 0.1 J over 0.5 J.
  EXPECT_THAT(Written({{EnergyTable({WithEnergy()})}}),
              AllOf(HasSubstr("500 mJ"), HasSubstr("10.0 %"), HasSubstr("8.00 GFLOP/J"),
                    HasSubstr("125 W"), HasSubstr("package-0 500 mJ, psys 750 mJ (not added)"),
                    HasSubstr("by powercap: packages; no DRAM")));
}

TEST(EnergyTable, MarksEnergyThatIncludesOtherPrograms) {
  record::Record record = WithEnergy();
  record.energy->others_cpus = 0.02;
  EXPECT_THAT(Written({{EnergyTable({record})}}), Not(HasSubstr("~")));
  record.energy->others_cpus = 0.5;
  EXPECT_THAT(Written({{EnergyTable({record})}}),
              AllOf(HasSubstr("~500 mJ"), HasSubstr("~8.00 GFLOP/J"), HasSubstr("other programs")));
}

TEST(EnergyTable, AnUnknownRateIsEmptyAndAMissingEnergyHasItsReason) {
  record::Record without{.name = "cold one"};
  without.counting = {{"energy", {}, "not measured: it stood still"}};
  record::Record no_flops = WithEnergy();
  no_flops.work.clear();
  EXPECT_THAT(Written({{EnergyTable({no_flops, without})}}),
              AllOf(Not(HasSubstr("FLOP/J  8")), Not(HasSubstr("nan")),
                    HasSubstr("energy of cold one not measured: it stood still")));
}

TEST(EnergyTable, IsSilentIfNoRecordAskedForEnergy) {
  record::Record record{.name = "x"};
  record.counting = {{"perf", {}, "2 groups"}};
  Document document;
  document.Add(EnergyTable({record}));
  EXPECT_TRUE(document.blocks.empty());
}

std::string Table(const roofline::PlacedRun& run, std::string_view along) {
  return Written(TrajectoriesDocument(roofline::Trajectories(run, along)));
}

TEST(TrajectoriesDocument, ARowPerPointThenTheSentence) {
  const auto text =
      Table(fakes::RunOf({fakes::kOne, fakes::With(fakes::Watched(fakes::Two(9), {.fork_join = 3}),
                                                   &fakes::PointSpec::noisy)}),
            "threads");
  EXPECT_THAT(text, HasSubstr("Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r1s1\n"
                              "threads"));
  EXPECT_THAT(text, HasSubstr("FLOP/byte DRAM"));
  EXPECT_THAT(text, HasSubstr("\n1         12.0 s  8.33 FLOP/s"));
  EXPECT_THAT(text, HasSubstr("\n2        ~9.00 s"));
  EXPECT_THAT(text, HasSubstr("  ~1.33x          ~41.5 %            overhead +33\n"));
  EXPECT_THAT(text, HasSubstr("\n  ~2 threads are 1.33x as fast as 1 thread, 67 % of ideal: 33 "
                              "points are lost, 33 by "));
  EXPECT_THAT(text, HasSubstr(record::kEstimateMeaning));
}

TEST(TrajectoriesDocument, AlongASizeThereIsNoEfficiency) {
  const auto text =
      Table(fakes::RunOf({fakes::Batch(1, 10, 100, 20), fakes::Batch(4, 40, 400, 80)}), "batch");
  EXPECT_THAT(text, HasSubstr("\nbatch  threads"));
  EXPECT_THAT(text, HasSubstr("FLOP/s ratio"));
  EXPECT_THAT(text, Not(HasSubstr("log2")));
  EXPECT_THAT(text, Not(HasSubstr("~")));
}

record::RunFile Stored(const std::string& name) {
  std::ostringstream none;
  return record::ReadRunFile(fakes::TestData(name), none);
}

record::Record Kernel(const std::string& name, double seconds, double launches, double flops) {
  record::Record record{.name = name, .timed = "kernels"};
  record.repetitions = {{.seconds = seconds, .iterations = 1}};
  Work& work = record.work[Provenance::kMeasured];
  work.launches = launches;
  work.flops["fp32.vector"] = flops;
  work.bytes[Level::kDram] = 1e6;
  return record;
}

// 240 launches in 503 us are 2.09 us each.
TEST(KernelTables, AProfilesTimesAreSumsOverLaunchesWithoutTheirCost) {
  const auto tables = Tables(roofline::PlaceRun(Stored("h200_profile_resnet50.json")), 0);
  EXPECT_THAT(tables,
              AllOf(HasSubstr("GPU kernels of python3: 503 µs of device time in 240 launches"),
                    HasSubstr("503 µs     100 %       240     2.09 µs"), Not(HasSubstr("overhead")),
                    Not(HasSubstr("879"))));
}

TEST(KernelTables, NamesAreAtMost60ColumnsWideUnlessFullOnesAreWanted) {
  const auto file = Stored("h200_profile_resnet50.json");
  const std::string whole = "float16_copy_kernel_cuda(TensorIteratorBase &)";
  EXPECT_THAT(
      Tables(roofline::PlaceRun(file), 0),
      AllOf(HasSubstr("\nvectorized_elementwise_kernel<8, float16_cop"), Not(HasSubstr(whole))));
  EXPECT_THAT(Tables(roofline::PlaceRun(file), 0, {.full_names = true}), HasSubstr(whole));
}

// 3 of 4 ms, 1 of 4 ms: the longest first, with rates although there are no roofs.
TEST(KernelTables, AreSortedByTimeWithTheirSharesAndRates) {
  record::RunFile file;
  file.records = {Kernel("app/void b(int)", 1e-3, 2, 0), Kernel("app/void a(int)", 3e-3, 10, 6e9)};
  const auto tables = Tables(roofline::PlaceRun(file), 0);
  EXPECT_THAT(tables, HasSubstr("GPU kernels of app: 4.00 ms of device time in 12 launches"));
  EXPECT_THAT(
      tables,
      HasSubstr("\na       3.00 ms    75.0 %        10      300 µs                         2.00 "
                "TFLOP/s         6000\n"
                "b       1.00 ms    25.0 %         2      500 µs\n"));
}

TEST(KernelTables, NothingOfTheFileControlsTheTerminal) {
  record::RunFile file;
  file.records = {Kernel("\x1b[2J/void \x1b[2Ja(int)", 3e-3, 10, 6e9)};
  EXPECT_THAT(Tables(roofline::PlaceRun(file), 0) +
                  Tables(roofline::PlaceRun(file), 0, {.full_names = true}),
              Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace dlroof::document
