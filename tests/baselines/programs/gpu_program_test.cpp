// Timelines of a GPU worked by hand, the choice of launches to count, and the run file's form.
#include "baselines/programs/gpu_program.h"

#include <gmock/gmock.h>

#include <boost/core/demangle.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>

#include "counters/base/files.h"
#include "reporters/text/text.h"
#include "tests/fakes/gpu_trace_builder.h"
#include "tests/fakes/run_files.h"
#include "tests/test_data.h"

namespace dlroof::programs {
namespace {

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

TEST(GpuTimeline, StepsHaveTheTimesWorkedByHandAndALongOneIsAnOutlier) {
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
  // In ten of 11 steps the product hides 20 us of the previous copy; the first has none.
  EXPECT_NEAR(times.hidden_copy_seconds, 20e-6 * 10 / 11, 1e-12);
  // Short gaps: 50 us before and 10 between the elementwise, 40 after. 220 (to the copy) is long.
  EXPECT_NEAR(times.short_idle_seconds, 100e-6, 1e-12);
  EXPECT_NEAR(times.short_gaps, 3, 1e-9);
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
  const auto longer = TimelinesOf(made.trace)[0];
  EXPECT_EQ(longer.steps.outliers, 1);
  EXPECT_EQ(longer.steps.count, 10);
  EXPECT_NEAR(longer.steps.most_seconds, 1e-3, 1e-12);
  ASSERT_TRUE(longer.gap);
  // A copy of the step before ends at 8020 us.
  EXPECT_NEAR(longer.gap->seconds, 4.98e-3, 1e-9);
}

TEST(KernelKindOf, TellsLayoutsAndProductsAlsoThoseOfAnH200) {
  EXPECT_EQ(KernelKindOf("void at::native::vectorized_elementwise_kernel<4, at::native::float16_"
                         "copy_kernel_cuda(at::TensorIteratorBase&)>"),
            KernelKind::kLayout);
  EXPECT_EQ(KernelKindOf("void cudnn::ops::nchwToNhwcKernel<__half, __half, float>"),
            KernelKind::kLayout);
  EXPECT_EQ(KernelKindOf("ncclDevKernel_AllReduce_Sum_f16_RING_LL"), KernelKind::kCollective);
  EXPECT_TRUE(IsFp32Product("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8"));
  EXPECT_FALSE(IsFp32Product("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n"));
  EXPECT_FALSE(IsFp32Product("ampere_fp16_s16816gemm_fp16_128x64_tn"));
  std::istringstream lines(ReadFile(fakes::TestData("kernel_names_h200.txt"), "names"));
  int products = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto tab = line.find('\t');
    if (tab == line.npos) continue;
    const auto name = boost::core::demangle(line.substr(tab + 1).c_str());
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

TEST(SelectLaunches, TakesAStepOfTheKernelsWithMostTimeThatFitByEscapedNames) {
  const auto made = Steps();
  const auto timeline = TimelinesOf(made.trace)[0];
  const auto launches = timeline.order;
  ASSERT_EQ(launches.kernels.size(), 53U);
  EXPECT_EQ(launches.steady_end - launches.steady_begin, 4U);
  // Two launches: the product and the conversion, which has most time after it.
  const auto two = SelectLaunches(timeline, 2);
  EXPECT_EQ(two.launches, 2U);
  EXPECT_EQ(two.kernels.size(), 2U);
  EXPECT_NEAR(two.share, 5.0 / 6, 1e-12);
  const auto at = [&](const std::string& flag) {
    return *(std::ranges::find(two.arguments, flag) + 1);
  };
  EXPECT_EQ(at("--kernel-name"), "regex:^(_Z4gemmv|_Z19float16_copy_kernelv)$");
  EXPECT_EQ(at("--launch-count"), "2");
  // Matching launches before the steady step: 5 conversions, and two of each step before it.
  EXPECT_EQ(std::stoul(at("--launch-skip")), 5 + 2 * (launches.steady_begin - 5) / 4);
  EXPECT_EQ(SelectLaunches(timeline, 0).launches, 0U);
  EXPECT_EQ(ExactNames({"_Z1av", "a.b$c"}), "^(_Z1av|a\\.b\\$c)$");
}

// Returns the index of the kernel with this mangled name.
std::uint32_t IndexOf(std::string_view mangled, const GpuTimeline& timeline) {
  const auto found = std::ranges::find(timeline.kernels, mangled, &GpuKernelUse::mangled);
  return static_cast<std::uint32_t>(found - timeline.kernels.begin());
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
  const auto counted =
      JoinCounts(timeline, SelectLaunches(timeline, 100), {gemm, again, other_grid, by_name});
  ASSERT_EQ(counted.size(), 2U);
  const auto& work = counted.at(IndexOf("_Z4gemmv", timeline));
  EXPECT_NEAR(work.flops.at("fp16.matrix"), 100, 1e-9);
  EXPECT_NEAR(work.bytes.at(Level::kDram), 15, 1e-9);
  EXPECT_TRUE(counted.contains(IndexOf("_Z12elementwiseAv", timeline)));
}

struct StepLaunch {
  std::string name, shape;  // "2x66x1/384x1x1"
  double us, place;         // [us] time; [1] in the step, from 0 to 1
};

// Returns, by program, a step of it on an H200. The launches of a kernel are spread over the step.
std::map<std::string, std::vector<StepLaunch>> StepsOnAnH200() {
  std::istringstream in(
      text::Unpack(ReadFile(fakes::TestData("h200_kernels.csv.gz"), "kernels"), "kernels"));
  std::map<std::string, std::vector<StepLaunch>> steps;
  std::string program, launches, us;
  in.ignore(1000, '\n');
  for (StepLaunch launch; std::getline(in, program, ',') && std::getline(in, launches, ',') &&
                          std::getline(in, us, ',') && std::getline(in, launch.shape, ',') &&
                          std::getline(in, launch.name);) {
    launch.us = std::stod(us);
    for (double count = std::stod(launches), i = 0; i < count; ++i) {
      launch.place = (i + 0.5) / count;
      steps[program].push_back(launch);
    }
  }
  for (auto& [name, step] : steps) std::ranges::stable_sort(step, {}, &StepLaunch::place);
  return steps;
}

// A step has more launches than the budget of `ci/gpu_programs.py` has time for. Autotuning chooses
// other grids in the second run, and has another number of launches at the start: another part of a
// step is counted.
TEST(SelectLaunches, APartOfAStepStandsForAtLeast95PercentOfItsTime) {
  const auto steps = StepsOnAnH200();
  EXPECT_EQ(steps.size(), 9U);
  for (const auto& [name, step] : steps) {
    Builder made;
    std::map<std::pair<std::string, std::string>, std::uint32_t> kernels;
    std::map<std::string, std::uint32_t> grids;  // a number for each shape
    std::int64_t at = 0;                         // [10 ns]
    for (int i = 0; i < 20; ++i)
      for (const auto& launch : step) {
        const auto [found, added] = kernels.try_emplace({launch.name, launch.shape}, 0);
        const auto grid = grids.try_emplace(launch.shape, grids.size() + 1).first->second;
        if (added) found->second = made.Kernel(launch.name, grid);
        const auto length = std::lround(100 * launch.us);
        made.Launch(found->second, at, length);
        at += length;
      }
    auto program = ProgramOfTraces({made.trace});
    const auto& timeline = program.timelines[0];
    const bool is_jax = name.ends_with("jax");
    // The budgets of ci/gpu_programs.py, of 0.2 s a launch.
    const std::size_t most = name == "deeplabv3.eager" ? 180 : 50;
    const auto selection = SelectLaunches(timeline, most);
    EXPECT_LE(selection.launches, most);
    const std::regex matching(selection.arguments[5].substr(selection.arguments[5].find('^')));
    std::vector<imports::CountedLaunch> launches;
    auto skipped = std::stoul(selection.arguments[7]) + (is_jax ? 7 : 0);
    for (std::size_t i = 0; launches.size() < selection.launches; ++i) {
      const auto& launch = step[i % step.size()];
      if (!std::regex_match(launch.name, matching) || (skipped > 0 && skipped-- > 0)) continue;
      const bool tuned = launch.name == "gemm_fusion_dot_26";
      launches.push_back({.kernel = launch.name,
                          .grid = {{tuned ? 512 : grids.at(launch.shape), 1, 1}},
                          .block = {{128, 1, 1}}});
      launches.back().work.flops["fp16.matrix"] = 1e6;
    }
    RecordsOf(program, name, JoinCounts(timeline, selection, launches));
    EXPECT_GE(program.counting.share, 0.95) << name;
  }
}

TEST(SelectLaunches, LaunchesThatTakeLongerThanTheOthersStandForNone) {
  Builder made;
  const auto gemm = made.Kernel("gemm", 64), norm = made.Kernel("norm", 8),
             loss = made.Kernel("loss", 1);
  for (int step = 0; step < 12; ++step) {
    for (int i = 0; i < 4; ++i) {  // one name and grid, but other work
      made.Launch(gemm, 1000 * step + 200 * i, i < 3 ? 100 : 20);
      made.Launch(norm, 1000 * step + 200 * i + 150, 50);
    }
    made.Launch(loss, 1000 * step + 900, 1);
  }
  const auto timeline = TimelinesOf(made.trace)[0];
  EXPECT_EQ(SelectLaunches(timeline, 9).kernels.size(), 3U);
  // The mean of two gemms is 100 or 60 us, that of all is 80.
  const auto some = SelectLaunches(timeline, 2);
  for (const auto kernel : some.kernels) EXPECT_NE(timeline.kernels[kernel].name, "gemm");
  EXPECT_FALSE(some.kernels.empty());
}

TEST(GpuProgramJson, IsReadAsItWasWrittenAndIgnoresMembersOfAnotherType) {
  auto program = ProgramOfTraces({Steps().trace});
  program.command = "python app.py";
  RecordsOf(program, "app", {});
  const nlohmann::json context = {{"dlroof", {{"gpu_program", ToJson(program)}}}};
  const auto again = GpuProgramOf(context);
  ASSERT_TRUE(again);
  EXPECT_EQ(ToJson(*again), ToJson(program));
  EXPECT_FALSE(GpuProgramOf(nlohmann::json::object()));
  const auto text = ToJson(ProgramOfTraces({Steps().trace})).dump();
  std::mt19937_64 random(1);
  int read = 0;
  for (int i = 0; i < 2000; ++i) {
    auto mutant = text;
    mutant[random() % mutant.size()] = "0\"[{n-:,"[random() % 8];
    const auto json = nlohmann::json::parse(mutant, nullptr, false);
    if (json.is_discarded()) continue;
    const nlohmann::json mutated = {{"dlroof", {{"gpu_program", json}}}};
    const auto some = GpuProgramOf(mutated);
    read += some.has_value() ? 1 : 0;
    roofline::PlacedRun run;
    run.file.context = mutated;
    fakes::Written(GpuProgramDocument(run), 100);
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace dlroof::programs
