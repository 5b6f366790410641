#include "counters/base/process.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <new>

#include "counters/base/program.h"
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

// Returns how a child ends that is sent the signals, one right after the other.
int EndAfter(const std::vector<int>& signals) {
  const pid_t child = fork();
  if (child == 0) {
    StopOnInterrupt();
    for (const int signal : signals) raise(signal);
    _exit(StoppedByInterrupt() ? InterruptCode() : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// `timeout` signals the process, and then its group.
TEST(StopOnInterrupt, ASignalThatComesTwiceCountsOnceAndIsTheExitCode) {
  EXPECT_EQ(EndAfter({}), 0);
  EXPECT_EQ(EndAfter({SIGTERM, SIGTERM}), 128 + SIGTERM);
  EXPECT_EQ(EndAfter({SIGINT}), 128 + SIGINT);
  EXPECT_EQ(EndAfter({SIGHUP, SIGTERM}), 128 + SIGHUP);
}

TEST(RunProgram, TellsBadInputFromABug) {
  const auto code = [](const std::function<int()>& run) {
    testing::internal::CaptureStderr();
    const int exit_code = RunProgram("p", run);
    return std::to_string(exit_code) + " " + testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(code([] { return 1; }), "1 ");
  EXPECT_EQ(code([]() -> int { throw BadInput("a\x1b]0;\n: no"); }), "2 p: a\\x1B]0;\\x0A: no\n");
  EXPECT_EQ(code([]() -> int { throw std::bad_alloc(); }),
            "2 p: there is not enough memory for this\n");
  EXPECT_EQ(
      code([]() -> int { return static_cast<int>(std::filesystem::file_size("/no/such/file")); }),
      "2 p: /no/such/file: No such file or directory\n");
  EXPECT_EQ(code([]() -> int { return std::vector<int>().at(0); }).substr(0, 3), "70 ");
}

TEST(RunProgram, EndsWithoutMemoryInADestructor) {
  const auto fail = []() -> int { throw std::bad_alloc(); };
  const auto run = [&] { RunProgram("p", [&]() noexcept { return fail(); }); };
  EXPECT_EXIT(run(), testing::ExitedWithCode(2), "there is not enough memory for this");
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
