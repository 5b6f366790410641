#include "baselines/programs/program_summary.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string_view>
#include <tuple>

#include "baselines/programs/program_report.h"
#include "tests/fakes/primitives/logs.h"
#include "tests/fakes/small_run.h"

namespace dlroof::programs {
namespace {

using testing::HasSubstr, testing::Not;
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

TEST(ProgramOf, TakesAnyJsonAndTakesStepsOfAnySourceAndIgnoresKeysOfOlderVersions) {
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

TEST(FindRepetition, IsTheShortestSequenceThatReachesFurthest) {
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
}

TEST(FindRepetition, IsThatOfBruteForce) {
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

TEST(SpecifiedSteps, BeginWithTheFirstSymbolThatOccursAsOften) {
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
}

TEST(SpecifiedSteps, AreRefusedIfNothingOccursAsOftenOrTheyDiffer) {
  EXPECT_EQ(SpecifiedSteps(Of("ab ab ab"), 7).reason, Reason{"no 7 equal steps found"});
  EXPECT_EQ(SpecifiedSteps(Of("abc adde af a"), 4).from, StepsFrom::kNone);
  EXPECT_EQ(SpecifiedSteps(Of("ab ab"), 0).from, StepsFrom::kNone);
}

TEST(StepsOf, TheLstmProgramsBeginWithTheirStepsAndASpecifiedNumberDividesWhatHasNoPeriodOfItsOwn) {
  for (const auto& [name, length] :
       {std::pair("pt_lstm_inf.onednn.log", 3U), std::pair("pt_lstm_trn.onednn.log", 9U)}) {
    auto log = fakes::FromLog(name);
    log.marks.clear();
    const auto found = StepsOf(log);
    EXPECT_EQ(found.from, StepsFrom::kFound);
    ASSERT_EQ(found.ranges.size(), 4) << name;
    for (const auto& range : found.ranges) EXPECT_EQ(range.end - range.begin, length) << name;
  }
  auto log = fakes::FromLog("pt_bert_inf.onednn.log");
  log.marks.clear();
  const auto found = StepsOf(log, 4);  // 12 layers each
  EXPECT_EQ(found.from, StepsFrom::kSpecified);
  ASSERT_EQ(found.ranges.size(), 4);
  for (const auto& range : found.ranges) EXPECT_EQ(range.end - range.begin, 12);
  EXPECT_EQ(StepsOf(log, 1000).reason, Reason{"no 1000 equal steps found"});
}

// Two concatenated logs: the step at the boundary has no wall time.
TEST(StepsOf, AClockThatGoesBackGivesNoWallTime) {
  logs::VerboseLog log;
  log.primitives.resize(3);
  for (int run = 0; run < 2; ++run)
    for (int i = 0; i < 30; ++i)
      log.executions.push_back({static_cast<std::uint32_t>(i % 3), 0.5, 100.0 + i});
  const auto steps = StepsOf(log);
  ASSERT_EQ(steps.ranges.size(), 20);
  EXPECT_FALSE(steps.ranges[9].end_seconds);
  EXPECT_DOUBLE_EQ(*steps.ranges[8].end_seconds - *steps.ranges[8].begin_seconds, 3);
}

}  // namespace
}  // namespace dlroof::programs
