#include <gmock/gmock.h>

#include <random>
#include <sstream>

#include "baselines/programs/program_report.h"
#include "baselines/programs/program_summary.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::programs {
namespace {

using testing::HasSubstr;

// Operators 0 (linear), 1 (addmm, in linear) and 2 (bmm).
imports::Trace TraceOf(std::vector<imports::TraceCall> calls) {
  imports::Trace trace;
  for (const char* name : {"aten::linear", "aten::addmm", "aten::bmm"})
    trace.ops.push_back({.name = name, .sizes = {{2, 3}, {3, 4}}, .types = {"float", "float"}});
  trace.begin = 0;
  trace.end = 100;
  trace.calls = std::move(calls);
  return trace;
}

imports::TraceCall Op(std::size_t op, double begin, double end, std::size_t thread = 0) {
  return {.op = op, .thread = thread, .begin = begin, .end = end};
}
imports::TraceCall Module(const std::string& path, double begin, double end) {
  return {.span = kModuleSpan + path, .begin = begin, .end = end};
}

imports::TraceCall Hook(double begin, double end, std::size_t thread = 0) {
  return {.span = kHookSpan, .thread = thread, .begin = begin, .end = end};
}

double SecondsOf(const DividedTime& divided, std::size_t op) {
  for (const auto& time : divided.operators)
    if (time.op == op) return time.seconds;
  return 0;
}

TEST(DivideTime, EachTimeIsCountedOnceAndAnOperatorThatCallsThePrimitiveOfTheNextStepIsOneDnns) {
  // linear 0..10 has addmm 2..8, in which oneDNN runs 3..6; Python 10..12; bmm 12..15.
  auto trace = TraceOf({Op(0, 0, 10), Op(1, 2, 8), Op(2, 12, 15)});
  auto divided = DivideTime(trace, {{3, 6}}, {{0, 20}});
  EXPECT_DOUBLE_EQ(divided.seconds, 20);
  EXPECT_DOUBLE_EQ(divided.onednn_seconds, 3);
  EXPECT_DOUBLE_EQ(divided.onednn_in_operator_seconds, 3);
  EXPECT_DOUBLE_EQ(SecondsOf(divided, 0), 4);
  EXPECT_DOUBLE_EQ(SecondsOf(divided, 1), 3);
  EXPECT_DOUBLE_EQ(SecondsOf(divided, 2), 3);
  EXPECT_DOUBLE_EQ(divided.operator_seconds, 10);
  // The step is 0..10; its last operator begins at 9, and its primitive at 10.
  trace = TraceOf({Op(2, 1, 3), Op(1, 9, 14)});
  divided = DivideTime(trace, {{10, 13}}, {{0, 10}});
  ASSERT_EQ(divided.operators.size(), 2U);
  for (const auto& time : divided.operators) EXPECT_EQ(time.by_onednn, time.op == 1);
}

TEST(DivideTime, ThreadsShareATimeAndRangesCutItAndTheTimeOfHooksIsNotTheProgramsTime) {
  // Two threads, 0..10 and 5..15; of the ranges 4..8 and 12..14 only.
  auto trace = TraceOf({Op(0, 0, 10), Op(2, 5, 15, 1)});
  auto divided = DivideTime(trace, {{13, 20}}, {{4, 8}, {12, 14}});
  EXPECT_DOUBLE_EQ(divided.seconds, 6);
  EXPECT_DOUBLE_EQ(SecondsOf(divided, 0), 1 + 1.5);
  EXPECT_DOUBLE_EQ(SecondsOf(divided, 2), 1.5 + 1);
  EXPECT_DOUBLE_EQ(divided.onednn_seconds, 1);
  ASSERT_EQ(divided.operators.size(), 2U);
  for (const auto& time : divided.operators)  // only bmm begins within a range
    EXPECT_EQ(time.each.size(), time.op == 2 ? 1U : 0U);
  // A module 2..8 with an operator 3..6; its hooks 1..2 and 8..10, the second beside oneDNN for 1.
  trace = TraceOf({Hook(1, 2), Module("Net", 2, 8), Op(1, 3, 6), Hook(8, 10)});
  divided = DivideTime(trace, {{9, 10}}, {{0, 12}});
  EXPECT_DOUBLE_EQ(divided.hook_seconds, 2);
  EXPECT_DOUBLE_EQ(divided.seconds, 10);
  EXPECT_DOUBLE_EQ(divided.onednn_seconds, 1);
  EXPECT_DOUBLE_EQ(divided.operator_seconds, 3);
  ASSERT_EQ(divided.modules.size(), 1U);
  EXPECT_DOUBLE_EQ(divided.modules[0].seconds, 6);
}

TEST(DivideTime, AModuleHasItsPythonAndItsPrimitivesButNotOtherModules) {
  const auto trace = TraceOf({Module("Net", 0, 10), Module("Net.layers.12.q", 2, 6), Op(1, 3, 5),
                              Module("Net.layers.7.q", 6, 8)});
  const auto divided = DivideTime(trace, {{4, 5}}, {{0, 20}});
  ASSERT_EQ(divided.modules.size(), 2U);
  EXPECT_EQ(divided.modules[0].path, "Net.layers.*.q");
  EXPECT_DOUBLE_EQ(divided.modules[0].seconds, 6);
  EXPECT_EQ(divided.modules[1].path, "Net");
  EXPECT_DOUBLE_EQ(divided.modules[1].seconds, 4);
  EXPECT_DOUBLE_EQ(SecondsOf(divided, 1), 1);
  EXPECT_DOUBLE_EQ(divided.operator_seconds, 1);
}

TEST(DivideTime, TheSumIsTheTimeOfTheRangesForAnyCalls) {
  std::mt19937 engine(3);
  const auto draw = [&](int most) { return static_cast<double>(engine() % most); };
  for (int round = 0; round < 300; ++round) {
    std::vector<imports::TraceCall> calls;
    for (std::size_t thread = 0; thread < 2; ++thread) {
      std::vector<std::pair<double, double>> times;
      times.reserve(8);
      for (int i = 0; i < 8; ++i) times.emplace_back(draw(50), draw(20));
      std::ranges::sort(times, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : a.second > b.second;
      });
      for (const auto& [begin, length] : times) {
        calls.push_back(Op(engine() % 3, begin, begin + length, thread));
        if (engine() % 3 == 0) calls.back().op.reset(), calls.back().span = "dlroof: Net";
      }
    }
    const auto divided =
        DivideTime(TraceOf(calls), {{draw(60), draw(60)}, {5, 9}, {7, 12}}, {{3, 20}, {25, 60}});
    double operators = 0;
    for (const auto& time : divided.operators) operators += time.seconds;
    EXPECT_NEAR(divided.seconds, 52, 1e-9);
    EXPECT_NEAR(operators, divided.operator_seconds, 1e-9);
    EXPECT_LE(divided.operator_seconds + divided.onednn_seconds, 52 + 1e-9);
  }
}

