// Steps of a GPU: what decides how many there are, and launches of one name that do different work.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "baselines/programs/gpu_program.h"
#include "counters/base/files.h"
#include "counters/gpu_trace/read.h"
#include "reporters/text/gzip.h"
#include "tests/fakes/gpu_trace_builder.h"
#include "tests/test_data.h"

namespace dlroof::programs {
namespace {

using Builder = fakes::GpuTraceBuilder;

constexpr int kLayers = 12, kSteps = 25, kWarmUp = 30;
constexpr std::int64_t kLaunchUs = 20;

// A step is 12 equal layers of five kernels; before the steps 30 launches of other kernels.
struct Encoder {
  Builder made;
  std::int64_t at = 0;     // [us]
  std::int64_t ahead = 0;  // [us] from the call of the host to the kernel
  std::vector<std::uint32_t> layer;

  Encoder() {
    for (const char* name : {"qkv", "attention", "output", "wide", "narrow"})
      layer.push_back(made.Kernel(name, 132));
    const auto start = made.Kernel("random", 8);
    for (int i = 0; i < kWarmUp; ++i) Launch(start);
  }
  void Launch(std::uint32_t kernel, std::uint32_t graph = 0, std::uint64_t node = 0) {
    made.Call(kernel, at - ahead, at, 10);
    made.trace.launches.back().graph = graph;
    made.trace.launches.back().graph_node = node;
    at += kLaunchUs;
  }
  void Step(std::uint32_t graph = 0) {
    std::uint64_t node = 0;
    for (int i = 0; i < kLayers; ++i)
      for (const auto kernel : layer) Launch(kernel, graph, graph == 0 ? 0 : ++node);
  }
  void Mark(const std::string& name, std::int64_t begin, std::int64_t length) {
    made.Range(name, begin - ahead, length);
  }
  GpuSteps Steps(std::optional<int> count = std::nullopt) const {
    return TimelinesOf(made.trace, count)[0].steps;
  }
};

TEST(FindGpuSteps, EqualLayersBetweenRangesAreOneStep) {
  for (const std::string name : {"step", "ProfilerStep#"}) {
    Encoder encoder;
    for (int step = 0; step < kSteps; ++step) {
      const auto begin = encoder.at;
      encoder.Step();
      encoder.Mark(name.ends_with('#') ? name + std::to_string(step) : name, begin,
                   encoder.at - begin);
    }
    const auto steps = encoder.Steps();
    EXPECT_EQ(steps.from, StepsFrom::kMarks);
    EXPECT_TRUE(steps.range.starts_with(name));
    // The last one has no next one that would end it.
    EXPECT_EQ(steps.count + steps.outliers, kSteps - 1);
    EXPECT_EQ(steps.launches, kLayers * 5);
  }
}

// The model is marked in five of its calls only, and the host is ahead of the device.
Encoder WithMarkedCalls(bool repeats) {
  Encoder encoder;
  encoder.ahead = repeats ? 2000 : 0;
  const auto head = encoder.made.Kernel("head", 4);
  for (int step = 0; step < kSteps; ++step) {
    const auto begin = encoder.at;
    encoder.Step();
    for (int i = 0; i < step && !repeats; ++i) encoder.Launch(head);
    if (step == 2 || step == 3 || step == 4 || step == 10 || step == 11)
      encoder.Mark("dlroof: Bert", begin, encoder.at - begin);
  }
  return encoder;
}

TEST(FindGpuSteps, LayersThatOneCallOfTheModelLaunchesAreOneStep) {
  const auto steps = WithMarkedCalls(true).Steps();
  EXPECT_EQ(steps.from, StepsFrom::kMarks);
  EXPECT_EQ(steps.range, "dlroof: Bert");
  EXPECT_EQ(steps.launches, kLayers * 5);
  EXPECT_EQ(steps.count + steps.outliers, kSteps - 1);
}

TEST(FindGpuSteps, WithoutARepetitionTheMarkedCallsOfTheModelAreSteps) {
  // 2 to 3, 3 to 4, 10 to 11 and from 11 on; from 4 to 10 there are six.
  const auto steps = WithMarkedCalls(false).Steps();
  EXPECT_EQ(steps.from, StepsFrom::kMarks);
  EXPECT_EQ(steps.count + steps.outliers, 4);
}

TEST(FindGpuSteps, EqualLayersAloneAreTheShortestSequence) {
  Encoder encoder;
  for (int step = 0; step < kSteps; ++step) encoder.Step();
  const auto layers = encoder.Steps();
  EXPECT_EQ(layers.from, StepsFrom::kFound);
  EXPECT_EQ(layers.launches, 5);
  const auto steps = encoder.Steps(kSteps);
  EXPECT_EQ(steps.from, StepsFrom::kSpecified);
  EXPECT_EQ(steps.launches, kLayers * 5);
  EXPECT_EQ(steps.count + steps.outliers, kSteps - 1);
}

TEST(FindGpuSteps, OnlyMarkedStepsAreSteps) {
  // The first five steps are not marked, and the host is far ahead of the device.
  Encoder encoder;
  encoder.ahead = 5000;
  const auto head = encoder.made.Kernel("head", 4);
  for (int step = 0; step < kSteps; ++step) {
    const auto begin = encoder.at;
    encoder.Step();
    encoder.Launch(head);
    if (step >= 5) encoder.Mark("step", begin, encoder.at - begin);
  }
  const auto steps = encoder.Steps();
  EXPECT_EQ(steps.from, StepsFrom::kMarks);
  EXPECT_EQ(steps.launches, kLayers * 5 + 1);
  EXPECT_EQ(steps.count + steps.outliers, kSteps - 5 - 1);
  EXPECT_EQ(steps.warm_up_launches, kWarmUp + 5 * (kLayers * 5 + 1));
}

TEST(FindGpuSteps, WithoutARepetitionThereAreNone) {
  Encoder encoder;
  for (int step = 0; step < kSteps; ++step) encoder.Step();
  encoder.Launch(encoder.made.Kernel("last", 4));
  const auto steps = encoder.Steps();
  EXPECT_EQ(steps.from, StepsFrom::kNone);
  ASSERT_TRUE(steps.reason);
  EXPECT_TRUE(steps.reason->text.starts_with("no sequence of calls repeats to the end"));
}

TEST(FindGpuSteps, LaunchesOfAGraphAreSteps) {
  Encoder encoder;
  // Three steps are launched kernel by kernel, then the graph is captured and replayed.
  for (int step = 0; step < 3; ++step) encoder.Step();
  for (int step = 0; step < kSteps; ++step) encoder.Step(3);
  const auto steps = encoder.Steps();
  EXPECT_EQ(steps.from, StepsFrom::kGraphs);
  EXPECT_EQ(steps.launches, kLayers * 5);
  EXPECT_EQ(steps.count + steps.outliers, kSteps - 1);
  EXPECT_EQ(steps.warm_up_launches, kWarmUp + 3 * kLayers * 5);
}

TEST(FindGpuSteps, AStepMayHaveAGraphAndKernelsBesideIt) {
  Encoder encoder;
  const auto loss = encoder.made.Kernel("loss", 4), update = encoder.made.Kernel("update", 4);
  for (int step = 0; step < kSteps; ++step) {
    encoder.Step(3);
    encoder.Launch(loss);
    encoder.Launch(update);
  }
  const auto steps = encoder.Steps();
  EXPECT_EQ(steps.from, StepsFrom::kGraphs);
  EXPECT_EQ(steps.launches, kLayers * 5 + 2);
}

TEST(FindGpuSteps, WhatACompilerTriesBeforeTheStepsHidesNone) {
  std::mt19937 random(7);
  Encoder encoder;
  std::vector<std::uint32_t> tried;
  tried.reserve(110);
  for (int i = 0; i < 110; ++i)
    tried.push_back(encoder.made.Kernel("tried" + std::to_string(i), 8));
  for (int i = 0; i < 600; ++i) encoder.Launch(tried[random() % tried.size()]);
  const auto head = encoder.made.Kernel("head", 4);
  auto marked = encoder;
  for (auto* program : {&encoder, &marked})
    for (int step = 0; step < kSteps; ++step) {
      const auto begin = program->at;
      program->Step();
      program->Launch(head);
      if (program == &marked)
        program->Mark("XlaModule:#hlo_module=jit_bert,program_id=7#", begin, 30);
    }
  EXPECT_EQ(encoder.Steps().from, StepsFrom::kFound);
  EXPECT_EQ(marked.Steps().from, StepsFrom::kMarks);
  for (const auto& steps : {encoder.Steps(), marked.Steps()}) {
    EXPECT_EQ(steps.launches, kLayers * 5 + 1);
    EXPECT_EQ(steps.count, kSteps - 1);
  }
}

// A step of a persistent kernel of three sizes, in the order small, large, small, middle.
struct Persistent {
  Builder made;
  std::uint32_t product, other;

