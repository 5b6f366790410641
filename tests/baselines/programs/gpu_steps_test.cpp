// Steps of a GPU: what decides how many there are.
#include <gtest/gtest.h>

#include "baselines/programs/gpu_program.h"
#include "counters/base/files.h"
#include "counters/gpu_trace/read.h"
#include "reporters/text/text.h"
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
  void Launch(std::uint32_t kernel) {
    made.Call(kernel, at - ahead, at, 10);
    at += kLaunchUs;
  }
  void Step(std::uint32_t graph = 0) {
    const auto first = made.trace.launches.size();
    for (int i = 0; i < kLayers; ++i)
      for (const auto kernel : layer) Launch(kernel);
    for (auto i = first; graph != 0 && i < made.trace.launches.size(); ++i) {
      made.trace.launches[i].graph = graph;
      made.trace.launches[i].correlation = made.trace.launches[first].correlation;
    }
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
  // torch.profiler's device time of a step, in another run of the program: 0.5452 ms. The runs
  // themselves differ: a third one had 0.5464 ms.
  EXPECT_NEAR(seconds, 0.5452e-3, 0.02 * 0.5452e-3);
}

}  // namespace
}  // namespace dlroof::programs
