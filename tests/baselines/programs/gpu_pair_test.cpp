// Pairs of programs on a GPU whose times are worked by hand.
#include "baselines/programs/gpu_pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "baselines/programs/program_pair.h"
#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "tests/fakes/gpu_trace_builder.h"

namespace dlroof::programs {
namespace {

using gpu_trace::Trace;

constexpr const char* kGemm = "sm90_xmma_gemm_f32";
constexpr const char* kRelu = "vectorized_elementwise_kernel<Relu>";
constexpr const char* kAdd = "vectorized_elementwise_kernel<Add>";
constexpr const char* kCopy = "float16_copy_kernel";
constexpr const char* kFused = "triton_poi_fused_add_relu_0";
constexpr const char* kSum = "reduce_kernel";

using Builder = fakes::GpuTraceBuilder;

// 12 steps of 1000 us: a product (400), an addition and a relu (50 each), a conversion (100), a
// copy (80). So 600 us of kernels, 80 of copies, 320 idle. Before them a kernel that is in no step.
Trace Eager() {
  Builder made;
  const auto set_up = made.Kernel("set_up_kernel", 1);
  const auto gemm = made.Kernel(kGemm, 64), add = made.Kernel(kAdd, 8),
             relu = made.Kernel(kRelu, 8), copy = made.Kernel(kCopy, 8);
  for (std::int64_t i = 0; i < 5; ++i) made.Launch(set_up, 100 * i, 30);
  for (int step = 0; step < 12; ++step) {
    const std::int64_t at = 2000 + 1000 * step;
    made.Launch(gemm, at, 400);
    made.Launch(add, at + 450, 50);
    made.Launch(relu, at + 510, 50);
    made.Launch(copy, at + 600, 100);
    made.Copy(at + 900, 80);
  }
  return made.trace;
}

// 12 steps of 600 us: the product as two grids (200, 150), a fused kernel (50), and a reduction
// (40) on another stream of which 20 us are beside the fused kernel. So 420 us of kernels, of which
// the fused one gets 40 and the reduction 30; 180 idle.
Trace Compiled() {
  Builder made;
  const auto whole = made.Kernel(kGemm, 64), rest = made.Kernel(kGemm, 32),
             fused = made.Kernel(kFused, 8), sum = made.Kernel(kSum, 1);
  for (int step = 0; step < 12; ++step) {
    const std::int64_t at = 1000 + 600 * step;
    made.Launch(whole, at, 200);
    made.Launch(rest, at + 200, 150);
    made.Launch(fused, at + 400, 50);
    made.Launch(sum, at + 430, 40, 9);
    for (std::size_t i = 4; i > 0; --i) {
      auto& launch = made.trace.launches[made.trace.launches.size() - i];
      launch.graph = 1;
      launch.graph_node = i;
    }
  }
  return made.trace;
}

machine::Machine Roofs() {
  machine::Machine machine{.device = "gpu", .name = "made up", .fingerprint = "x"};
  auto& set = machine.by_threads[1];
  set.flops["fp32.vector"] = {.per_second = 1e12, .status = machine::CeilingStatus::kValidated};
  set.bytes[Level::kDram] = {.per_second = 1e12, .status = machine::CeilingStatus::kValidated};
  set.launch_seconds = 1e-6;
  return machine;
}

// The program as a run file has it, with the counts of `counted` under Roofs().
ComparedGpuProgram Program(const std::string& where, const std::vector<Trace>& traces,
                           const std::vector<CountedKernel>& counted = {}) {
  auto program = ProgramOfTraces(traces);
  program.command = "python " + where;
  auto records = RecordsOf(program, "app", counted);
  std::ostringstream warnings;
  auto file = imports::ImportedRun(
      std::move(records), counted.empty() ? std::nullopt : std::optional(Roofs()), {}, warnings);
  EXPECT_EQ(warnings.str(), "");
  file.context["dlroof"]["gpu_program"] = ToJson(program);
  return ComparedGpuProgramOf(where, roofline::PlaceRun(std::move(file)));
}

LaunchSum SumOf(const std::vector<KernelRow>& rows, KernelSide KernelRow::*side) {
  LaunchSum sum;
  for (const auto& row : rows) sum.Add((row.*side).sum);
  return sum;
}

// Expects that rows and kinds have each kernel of both programs once.
void ExpectSums(const GpuPair& pair) {
  LaunchSum kinds_a, kinds_b;
  for (const auto& row : pair.kinds) {
    kinds_a.Add(row.a);
    kinds_b.Add(row.b);
  }
  const auto expect = [](const LaunchSum& sum, const GpuSideTotals& side) {
    EXPECT_NEAR(sum.launches, side.kernels.launches, 1e-9);
    EXPECT_NEAR(sum.seconds, side.kernels.seconds, 1e-12);
  };
  expect(kinds_a, pair.a);
  expect(kinds_b, pair.b);
  auto rows_a = SumOf(pair.rows, &KernelRow::a), rows_b = SumOf(pair.rows, &KernelRow::b);
  EXPECT_NEAR(rows_a.seconds, pair.a.matched.seconds, 1e-12);
  EXPECT_NEAR(rows_b.seconds, pair.b.matched.seconds, 1e-12);
  rows_a.Add(SumOf(pair.only_a, &KernelRow::a));
  rows_b.Add(SumOf(pair.only_b, &KernelRow::b));
  expect(rows_a, pair.a);
  expect(rows_b, pair.b);
  for (const auto* side : {&pair.a, &pair.b}) {
    const auto& roofs = side->roofs;
    EXPECT_NEAR(roofs.roof_seconds + roofs.above_seconds + roofs.zero_flop_seconds +
                    roofs.uncounted_seconds,
                side->kernels.seconds, 1e-12);
    if (!side->times) continue;
    const auto& times = *side->times;
    EXPECT_NEAR(times.kernel_seconds, side->kernels.seconds, 1e-12);
    EXPECT_NEAR(times.kernel_seconds + times.copy_seconds + times.fill_seconds + times.idle_seconds,
                side->wall_seconds, 1e-12);
  }
}

std::vector<std::string> NamesOf(const std::vector<KernelRow>& rows) {
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

// [0.1 %] of a cell "12.3 %".
int TenthsOf(const document::Cell& cell) {
  return static_cast<int>(std::lround(10 * std::stod(cell.text)));
}

const document::Table* TableOf(const document::Document& document, const std::string& title) {
  for (const auto& block : document.blocks)
    if (const auto* table = std::get_if<document::Table>(&block))
      if (table->columns[0] == title) return table;
  return nullptr;
}

TEST(PairGpuPrograms, AStepOfEagerBesideCompiledHasTheTimesWorkedByHand) {
  const auto a = Program("eager.json", {Eager()}), b = Program("compiled.json", {Compiled()});
  const auto pair = PairGpuPrograms(a, b);
  EXPECT_EQ(pair.times, PairedTimes::kSteps);
  ExpectSums(pair);
  EXPECT_NEAR(pair.a.wall_seconds, 1000e-6, 1e-12);
  EXPECT_NEAR(pair.b.wall_seconds, 600e-6, 1e-12);
  EXPECT_NEAR(pair.a.times->copy_seconds, 80e-6, 1e-12);
  EXPECT_NEAR(pair.a.times->idle_seconds, 320e-6, 1e-12);
  EXPECT_NEAR(pair.b.times->idle_seconds, 180e-6, 1e-12);
  EXPECT_NEAR(pair.b.kernels.seconds, 420e-6, 1e-12);
  EXPECT_NEAR(pair.a.kernels.launches, 4, 1e-9);
  EXPECT_EQ(pair.a.graph_share, 0);
  EXPECT_EQ(pair.b.graph_share, 1);
  EXPECT_TRUE(pair.remarks.empty());
  EXPECT_EQ(
      pair.differences,
      (std::vector<std::string>{"launches from CUDA graphs, of the whole trace: 0 % | 100 %"}));
}

TEST(PairGpuPrograms, AKernelOfBothIsOneRowWhateverItsGrids) {
  const auto a = Program("a", {Eager()}), b = Program("b", {Compiled()});
  const auto pair = PairGpuPrograms(a, b);
  ASSERT_EQ(NamesOf(pair.rows), std::vector<std::string>{kGemm});
  const auto& row = pair.rows[0];
  EXPECT_EQ(row.kind, KernelKind::kProduct);
  EXPECT_NEAR(row.a.sum.seconds, 400e-6, 1e-12);
  EXPECT_NEAR(row.b.sum.seconds, 350e-6, 1e-12);
  EXPECT_NEAR(row.b.sum.launches, 2, 1e-9);
  EXPECT_NEAR(*RatioOf(row.a.sum, row.b.sum), 0.875, 1e-9);
  ASSERT_EQ(row.b.uses.size(), 2U);
  EXPECT_EQ(row.b.uses[0]->grid[0], 64U);  // has more time
  EXPECT_EQ(row.differences, std::vector<std::string>{"grid: 64 | 32, 64"});
  EXPECT_FALSE(row.a.roof_share);
}

TEST(PairGpuPrograms, KernelsOfOneProgramAreListedTheLongestFirst) {
  const auto a = Program("a", {Eager()}), b = Program("b", {Compiled()});
  const auto pair = PairGpuPrograms(a, b);
  // The kernel before the steps is in no row.
  EXPECT_EQ(NamesOf(pair.only_a), (std::vector<std::string>{kCopy, kAdd, kRelu}));
  EXPECT_EQ(NamesOf(pair.only_b), (std::vector<std::string>{kFused, kSum}));
  EXPECT_NEAR(pair.only_b[0].b.sum.seconds, 40e-6, 1e-12);
  EXPECT_NEAR(pair.only_b[1].b.sum.seconds, 30e-6, 1e-12);
  ASSERT_EQ(pair.kinds.size(), 4U);
  EXPECT_EQ(pair.kinds[0].kind, KernelKind::kProduct);
  EXPECT_EQ(pair.kinds[1].kind, KernelKind::kElementwise);
  EXPECT_NEAR(pair.kinds[1].a.seconds, 100e-6, 1e-12);
  EXPECT_NEAR(pair.kinds[1].b.seconds, 40e-6, 1e-12);
  EXPECT_EQ(pair.kinds[2].kind, KernelKind::kLayout);
  EXPECT_EQ(pair.kinds[2].b.launches, 0);
  EXPECT_EQ(pair.kinds[3].kind, KernelKind::kReduction);
}

TEST(ChangesOf, AddUpToTheDifferenceOfTheStepsTheLargestFirst) {
  const auto a = Program("a", {Eager()}), b = Program("b", {Compiled()});
  const auto changes = ChangesOf(PairGpuPrograms(a, b));
  double sum = 0;
  for (const auto& one : changes) sum += one.Seconds();
  EXPECT_NEAR(sum, -400e-6, 1e-12);
  EXPECT_EQ(changes[0].what, "idle");
  EXPECT_NEAR(changes[0].Seconds(), -140e-6, 1e-12);
  EXPECT_EQ(changes[1].what, "layout kernels");
  EXPECT_EQ(changes[2].what, "copies while no kernel runs");
}

TEST(PairGpuPrograms, ProgramsWithoutStepsAreComparedByTheirWholeTraces) {
  Builder one, two;
  const auto k = one.Kernel("k", 1), m = one.Kernel("m", 1);
  one.Launch(k, 0, 100);
  one.Launch(m, 200, 50);
  two.Launch(two.Kernel("k", 1), 0, 30);
  const auto a = Program("a", {one.trace}), b = Program("b", {two.trace});
  const auto pair = PairGpuPrograms(a, b);
  EXPECT_EQ(pair.times, PairedTimes::kTraces);
  ExpectSums(pair);
  EXPECT_NEAR(pair.a.wall_seconds, 250e-6, 1e-12);
  EXPECT_NEAR(pair.a.times->idle_seconds, 100e-6, 1e-12);
  EXPECT_NEAR(pair.b.wall_seconds, 30e-6, 1e-12);
  ASSERT_EQ(pair.rows.size(), 1U);
  EXPECT_TRUE(pair.rows[0].differences.empty());
  ASSERT_EQ(pair.remarks.size(), 2U);
  EXPECT_NE(pair.remarks[0].find("a has no steps ("), std::string::npos);
}

TEST(PairGpuPrograms, StepsOfOneProgramOnlyLeaveDurationsOfTheWholeTraces) {
  Builder one;
  one.Launch(one.Kernel(kGemm, 64), 0, 4000);
  const auto a = Program("a", {one.trace}), b = Program("b", {Compiled()});
  const auto pair = PairGpuPrograms(a, b);
  EXPECT_EQ(pair.times, PairedTimes::kDurations);
  ExpectSums(pair);
  EXPECT_FALSE(pair.a.times || pair.b.times);
  EXPECT_NEAR(pair.a.kernels.seconds, 4000e-6, 1e-12);
  // 12 x (200 + 150 + 50 + 40)
  EXPECT_NEAR(pair.b.kernels.seconds, 5280e-6, 1e-12);
  EXPECT_NEAR(pair.b.kernels.launches, 48, 1e-9);
  double sum = 0;
  for (const auto& one_change : ChangesOf(pair)) sum += one_change.Seconds();
  EXPECT_NEAR(sum, 1280e-6, 1e-12);
  ASSERT_EQ(pair.remarks.size(), 1U);
  EXPECT_NE(pair.remarks[0].find("idle times are not compared"), std::string::npos);
  const auto document = GpuPairDocument({a, b, pair}, true);
  EXPECT_FALSE(TableOf(document, "a step"));
  EXPECT_TRUE(TableOf(document, "kinds of kernels"));
}

TEST(PairGpuPrograms, CountedKernelsStandUnderTheirRoofs) {
  // 1e8 FLOPs at 1e12 FLOP/s are 100 us of the 400 that the product takes.
  const CountedKernel gemm{
      kGemm, {64, 1, 1}, {128, 1, 1}, 0, {{"fp32.vector", 1e8}}, {{Level::kDram, 1e6}}};
  const CountedKernel copy{
      kCopy, {8, 1, 1}, {128, 1, 1}, 0, {{"fp32.vector", 0}}, {{Level::kDram, 1e6}}};
  const auto a = Program("a", {Eager()}, {gemm, copy}), b = Program("b", {Compiled()});
  const auto pair = PairGpuPrograms(a, b);
  ExpectSums(pair);
  ASSERT_EQ(pair.rows.size(), 1U);
  ASSERT_TRUE(pair.rows[0].a.roof_share);
  EXPECT_NEAR(pair.rows[0].a.roof_share->value, 0.25, 1e-6);
  EXPECT_FALSE(pair.rows[0].b.roof_share);
  EXPECT_NEAR(pair.a.roofs.roof_seconds, 100e-6, 1e-10);
  EXPECT_NEAR(pair.a.roofs.above_seconds, 300e-6, 1e-10);
  EXPECT_NEAR(pair.a.roofs.zero_flop_seconds, 100e-6, 1e-12);
  EXPECT_NEAR(pair.a.roofs.zero_flop_launches, 1, 1e-9);
  EXPECT_NEAR(pair.a.roofs.uncounted_seconds, 100e-6, 1e-12);
  EXPECT_NEAR(pair.b.roofs.uncounted_seconds, 420e-6, 1e-12);
  const auto document = GpuPairDocument({a, b, pair}, true);
  const auto* table = TableOf(document, "kernels by their roofs");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->rows.size(), 4U);
  const auto differs = std::ranges::find_if(pair.differences, [](const std::string& text) {
    return text.starts_with("counted, of the kernels' time: 83.3 % | none");
  });
  EXPECT_NE(differs, pair.differences.end());
}

TEST(PairGpuPrograms, TellsWhatLimitsTheComparison) {
  auto lossy = Compiled();
  lossy.dropped = 7;
  lossy.texts.push_back("train_step");
  lossy.ranges.push_back(
      {Builder::Us(1000, 500), static_cast<std::uint32_t>(lossy.texts.size() - 1), 1, 0});
  const auto a = Program("a", {Eager(), Compiled()}), b = Program("b", {lossy});
  const auto pair = PairGpuPrograms(a, b);
  const auto has = [&](const std::string& words) {
    return std::ranges::any_of(pair.remarks, [&](const std::string& text) {
      return text.find(words) != std::string::npos;
    });
  };
  EXPECT_TRUE(has("a has 2 processes or GPUs"));
  EXPECT_TRUE(has("b: 7 records were lost"));
  EXPECT_FALSE(has("a: "));
}

TEST(GpuPairDocument, SharesOfEachTableAddUp) {
  const auto a = Program("a", {Eager()}), b = Program("b", {Compiled()});
  const auto pair = PairGpuPrograms(a, b);
  const auto document = GpuPairDocument({a, b, pair}, false);
  for (const auto* title : {"a step", "kinds of kernels"}) {
    const auto* table = TableOf(document, title);
    ASSERT_TRUE(table) << title;
    int of_a = 0, of_b = 0;
    for (const auto& row : table->rows) {
      of_a += TenthsOf(row[3]);
      of_b += TenthsOf(row[6]);
    }
    EXPECT_EQ(of_a, 1000) << title;
    EXPECT_EQ(of_b, 1000) << title;
  }
  // 400 us of A's 600, 350 of B's 420 are in both; the other tables have the rest.
  const auto *only_a = TableOf(document, "only in A"), *only_b = TableOf(document, "only in B");
  ASSERT_TRUE(only_a && only_b);
  EXPECT_EQ(TenthsOf(only_a->last.back()[4]), 333);
  EXPECT_EQ(TenthsOf(only_b->last.back()[4]), 167);
  std::ostringstream text;
  document::Write(document, 0, text);
  for (const auto* words :
       {"those in both take 66.7 % of A's kernel time and 83.3 % of B's",
        "a step of B takes 0.60 times A's, -400 µs: idle -140 µs, layout kernels -100 µs, copies "
        "while no kernel runs -80.0 µs, elementwise kernels -60.0 µs",
        "1  grid: 64 | 32, 64  (A | B)"})
    EXPECT_NE(text.str().find(words), std::string::npos) << words << '\n' << text.str();
}

TEST(GpuPairDocument, RowsThatATerminalLeavesOutAreSummed) {
  Builder one, two;
  for (std::int64_t i = 0; i < 30; ++i) {
    const auto name = "kernel_" + std::to_string(i);
    one.Launch(one.Kernel(name, 1), 100 * i, 10 + i);
    two.Launch(two.Kernel(name + "_b", 1), 100 * i, 10);
    one.Launch(one.Kernel("both_" + name, 1), 100 * i + 50, 5 + i);
    two.Launch(two.Kernel("both_" + name, 1), 100 * i + 50, 5);
  }
  const auto a = Program("a", {one.trace}), b = Program("b", {two.trace});
  const auto pair = PairGpuPrograms(a, b);
  ASSERT_EQ(pair.only_a.size(), 30U);
  const auto few = GpuPairDocument({a, b, pair}, false), all = GpuPairDocument({a, b, pair}, true);
  for (const auto* title : {"only in A", "only in B"}) {
    const auto *table = TableOf(few, title), *whole = TableOf(all, title);
    EXPECT_EQ(whole->rows.size(), 30U);
    EXPECT_EQ(whole->last.size(), 1U);
    ASSERT_EQ(table->last.size(), 2U);
    int tenths = TenthsOf(table->last[0][4]);
    for (const auto& row : table->rows) tenths += TenthsOf(row[4]);
    EXPECT_EQ(tenths, TenthsOf(table->last[1][4])) << title;
  }
  EXPECT_EQ(TableOf(few, "kernels in both")->last[0][0].text, "18 more kernels");
}

TEST(GpuPairWriters, HaveTheFormatsOfOtherProgramsAndTheSameTimes) {
  const auto& others = ProgramPairWriters();
  const auto& writers = GpuPairWriters();
  ASSERT_EQ(writers.size(), others.size());
  const auto a = Program("a", {Eager()}), b = Program("b", {Compiled()});
  const auto pair = PairGpuPrograms(a, b);
  std::map<std::string_view, std::string> written;
  for (std::size_t i = 0; i < writers.size(); ++i) {
    EXPECT_EQ(writers[i].format, others[i].format);
    std::ostringstream out;
    writers[i].write({a, b, pair}, out);
    written[writers[i].format] = out.str();
  }
  const auto json = nlohmann::json::parse(written.at("json"));
  double sum = 0;
  for (const auto* list : {"both", "b_alone"})
    for (const auto& row : json.at(list)) sum += row.at("b").at("seconds").get<double>();
  EXPECT_NEAR(sum, json.at("b").at("kernels").at("seconds").get<double>(), 1e-12);
  EXPECT_NEAR(json.at("a").at("idle_seconds").get<double>(), 320e-6, 1e-12);
  EXPECT_EQ(json.at("both").at(0).at("b").at("kernels").size(), 2U);
  EXPECT_TRUE(json.at("per_step").get<bool>());
  // A title, and a line for each of six names.
  EXPECT_EQ(std::ranges::count(written.at("csv"), '\n'), 7);
  EXPECT_NE(written.at("csv").find("sm90_xmma_gemm_f32,product,1,0.0004"), std::string::npos)
      << written.at("csv");
  EXPECT_NE(written.at("markdown").find("| kernels in both | kind |"), std::string::npos);
}

TEST(ComparedGpuProgramOf, RefusesFilesWithoutGpuWork) {
  EXPECT_THROW(ComparedGpuProgramOf("x.json", roofline::PlaceRun({})), BadInput);
  record::RunFile file;
  file.context["dlroof"]["gpu_program"] = ToJson(ProgramOfTraces({}));
  EXPECT_TRUE(IsGpuProgram(file));
  EXPECT_THROW(ComparedGpuProgramOf("x.json", roofline::PlaceRun(file)), BadInput);
  EXPECT_FALSE(IsGpuProgram({}));
}

TEST(PairGpuPrograms, DamagedFilesCrashNothing) {
  const auto other = Program("b", {Compiled()});
  auto program = ProgramOfTraces({Eager()});
  const auto text = ToJson(program).dump();
  std::mt19937_64 random(1);
  int compared = 0;
  for (int i = 0; i < 600; ++i) {
    auto mutant = text;
    mutant[random() % mutant.size()] = "0\"[{n-:,9"[random() % 9];
    const auto json = nlohmann::json::parse(mutant, nullptr, false);
    if (json.is_discarded()) continue;
    record::RunFile file;
    file.context["dlroof"]["gpu_program"] = json;
    try {
      const auto damaged = ComparedGpuProgramOf("a", roofline::PlaceRun(std::move(file)));
      const auto pair = PairGpuPrograms(damaged, other);
      std::ostringstream out;
      for (const auto& writer : GpuPairWriters()) writer.write({damaged, other, pair}, out);
      ++compared;
    } catch (const BadInput&) {
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace dlroof::programs
