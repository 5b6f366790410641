#include "baselines/programs/program_summary.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string_view>
#include <tuple>

#include "baselines/programs/program_report.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/primitives/logs.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/run_files.h"

namespace dlroof::programs {
namespace {

using testing::HasSubstr;
using Stream = std::vector<std::uint32_t>;
using Place = std::pair<std::size_t, std::size_t>;  // begin, length
using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;

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

TEST(TimelineOf, CallsThatOverlapShareTheClockAndCallsOfNoTimeAndWithoutStampKeepTheirOwn) {
  auto timeline = TimelineOf(TwoThreads());
  EXPECT_TRUE(timeline.stamped);
  EXPECT_DOUBLE_EQ(timeline.executions[0], 3);
  EXPECT_DOUBLE_EQ(timeline.executions[1], 3);
  auto log = TwoThreads();
  log.executions.push_back({0, 0, 103.0});
  log.executions.push_back({0, 7, std::nullopt});
  timeline = TimelineOf(log);
  EXPECT_FALSE(timeline.stamped);
  EXPECT_DOUBLE_EQ(timeline.executions[2], 0);
  EXPECT_DOUBLE_EQ(timeline.executions[3], 7);
  EXPECT_DOUBLE_EQ(timeline.executions[0] + timeline.executions[1], 6);
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

TEST(ProgramOf, ReadsItAllAgainAndTakesAnyJsonStepsOfAnySourceAndOlderKeys) {
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
  EXPECT_FALSE(ProgramOf(nullptr));
  EXPECT_FALSE(ProgramOf({{"dlroof", {{"program", 7}}}}));
  const nlohmann::json odd = {{"dlroof",
                               {{"program",
                                 {{"seconds", "much"},
                                  {"primitives", {1, {{"calls", true}}}},
                                  {"steps", {{"from", 3}}}}}}}};
  const auto other = ProgramOf(odd);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->primitives.size(), 2);
  EXPECT_NE(TextOf(odd), "");
  nlohmann::json context;
  context["dlroof"]["program"]["steps"] = {
      {"from", "graphs"}, {"count", 3}, {"doubt", "x"}, {"total", 7}, {"confirmed", true}};
  EXPECT_THAT(TextOf(context),
              HasSubstr("3 steps, which are launches of a CUDA graph; 0 calls each"));
}

// A letter is a symbol; spaces are for the reader.
Stream Of(std::string_view letters) {
  Stream stream;
  for (const char c : letters)
    if (c != ' ') stream.push_back(static_cast<std::uint32_t>(c));
  return stream;
}

Stream Repeated(std::string_view letters, int times) {
  Stream stream;
  for (int i = 0; i < times; ++i)
    for (const auto symbol : Of(letters)) stream.push_back(symbol);
  return stream;
}

// Begin and length of the repetition, or two zeros.
Place Found(const Stream& stream) {
  const auto found = FindRepetition(stream).value_or(RepeatedSequence{});
  return {found.begin, found.length};
}

Ranges RangesOf(const Steps& steps) {
  Ranges ranges;
  for (const auto& range : steps.ranges) ranges.emplace_back(range.begin, range.end);
  return ranges;
}

const Place kNothing = {0, 0};

TEST(FindRepetition, IsTheShortestSequenceThatReachesFurthestAsBruteForceFinds) {
  const std::pair<Stream, Place> rows[] = {
      {Of("abc abc abc"), {0, 3}},
      {Of("xy abc abc abc"), {2, 3}},
      // The calls that the step ends with are no steps.
      {Of("abbb abbb abbb"), {0, 4}},
      // The first step has calls of its own, and then the same as the others.
      {Of("axbc abc abc abc"), {2, 3}},
      // The stream may end within it.
      {Of("x abc abc abc ab"), {1, 3}},
      // Any difference ends it.
      {Of("abc abc abc abc x"), kNothing},
      // Layers with a head are one step.
      {Repeated("aback aback aback aback aback aback", 5), {0, 5}},
      {Repeated("aback aback aback aback aback aback xy", 5), {0, 32}}};
  for (const auto& [stream, place] : rows)
    EXPECT_EQ(Found(stream), place) << testing::PrintToString(stream);
  // One call alone is no sequence.
  for (const auto* stream : {"", "a", "ab", "aaaaaaaa", "x aaaaaaaa"})
    EXPECT_EQ(Found(Of(stream)), kNothing) << stream;
  std::mt19937 random(5);
  int some = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    Stream stream(random() % 40);
    for (auto& symbol : stream) symbol = random() % 2;
    // Most random streams repeat nothing: half of them get a period, from some place on.
    const std::size_t period = 2 + random() % 5;
    if (turn % 2 == 0)
      for (std::size_t i = period + random() % 8; i < stream.size(); ++i)
        stream[i] = stream[i - period];
    Place best = kNothing;
    std::size_t longest = 0;
    for (std::size_t length = 1; 3 * length <= stream.size(); ++length) {
      std::size_t begin = stream.size() - length;
      while (begin > 0 && stream[begin - 1] == stream[begin - 1 + length]) --begin;
      const auto repeated = stream.size() - begin;
      if (repeated < 3 * length || repeated <= longest) continue;
      longest = repeated;
      best = {begin, length};
    }
    if (best.second < 2 || 3 * longest < 2 * stream.size()) best = kNothing;
    some += best.second > 0 ? 1 : 0;
    EXPECT_EQ(Found(stream), best) << testing::PrintToString(stream);
  }
  EXPECT_GT(some, 100);
}

TEST(RepeatedSteps, EndWithTheStreamOrBeginWithIt) {
  EXPECT_EQ(RangesOf(RepeatedSteps(Of("axbc abc abc"))), Ranges());
  EXPECT_EQ(RangesOf(RepeatedSteps(Of("axbc abc abc abc"))), (Ranges{{4, 7}, {7, 10}, {10, 13}}));
  // The program was ended within a step.
  EXPECT_EQ(RangesOf(RepeatedSteps(Of("abc abc abc ab"))), (Ranges{{0, 3}, {3, 6}, {6, 9}}));
}

TEST(SpecifiedSteps, BeginWithTheFirstSymbolThatOccursAsOftenOrAreRefused) {
  const std::tuple<const char*, std::size_t, Ranges> rows[] = {
      {"w abb abb abb abb", 4, {{1, 4}, {4, 7}, {7, 10}, {10, 13}}},
      // Threads exchange calls.
      {"abc acb abc", 3, {{0, 3}, {3, 6}, {6, 9}}},
      // Six equal layers in two steps.
      {"ab ab ab ab ab ab", 2, {{0, 6}, {6, 12}}},
      // What the start calls as often is no step.
      {"iixi abc abc abc", 3, {{4, 7}, {7, 10}, {10, 13}}},
      // The last one is as long as the others.
      {"ab ab ab xyz", 3, {{0, 2}, {2, 4}, {4, 6}}}};
  for (const auto& [stream, count, ranges] : rows)
    EXPECT_EQ(RangesOf(SpecifiedSteps(Of(stream), count)), ranges) << stream;
  EXPECT_EQ(SpecifiedSteps(Of("ab ab ab"), 7).reason, Reason{"no 7 equal steps found"});
  EXPECT_EQ(SpecifiedSteps(Of("abc adde af a"), 4).from, StepsFrom::kNone);
  EXPECT_EQ(SpecifiedSteps(Of("ab ab"), 0).from, StepsFrom::kNone);
}

TEST(StepsOf, TheLstmProgramsBeginWithTheirStepsAndAClockThatGoesBackGivesNoWallTime) {
  for (const auto& [name, length] :
       {std::pair("pt_lstm_inf.onednn.log", 3U), std::pair("pt_lstm_trn.onednn.log", 9U)}) {
    auto log = fakes::FromLog(name);
    log.marks.clear();
    const auto found = StepsOf(log);
    EXPECT_EQ(found.from, StepsFrom::kFound);
    ASSERT_EQ(found.ranges.size(), 4) << name;
    for (const auto& range : found.ranges) EXPECT_EQ(range.end - range.begin, length) << name;
  }
  // Two concatenated logs: the step at the boundary has no wall time.
  logs::VerboseLog joined;
  joined.primitives.resize(3);
  for (int run = 0; run < 2; ++run)
    for (int i = 0; i < 30; ++i)
      joined.executions.push_back({static_cast<std::uint32_t>(i % 3), 0.5, 100.0 + i});
  const auto steps = StepsOf(joined);
  ASSERT_EQ(steps.ranges.size(), 20);
  EXPECT_FALSE(steps.ranges[9].end_seconds);
  EXPECT_DOUBLE_EQ(*steps.ranges[8].end_seconds - *steps.ranges[8].begin_seconds, 3);
}

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

imports::TraceCall Hook(double begin, double end) {
  return {.span = kHookSpan, .begin = begin, .end = end};
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

TEST(DivideTime, ThreadsShareATimeAndAModuleHasItsOwnPythonAndPrimitives) {
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
  const auto nested = TraceOf({Module("Net", 0, 10), Module("Net.layers.12.q", 2, 6), Op(1, 3, 5),
                               Module("Net.layers.7.q", 6, 8)});
  const auto modules = DivideTime(nested, {{4, 5}}, {{0, 20}});
  ASSERT_EQ(modules.modules.size(), 2U);
  EXPECT_EQ(modules.modules[0].path, "Net.layers.*.q");
  EXPECT_DOUBLE_EQ(modules.modules[0].seconds, 6);
  EXPECT_EQ(modules.modules[1].path, "Net");
  EXPECT_DOUBLE_EQ(modules.modules[1].seconds, 4);
  EXPECT_DOUBLE_EQ(SecondsOf(modules, 1), 1);
  EXPECT_DOUBLE_EQ(modules.operator_seconds, 1);
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

  const TracedProgram& trace() const { return summary.traced.value(); }
  ProgramBreakdown Breakdown() const { return BreakdownOf(UsesOf({}, summary), summary); }
  double Share(std::string_view label) const {
    const auto breakdown = Breakdown();
    for (const auto& component : breakdown.components)
      if (component.label == label) return component.seconds / breakdown.seconds;
    return 0;
  }
};

std::string TracedText(const ProgramSummary& summary) {
  document::Document document;
  AddTraced(Again(summary)->traced.value(), document);
  return fakes::Written(document);
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

TEST(AddOperators, StepsThatTheTraceHasInPartOrThatCompileAreLeftOut) {
  const Traced traced(TraceOfLog(15, 45));
  EXPECT_EQ(traced.trace().steps, 2);
  EXPECT_NEAR(traced.trace().operator_share, 0.5, 1e-9);
  auto log = Log();
  for (std::size_t i = 0; i < log.executions.size(); ++i) {  // the first step takes 40 s
    if (i > 0) *log.executions[i].start_seconds += 30;
    log.marks[2 * i].seconds = 10.0 * static_cast<double>(i) + (i > 0 ? 30 : 0);
    log.marks[2 * i + 1].seconds = 10.0 * static_cast<double>(i) + 40;
  }
  auto compiled = TraceOf({Op(2, 2, 38), Op(1, 40, 46), Op(1, 50, 56)});
  compiled.end = 60;
  const Traced steady(compiled, log);
  EXPECT_EQ(steady.summary.steps.warm_up_steps, 1);
  EXPECT_EQ(steady.trace().steps, 2);
  ASSERT_EQ(steady.summary.primitives.size(), 2U);
  EXPECT_EQ(steady.summary.primitives[1].text.kind, "aten::addmm");
}

TEST(AddOperators, AnOperatorThatCallsOneDnnHasNoFlops) {
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

TEST(AddOperators, ASummaryWithATraceReadsAgain) {
  auto summary = Traced(TraceOfLog()).summary;
  summary.traced->modules = {{"Net.*", 0.25}};
  const auto again = *Again(summary);
  EXPECT_EQ(ToJson(again), ToJson(summary));
  EXPECT_TRUE(again.primitives[1].is_operator);
  fakes::ExpectHas(TracedText(summary),
                   {"10 steps of 100 s together: 20.0 % of it in oneDNN, 50.0 % "
                    "in other operators, 30.0 % in neither",
                    "Net.*"});
}

}  // namespace
}  // namespace dlroof::programs
