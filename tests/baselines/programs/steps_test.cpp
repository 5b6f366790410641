#include "baselines/programs/steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/fakes/primitives/logs.h"

namespace dlroof::programs {
namespace {

using Stream = std::vector<std::uint32_t>;

std::size_t DistinctOf(const Stream& stream) {
  return stream.empty() ? 0 : *std::ranges::max_element(stream) + std::size_t{1};
}

Steps Found(const Stream& stream, std::optional<int> count = std::nullopt) {
  return FindSteps(stream, DistinctOf(stream), count);
}

double MeanLength(const Steps& steps) {
  double sum = 0;
  for (const auto& range : steps.ranges) sum += static_cast<double>(range.end - range.begin);
  return sum / static_cast<double>(steps.ranges.size());
}

// The programs marked their last two steps themselves; the search does not use the marks.
TEST(FindSteps, RealProgramsWithoutTheirMarks) {
  for (const char* name : {"pt_r50_inf.onednn.log", "pt_r50_inf_cl.onednn.log",
                           "pt_r50_inf_freeze.onednn.log", "tf_r50_inf_dnn.onednn.log"}) {
    auto log = fakes::FromLog(name);
    const auto marked = StepsOf(log);
    ASSERT_EQ(marked.from, StepsFrom::kMarks) << name;
    log.marks.clear();
    const auto found = StepsOf(log);
    ASSERT_EQ(found.from, StepsFrom::kFound) << name;
    ASSERT_EQ(found.ranges.size(), marked.ranges.size()) << name;
    for (std::size_t i = 0; i < found.ranges.size(); ++i) {
      EXPECT_EQ(found.ranges[i].begin, marked.ranges[i].begin) << name;
      EXPECT_EQ(found.ranges[i].end, marked.ranges[i].end) << name;
    }
    // from the first call of a step to that of the next, while the marks are around it
    EXPECT_NEAR(*found.ranges[0].end_seconds - *found.ranges[0].begin_seconds,
                *marked.ranges[0].end_seconds - *marked.ranges[0].begin_seconds,
                0.05 * (*marked.ranges[0].end_seconds - *marked.ranges[0].begin_seconds))
        << name;
  }
}

TEST(FindSteps, TheLstmProgramsBeginWithTheirSteps) {
  for (const auto& [name, length] :
       {std::pair("pt_lstm_inf.onednn.log", 3), std::pair("pt_lstm_trn.onednn.log", 9)}) {
    auto log = fakes::FromLog(name);
    log.marks.clear();
    const auto found = StepsOf(log);
    EXPECT_EQ(found.ranges.size(), 4) << name;
    EXPECT_EQ(MeanLength(found), length) << name;
  }
}

TEST(FindSteps, ASinglePrimitiveAndASingleCallHaveNone) {
  for (const char* name : {"debian_torch113_conv_v2.6.3.log", "tf212_conv_opts0.log",
                           "tf212_conv_opts1.log", "pt_bert_inf.onednn.log"}) {
    auto log = fakes::FromLog(name);
    log.marks.clear();
    const auto found = StepsOf(log);
    EXPECT_EQ(found.from, StepsFrom::kNone) << name;
    EXPECT_EQ(found.reason, Reason{"no steady steps found: --steps says how many the program has"})
        << name;
  }
}

TEST(FindSteps, ASpecifiedNumberDividesWhatHasNoPeriodOfItsOwn) {
  auto log = fakes::FromLog("pt_bert_inf.onednn.log");
  log.marks.clear();
  const auto found = StepsOf(log, 4);  // 12 layers each
  EXPECT_EQ(found.from, StepsFrom::kSpecified);
  ASSERT_EQ(found.ranges.size(), 4);
  EXPECT_EQ(MeanLength(found), 12);
  EXPECT_EQ(StepsOf(log, 1000).reason, Reason{"no 1000 equal steps found"});
}

// Two concatenated logs: the step at the boundary has no wall time.
TEST(StepsOf, AClockThatGoesBackGivesNoWallTime) {
  verbose::VerboseLog log;
  log.primitives.resize(3);
  for (int run = 0; run < 2; ++run)
    for (int i = 0; i < 30; ++i)
      log.executions.push_back({static_cast<std::uint32_t>(i % 3), 0.5, 100.0 + i});
  const auto steps = StepsOf(log);
  ASSERT_EQ(steps.ranges.size(), 20);
  EXPECT_FALSE(steps.ranges[9].end_seconds);
  EXPECT_DOUBLE_EQ(*steps.ranges[8].end_seconds - *steps.ranges[8].begin_seconds, 3);
}

// A program whose step is known.
struct Synthetic {
  Stream stream;
  std::size_t length = 0, steps = 0;
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  // Layers of which some come again, as models have them, and one that comes once.
  Stream Step() {
    Stream step;
    const auto layers = 3 + Below(40);
    const auto kinds = 2 + Below(layers);
    step.push_back(0);
    for (std::size_t i = 0; i < layers; ++i) {
      const auto kind = static_cast<std::uint32_t>(1 + 2 * Below(kinds));
      step.push_back(kind);
      if (Below(2) == 0) step.push_back(kind + 1);
    }
    return step;
  }