// Ten steps of 10 s: a primitive of 2 s, addmm of 4 s, linear of 1 s, 3 s of Python.
logs::VerboseLog Log() {
  logs::VerboseLog log;
  log.processes = {{}};
  log.primitives = {{.engine = "cpu", .kind = "eltwise", .implementation = "jit", .problem = "4"}};
  for (int i = 0; i < 10; ++i) {
    log.executions.push_back({0, 2, 10.0 * i});
    log.marks.push_back({static_cast<std::size_t>(i), true, i, 10.0 * i});
    log.marks.push_back({static_cast<std::size_t>(i + 1), false, i, 10.0 * i + 10});
  }
  return log;
}

imports::Trace TraceOfLog(double begin = 0, double end = 100) {
  std::vector<imports::TraceCall> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back(Op(0, 10.0 * i, 10.0 * i + 7));
    calls.push_back(Op(1, 10.0 * i, 10.0 * i + 6));
  }
  auto trace = TraceOf(calls);
  trace.begin = begin;
  trace.end = end;
  return trace;
}

// A program's summary with the trace, and the operators with an entry of their own.
struct Traced {
  ProgramSummary summary;
  std::vector<OperatorTime> operators;

  explicit Traced(const imports::Trace& trace, const logs::VerboseLog& log = Log())
      : summary(SummarizeProgram(log, StepsOf(log))),
        operators(AddOperators(trace, log, StepsOf(log), summary)) {}
  // Without primitives.
  explicit Traced(const std::vector<imports::TraceCall>& calls)
      : operators(AddOperators(TraceOf(calls), {}, {}, summary)) {}

  const TracedProgram& trace() const { return summary.traced.value(); }
  ProgramBreakdown Breakdown() const { return BreakdownOf(UsesOf({}, summary), summary); }
  double Share(std::string_view label) const {
    const auto breakdown = Breakdown();
    for (const auto& component : breakdown.components)
      if (component.label == label) return component.seconds / breakdown.seconds;
    return 0;
  }
};

ProgramSummary Again(const ProgramSummary& summary) {
  return ProgramOf({{"dlroof", {{"program", ToJson(summary)}}}}).value();
}

