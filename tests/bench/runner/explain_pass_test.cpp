#include "bench/runner/explain_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "counters/cpu/cpu.h"

namespace dlroof::runner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool the_source_is_on = false;

// A source of parallel regions that sees none, so that calls can be profiled in every build.
const bool source_registered = RegisterRegionSource(
    {.name = "a made-up source",
     .unavailable =
         [] { return the_source_is_on ? std::nullopt : std::optional(Reason{"is off"}); },
     .begin = [] {},
     .end = [] { return RegionsSeen{}; }});

// What happened while a call was explained.
struct Seen {
  std::vector<ExplainPart> parts;  // begun
  std::vector<double> folded;      // distinct bytes for which a folded call was prepared
  int prepared = 0;
  std::optional<ParallelTime> profile;
};

workload::PreparedCall CallOf(const std::string& algorithm, Seen& seen) {
  workload::PreparedCall call;
  call.algorithm = algorithm;
  call.run = [] {
    volatile double value = 1;
    for (int i = 0; i < 100; ++i) value = value * 0.5 + 1;
  };
  call.explain.folded = [algorithm, &seen, run = call.run](double bytes) {
    seen.folded.push_back(bytes);
    workload::PreparedCall folded;
    folded.algorithm = algorithm;
    folded.run = run;
    return folded;
  };
  return call;
}

class ExplainCallTest : public testing::Test {
 protected:
  void SetUp() override { the_source_is_on = source_registered; }
  void TearDown() override { the_source_is_on = false; }

  Seen Explained(const ExplainOptions& options, const cpu::Budget& budget = cpu::Budget(1e6),
                 const std::string& single_thread_algorithm = "fake") {
    Seen seen;
    const workload::Workload workload{
        .name = workload::ParseBenchmarkName("Fake/cpu/none/fwd/f32/n1"),
        .prepare = [&](const workload::RunSettings& settings) {
          EXPECT_EQ(settings.threads, 1);
          ++seen.prepared;
          return CallOf(single_thread_algorithm, seen);
        }};
    runner::WatchedCalls watched;
    watched.Add(CallOf("fake", seen), 2, 3);
    ExplainCall(
        workload, {.threads = 2}, options, budget,
        [&](ExplainPart part) { seen.parts.push_back(part); }, watched);
    seen.profile = watched.Mean();
    return seen;
  }
};

const ExplainOptions kLimited{.limit_seconds = 1000};

TEST_F(ExplainCallTest, MeasuresOneThreadThenNearAndFarTensors) {
  if (!cpu::CoreCaches().contains(Level::kL2)) GTEST_SKIP() << "the size of L2 is unknown";
  const auto seen = Explained(kLimited);
  EXPECT_THAT(seen.parts, ElementsAre(ExplainPart::kSingleThreaded, ExplainPart::kNearAndFar));
  ASSERT_EQ(seen.folded.size(), 2);
  EXPECT_EQ(std::ranges::max(seen.folded), std::numeric_limits<double>::infinity());
  ASSERT_TRUE(seen.profile);
  EXPECT_GT(seen.profile->single_thread_seconds.value(), 0);
  EXPECT_NE(seen.profile->instructions.has_value(), seen.profile->instructions_reason.has_value());
  EXPECT_GT(seen.profile->near_seconds.value(), 0);
  EXPECT_GT(seen.profile->far_seconds.value(), 0);
}

TEST_F(ExplainCallTest, MeasuresNothingWithoutTime) {
  const auto seen = Explained({.limit_seconds = 25}, cpu::Budget(0));
  EXPECT_EQ(seen.prepared, 0);
  EXPECT_THAT(seen.parts, IsEmpty());
  ASSERT_TRUE(seen.profile) << "the profile of the regions stays";
  EXPECT_FALSE(seen.profile->single_thread_seconds);
  EXPECT_EQ(seen.profile->instructions_reason.value().text,
            "the limit of 25 s for this benchmark was over (dlroof explain --thorough has none)");
}

// The clock jumps past the limit when the call on one thread is prepared.
TEST_F(ExplainCallTest, StopsWhenTheTimeIsOver) {
  double now = 0;
  const cpu::Budget budget(10, 20, {[&] { return now; }, [] { return 0.0; }});
  Seen seen;
  runner::WatchedCalls watched;
  watched.Add(CallOf("fake", seen), 2, 3);
  const workload::Workload workload{
      .name = workload::ParseBenchmarkName("Fake/cpu/none/fwd/f32/n1"),
      .prepare = [&](const workload::RunSettings&) {
        now = 21;
        return CallOf("fake", seen);
      }};
  ExplainCall(
      workload, {}, kLimited, budget, [&](ExplainPart part) { seen.parts.push_back(part); },
      watched);
  EXPECT_THAT(seen.parts, ElementsAre(ExplainPart::kSingleThreaded));
  const auto profile = watched.Mean();
  ASSERT_TRUE(profile);
  EXPECT_GT(profile->single_thread_seconds.value(), 0) << "one try at least";
  EXPECT_FALSE(profile->near_seconds);
}

