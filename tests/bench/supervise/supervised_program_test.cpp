#include "bench/supervise/supervised_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "counters/base/error.h"

namespace dlroof {
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

// From now on this process and its children have no pidfd_open (434 on every architecture). False:
// the system does not let it be so.
bool TakeAwayPidfdOpen() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 434, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(WatchedProcess, LeavesNothingBehindWhereItCannotBeWatched) {
  constexpr int kGone = 0, kLeft = 1, kNoFilter = 2;
  const pid_t child = fork();
  if (child == 0) {
    if (!TakeAwayPidfdOpen()) _exit(kNoFilter);
    try {
      const WatchedProcess process({"sleep", "60"}, {"/dev/null", "/dev/null", false});
    } catch (const std::exception&) {
      _exit(waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD ? kGone : kLeft);
    }
    _exit(kLeft);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(status, kGone);
}

}  // namespace
}  // namespace dlroof
