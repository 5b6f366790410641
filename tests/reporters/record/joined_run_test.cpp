#include "reporters/record/joined_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/fakes/refusal.h"

namespace dlroof::record {
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
      fakes::RefusalOf([] {
        JoinedRun({{"a", FileOf("x", 1, "X")}, {"b", FileOf("y", 2, "X")}});
      }),
      "b: its ceilings are those of another machine (machine y, the files before have machine x)");
}

TEST(SideBySide, EachFilesRecordsHaveItsLabel) {
  auto a = FileOf("x", 2, "Conv2D/cpu/onednn/fwd/f32/n1"), b = a, c = FileOf("x", 2, "BM_x");
  for (auto* file : {&a, &b, &c}) SplitName(file->records.front());
  a.context["dlroof"]["program"] = "its own";
  const auto whole = SideBySide({{"1/run.json", a}, {"2/run.json", b}, {"my run.json", c}});
  ASSERT_EQ(whole.records.size(), 3u);
  EXPECT_EQ(whole.records[0].name, "Conv2D/cpu/onednn@run/fwd/f32/n1");
  EXPECT_EQ(whole.records[1].name, "Conv2D/cpu/onednn@run.2/fwd/f32/n1");
  EXPECT_EQ(whole.records[2].name, "BM_x@my-run");
  EXPECT_EQ(LabelOf(whole.records[1]), "run.2");
  EXPECT_EQ(LabelOf(whole.records[2]), "my-run");
  auto split = whole.records[1];
  SplitName(split);
  EXPECT_EQ(split.library, whole.records[1].library) << "a file that is read again has it too";
  EXPECT_EQ(whole.context["dlroof"],
            (nlohmann::json{{"files", {"1/run.json", "2/run.json", "my run.json"}}}));
}

}  // namespace
}  // namespace dlroof::record
