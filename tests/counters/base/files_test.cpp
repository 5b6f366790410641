#include "counters/base/files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>
#include <sstream>
#include <string>

#include "counters/base/process.h"
#include "counters/base/program.h"
#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith, testing::HasSubstr;

// Files and folders, and those of an installation.

// Restores the variables, which other tests of this process may read.
class Variable {
 public:
  explicit Variable(const char* name) : name_(name) {
    if (const char* text = std::getenv(name)) before_ = text;
  }
  ~Variable() { Set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  void Set(const std::optional<std::string>& text) const {
    if (text)
      setenv(name_, text->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class WriteFileTest : public testing::Test {
 protected:
  fs::path At(const char* name) const { return folder_ / name; }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t Entries() const { return std::distance(fs::directory_iterator(At("")), {}); }

  TemporaryFolder folder_;
};

TEST_F(WriteFileTest, ReplacesWhatWasThere) {
  for (const auto when : {OnDisk::kLater, OnDisk::kNow})
    for (const char* text : {"long text\n", "short", ""}) {
      WriteFile(At("f"), text, when);
      EXPECT_EQ(Read(At("f")), text);
    }
  EXPECT_EQ(Entries(), 1);
}

// A program that has the old file open can still read all of it.
TEST_F(WriteFileTest, APlainFileIsOldOrNewALinkStaysOneAndTheModeThatOfTheOldFile) {
  WriteFile(At("f"), "old");
  std::ifstream reader(At("f"));
  WriteFile(At("f"), "new, and longer");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "old");
  WriteFile(At("f"), "old");
  fs::create_symlink(At("f"), At("link"));
  WriteFile(At("link"), "new");
  EXPECT_TRUE(fs::is_symlink(At("link")));
  EXPECT_EQ(Read(At("f")), "new");
  WriteFile(At("f"), "old");
  fs::permissions(At("f"), fs::perms::owner_read | fs::perms::owner_write);
  WriteFile(At("f"), "new");
  EXPECT_EQ(fs::status(At("f")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WriteFileTest, WhatCannotBeWrittenIsOneSentence) {
  const auto refusal = [](const fs::path& path) {
    return fakes::RefusalOf([&] { WriteFile(path, "text"); });
  };
  EXPECT_EQ(refusal("/dev/full"), "/dev/full: cannot be written: No space left on device");
  EXPECT_THAT(refusal(At("no/f")), EndsWith("/no/f: cannot be written: No such file or directory"));
  fs::create_directory(At("folder"));
  EXPECT_THAT(refusal(At("folder")), EndsWith("/folder: cannot be written: Is a directory"));
  EXPECT_EQ(Entries(), 1);  // no temporary file is left
}

// In a folder that others may write, a link waits under the name that version 1 gave its file.
TEST_F(WriteFileTest, FollowsNoLinkThatWasLaidInItsWay) {
  WriteFile(At("victim"), "precious");
  fs::create_symlink(At("victim"), At(fmt::format("f.{}.tmp", getpid()).c_str()));
  fs::create_symlink(At("victim"), At("f.part"));
  WriteFile(At("f"), "new");
  EXPECT_THAT(fakes::RefusalOf([&] { PartFile(At("f")); }),
              EndsWith("/f.part: expected a regular file, or none"));
  EXPECT_EQ(Read(At("victim")), "precious");
  EXPECT_EQ(Read(At("f")), "new");
}

TEST_F(WriteFileTest, AResultReplacesTheOldOneWhenItIsWhole) {
  WriteFile(At("f"), "old");
  {
    PartFile file(At("f"));
    EXPECT_THAT(fakes::RefusalOf([&] { PartFile(At("f")); }),
                EndsWith(fmt::format("/f: the process {} is writing it", getpid())));
    std::ofstream(file.part()) << "new";
    EXPECT_EQ(Read(At("f")), "old");
    file.Replace();
    EXPECT_EQ(Read(At("f")), "new");
  }
  { const PartFile unused(At("f")); }
  EXPECT_EQ(Read(At("f")), "new");
  EXPECT_EQ(Entries(), 1);
  {
    const PartFile cut_off(At("f"));
    std::ofstream(cut_off.part()) << "half";
  }
  EXPECT_EQ(Read(At("f")), "new");
  EXPECT_EQ(Read(At("f.part")), "half");
  EXPECT_EQ(PartFile("/dev/null").part(), "/dev/null");
}

TEST_F(WriteFileTest, AnIncompleteOrEmptyResultNeverReplacesTheOldOne) {
  WriteFile(At("f"), "old");
  { PartFile(At("f")).Replace(); }
  EXPECT_EQ(Read(At("f")), "old");
  std::ostringstream log;
  {
    PartFile file(At("f"));
    file.Write("half");
    file.Write("more");  // which is locked too
    EXPECT_THAT(fakes::RefusalOf([&] { PartFile(At("f")); }), HasSubstr("is writing it"));
    file.End(false, log);
  }
  EXPECT_EQ(Read(At("f")), "old");
  EXPECT_EQ(Read(At("f.part")), "more");
  EXPECT_EQ(log.str(),
            fmt::format("interrupted: the results so far are in {}\n", At("f.part").string()));
  PartFile(At("f")).End(true, log);
  EXPECT_EQ(Read(At("f")), "more");
  EXPECT_EQ(Entries(), 1);
}

using ReadFileTest = WriteFileTest;

TEST_F(ReadFileTest, ReturnsEveryByte) {
  const std::string text("a\0\r\n", 4);
  WriteFile(At("f"), text);
  EXPECT_EQ(ReadFile(At("f"), "text"), text);
  EXPECT_EQ(ReadFile(At("f"), "text", 4), text);
  EXPECT_EQ(ReadFile("/dev/null", "text"), "");
  EXPECT_GT(ReadFile("/proc/self/smaps", "text").size(), 0);  // stat reports a size of 0
}

TEST_F(ReadFileTest, OneSentenceSaysWhyNot) {
  WriteFile(At("f"), "12345");
  EXPECT_EQ(fakes::RefusalOf([&] { ReadFile(At("none"), "a suite"); }),
            At("none").string() + ": cannot be read: No such file or directory; expected a suite");
  EXPECT_EQ(fakes::RefusalOf([] { ReadFile("/", "a suite"); }),
            "/: cannot be read: Is a directory; expected a suite");
  EXPECT_EQ(fakes::RefusalOf([&] { ReadFile(At("f"), "a suite", 4); }),
            At("f").string() + ": has more than 4 bytes; expected a suite");
  EXPECT_EQ(ReadFileIfAny(At("none")), "");
  // Neither waits for a writer nor reads without end.
  ASSERT_EQ(mkfifo(At("pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", At("endless"));
  EXPECT_EQ(ReadFileIfAny(At("pipe")) + ReadFileIfAny(At("endless")), "");
}

TEST(CacheDirectory, FollowsTheXdgSpecification) {
  const Variable cache("XDG_CACHE_HOME"), home("HOME");
  cache.Set("/c");
  home.Set("/h");
  EXPECT_EQ(CacheDirectory(), fs::path("/c/dlroof"));
  cache.Set("relative");  // the XDG specification says to ignore it
  EXPECT_EQ(CacheDirectory(), fs::path("/h/.cache/dlroof"));
  cache.Set(std::nullopt);
  EXPECT_EQ(CacheDirectory(), fs::path("/h/.cache/dlroof"));
  home.Set(std::nullopt);
  EXPECT_EQ(CacheDirectory(), std::nullopt);
}

TEST(TemporaryFolder, IsGoneWithAllInItAndSharedWithNobody) {
  std::string file;
  {
    const TemporaryFolder folder, other;
    file = folder / "a";
    EXPECT_NE(file, other / "a");
    std::ofstream(file) << "text";
    EXPECT_TRUE(fs::exists(file));
  }
  EXPECT_FALSE(fs::exists(fs::path(file).parent_path()));
}

class InstallationTest : public testing::Test {
 protected:
  fs::path At(const char* name) const { return fs::canonical(folder_ / "") / name; }
  fs::path Program(const char* name) const {
    fs::create_directories(At(name).parent_path());
    std::ofstream(At(name)) << "#!/bin/sh\n";
    fs::permissions(At(name), fs::perms::owner_all);
    return At(name);
  }
  TemporaryFolder folder_;
  Variable data_{"DLROOF_DATA"}, path_{"PATH"};
};

TEST_F(InstallationTest, AProgramInBinBelongsToItsPrefixAndOneOfABuildFolderFindsEverythingThere) {
  fs::create_directories(At("opt/share/dlroof"));
  const auto found = InstallationOf(At("opt/bin/dlroof"));
  ASSERT_TRUE(found);
  EXPECT_EQ(std::tuple(found->programs, found->libraries, found->data),
            std::tuple(At("opt/bin"), At("opt/lib/dlroof"), At("opt/share/dlroof")));
  fs::create_directories(At("build/share/dlroof"));
  const auto built = InstallationOf(At("build/dlroof_bench"));
  ASSERT_TRUE(built);
  EXPECT_EQ(std::tuple(built->programs, built->libraries, built->data),
            std::tuple(At("build"), At("build"), At("build/share/dlroof")));
  // A build folder may be called "bin", and then its parent is no prefix.
  fs::create_directories(At("bin/share/dlroof"));
  EXPECT_EQ(InstallationOf(At("bin/dlroof")).value().libraries, At("bin"));
}

TEST_F(InstallationTest, OtherProgramsBelongToNoneAndTheVariableNamesTheData) {
  fs::create_directories(At("opt/share/other"));
  std::ofstream(At("opt/share/dlroof")) << "a file\n";
  EXPECT_FALSE(InstallationOf(At("opt/bin/dlroof")));
  EXPECT_FALSE(InstallationOf(At("mybench")));
  EXPECT_FALSE(InstallationOf(""));
  data_.Set("/some/folder");
  EXPECT_EQ(DataFolder(), fs::path("/some/folder"));
  EXPECT_TRUE(ProgramPath().is_absolute());
  EXPECT_TRUE(fs::is_regular_file(ProgramPath()));
}

// The tests' program is in no installation, as a user's own benchmark program.
TEST_F(InstallationTest, AProgramOfAUserFindsTheDlroofInPath) {
  ASSERT_FALSE(InstallationOf(ProgramPath()));
  data_.Set(std::nullopt);
  path_.Set(At("links").string() + "::" + At("nowhere").string());
  EXPECT_FALSE(ThisInstallation());
  EXPECT_FALSE(DataFolder());

  fs::create_directories(At("opt/share/dlroof"));
  fs::create_directories(At("links"));
  fs::create_symlink(Program("opt/bin/dlroof"), At("links/dlroof"));
  ASSERT_TRUE(ThisInstallation());
  EXPECT_EQ(ThisInstallation()->programs, At("opt/bin"));
  EXPECT_EQ(DataFolder(), At("opt/share/dlroof"));

  data_.Set("");
  EXPECT_EQ(DataFolder(), At("opt/share/dlroof"));
}

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
  EXPECT_TRUE(FoundInPath("sh"));
  EXPECT_FALSE(FoundInPath("dlroof-there-is-no-such-program"));
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

TEST(RunProgram, TellsBadInputFromABugAndEndsWithoutMemoryInADestructor) {
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