std::string TextOf(const ProgramSummary& summary) {
  document::Document document;
  AddTraced(Again(summary).traced.value(), document);
  std::ostringstream out;
  document::Write(document, 0, out);
  return out.str();
}

TEST(AddOperators, TheOutsideOfAStepBecomesOperatorsAndPython) {
  const Traced traced(TraceOfLog());
  ASSERT_EQ(traced.summary.steps.count, 10);
  ASSERT_EQ(traced.operators.size(), 2U);
  EXPECT_EQ(traced.operators[0].op, 1U);
  ASSERT_EQ(traced.summary.primitives.size(), 3U);
  const auto& addmm = traced.summary.primitives[1];
  EXPECT_TRUE(addmm.is_operator);
  EXPECT_EQ(addmm.text.kind, "aten::addmm");
  EXPECT_EQ(addmm.text.problem, "2x3:3x4");
  EXPECT_EQ(addmm.text.auxiliary, "f32");
  EXPECT_NEAR(addmm.step_seconds, 4, 1e-9);
  EXPECT_EQ(traced.trace().steps, 10);
  EXPECT_NEAR(traced.trace().onednn_share, 0.2, 1e-9);
  EXPECT_NEAR(traced.trace().onednn_matched, 1, 1e-9);
  EXPECT_NEAR(traced.trace().operator_share, 0.5, 1e-9);
  EXPECT_NEAR(traced.trace().rest_share, 0.3, 1e-9);
  EXPECT_NEAR(traced.Share("operator: aten::addmm"), 0.4, 1e-9);
  EXPECT_NEAR(traced.Share("operator: aten::linear"), 0.1, 1e-9);
  EXPECT_EQ(traced.Share("other operators"), 0);
  EXPECT_NEAR(traced.Share("outside oneDNN and operators (Python)"), 0.3, 1e-9);
  EXPECT_NEAR(traced.Breakdown().seconds, 10, 1e-9);
}

TEST(AddOperators, StepsThatTheTraceHasInPartAreLeftOut) {
  const Traced traced(TraceOfLog(15, 45));
  EXPECT_EQ(traced.trace().steps, 2);
  EXPECT_NEAR(traced.trace().operator_share, 0.5, 1e-9);
}

TEST(AddOperators, ATraceBeforeTheFirstStepHasNoOperatorsOfSteps) {
  auto trace = TraceOf({Op(2, -40, -10)});  // weights are made
  trace.begin = -40;
  trace.end = 5;  // half of the first step
  const Traced traced(trace);
  EXPECT_TRUE(traced.operators.empty());
  EXPECT_EQ(traced.summary.primitives.size(), 1U);
  EXPECT_TRUE(traced.trace().of_no_step);
  EXPECT_DOUBLE_EQ(traced.trace().window_seconds, 45);
  EXPECT_NEAR(traced.Share("outside oneDNN"), 0.8, 1e-9);
  EXPECT_THAT(TextOf(traced.summary), HasSubstr("saw 45.0 s, but less than one step of it"));
}

TEST(AddOperators, TheFirstStepThatCompilesIsNoSteadyOne) {
  auto log = Log();
  for (std::size_t i = 0; i < log.executions.size(); ++i) {  // the first step takes 40 s
    if (i > 0) *log.executions[i].start_seconds += 30;
    log.marks[2 * i].seconds = 10.0 * static_cast<double>(i) + (i > 0 ? 30 : 0);
    log.marks[2 * i + 1].seconds = 10.0 * static_cast<double>(i) + 40;
  }
  auto trace = TraceOf({Op(2, 2, 38), Op(1, 40, 46), Op(1, 50, 56)});
  trace.end = 60;
  const Traced traced(trace, log);
  EXPECT_EQ(traced.summary.steps.warm_up_steps, 1);
  EXPECT_EQ(traced.trace().steps, 2);
  ASSERT_EQ(traced.summary.primitives.size(), 2U);
  EXPECT_EQ(traced.summary.primitives[1].text.kind, "aten::addmm");
}

TEST(AddOperators, AnOperatorThatCallsOneDnnHasNoFlopsOfItsOwn) {
  std::vector<imports::TraceCall> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back(Op(1, 10.0 * i, 10.0 * i + 3));      // 2 of 3 s are the primitive's
    calls.push_back(Op(2, 10.0 * i + 4, 10.0 * i + 7));  // its own loops
  }
  const Traced traced(TraceOf(calls));
  ASSERT_EQ(traced.operators.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(traced.operators[i].by_onednn, traced.operators[i].op == 1);
    if (!traced.operators[i].by_onednn) continue;
    const auto& around = traced.summary.primitives[1 + i];
    EXPECT_EQ(around.text.kind, "aten::addmm");
    EXPECT_THAT(around.work_unknown.value().text, HasSubstr("those of oneDNN's primitives"));
    EXPECT_NEAR(around.step_seconds, 1, 1e-9);
  }
}

