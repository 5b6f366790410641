#include "reporters/record/joined_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

RunFile FileOf(const std::string& fingerprint, int threads, const std::string& name) {
  RunFile file;
  file.machines.push_back(
      {.device = "cpu", .name = "machine " + fingerprint, .fingerprint = fingerprint});
  file.machines.front().by_threads[threads].flops["fp32.vector"] = {.per_second = 1e9};
  file.records.push_back({.name = name, .threads = threads});
  return file;
}

TEST(JoinedRun, HasTheRecordsAndCeilingsOfAll) {
  const auto whole = JoinedRun(
      {{"a", FileOf("x", 1, "X")}, {"b", FileOf("x", 2, "X")}, {"c", FileOf("x", 2, "X")}});
  ASSERT_EQ(whole.records.size(), 2u) << "one of two threads stands in two files";
  EXPECT_EQ(whole.records[1].threads, 2);
  ASSERT_EQ(whole.machines.size(), 1u);
  EXPECT_EQ(whole.machines[0].by_threads.size(), 2u);
}

TEST(JoinedRun, RefusesAnotherMachine) {
  EXPECT_EQ(
      RefusalOf([] {
        JoinedRun({{"a", FileOf("x", 1, "X")}, {"b", FileOf("y", 2, "X")}});
      }),
      "b: its ceilings are those of another machine (machine y, the files before have machine x)");
}

}  // namespace
}  // namespace dlroof
