#include "counters/base/process.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

TEST(RunChild, GivesBackOutputErrorsAndExitCode) {
  const auto ran =
      RunChild({"sh", "-c", "echo $DLROOF_X; echo bad >&2; exit 3"}, {{"DLROOF_X", "a b"}});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out, "a b\n");
  EXPECT_EQ(ran.err, "bad\n");
  EXPECT_EQ(RunChild({"sh", "-c", "kill -9 $$"}, {}).exit_code, 128 + 9);
  EXPECT_EQ(RunChild({"cat"}, {}, "a\nb").out, "a\nb");
  EXPECT_EQ(fakes::RefusalOf([] { RunChild({"dlroof-there-is-no-such-program"}); }),
            "dlroof-there-is-no-such-program: cannot be started: No such file or directory");
  EXPECT_TRUE(IsInPath("sh"));
  EXPECT_FALSE(IsInPath("dlroof-there-is-no-such-program"));
}

// Makes pidfd_open (434 on every architecture) fail in this process and its children. Returns false
// if the system does not allow it.
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

TEST(WatchedProcess, PausesBetweenStopAndContinueAndTakesTurns) {
  WatchedProcess process({"sh", "-c", "read x <&3; echo got $x >&4; exit 3"},
                         {"/dev/null", "/dev/null", true});
  process.Stop();
  process.Send('t');
  process.Send('\n');
  EXPECT_EQ(process.ReadLine(0.1), std::nullopt);
  process.Continue();
  EXPECT_EQ(process.ReadLine(10), "got t");
  EXPECT_EQ(process.WaitForEnd(10)->exit_code, 3);
}

}  // namespace
}  // namespace dlroof
