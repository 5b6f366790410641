// Timelines of a GPU worked by hand, the choice of launches to count, and the run file's form.
#include "baselines/programs/gpu_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>

#include "counters/base/files.h"
#include "tests/fakes/gpu_trace_builder.h"
#include "tests/test_data.h"

namespace dlroof::programs {
namespace {

using gpu_trace::Trace;

using Builder = fakes::GpuTraceBuilder;

// 12 steps of 1000 us, each of a product (400), two elementwise kernels (50 each, 10 apart), a
// conversion (100) and a copy (80 alone, 20 beside the product); before them 5 conversions.
Builder Steps() {
  Builder made;
  const auto gemm = made.Kernel("_Z4gemmv", 64), add = made.Kernel("_Z12elementwiseAv", 8),
             relu = made.Kernel("_Z12elementwiseBv", 8),
             convert = made.Kernel("_Z19float16_copy_kernelv", 8);
  for (int i = 0; i < 5; ++i) made.Launch(convert, 100 * i, 30);
  for (int step = 0; step < 12; ++step) {
    const std::int64_t at = 2000 + 1000 * step;
    made.Launch(gemm, at, 400);
    made.Launch(add, at + 450, 50);
    made.Launch(relu, at + 510, 50);
    made.Launch(convert, at + 600, 100);
    made.Copy(at + 920, 100);  // 20 us of it in the next step's product
  }
  return made;
}

TEST(GpuTimeline, StepsHaveTheTimesWorkedByHand) {
  const auto timelines = TimelinesOf(Steps().trace);
  ASSERT_EQ(timelines.size(), 1U);
  const auto& timeline = timelines[0];
  EXPECT_EQ(timeline.launches, 5 + 12 * 4);
  ASSERT_EQ(timeline.steps.from, StepsFrom::kFound);
  // The last step has no next one that would end it.
  EXPECT_EQ(timeline.steps.count, 11);
  EXPECT_NEAR(timeline.steps.median_seconds, 1e-3, 1e-12);
  EXPECT_EQ(timeline.steps.launches, 4);
  const auto& times = timeline.times;
  EXPECT_NEAR(times.wall_seconds, 1e-3, 1e-12);
  EXPECT_NEAR(times.kernel_seconds, 600e-6, 1e-12);
  EXPECT_NEAR(times.copy_seconds, 80e-6, 1e-12);
  EXPECT_NEAR(times.idle_seconds, 320e-6, 1e-12);
  EXPECT_NEAR(times.overlap_seconds, 0, 1e-12);
  // The first steady step has no copy of a step before it in its product, the other ten have.
  EXPECT_NEAR(times.hidden_copy_seconds, 20e-6 * 10 / 11, 1e-12);
  // 50 us before the elementwise kernels, 10 between them, 40 before the conversion; 220 are long.
  EXPECT_NEAR(times.short_idle_seconds, 100e-6, 1e-12);
  EXPECT_NEAR(times.short_gaps, 3, 1e-9);
  EXPECT_NEAR(timeline.fusible_seconds, 50e-6, 1e-12);
  EXPECT_NEAR(timeline.fusible_launches, 2, 1e-9);
}

TEST(GpuTimeline, TheTimeOfKernelsThatRunTogetherIsDivided) {
  Builder made;
  const auto a = made.Kernel("a", 1), b = made.Kernel("b", 1);
  made.Launch(a, 0, 100, 7);
  made.Launch(b, 50, 100, 8);
  const auto timeline = TimelinesOf(made.trace)[0];
  EXPECT_EQ(timeline.steps.count, 0);
  EXPECT_NEAR(timeline.times.kernel_seconds, 150e-6, 1e-12);
  EXPECT_NEAR(timeline.times.overlap_seconds, 50e-6, 1e-12);
  for (const auto& use : timeline.kernels) {
    EXPECT_NEAR(use.step_seconds, 100e-6, 1e-12);
    EXPECT_NEAR(use.step_wall_seconds, 75e-6, 1e-12);
  }
  ASSERT_EQ(timeline.lanes.size(), 2U);
  EXPECT_EQ(timeline.lanes[0].kernels.front(), 1);
  EXPECT_EQ(timeline.lanes[1].kernels.front(), 0);
}

TEST(GpuTimeline, ALongStepIsAnOutlier) {
  auto made = Steps();
  // The seventh step begins and everything after it comes 5 ms later.
  const auto later = [](auto& all) {
    for (auto& task : all)
      if (task.time.begin_ns >= Builder::Us(8000, 0).begin_ns) {
        task.time.begin_ns += 5'000'000;
        task.time.end_ns += 5'000'000;
      }
  };
  later(made.trace.launches);
  later(made.trace.copies);
  const auto timeline = TimelinesOf(made.trace)[0];
  EXPECT_EQ(timeline.steps.outliers, 1);
  EXPECT_EQ(timeline.steps.count, 10);
  EXPECT_NEAR(timeline.steps.most_seconds, 1e-3, 1e-12);
  ASSERT_FALSE(timeline.gaps.empty());
  // A copy of the step before ends at 8020 us.
  EXPECT_NEAR(timeline.gaps[0].seconds, 4.98e-3, 1e-9);
}

TEST(KernelKindOf, TellsLayoutsProductsAndElementwiseKernels) {
  EXPECT_EQ(KernelKindOf("void at::native::vectorized_elementwise_kernel<4, at::native::float16_"
                         "copy_kernel_cuda(at::TensorIteratorBase&)>"),
            KernelKind::kLayout);
  EXPECT_EQ(KernelKindOf("void cudnn::ops::nchwToNhwcKernel<__half, __half, float>"),
            KernelKind::kLayout);
  EXPECT_EQ(KernelKindOf("nvjet_sm90_hsh_64x16_64x16_4x2_h_bz_TNT"), KernelKind::kProduct);
  EXPECT_EQ(KernelKindOf("void elemWiseRNNcell<__half, __half, float, 2, 2>"),
            KernelKind::kElementwise);
  EXPECT_EQ(KernelKindOf("triton_poi_fused_add_relu_0"), KernelKind::kElementwise);
  EXPECT_EQ(KernelKindOf("ncclDevKernel_AllReduce_Sum_f16_RING_LL"), KernelKind::kCollective);
  EXPECT_TRUE(IsFp32Product("ampere_sgemm_128x64_tn"));
  EXPECT_TRUE(IsFp32Product("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8"));
  EXPECT_FALSE(IsFp32Product("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n"));
  EXPECT_FALSE(IsFp32Product("ampere_fp16_s16816gemm_fp16_128x64_tn"));
}

TEST(KernelKindOf, KnowsTheProductsOfAnH200) {
  std::istringstream lines(ReadFile(fakes::TestData("kernel_names_h200.txt"), "names"));
  int products = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto tab = line.find('\t');
    if (tab == line.npos) continue;
    const auto name = DemangledKernel(line.substr(tab + 1));
    for (const auto* word : {"sgemm", "nvjet", "xmma_fprop", "xmma_dgrad", "xmma_wgrad"}) {
      if (name.find(word) == name.npos) continue;
      EXPECT_EQ(KernelKindOf(name), KernelKind::kProduct) << name;
      ++products;
    }
    const bool fp32 = name.find("simt_sgemm") != name.npos;
    const bool f16 = name.find("f16f16_f16f32") != name.npos;
    if (fp32 || f16) {
      EXPECT_EQ(IsFp32Product(name), fp32) << name;
    }
  }
  EXPECT_GT(products, 20);
}

TEST(SelectLaunches, TakesAStepOfTheKernelsWithMostTimeThatFit) {
  const auto made = Steps();
  const auto timeline = TimelinesOf(made.trace)[0];
  const auto launches = timeline.order;
  ASSERT_EQ(launches.kernels.size(), 53U);
  EXPECT_EQ(launches.steady_end - launches.steady_begin, 4U);
  const auto all = SelectLaunches(timeline, 100);
  EXPECT_EQ(all.launches, 4U);
  EXPECT_EQ(all.kernels, 4U);
  EXPECT_NEAR(all.share, 1, 1e-12);
  // Two launches: the product and the conversion, which has most time after it.
  const auto two = SelectLaunches(timeline, 2);
  EXPECT_EQ(two.launches, 2U);
  EXPECT_EQ(two.kernels, 2U);
  EXPECT_NEAR(two.share, 5.0 / 6, 1e-12);
  const auto at = [&](const std::string& flag) {
    return *(std::ranges::find(two.arguments, flag) + 1);
  };
  EXPECT_EQ(at("--kernel-name"), "regex:^(_Z4gemmv|_Z19float16_copy_kernelv)$");
  EXPECT_EQ(at("--launch-count"), "2");
  // Matching launches before the steady step: 5 conversions, and two of each step before it.
  EXPECT_EQ(std::stoul(at("--launch-skip")), 5 + 2 * (launches.steady_begin - 5) / 4);
  EXPECT_EQ(SelectLaunches(timeline, 0).launches, 0U);
}

TEST(SelectLaunches, EscapesWhatIsNotALetter) {
  EXPECT_EQ(ExactNames({"_Z1av", "a.b$c"}), "^(_Z1av|a\\.b\\$c)$");
}

TEST(JoinCounts, JoinsByNameGridAndBlock) {
  auto made = Steps();
  const auto timeline = TimelinesOf(made.trace)[0];
  imports::CountedLaunch gemm{.kernel = "_Z4gemmv", .grid = {{64, 1, 1}}, .block = {{128, 1, 1}}};
  gemm.work.flops["fp16.matrix"] = 100;
  gemm.work.bytes[Level::kDram] = 10;
  auto again = gemm;
  again.work.bytes[Level::kDram] = 20;
  auto other_grid = gemm;
  other_grid.grid = {{65, 1, 1}};
  imports::CountedLaunch by_name{
      .kernel = "elementwiseA()", .grid = {{8, 1, 1}}, .block = {{128, 1, 1}}};
  by_name.work.flops["fp32.vector"] = 7;
  const auto counted = JoinCounts(timeline, {gemm, again, other_grid, by_name});
  ASSERT_EQ(counted.size(), 2U);
  EXPECT_EQ(counted[0].name, "_Z4gemmv");
  EXPECT_NEAR(counted[0].flops.at("fp16.matrix"), 100, 1e-9);
  EXPECT_NEAR(counted[0].bytes.at(Level::kDram), 15, 1e-9);
  EXPECT_EQ(counted[1].name, "_Z12elementwiseAv");
}

TEST(RecordsOf, CountsTimesLaunchesAndTimesOfTheTrace) {
  const auto made = Steps();
  auto program = ProgramOfTraces({made.trace});
  const CountedKernel convert{
      "_Z19float16_copy_kernelv", {8, 1, 1}, {128, 1, 1}, {{"fp32.vector", 0}}, {}};
  const CountedKernel gemm{
      "_Z4gemmv", {64, 1, 1}, {128, 1, 1}, {{"fp16.matrix", 3e6}}, {{Level::kDram, 1e6}}};
  const auto records = RecordsOf(program, "app", {gemm, convert});
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].name, "app/gemm() [64, 128]");
  EXPECT_EQ(records[0].timed, "kernels");
  EXPECT_NEAR(records[0].repetitions.at(0).seconds, 400e-6, 1e-12);
  const auto& work = records[0].work.at(Provenance::kMeasured);
  EXPECT_NEAR(work.flops.at("fp16.matrix"), 3e6, 1);
  EXPECT_NEAR(*work.launches, 1, 1e-12);
  EXPECT_EQ(program.counting.kernels, 2);
  EXPECT_NEAR(program.counting.share, 5.0 / 6, 1e-12);
  EXPECT_EQ(program.timelines[0].kernels[0].record, records[0].name);
}

