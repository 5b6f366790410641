#include "bench/supervise/supervised_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/base/error.h"

namespace dlroof::supervise {
namespace {

using testing::ElementsAre;

TEST(SupervisedProgram, AFilterKeepsTheOneName) {
  EXPECT_EQ(ExactFilter("LSTM/cpu/t1n2_p0:1x0:1/real_time"), "^LSTM/cpu/t1n2_p0:1x0:1/real_time$");
  EXPECT_EQ(ExactFilter("BM<int, 2>(a+b).*[x]"), "^BM<int, 2>\\(a\\+b\\)\\.\\*\\[x\\]$");
}

TEST(SupervisedProgram, TheLastMentionOfAFlagCounts) {
  EXPECT_EQ(FlagValue({"--a=1", "--b=2", "--a=3"}, "a"), "3");
  EXPECT_EQ(FlagValue({"--ab=1"}, "a"), std::nullopt);
}

TEST(SupervisedProgram, CeilingsAreNeededAtTheThreadCountsOfRunAndNames) {
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/real_time"}, {}, 8), ElementsAre(1, 8));
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/threads4/cold/manual_time", "LSTM/n1"}, {}, 8),
              ElementsAre(1, 4, 8));
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/threads4/real_time"}, {"--dlroof_threads=2"}, 8),
              ElementsAre(1, 2, 4));
  // Refused by its name, not measured.
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/threads16/real_time"}, {}, 8), ElementsAre(1, 8));
}

TEST(SupervisedProgram, WhereResultsGoIsNotForTheProgramsArguments) {
  EXPECT_THROW(CheckArguments({"--benchmark_out=x"}), BadInput);
  EXPECT_THROW(CheckArguments({"--dlroof_turns=3,4"}), BadInput);
  EXPECT_NO_THROW(CheckArguments({"--benchmark_filter=x", "--benchmark_repetitions=3"}));
}

TEST(SupervisedProgram, AMissingProgramIsOneSentence) {
  EXPECT_THROW(BuildOf("/nowhere/dlroof_bench"), BadInput);
}

TEST(SupervisedProgram, TheCommandReplacesFilterAndCeilings) {
  EXPECT_THAT(
      CommandFor("bench", {"--benchmark_filter=x", "--dlroof_seed=3"}, "n1", "m.json",
                 {"run.json", "out", "err"}),
      ElementsAre("bench", "--dlroof_seed=3", "--benchmark_filter=^n1$", "--benchmark_out=run.json",
                  "--dlroof_live_check=false", "--dlroof_machine=m.json"));
}

TEST(SupervisedProgram, AProgramWithoutDlroofGetsGoogleBenchmarksFlags) {
  const ProcessPaths paths = {"run.json", "out", "err"};
  EXPECT_THAT(CommandFor("bench", {"--benchmark_filter=x"}, "BM_A/8", "m.json", paths, true),
              ElementsAre("bench", "--benchmark_filter=^BM_A/8$", "--benchmark_out=run.json",
                          "--benchmark_repetitions=9"));
  EXPECT_THAT(CommandFor("bench", {"--benchmark_repetitions=4"}, "n", std::nullopt, paths, true),
              ElementsAre("bench", "--benchmark_repetitions=4", "--benchmark_filter=^n$",
                          "--benchmark_out=run.json"));
}

}  // namespace
}  // namespace dlroof::supervise
