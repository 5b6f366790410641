#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "baselines/programs/gpu_timeline.h"
#include "counters/base/files.h"
#include "counters/gpu_trace/read.h"
#include "reporters/text/text.h"
#include "tests/fakes/gpu_trace_builder.h"
#include "tests/test_data.h"

namespace dlroof::programs {
namespace {

using Builder = fakes::GpuTraceBuilder;

// Which NVTX range launched each kernel.

std::vector<GpuRangeWork> WorkOf(const Builder& made) {
  return TimelinesOf(made.trace)[0].range_work;
}

// Returns a line per row, indented by its depth: name, ranges, launches, time [us].
std::string TextOf(const std::vector<GpuRangeWork>& rows) {
  std::string text;
  for (const auto& row : rows)
    text += fmt::format("{:{}}{} {:g} {:g} {:.0f}\n", "", 2 * row.depth, row.name, row.ranges,
                        row.launches, 1e6 * row.seconds);
  return text;
}

// Ranges that are started and ended need not be nested.
TEST(RangeWorkOf, EachKernelIsInTheRangesAroundItsCallWhicheverEndsFirst) {
  Builder crossed;
  const auto outer = crossed.Kernel("gemm", 1);
  crossed.Range("first", 0, 50);
  crossed.Range("second", 30, 70);
  crossed.Call(outer, 40, 1000, 1);
  crossed.Call(outer, 60, 1010, 2);
  EXPECT_EQ(TextOf(WorkOf(crossed)), "first 1 2 3\n  second 1 2 3\n");
}

// Steps of five kernels of 50 us, which the host calls for 100 us apart; `mark` adds ranges to
// each.
Builder FiveKernels(int steps, const std::function<void(Builder&, int, std::int64_t)>& mark) {
  Builder made;
  for (const char* name : {"gemm", "add", "norm", "gelu", "copy"}) made.Kernel(name, 8);
  for (int step = 0; step < steps; ++step) {
    const std::int64_t at = std::int64_t{1000} * step;
    mark(made, step, at);
    for (std::uint32_t kernel = 0; kernel < 5; ++kernel)
      made.Call(kernel, at + 20 + 100 * kernel, at + 50 + 150 * kernel, 50);
  }
  return made;
}

// PyTorch's own ranges: modules that dlroof marks, operators by emit_nvtx, and the backward pass on
// a thread of its own.
TEST(RangeWorkOf, BackwardOperatorsBelongToTheModulesOfTheForwardOnes) {
  Builder made;
  const auto forward = made.Kernel("implicit_gemm", 1), gradient = made.Kernel("wgrad", 2),
             other = made.Kernel("add_kernel", 3);
  made.Range("dlroof: Net", 0, 100);
  for (int i = 0; i < 2; ++i) {
    const std::int64_t at = 10 + 40 * i;
    made.Range("dlroof: Net.layers." + std::to_string(i), at, 30);
    made.Range(fmt::format("aten::conv2d, seq = {}, op_id = {}", i, 10 * i), at + 1, 20);
    made.Range(fmt::format("aten::cudnn_convolution, op_id = {}", 10 * i + 1), at + 2, 10);
    made.Range("cudnnBackendExecute", at + 2, 9);  // of a library
    made.Range("engine", at + 2, 8);
    made.Call(forward, at + 3, 1000 + 10 * i, 10);
  }
  made.Range("aten::mse_loss, seq = 2, op_id = 30", 110, 10);
  made.Call(other, 111, 1020, 1);
  for (int i = 2; i-- > 0;) {
    const std::int64_t at = 200 + 40 * (1 - i);
    made.Range("autograd::engine::evaluate_function: ConvolutionBackward0, op_id = 40", at, 30, 2);
    made.Range(fmt::format("ConvolutionBackward0, seq = {}, op_id = 41", i), at + 1, 20, 2);
    made.Range("aten::convolution_backward, op_id = 42", at + 2, 15, 2);
    made.Call(gradient, at + 3, 1100 + at, 20, 2);
    made.Range("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad, op_id = 43",
               at + 32, 5, 2);
    made.Range("torch::autograd::AccumulateGrad, op_id = 44", at + 33, 3, 2);
    made.Call(other, at + 34, 1125 + at, 2, 2);
  }
  made.Range("Optimizer.step#SGD.step, op_id = 50", 400, 20);
  made.Range("aten::_foreach_add_, op_id = 51", 401, 10);
  made.Call(other, 402, 1500, 4);
  EXPECT_EQ(TextOf(WorkOf(made)),
            "backward 0 4 44\n"
            "  Net 0 2 40\n"
            "    Net.layers.* 2 2 40\n"
            "Net 1 2 20\n"
            "  Net.layers.* 2 2 20\n"
            "Optimizer.step#SGD.step 1 1 4\n"
            "aten::mse_loss 1 1 1\n");
}

TEST(RangeWorkOf, ABackwardOperatorWithoutItsForwardOneStaysInItsPass) {
  Builder made;
  const auto kernel = made.Kernel("wgrad", 2);
  made.Range("autograd::engine::evaluate_function: MulBackward0, op_id = 40", 0, 30);
  made.Range("MulBackward0, seq = 7, op_id = 41", 1, 20);
  made.Call(kernel, 3, 1000, 20);
  EXPECT_EQ(TextOf(WorkOf(made)), "backward 0 1 20\n");
  const auto other = FiveKernels(20, [](Builder& step_made, int step, std::int64_t at) {
    if (step == 5 || step == 6) step_made.Range("dlroof: Net", at, 300);
  });
  const auto timeline = TimelinesOf(other.trace)[0];
  ASSERT_EQ(timeline.steps.count, 19);
  EXPECT_EQ(timeline.range_steps, 2);
  EXPECT_EQ(TextOf(timeline.range_work), "Net 1 3 150\n 0 2 100\n");
}

TEST(RangeWorkOf, DeepAndManyRangesAreLimited) {
  Builder made;
  const auto a = made.Kernel("gemm", 1);
  constexpr int kDeep = 100'000;
  for (int i = 0; i < kDeep; ++i) made.Range("deep", i, 2 * kDeep - 2 * i);
  made.Call(a, kDeep - 1, kDeep, 1);
  for (int i = 0; i < 3000; ++i) {
    made.Range("name " + std::to_string(i), 10 * kDeep + 10 * i, 5);
    made.Call(a, 10 * kDeep + 10 * i + 1, 20 * kDeep + i, 1);
  }
  const auto rows = WorkOf(made);
  EXPECT_EQ(rows.size(), kMaxRangeRows);
  int deepest = 0;
  for (const auto& row : rows) deepest = std::max(deepest, row.depth);
  EXPECT_LT(deepest, 100);
}

// For each call looks at each range, and adds to each path.
std::map<std::string, double> BruteForce(const Builder& made) {
  std::map<std::string, double> seconds;  // of each path
  for (const auto& launch : made.trace.launches) {
    const double time = Seconds(launch.time.end_ns - launch.time.begin_ns);
    for (const auto& call : made.trace.calls) {
      if (call.correlation != launch.correlation) continue;
      std::vector<const gpu_trace::Range*> around;
      for (const auto& range : made.trace.ranges)
        if (range.thread == call.thread && range.time.begin_ns <= call.begin_ns &&
            range.time.end_ns > call.begin_ns)
          around.push_back(&range);
      std::ranges::stable_sort(around, {}, [](const auto* range) { return range->time.begin_ns; });
      std::string path;
      for (const auto* range : around) {
        path += "/" + made.trace.texts[range->name];
        seconds[path] += time;
      }
      if (around.empty()) seconds[""] += time;
    }
  }
  return seconds;
}

TEST(RangeWorkOf, RandomNestedRangesAgreeWithALookAtEachRangeForEachCall) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 dice(seed);
    Builder made;
    const auto a = made.Kernel("gemm", 1);
    std::int64_t device = 100'000;
    for (std::uint32_t thread = 1; thread <= 3; ++thread) {
      std::int64_t at = static_cast<std::int64_t>(dice() % 50);
      std::vector<std::pair<std::string, std::int64_t>> open;
      for (int i = 0; i < 300; ++i) {
        at += 1 + static_cast<std::int64_t>(dice() % 9);
        const auto what = dice() % 4;
        if (what == 0 && open.size() < 5) {
          open.emplace_back(std::string(1, static_cast<char>('a' + dice() % 3)), at);
        } else if (what == 1 && !open.empty()) {
          made.Range(open.back().first, open.back().second, at - open.back().second, thread);
          open.pop_back();
        } else {
          const auto length = 1 + static_cast<std::int64_t>(dice() % 7);
          made.Call(a, at, device, length, thread);
          device += length;
        }
      }
    }
    std::ranges::stable_sort(made.trace.ranges, {},
                             [](const auto& range) { return range.time.begin_ns; });
    std::map<std::string, double> found;
    std::vector<std::string> path;
    for (const auto& row : WorkOf(made)) {
      path.resize(static_cast<std::size_t>(row.depth));
      std::string whole;
      if (!row.name.empty()) {
        path.push_back(row.name);
        for (const auto& part : path) whole += "/" + part;
      }
      found[whole] += row.seconds;
    }
    const auto expected = BruteForce(made);
    ASSERT_EQ(found.size(), expected.size()) << seed;
    for (const auto& [name, seconds] : expected) EXPECT_NEAR(found[name], seconds, 1e-9) << name;
  }
}