TEST(AdviceOf, NamesTheLargestLossFirstAndOnlyWhatIsThere) {
  const auto advice = AdviceOf(TimelinesOf(Steps().trace)[0]);
  // 220 us of long gaps; 100 of conversions and of short gaps; 80 of copies; 50 of fusion.
  ASSERT_EQ(advice.size(), 5U);
  EXPECT_THAT(advice[0].text, testing::HasSubstr("in gaps longer than"));
  EXPECT_THAT(advice[3].text, testing::StartsWith("Copies take"));
  EXPECT_THAT(advice[4].text, testing::HasSubstr("elementwise launches follow one another"));
}

TEST(GpuProgramJson, IsReadAsItWasWritten) {
  auto program = ProgramOfTraces({Steps().trace});
  program.command = "python app.py";
  RecordsOf(program, "app", {});
  const nlohmann::json context = {{"dlroof", {{"gpu_program", ToJson(program)}}}};
  const auto again = GpuProgramOf(context);
  ASSERT_TRUE(again);
  EXPECT_EQ(ToJson(*again), ToJson(program));
  EXPECT_FALSE(GpuProgramOf(nlohmann::json::object()));
}

TEST(GpuProgramJson, IgnoresMembersOfAnotherType) {
  auto program = ProgramOfTraces({Steps().trace});
  const auto text = ToJson(program).dump();
  std::mt19937_64 random(1);
  int read = 0;
  for (int i = 0; i < 2000; ++i) {
    auto mutant = text;
    mutant[random() % mutant.size()] = "0\"[{n-:,"[random() % 8];
    const auto json = nlohmann::json::parse(mutant, nullptr, false);
    if (json.is_discarded()) continue;
    const nlohmann::json context = {{"dlroof", {{"gpu_program", json}}}};
    const auto some = GpuProgramOf(context);
    read += some.has_value() ? 1 : 0;
    std::ostringstream out;
    roofline::PlacedRun run;
    run.file.context = context;
    document::Write(GpuProgramDocument(run), 100, out);
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace dlroof::programs