  explicit Persistent(int steps = 10) {
    product = made.Kernel("nvjet", 132);
    other = made.Kernel("add", 64);
    for (int step = 0; step < steps; ++step) {
      const std::int64_t at = std::int64_t{1000} * step, wobble = step % 2;
      made.Launch(product, at, 10);
      made.Launch(product, at + 100, 40 + wobble);
      made.Launch(product, at + 200, 10);
      made.Launch(other, at + 300, 10);
      made.Launch(product, at + 400, 20 + wobble);
    }
  }
};

TEST(SplitByTime, PlacesOfAStepWithOtherTimesAreOtherKernels) {
  const auto timeline = TimelinesOf(Persistent().made.trace)[0];
  ASSERT_EQ(timeline.kernels.size(), 4U);
  // By time of a step: 40.5, 20.5, 2 x 10 and 10 us.
  const auto& largest = timeline.kernels[0];
  EXPECT_EQ(largest.name, "nvjet");
  EXPECT_EQ(largest.variant, 3U);
  EXPECT_EQ(largest.variants, 3U);
  EXPECT_EQ(largest.launches, 10);
  EXPECT_NEAR(largest.seconds, 405e-6, 1e-12);
  EXPECT_EQ(timeline.kernels[1].variant, 2U);
  EXPECT_EQ(timeline.kernels[2].variant, 1U);
  EXPECT_NEAR(timeline.kernels[2].step_launches, 2, 1e-12);
  EXPECT_EQ(timeline.kernels[3].name, "add");
  EXPECT_EQ(timeline.kernels[3].variant, 0U);
  const double launches =
      std::accumulate(timeline.kernels.begin(), timeline.kernels.end(), 0.0,
                      [](double sum, const auto& use) { return sum + use.launches; });
  EXPECT_EQ(launches, timeline.launches);
}

TEST(SplitByTime, LaunchesThatVaryFromStepToStepAreOneKernel) {
  std::mt19937 random(3);
  Builder made;
  const auto product = made.Kernel("nvjet", 132), other = made.Kernel("add", 64);
  for (int step = 0; step < 20; ++step) {
    const std::int64_t at = std::int64_t{1000} * step;
    for (int i = 0; i < 4; ++i)
      made.Launch(product, at + std::int64_t{100} * i, random() % 2 == 0 ? 10 : 40);
    made.Launch(other, at + 500, 10);
  }
  EXPECT_EQ(TimelinesOf(made.trace)[0].kernels.size(), 2U);
}

imports::CountedLaunch Counted(const std::string& name, std::uint32_t blocks, double flops) {
  imports::CountedLaunch launch{.kernel = name, .grid = {{blocks, 1, 1}}, .block = {{128, 1, 1}}};
  launch.work.flops["fp16.matrix"] = flops;
  return launch;
}

TEST(JoinCounts, APlaceTellsWhichWorkWasCounted) {
  const auto made = Persistent().made;
  const auto timeline = TimelinesOf(made.trace)[0];
  const auto selection = SelectLaunches(timeline, 100);
  EXPECT_EQ(selection.kernels, 4U);
  ASSERT_EQ(selection.order.size(), selection.launches);
  // Each kind has FLOPs of its own in the second run.
  std::vector<imports::CountedLaunch> counted;
  for (const auto kernel : selection.order) {
    const auto& use = timeline.kernels[kernel];
    counted.push_back(Counted(use.name, use.grid[0], 100 * (use.variant + 1.0)));
  }
  const auto joined = JoinCounts(timeline, counted, selection.order);
  ASSERT_EQ(joined.kernels.size(), 4U);
  EXPECT_EQ(joined.unassigned, 0);
  for (const auto& kernel : joined.kernels)
    EXPECT_NEAR(kernel.flops.at("fp16.matrix"), 100 * (kernel.variant + 1.0), 1e-9);
  auto program = ProgramOfTraces({made.trace});
  const auto records = RecordsOf(program, "app", joined.kernels);
  EXPECT_EQ(records[0].name, "app/nvjet [132, 128, kind 3 of 3]");
  EXPECT_NEAR(records[2].work.at(Provenance::kMeasured).flops.at("fp16.matrix"), 2 * 200, 1e-9);
}

TEST(JoinCounts, InAnotherOrderOnlyLaunchesOfEqualWorkAreCounted) {
  const auto made = Persistent().made;
  const auto timeline = TimelinesOf(made.trace)[0];
  const auto selection = SelectLaunches(timeline, 100);
  std::vector<imports::CountedLaunch> counted;
  for (std::size_t i = 0; i < selection.order.size(); ++i)
    counted.push_back(Counted("nvjet", 132, 100));
  counted.push_back(Counted("add", 64, 7));
  const auto joined = JoinCounts(timeline, counted, selection.order);
  ASSERT_EQ(joined.kernels.size(), 1U);
  EXPECT_EQ(joined.kernels[0].name, "add");
  EXPECT_EQ(joined.unassigned, static_cast<double>(selection.order.size()));
}

// An LSTM of PyTorch on an H100, traced there: 5 steps of warm-up and 20 steps, each in a range.
TEST(GpuTimeline, OfATraceFromAnH100) {
  const auto packed = ReadFile(fakes::TestData("gpu_trace_h100_lstm.gputrace.gz"), "a trace");
  const auto trace = gpu_trace::ReadTrace(text::Unpack(packed, "trace"), "trace");
  EXPECT_TRUE(trace.ended);
  EXPECT_EQ(trace.dropped, 0);
  EXPECT_TRUE(trace.remarks.empty());
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(trace.launches.size(), 5312U);
  const auto timeline = TimelinesOf(trace)[0];
  EXPECT_EQ(timeline.steps.launches, 212);
  EXPECT_EQ(timeline.steps.count + timeline.steps.outliers, 24);
  const auto& times = timeline.times;
  const double parts =
      times.kernel_seconds + times.copy_seconds + times.fill_seconds + times.idle_seconds;
  EXPECT_NEAR(parts / times.wall_seconds, 1, 1e-9);
  double launches = 0, wall = 0, seconds = 0;
  for (const auto& use : timeline.kernels) {
    launches += use.launches;
    wall += use.step_wall_seconds;
    seconds += use.step_seconds;
  }
  EXPECT_EQ(launches, 5312);
  EXPECT_NEAR(wall, times.kernel_seconds, 1e-12);
  // The inputs' products of the two layers have one name, grid and block, but 256 and 512 inputs.
  int kinds = 0;
  for (const auto& use : timeline.kernels)
    if (use.name.starts_with("nvjet_sm90_hsh_64x96")) {
      EXPECT_EQ(use.variants, 2U);
      EXPECT_NEAR(use.step_launches, 4, 1e-9);
      ++kinds;
    }
  EXPECT_EQ(kinds, 2);
  // torch.profiler's device time of a step, in another run of the program: 0.5452 ms. The runs
  // themselves differ: a third one had 0.5464 ms.
  EXPECT_NEAR(seconds, 0.5452e-3, 0.02 * 0.5452e-3);
}

}  // namespace
}  // namespace dlroof::programs
