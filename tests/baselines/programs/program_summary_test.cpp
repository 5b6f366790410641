#include "baselines/programs/program_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "baselines/programs/program_report.h"
#include "tests/fakes/primitives/logs.h"
#include "tests/fakes/small_run.h"

namespace dlroof::programs {
namespace {

using testing::HasSubstr;
using testing::Not;

ProgramSummary SummaryOf(const logs::VerboseLog& log) {
  return SummarizeProgram(log, StepsOf(log));
}

logs::VerboseLog TwoThreads() {
  logs::VerboseLog log;
  log.processes = {{}};
  log.primitives.resize(2);
  // 0 to 4 s, and 2 to 6 s on another thread: between 2 and 4 s each has half.
  log.executions = {{0, 4, 100.0}, {1, 4, 102.0}};
  return log;
}

TEST(TimelineOf, CallsThatOverlapShareTheClock) {
  const auto timeline = TimelineOf(TwoThreads());
  EXPECT_TRUE(timeline.stamped);
  EXPECT_DOUBLE_EQ(timeline.executions[0], 3);
  EXPECT_DOUBLE_EQ(timeline.executions[1], 3);
}

TEST(TimelineOf, CallsOfNoTimeAndWithoutStampKeepTheirOwn) {
  auto log = TwoThreads();
  log.executions.push_back({0, 0, 103.0});
  log.executions.push_back({0, 7, std::nullopt});
  const auto timeline = TimelineOf(log);
  EXPECT_FALSE(timeline.stamped);
  EXPECT_DOUBLE_EQ(timeline.executions[2], 0);
  EXPECT_DOUBLE_EQ(timeline.executions[3], 7);
  EXPECT_DOUBLE_EQ(timeline.executions[0] + timeline.executions[1], 6);
}

// A primitive whose median call takes 252 s under a roof of 1 s, and this time [s] in a step.
std::string ReportOf(double step_seconds) {
  const auto record = fakes::Measured("n1", 252);
  ProgramSummary summary;
  summary.steps.count = 9;
  summary.primitives = {{.record = record.name,
                         .calls = 9,
                         .seconds = 9 * step_seconds,
                         .step_calls = 1,
                         .step_seconds = step_seconds}};
  auto run = fakes::RunOf("", {record});
  run.file.context["dlroof"]["program"] = ToJson(summary);
  std::ostringstream out;
  WriteProgram(roofline::PlaceRun(std::move(run.file)), 0, out);
  return out.str();
}

TEST(ProgramDocument, APrimitiveWhoseCallsScatterIsMarkedAndGivesNoAdvice) {
  EXPECT_THAT(ReportOf(252), HasSubstr("the time that its arithmetic roof"));
  EXPECT_THAT(ReportOf(252), Not(HasSubstr("~252 s")));
  EXPECT_THAT(ReportOf(600), Not(HasSubstr("slower than")));
  EXPECT_THAT(ReportOf(600), HasSubstr("~600 s"));
}

ProgramBreakdown BreakdownOf(const ProgramSummary& summary) {
  record::RunFile file;
  file.context["dlroof"]["program"] = ToJson(summary);
  return BreakdownOf(UsesOf(roofline::PlaceRun(file), summary), summary);
}

TEST(BreakdownOfProgram, ComponentsAddUpToTheStepsWallTime) {
  for (const char* name : {"pt_r50_inf.onednn.log", "pt_lstm_trn.onednn.log"}) {
    const auto summary = SummaryOf(fakes::FromLog(name));
    const auto breakdown = BreakdownOf(summary);
    EXPECT_TRUE(breakdown.of_step);
    double sum = 0;
    for (const auto& part : breakdown.components) sum += part.seconds;
    EXPECT_NEAR(sum, summary.steps.wall_seconds.value(), 1e-9) << name;
    EXPECT_EQ(breakdown.components.back().label, "outside oneDNN") << name;
  }
}

TEST(SummarizeProgram, CreationsOfAStepAreItsOwn) {
  auto log = TwoThreads();
  log.marks = {{0, true, 1, 99}, {2, false, 1, 109}};
  log.creations = {{1, 0.5, false, 106.5}, {0, 0.25, true, 99.5}};
  const auto summary = SummaryOf(log);
  EXPECT_EQ(summary.steps.creation_misses, 1);
  EXPECT_EQ(summary.steps.creation_hits, 1);
  EXPECT_DOUBLE_EQ(summary.steps.creation_seconds, 0.75);
  EXPECT_DOUBLE_EQ(summary.steps.wall_seconds.value(), 10);
}

std::optional<ProgramSummary> Again(const ProgramSummary& summary) {
  return ProgramOf({{"dlroof", {{"program", ToJson(summary)}}}});
}

std::string TextOf(const nlohmann::json& context) {
  record::RunFile file;
  file.context = context;
  std::ostringstream out;
  WriteProgram(roofline::PlaceRun(file), 80, out);
  return out.str();
}

TEST(ProgramOf, ReadsItAllAgain) {
  auto summary = SummaryOf(fakes::FromLog("pt_lstm_trn.onednn.log"));
  summary.command = "python train.py";
  summary.wall_seconds = 12.5;
  summary.lines.refused = {{"cut", 3, 17}};
  summary.primitives[0].text.others = {{"colour", "green"}};
  summary.primitives[0].benchmark = "LSTM/...";
  const auto again = Again(summary);
  ASSERT_TRUE(again);
  EXPECT_EQ(ToJson(*again), ToJson(summary));
  EXPECT_EQ(again->primitives[0].text, summary.primitives[0].text);
  EXPECT_EQ(again->threads, 2);
}

TEST(ProgramOf, TakesAnyJson) {
  EXPECT_FALSE(ProgramOf(nullptr));
  EXPECT_FALSE(ProgramOf({{"dlroof", {{"program", 7}}}}));
  const nlohmann::json odd = {{"dlroof",
                               {{"program",
                                 {{"seconds", "much"},
                                  {"primitives", {1, {{"calls", true}}}},
                                  {"steps", {{"from", 3}}}}}}}};
  const auto summary = ProgramOf(odd);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->primitives.size(), 2);
  EXPECT_NE(TextOf(odd), "");
}

TEST(ProgramOf, TakesStepsOfAnySourceAndIgnoresKeysOfOlderVersions) {
  nlohmann::json context;
  context["dlroof"]["program"]["steps"] = {
      {"from", "graphs"}, {"count", 3}, {"doubt", "x"}, {"total", 7}, {"confirmed", true}};
  EXPECT_THAT(TextOf(context),
              HasSubstr("3 steps, which are launches of a CUDA graph; 0 calls each"));
}

}  // namespace
}  // namespace dlroof::programs