TEST(AddOperators, WithoutPrimitivesTheStepsAreTheModelsWithoutHooksAndLoopsAreNoOperators) {
  const Traced traced({Module("Net", 0, 6), Op(1, 1, 4), Hook(6, 8), Module("Net", 10, 16),
                       Op(1, 11, 14), Hook(16, 18), Module("Net", 20, 28)});
  EXPECT_EQ(traced.summary.steps.count, 2);
  EXPECT_DOUBLE_EQ(*traced.summary.steps.wall_seconds, 8);
  EXPECT_DOUBLE_EQ(*traced.summary.steps.median_wall_seconds, 8);
  ASSERT_EQ(traced.summary.primitives.size(), 1U);
  EXPECT_NEAR(traced.summary.primitives[0].step_seconds, 3, 1e-9);
  EXPECT_DOUBLE_EQ(traced.trace().hook_seconds, 2);
  EXPECT_DOUBLE_EQ(traced.trace().window_seconds, 16);
  EXPECT_NEAR(traced.trace().rest_share, 10. / 16, 1e-9);
  EXPECT_DOUBLE_EQ(Again(traced.summary).traced.value().hook_seconds, 2);
  const Traced compiled({Module("OptimizedModule", 0, 8), Op(1, 1, 4),
                         Module("OptimizedModule", 10, 18), Op(1, 11, 14),
                         Module("OptimizedModule", 20, 28)});
  EXPECT_NEAR(compiled.Share("outside oneDNN and operators (compiled loops, Python)"), 0.7, 1e-9);
}

TEST(AddOperators, OnePrimitiveAloneHasTheModelsStepsAndASummaryWithATraceReadsAgain) {
  logs::VerboseLog log;  // without marks a single primitive has no steps
  log.processes = {{}};
  log.primitives = {{.engine = "cpu", .kind = "eltwise"}};
  std::vector<imports::TraceCall> calls;
  for (int i = 0; i < 6; ++i) {
    calls.push_back(Module("Net", 10.0 * i, 10.0 * i + 8));
    log.executions.push_back({0, 2, 10.0 * i + 1});
    log.executions.push_back({0, 2, 10.0 * i + 4});
  }
  ASSERT_EQ(StepsOf(log).from, StepsFrom::kNone);
  const Traced traced(TraceOf(calls), log);
  EXPECT_EQ(traced.summary.steps.from, StepsFrom::kModel);
  EXPECT_EQ(traced.summary.steps.count, 4);  // the last call has no end, the first is the warm-up
  EXPECT_NEAR(traced.summary.primitives[0].step_calls, 2, 1e-9);
  EXPECT_NEAR(traced.summary.primitives[0].step_seconds, 4, 1e-9);
  EXPECT_NEAR(traced.trace().rest_share, 0.6, 1e-9);
  auto summary = Traced(TraceOfLog()).summary;
  summary.traced->modules = {{"Net.*", 0.25}};
  const auto again = Again(summary);
  EXPECT_EQ(ToJson(again), ToJson(summary));
  EXPECT_TRUE(again.primitives[1].is_operator);
  EXPECT_THAT(TextOf(summary),
              testing::AllOf(HasSubstr("10 steps of 100 s together: 20.0 % of it in oneDNN, 50.0 % "
                                       "in other operators, 30.0 % in neither"),
                             HasSubstr("Net.*")));
}

TEST(LargestAdvice, WhatTheRoofsNeedIsChosenOnlyIfItIsMostOfAll) {
  using Kind = ProgramComponentKind;
  ProgramBreakdown breakdown{.seconds = 10,
                             .components = {{Kind::kRoof, "needed by the roofs", 4},
                                            {Kind::kAboveRoof, "above the roof: aten::_conv", 3},
                                            {Kind::kOperator, "operator: aten::add", 3}}};
  EXPECT_THAT(LargestAdvice(breakdown, {}),
              HasSubstr("the largest part above the roofs, 30 %: above the roof: "));
  breakdown.components[0].seconds = 7;
  breakdown.seconds = 13;
  EXPECT_THAT(LargestAdvice(breakdown, {}),
              HasSubstr("the largest part, 54 %: needed by the roofs: "));
}

}  // namespace
}  // namespace dlroof::programs