// Steps of a GPU: what decides how many there are.

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

// How steps were found, the launches of each, and their number. The last step of the trace has no
// next one that would end it.
using Found = std::tuple<StepsFrom, double, int>;
Found FoundIn(const GpuSteps& steps) {
  return {steps.from, steps.launches, steps.count + steps.outliers};
}

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
    EXPECT_EQ(FoundIn(steps), Found(StepsFrom::kMarks, kLayers * 5, kSteps - 1));
    EXPECT_TRUE(steps.range.starts_with(name));
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

TEST(FindGpuSteps, LayersThatOneMarkedCallLaunchesAreOneStepAndAloneTheShortestSequence) {
  const auto steps = WithMarkedCalls(true).Steps();
  EXPECT_EQ(FoundIn(steps), Found(StepsFrom::kMarks, kLayers * 5, kSteps - 1));
  EXPECT_EQ(steps.range, "dlroof: Bert");
  // 2 to 3, 3 to 4, 10 to 11 and from 11 on; from 4 to 10 there are six.
  const auto marked = WithMarkedCalls(false).Steps();
  EXPECT_EQ(marked.from, StepsFrom::kMarks);
  EXPECT_EQ(marked.count + marked.outliers, 4);
  Encoder encoder;
  for (int step = 0; step < kSteps; ++step) encoder.Step();
  const auto layers = encoder.Steps();
  EXPECT_EQ(layers.from, StepsFrom::kFound);
  EXPECT_EQ(layers.launches, 5);
  EXPECT_EQ(FoundIn(encoder.Steps(kSteps)), Found(StepsFrom::kSpecified, kLayers * 5, kSteps - 1));
}

