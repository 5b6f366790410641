#include "baselines/programs/program_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "baselines/programs/program_report.h"
#include "baselines/programs/steps.h"
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
  EXPECT_THAT(ReportOf(252), HasSubstr("slower than its arithmetic roof"));
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

TEST(BreakdownOfProgram, WithoutStepsTheProgramsWallTimeIsDivided) {
  auto summary = SummaryOf(fakes::FromLog("tf212_conv_opts1.log"));
  summary.wall_seconds = 2;
  const auto breakdown = BreakdownOf(summary);
  EXPECT_FALSE(breakdown.of_step);
  EXPECT_NEAR(breakdown.seconds, 2, 1e-12);
}

// The step of an LSTM's training: forward and backward are the recurrent layer's.
TEST(SummarizeProgram, PhasesOfATrainingStep) {
  const auto summary = SummaryOf(fakes::FromLog("pt_lstm_trn.onednn.log"));
  ASSERT_EQ(summary.steps.phases.size(), 3);
  EXPECT_EQ(summary.steps.phases[0].calls, 5);
  EXPECT_EQ(summary.steps.phases[1].calls, 1);
  EXPECT_EQ(summary.steps.phases[2].calls, 3);
  double wall = 0;
  for (const auto& phase : summary.steps.phases) wall += phase.wall_seconds.value();
  EXPECT_NEAR(wall, summary.steps.wall_seconds.value(), 1e-6);
  EXPECT_EQ(SummaryOf(fakes::FromLog("pt_r50_inf.onednn.log")).steps.phases.size(), 0);
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

std::string StandaloneText(const ProgramSummary& summary) {
  document::Document document;
  AddStandalone(summary, document);
  std::ostringstream out;
  document::Write(document, 0, out);
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

// 1 ms standalone with an interval of 0.1 %.
ProgramPrimitive Replayed(double program_seconds, std::optional<double> cold_seconds,
                          const std::string& implementation = "jit:avx2") {
  ProgramPrimitive primitive{.record = "Conv2D/a"};
  primitive.text.kind = "convolution";
  primitive.text.implementation = "jit:avx2";
  primitive.seconds = 10 * program_seconds;
  const double ratio = program_seconds / 1e-3;
  primitive.standalone = StandaloneTime{.seconds = 1e-3,
                                        .ci95 = {{0.9995e-3, 1.0005e-3}},
                                        .cold_seconds = cold_seconds,
                                        .program_seconds = program_seconds,
                                        .ratio = ratio,
                                        .ratio_ci95 = {{0.999 * ratio, 1.001 * ratio}},
                                        .implementation = implementation};
  return primitive;
}

// What the times show, and whether times under other conditions may show more: only where the
// program is slower by the same code.
TEST(StandaloneDiagnosis, SaysAsMuchAsTheTimesShow) {
  const std::tuple<ProgramPrimitive, const char*, bool> rows[] = {
      {Replayed(1.04e-3, 2e-3), "as fast as standalone", false},
      {Replayed(2e-3, 1.95e-3), "measured with cold caches, it is as slow standalone", false},
      // 0.5 of 1 ms
      {Replayed(2e-3, 1.5e-3),
       "measured with cold caches, it has 50 % of the difference; the rest is not explained", true},
      {Replayed(2e-3, 1.1e-3), "not explained: measured with cold caches, it is not as slow", true},
      {Replayed(2e-3, std::nullopt), "not explained: no time", true},
      {Replayed(0.5e-3, 2e-3), "faster in the program: its oneDNN is another one", false},
      {Replayed(2e-3, 2e-3, "ref"),
       "another implementation: jit:avx2 in the program, ref standalone", false}};
  for (const auto& [primitive, diagnosis, checks] : rows) {
    EXPECT_THAT(StandaloneDiagnosis(primitive), testing::StartsWith(diagnosis));
    EXPECT_EQ(NeedsChecks(primitive), checks) << diagnosis;
  }
  EXPECT_FALSE(NeedsChecks(ProgramPrimitive{}));
}

TEST(StandaloneDiagnosis, AReasonIsOneThatWasMeasured) {
  auto primitive = Replayed(2e-3, 1.1e-3);
  EXPECT_TRUE(NeedsChecks(primitive));
  primitive.standalone->checks = {{"beside a busy CPU", 1.92e-3}, {"on 1 thread", 1.3e-3}};
  EXPECT_EQ(StandaloneDiagnosis(primitive), "measured beside a busy CPU, it is as slow standalone");
  EXPECT_FALSE(NeedsChecks(primitive));
  primitive.standalone->checks[0].seconds = 1.05e-3;
  EXPECT_EQ(StandaloneDiagnosis(primitive),
            "measured on 1 thread, it has 30 % of the difference; the rest is not explained");
  primitive.standalone->checks[1].seconds = 1e-3;
  EXPECT_EQ(StandaloneDiagnosis(primitive),
            "not explained: measured with cold caches, and beside a busy CPU, and on 1 thread, it "
            "is not as slow");
}

TEST(StandaloneDiagnosis, ColdCachesThatSeemFasterAreNoReasonAndMarked) {
  ProgramSummary summary;
  summary.primitives = {Replayed(2e-3, 0.9e-3)};
  EXPECT_THAT(StandaloneDiagnosis(summary.primitives[0]), Not(HasSubstr("cold caches, it")));
  EXPECT_TRUE(NeedsChecks(summary.primitives[0]));
  EXPECT_THAT(StandaloneText(summary),
              testing::AllOf(HasSubstr("~900 "), HasSubstr("~ of a time with cold caches")));
}

TEST(ImplementationFamily, IsOneAcrossVersions) {
  auto primitive = Replayed(2e-3, 1.95e-3, "brgconv:avx2");
  primitive.text.implementation = "brg_conv_fwd:avx2";
  EXPECT_THAT(StandaloneDiagnosis(primitive), HasSubstr("cold caches"));
  primitive.text.implementation = "brg_conv_fwd:avx512_core";
  EXPECT_THAT(StandaloneDiagnosis(primitive), HasSubstr("another implementation"));
  EXPECT_EQ(ImplementationFamily("brg_conv_bwd:avx2"),
            ImplementationFamily("brg_fwd:avx2+brgconv:avx2"));
  EXPECT_EQ(ImplementationFamily("brg_deconv:avx2"),
            ImplementationFamily("brg_conv:avx2+brgconv:avx2"));
  EXPECT_EQ(ImplementationFamily("brg_matmul:avx512_core_amx"), "brg:avx512_core_amx");
  EXPECT_EQ(ImplementationFamily("brgconv_1x1:avx2"), "brgconv_1x1:avx2");
  EXPECT_EQ(ImplementationFamily("ref"), "ref");
  EXPECT_EQ(ImplementationFamily(""), "");
}

TEST(StandaloneDiagnosis, AWideIntervalIsNotSignificant) {
  auto primitive = Replayed(2e-3, 2e-3);
  primitive.standalone->ratio_ci95 = {{0.8, 5}};
  EXPECT_THAT(StandaloneDiagnosis(primitive), HasSubstr("no significant difference"));
}

ProgramSummary OneOfEach() {
  ProgramSummary summary;
  summary.primitives = {Replayed(1e-3, 2e-3), Replayed(3e-3, 3e-3), ProgramPrimitive{}};
  summary.primitives[1].record = "Conv2D/b";
  summary.primitives[2].text.kind = "reorder";
  summary.primitives[2].seconds = 1;
  summary.primitives[2].not_replayed = Reason{"dlroof has no benchmark of this call"};
  summary.standalone_version = "3.2.0";
  return summary;
}

TEST(AddStandalone, TheLongestIsFirstAndTheOthersHaveAReason) {
  const auto text = StandaloneText(OneOfEach());
  EXPECT_LT(text.find("Conv2D/b"), text.find("Conv2D/a")) << text;
  EXPECT_THAT(text, HasSubstr("one call, standalone by oneDNN 3.2.0"));
  EXPECT_THAT(text, HasSubstr("3.00x (3.00 to 3.00)"));
  EXPECT_THAT(text,
              HasSubstr("not replayed: 1 (1.00 s) reorder: dlroof has no benchmark of this call"));
  EXPECT_THAT(text, Not(HasSubstr("~")));
  EXPECT_EQ(StandaloneText({.primitives = {ProgramPrimitive{}}}), "") << "without a replay";
}

TEST(ProgramOf, ReadsAReplayAgain) {
  auto summary = OneOfEach();
  summary.primitives[0].standalone->noisy = true;
  summary.primitives[1].standalone->ratio_ci95.reset();
  summary.primitives[1].standalone->checks = {{"beside a busy CPU", 2e-3}};
  const auto again = Again(summary);
  EXPECT_EQ(ToJson(*again), ToJson(summary));
  EXPECT_TRUE(again->primitives[0].standalone->noisy);
  EXPECT_EQ(again->primitives[0].standalone->ratio_ci95->second,
            summary.primitives[0].standalone->ratio_ci95->second);
  EXPECT_FALSE(again->primitives[2].standalone);
}

}  // namespace
}  // namespace dlroof::programs