TEST_F(ExplainCallTest, AnotherAlgorithmOnOneThreadIsNotCompared) {
  const auto seen = Explained(kLimited, cpu::Budget(1e6), "other");
  EXPECT_THAT(seen.parts, ElementsAre(ExplainPart::kSingleThreaded));
  ASSERT_TRUE(seen.profile);
  EXPECT_FALSE(seen.profile->single_thread_seconds);
  EXPECT_FALSE(seen.profile->instructions);
  EXPECT_EQ(seen.profile->instructions_reason.value().text,
            "on one thread the library uses another algorithm (other)");
}

TEST(ExplainBudget, IsWhatTheTimedRepetitionsLeave) {
  const cpu::BudgetClocks still = {[] { return 50.0; }, [] { return 3.0; }};
  const auto limited = ExplainBudget({.limit_seconds = 25}, 5, still);
  EXPECT_DOUBLE_EQ(limited.WallLeft(), 20);
  EXPECT_DOUBLE_EQ(limited.CpuLeft(), 10);
  EXPECT_TRUE(ExplainBudget({.limit_seconds = 25}, 26, still).IsSpent());
  EXPECT_FALSE(ExplainBudget({}, 1e9, still).IsSpent());
}

TEST(IsTimedLongEnough, LeavesTimeForThePass) {
  EXPECT_FALSE(IsTimedLongEnough({.limit_seconds = 25}, 14));
  EXPECT_TRUE(IsTimedLongEnough({.limit_seconds = 25}, 16));
  EXPECT_FALSE(IsTimedLongEnough({}, 1e6));
}

// Two benchmarks have 6 steps: each is timed, then each has two parts.
TEST(ExplainProgress, CountsTimedBenchmarksAndParts) {
  std::vector<machine::MeasureProgress> seen;
  double now = 100;
  const std::optional<ExplainOptions> options = ExplainOptions{
      .progress = [&](const machine::MeasureProgress& progress) { seen.push_back(progress); },
      .reports_timing = true};
  ExplainProgress progress(options, 2, [&] { return now; });
  progress.Time("a");
  now += 3;
  progress.Time("b");
  now += 3;
  progress.Explain(0, "a", ExplainPart::kSingleThreaded);
  progress.Explain(1, "b", ExplainPart::kNearAndFar);
  progress.End();
  ASSERT_EQ(seen.size(), 5);
  std::vector<int> steps;
  for (const auto& one : seen) {
    EXPECT_EQ(one.steps, 6);
    steps.push_back(one.step);
  }
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 5, 6));
  EXPECT_EQ(seen[0].text, "timing a");
  EXPECT_DOUBLE_EQ(seen[1].eta_seconds, 5 * 3) << "the first step took 3 s";
  EXPECT_EQ(seen[3].text, "b, with near and far tensors");
  EXPECT_EQ(seen[4].eta_seconds, 0);
}

TEST(ExplainProgress, IsSilentUnlessItIsWanted) {
  int reports = 0;
  const std::optional<ExplainOptions> only_parts =
      ExplainOptions{.progress = [&](const machine::MeasureProgress&) { ++reports; }};
  ExplainProgress progress(only_parts, 1, [] { return 0.0; });
  progress.Time("a");
  EXPECT_EQ(reports, 0) << "the table shows what is timed";
  progress.Explain(0, "a", ExplainPart::kSingleThreaded);
  EXPECT_EQ(reports, 1);
  ExplainProgress none(std::nullopt, 1, [] { return 0.0; });
  none.Time("a");
  none.End();
  EXPECT_EQ(reports, 1);
}

TEST(ProgressLine, IsReadAsItWasWritten) {
  auto line = ProgressLine({.step = 3, .steps = 8, .text = "a \"b\"\nc", .eta_seconds = 1.5});
  ASSERT_EQ(line.back(), '\n');
  line.pop_back();
  EXPECT_EQ(line.find('\n'), std::string::npos) << "one line";
  const auto read = ParseProgressLine(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->step, 3);
  EXPECT_EQ(read->steps, 8);
  EXPECT_EQ(read->text, "a \"b\"\nc");
  EXPECT_EQ(read->eta_seconds, 1.5);
}

TEST(ProgressLine, OfAnotherFormIsNoProgress) {
  for (const auto* line : {"", "ready", "{}", "[1, 2]", R"({"step": "x", "steps": 2})"})
    EXPECT_FALSE(ParseProgressLine(line)) << line;
}

}  // namespace
}  // namespace dlroof::runner