  Synthetic Program(bool warm_up, double noise, bool swaps, bool irregular) {
    const auto step = Step();
    const auto distinct = static_cast<std::uint32_t>(DistinctOf(step));
    Synthetic made{.length = step.size(), .steps = 6 + Below(30)};
    if (warm_up) {
      // weights are packed, layer by layer, only in the first step
      for (const auto one : step) {
        if (Below(2) == 0) made.stream.push_back(distinct + one);
        made.stream.push_back(one);
      }
    }
    for (std::size_t i = 0; i < made.steps; ++i) {
      auto now = step;
      if (swaps)
        for (std::size_t j = 2; j < now.size(); ++j)
          if (Below(4) == 0) std::swap(now[j], now[j - 1]);
      for (const auto one : now) {
        if (Chance() < noise) made.stream.push_back(distinct * 2 + Below32(3));
        made.stream.push_back(one);
      }
      if (irregular && Below(8) == 0)
        for (std::size_t j = 0; j < step.size() / 2; ++j)
          made.stream.push_back(distinct * 3 + Below32(7));
    }
    return made;
  }

  Stream Random(std::size_t length, std::uint32_t kinds) {
    Stream stream;
    for (std::size_t i = 0; i < length; ++i) stream.push_back(Below32(kinds));
    return stream;
  }

  // Rare primitives among frequent ones.
  Stream Skewed(std::size_t length, std::uint32_t kinds) {
    Stream stream;
    for (std::size_t i = 0; i < length; ++i)
      stream.push_back(
          static_cast<std::uint32_t>(std::min<double>(kinds - 1, 1 / (Chance() + 1e-3))));
    return stream;
  }

 private:
  std::size_t Below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::uint32_t Below32(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  double Chance() { return static_cast<double>(random_() % 1000000) / 1e6; }

  std::mt19937_64 random_;
};

// Five kinds: plain, with a warm-up, with 2 % of other calls, with neighbours exchanged, with steps
// that do something else as well. Of 200 programs 197 are divided correctly, a short irregular one
// is not divided; in one an irregular step, in another the noise of 10 steps causes a longer
// period.
TEST(FindSteps, SyntheticProgramsAreDividedCorrectly) {
  std::vector<std::string> wrong;
  int none = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (int kind = 0; kind < 5; ++kind) {
      Maker maker(100 * seed + static_cast<std::uint64_t>(kind));
      const auto made = maker.Program(kind > 0, kind == 2 ? 0.02 : 0, kind == 3, kind == 4);
      const auto found = Found(made.stream);
      if (found.ranges.empty()) {
        ++none;
        continue;
      }
      const double off = std::abs(MeanLength(found) / static_cast<double>(made.length) - 1);
      const auto steps = static_cast<double>(found.ranges.size());
      const auto truth = static_cast<double>(made.steps);
      if (off >= 0.06 || steps < 0.6 * truth || steps > truth + 1)
        wrong.push_back(fmt::format("seed {} kind {}: {} steps of {:.1f}, made {} of {}", seed,
                                    kind, found.ranges.size(), MeanLength(found), made.steps,
                                    made.length));
    }
  EXPECT_LE(wrong.size(), 2) << fmt::format("{}", fmt::join(wrong, "; "));
  EXPECT_LE(none, 1);
}

TEST(FindSteps, StreamsWithoutStepsHaveNone) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Maker maker(seed);
    const auto kinds = static_cast<std::uint32_t>(2 + seed % 30);
    EXPECT_EQ(Found(maker.Random(200 + 37 * seed, kinds)).from, StepsFrom::kNone)
        << "even, seed " << seed;
    EXPECT_EQ(Found(maker.Skewed(200 + 37 * seed, 5 + kinds)).from, StepsFrom::kNone)
        << "skewed, seed " << seed;
  }
}

TEST(FindSteps, ShortAndConstantStreamsHaveNone) {
  EXPECT_EQ(Found({}).from, StepsFrom::kNone);
  EXPECT_EQ(Found({0}).from, StepsFrom::kNone);
  EXPECT_EQ(Found({0, 1}).from, StepsFrom::kNone);
  EXPECT_EQ(Found(Stream(1000, 0)).from, StepsFrom::kNone);
  Stream rising(100);
  std::iota(rising.begin(), rising.end(), 0);
  EXPECT_EQ(Found(rising).from, StepsFrom::kNone);
}

// Twelve equal layers and one head: the layers are no steps.
TEST(FindSteps, LayersThatRepeatAreNotTheStep) {
  Stream stream;
  for (int step = 0; step < 5; ++step) {
    for (int layer = 0; layer < 12; ++layer)
      for (const std::uint32_t one : {0U, 1U, 0U, 2U, 3U}) stream.push_back(one);
    stream.push_back(4);
    stream.push_back(5);
  }
  const auto found = Found(stream);
  EXPECT_EQ(found.ranges.size(), 5);
  EXPECT_EQ(MeanLength(found), 62);
}

// Two equal layers and one other: the step contains the other one, however small its share is.
TEST(FindSteps, EqualLayersAreNotSteps) {
  Stream stream;
  for (int step = 0; step < 12; ++step) {
    for (int layer = 0; layer < 2; ++layer)
      for (std::uint32_t one = 1; one <= 20; ++one) stream.push_back(one);
    stream.push_back(0);
  }
  const auto found = Found(stream);
  EXPECT_EQ(found.ranges.size(), 12);
  EXPECT_EQ(found.total, 12);
  EXPECT_EQ(MeanLength(found), 41);
}

// Primitives 0 to 3 go forward, 4 to 7 backward.
std::vector<Pass> Passes() {
  std::vector<Pass> passes(8, Pass::kForward);
  for (std::size_t i = 4; i < passes.size(); ++i) passes[i] = Pass::kBackward;
  return passes;
}

// Each epoch has 6 training steps and 3 calls of the same network for its evaluation.
TEST(FindSteps, EvaluationsAreNoTrainingSteps) {
  const Stream forward = {0, 1, 2, 3};
  Stream stream;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int step = 0; step < 6; ++step)
      for (const std::uint32_t one : {0, 1, 2, 3, 7, 6, 5, 4}) stream.push_back(one);
    for (int call = 0; call < 3; ++call)
      stream.insert(stream.end(), forward.begin(), forward.end());
  }
  EXPECT_EQ(FindSteps(stream, 8, std::nullopt, Passes()).total, 30);
}

