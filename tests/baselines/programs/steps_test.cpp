#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string_view>
#include <tuple>

#include "baselines/programs/program_summary.h"
#include "tests/fakes/primitives/logs.h"

namespace dlroof::programs {
namespace {

using testing::HasSubstr;

using Stream = std::vector<std::uint32_t>;
using Place = std::pair<std::size_t, std::size_t>;  // begin, length
using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;

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

TEST(StepsOf, TheLstmProgramsBeginWithTheirSteps) {
  for (const auto& [name, length] :
       {std::pair("pt_lstm_inf.onednn.log", 3U), std::pair("pt_lstm_trn.onednn.log", 9U)}) {
    auto log = fakes::FromLog(name);
    log.marks.clear();
    const auto found = StepsOf(log);
    EXPECT_EQ(found.from, StepsFrom::kFound);
    ASSERT_EQ(found.ranges.size(), 4) << name;
    for (const auto& range : found.ranges) EXPECT_EQ(range.end - range.begin, length) << name;
  }
}

TEST(StepsOf, ASpecifiedNumberDividesWhatHasNoPeriodOfItsOwn) {
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