TEST(FindGpuSteps, OnlyMarkedStepsAreStepsAndWithoutARepetitionThereAreNone) {
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
  EXPECT_EQ(FoundIn(steps), Found(StepsFrom::kMarks, kLayers * 5 + 1, kSteps - 5 - 1));
  EXPECT_EQ(steps.warm_up_launches, kWarmUp + 5 * (kLayers * 5 + 1));
  Encoder ends;
  for (int step = 0; step < kSteps; ++step) ends.Step();
  ends.Launch(ends.made.Kernel("last", 4));
  const auto none = ends.Steps();
  EXPECT_EQ(none.from, StepsFrom::kNone);
  ASSERT_TRUE(none.reason);
  EXPECT_TRUE(none.reason->text.starts_with("no sequence of calls repeats to the end"));
}

TEST(FindGpuSteps, AStepMayHaveAGraphAndKernelsBesideIt) {
  Encoder mixed;
  const auto loss = mixed.made.Kernel("loss", 4), update = mixed.made.Kernel("update", 4);
  for (int step = 0; step < kSteps; ++step) {
    mixed.Step(3);
    mixed.Launch(loss);
    mixed.Launch(update);
  }
  EXPECT_EQ(mixed.Steps().from, StepsFrom::kGraphs);
  EXPECT_EQ(mixed.Steps().launches, kLayers * 5 + 2);
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