// A character model: after each epoch of ten steps it writes text, one letter after another.
TEST(FindSteps, StepsBeforeOtherCallsCountToo) {
  Stream stream;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int step = 0; step < 10; ++step) stream.insert(stream.end(), {0, 1, 2, 3});
    for (int letter = 0; letter < 15; ++letter) stream.insert(stream.end(), {4, 5});
  }
  const std::vector<Pass> passes = {Pass::kForward,  Pass::kForward, Pass::kBackward,
                                    Pass::kBackward, Pass::kForward, Pass::kForward};
  EXPECT_EQ(FindSteps(stream, 6, std::nullopt, passes).total, 30);
}

TEST(FindSteps, CallsThatDoNotAgreeOnANumberChangeNothing) {
  // Each of the step's primitives has other calls outside of the twelve steps.
  Stream stream;
  for (int step = 0; step < 12; ++step) stream.insert(stream.end(), {0, 1, 2, 3, 4, 5, 6, 7});
  for (std::uint32_t one = 0; one < 8; ++one)
    for (std::uint32_t i = 0; i < one % 4; ++i) stream.push_back(one);
  EXPECT_EQ(FindSteps(stream, 8).total, 12);
}

// The first call of the log belongs to the first step, whose others are behind the first cut; the
// last step is cut short by one call.
TEST(FindSteps, TheLogsBeginAndEndMakeAStepTogether) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 20; ++turn) {
    Stream stream;
    for (int step = 0; step < 15; ++step) {
      Stream one(28);
      std::iota(one.begin(), one.end(), 0U);
      std::shuffle(one.begin() + 10, one.end(), random);  // the order of the backward calls varies
      stream.insert(stream.end(), one.begin(), one.end());
    }
    stream.insert(stream.end(), {0, 1, 2, 3, 4});  // and an inference
    EXPECT_EQ(FindSteps(stream, 28).total, 15) << turn;
  }
}

// Half of an epoch, 5 1/3 steps, has the same products as the other half with its evaluations,
// which are in another order.
TEST(FindSteps, PartsOfAnEpochThatHaveTheSameCallsAreNoSteps) {
  Stream stream;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int step = 0; step < 10; ++step)
      for (std::uint32_t one = 0; one < 12; ++one) stream.push_back(one);
    for (int call = 0; call < 2; ++call) stream.insert(stream.end(), {0, 1, 2, 3});
  }
  EXPECT_EQ(FindSteps(stream, 12).total, 30);
}

// Epochs have the same primitives each, too, and more of those that an evaluation has; the order of
// calls differs between steps.
TEST(FindSteps, EpochsOfStepsInOtherOrdersAreNoSteps) {
  std::mt19937 random(3);
  Stream stream;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (int step = 0; step < 10; ++step) {
      Stream one(12);
      std::iota(one.begin(), one.end(), 0U);
      std::shuffle(one.begin() + 4, one.end(), random);
      stream.insert(stream.end(), one.begin(), one.end());
    }
    for (int call = 0; call < 3; ++call) stream.insert(stream.end(), {0, 1, 2, 3});
  }
  EXPECT_EQ(FindSteps(stream, 12).total, 40);
}

TEST(ThreadsOf, CallsThatOverlapAreOfDifferentThreads) {
  verbose::VerboseLog log;
  log.primitives.resize(1);
  log.processes.resize(2);
  log.executions = {{0, 1, 10.0, 0}, {0, 1, 10.5, 0}, {0, 1, 10.5, 1}, {0, 1, 11.25, 0}};
  EXPECT_EQ(ThreadsOf(log), (std::vector<std::uint32_t>{0, 1, 0, 0}));
}

}  // namespace
}  // namespace dlroof::programs
