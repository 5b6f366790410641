
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "bench/profile/verbose_run.h"

namespace dlroof::profile {
namespace {

struct Heard {
  ForegroundEnd end;
  std::string bytes;
};

Heard Listen(const std::string& script, ForegroundRequest request = {}) {
  Heard heard;
  request.command = {"sh", "-c", script};
  request.take = [&](std::string_view bytes) { return heard.bytes += bytes, true; };
  heard.end = RunInForeground(request);
  return heard;
}

TEST(RunInForeground, PassesAllBytesAndTheEnd) {
  const auto heard = Listen("printf 'a\\n\\000\\r\\033[32mb'; exit 3");
  EXPECT_EQ(heard.bytes, std::string("a\n\0\r\x1b[32mb", 10));
  EXPECT_EQ(heard.end.end.exit_code, 3);
  EXPECT_FALSE(heard.end.left_open);
  EXPECT_GT(heard.end.wall_seconds, 0);
  EXPECT_EQ(Listen("kill -9 $$").end.end.signal, SIGKILL);
  // More than any pipe holds.
  EXPECT_EQ(Listen("head -c 3000000 /dev/zero").bytes.size(), 3000000U);
}

TEST(RunInForeground, DoesNotWaitForWhatTheProgramLeavesBehind) {
  const auto heard = Listen("sleep 100 & echo $!");
  EXPECT_TRUE(heard.end.left_open);
  kill(std::stoi(heard.bytes), SIGKILL);
}

TEST(RunInForeground, TheSocketTellsWhichProcessWrites) {
  std::vector<std::int64_t> writers, said;
  const auto heard = Listen("echo $$; sh -c 'echo $$; :'; echo $$",
                            {.from = [&](std::int64_t process) { writers.push_back(process); }});
  EXPECT_TRUE(heard.end.names_processes);
  std::istringstream numbers(heard.bytes);
  for (std::int64_t number = 0; numbers >> number;) said.push_back(number);
  ASSERT_EQ(said.size(), 3);
  EXPECT_EQ(writers, said);
}

TEST(VerboseModeOn, DoesNotOverrideTheUsersVariables) {
  unsetenv("ONEDNN_VERBOSE");
  unsetenv("DNNL_VERBOSE");
  EXPECT_EQ(VerboseModeOn().variables, (Variables{{"DNNL_VERBOSE", "1"},
                                                  {"DNNL_VERBOSE_TIMESTAMP", "1"},
                                                  {"ONEDNN_VERBOSE", "profile_exec"},
                                                  {"ONEDNN_VERBOSE_TIMESTAMP", "1"}}));
  EXPECT_EQ(VerboseModeOn().remark, std::nullopt);
  setenv("DNNL_VERBOSE", "1", 1);
  EXPECT_EQ(VerboseModeOn().variables.count("ONEDNN_VERBOSE"), 0U);
  EXPECT_EQ(VerboseModeOn().remark,
            "DNNL_VERBOSE=1 is set already and stays; unset it and profile sets its own");
  unsetenv("DNNL_VERBOSE");
}

}  // namespace
}  // namespace dlroof::profile