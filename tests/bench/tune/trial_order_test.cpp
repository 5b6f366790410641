#include "bench/tune/trial_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/tune/space.h"

namespace dlroof::tune {
namespace {

using testing::ElementsAre;
using Kind = programs::ProgramPartKind;

std::vector<tuning::Coordinate> Named(std::initializer_list<const char*> names) {
  std::vector<tuning::Coordinate> all;
  for (const auto* name : names) all.push_back({name, "why", {}});
  return all;
}

std::vector<std::string> NamesOf(const std::vector<tuning::Coordinate>& coordinates) {
  std::vector<std::string> names;
  for (const auto& one : coordinates) names.push_back(one.name);
  return names;
}

TEST(TrialOrder, KnobsThatActOnMostOfAProgramComeFirst) {
  const programs::ProgramLedger ledger{.of_step = true,
                             .seconds = 10,
                             .parts = {{Kind::kRoof, "roof", 1},
                                       {Kind::kGap, "gap: convolution", 1},
                                       {Kind::kGap, "gap: matmul", 0.5},
                                       {Kind::kMoves, "moves", 2},
                                       {Kind::kOutside, "outside", 5.5}}};
  const ActsOn acts_on = {{"cache", {Kind::kCreation}},
                          {"isa", {Kind::kRoof, Kind::kGap, Kind::kNoRoof}},
                          {"allocator", {Kind::kOutside}},
                          {"layout", {Kind::kMoves, Kind::kGap}}};
  auto coordinates = Named({"cache", "isa", "layout", "allocator", "own"});
  SortByProgram(ledger, acts_on, coordinates);
  EXPECT_THAT(NamesOf(coordinates), ElementsAre("own", "allocator", "layout", "isa", "cache"));
  EXPECT_EQ(coordinates[0].reason, "why");  // it does not say on what it acts
  EXPECT_EQ(coordinates[1].reason, "why; it acts on 55 % of the step");
  EXPECT_EQ(coordinates[2].reason, "why; it acts on 35 % of the step");
  EXPECT_EQ(coordinates[4].reason, "why; it acts on 0 % of the step");
}

TEST(TrialOrder, EqualSharesKeepTheOrderOfTheFiles) {
  const programs::ProgramLedger ledger{.seconds = 4, .parts = {{Kind::kOutside, "outside", 4}}};
  auto coordinates = Named({"b", "a", "c"});
  SortByProgram(ledger, {{"a", {Kind::kOutside}}, {"b", {Kind::kOutside}}}, coordinates);
  EXPECT_THAT(NamesOf(coordinates), ElementsAre("b", "a", "c"));
  EXPECT_EQ(coordinates[0].reason, "why; it acts on 100 % of the program's time");
}

TEST(TrialOrder, WithoutATimeNothingMoves) {
  auto coordinates = Named({"b", "a"});
  SortByProgram({}, {{"b", {Kind::kCreation}}}, coordinates);
  EXPECT_THAT(NamesOf(coordinates), ElementsAre("b", "a"));
  EXPECT_EQ(coordinates[0].reason, "why");
}

breakdown::Ledger LedgerOf(double fork_join, double unexplained) {
  return {.parts = {{breakdown::PartKind::kUnexplained, unexplained}, {breakdown::PartKind::kForkJoin, fork_join}},
          .seconds = unexplained + fork_join};
}

TEST(SortByLedger, TheLargestPartComesFirst) {
  const auto all = Named({kIsaCoordinate, kPagesCoordinate, kThreadsCoordinate});
  auto sorted = all;
  SortByLedger(LedgerOf(8e-6, 2e-6), false, sorted);
  EXPECT_THAT(NamesOf(sorted), ElementsAre("threads", "instruction set", "huge pages"));
  EXPECT_EQ(sorted[0].reason,
            "80 % of the default's time is fork, join, waiting, sharing and serial parts");
  sorted = all;
  SortByLedger(LedgerOf(1e-6, 9e-6), false, sorted);
  EXPECT_THAT(NamesOf(sorted), ElementsAre("instruction set", "huge pages", "threads"));
  sorted = all;
  SortByLedger(LedgerOf(1e-6, 9e-6), true, sorted);
  EXPECT_THAT(NamesOf(sorted), ElementsAre("threads", "huge pages", "instruction set"));
}

}  // namespace
}  // namespace dlroof::tune
