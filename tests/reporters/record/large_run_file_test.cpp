#include "reporters/record/large_run_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "counters/base/error.h"
#include "reporters/record/json_cursor.h"
#include "reporters/roofline/placed_json.h"

namespace dlroof {
namespace {

std::optional<RunFile> Fast(const std::string& text, Keep keep = Keep::kAll) {
  std::istringstream in(text);
  return ReadLargeRunFile(in, "run.json", keep);
}

std::optional<RunFile> Slow(const std::string& text) {
  std::ostringstream warnings;
  try {
    return ParseRunFile(text, "run.json", warnings);
  } catch (const BadInput&) {
    return std::nullopt;
  }
}

std::string FileText(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

constexpr const char* kSmall = R"({"context": {"date": "x", "dlroof": {"schema": 1}},
 "benchmarks": [{"name": "x", "run_name": "x", "real_time": 1e0, "cpu_time": 1, "z": [null, true]}],
 "records": [{"name": "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4/cold", "status": "ok", "reason": "a\"\\\n\u00e9\ud83d\ude00",
  "threads": 2, "seed": 7, "cache": "cold", "evicted_bytes": 12.5, "heuristic_over_best": 1.25, "algorithm": "brgemm", "verified": "all", "repro": "--x",
  "repetitions": [{"seconds": 1.5e-3, "cpu_seconds": 2, "main_cpu_seconds": 1, "run_delay_seconds": 0, "core_share": 0.5, "iterations": 4, "disturbed": true, "gpu": {"graph_seconds": 1e-3, "throttle": 4, "more": [1]}}, {"seconds": 2}],
  "classic": [{"level": "dram", "roof": -0.5E+2}], "seconds": {"median": 1},
  "counting": ["by hand", "t\u00f6"], "work": {"modelled": {"flops": {"fp32.vector": 12}, "bytes": {"dram": 56}, "parts": {"matrix": 1}, "launches": 1, "more": {}}, "measured": {}},
  "prediction": {"seconds": 0.5, "bytes": {"l1": 8, "dram": 4}, "by": "a model", "more": [2]}},
  {"name": "b"}], "models": [{"a": 1}], "note": "n"})";

TEST(ReadLargeRunFile, ReadsWhatTheOtherWayReads) {
  const auto fast = Fast(kSmall), slow = Slow(kSmall);
  ASSERT_TRUE(fast && slow);
  EXPECT_EQ(ToJson(*fast), ToJson(*slow));
  EXPECT_EQ(fast->records[0].reason, "a\"\\\n\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(fast->records[0].problem, "t1n2i3h4");
  EXPECT_EQ(fast->records[0].repetitions[0].seconds, 1.5e-3);
  EXPECT_EQ(fast->records[0].heuristic_over_best, 1.25);
  ASSERT_TRUE(fast->records[0].prediction);
  EXPECT_EQ(fast->records[0].prediction->seconds, 0.5);
  EXPECT_EQ(fast->records[0].prediction->bytes.at(Level::kDram), 4);
  EXPECT_EQ(fast->records[0].prediction->by, "a model");
  EXPECT_TRUE(fast->records[0].repetitions[0].disturbed);
}

RunFile WithoutWhatNoComparisonNeeds(RunFile run) {
  for (auto& record : run.records) {
    record.verified.clear();
    record.repro.clear();
    for (auto& repetition : record.repetitions) {
      repetition.iterations = 0;
      repetition.cpu_seconds.reset();
      repetition.main_cpu_seconds.reset();
      repetition.run_delay_seconds.reset();
      repetition.core_share.reset();
    }
  }
  return run;
}

TEST(ReadLargeRunFile, KeepsForAComparisonWhatItNeeds) {
  const auto some = Fast(kSmall, Keep::kForComparison), all = Fast(kSmall);
  ASSERT_TRUE(some && all);
  EXPECT_EQ(ToJson(*some), ToJson(WithoutWhatNoComparisonNeeds(*all)));
  EXPECT_NE(ToJson(*some), ToJson(*all));
}

TEST(ReadLargeRunFile, ReadsManyRecordsOfGrowingSize) {
  std::string text = R"({"records": [{"name": "first"})";
  for (int i = 0; i < 3000; ++i)
    text += fmt::format(R"(, {{"name": "{}", "reason": "{}"}})", i, std::string(i % 1000, 'x'));
  const auto fast = Fast(text + "]}"), slow = Slow(text + "]}");
  ASSERT_TRUE(fast && slow);
  EXPECT_EQ(fast->records.size(), 3001U);
  EXPECT_EQ(ToJson(*fast), ToJson(*slow));
}

TEST(ReadLargeRunFile, ReadsTheStoredFilesAlike) {
  const auto folder = std::filesystem::path(DLROOF_TEST_DATA).parent_path().parent_path();
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "baselines")) {
    if (entry.path().extension() != ".json") continue;
    const auto text = FileText(entry.path());
    const auto fast = Fast(text), slow = Slow(text);
    EXPECT_EQ(fast.has_value(), slow.has_value()) << entry.path();
    if (fast && slow) {
      EXPECT_EQ(ToJson(*fast), ToJson(*slow)) << entry.path();
    }
    files += fast ? 1 : 0;
  }
  EXPECT_GE(files, 2);
}

TEST(ReadLargeRunFile, LeavesToTheOtherWayWhatItDoesNotKnow) {
  for (const char* text :
       {"", "[]", "{}", R"({"benchmarks": []})", R"({"records": [{}]})",
        R"({"context": {"dlroof": {"schema": 2}}, "records": []})",
        R"({"records": [{"name": "a", "repetitions": [{"seconds": -1}]}]})",
        R"({"records": [{"name": "a", "repetitions": [{"seconds": NaN}]}]})",
        R"({"records": [{"name": "a", "repetitions": [{"seconds": 01}]}]})",
        R"({"records": [{"name": "a"}]} x)", R"({"records": [{"name": "a"}])",
        R"({"records": [{"name": "a"},]})", R"({"records": [{"name": "a", "x": 1e999}]})",
        R"({"records": [{"name": "a", "x": "\ud800"}]})", "{\"records\": [{\"name\": \"\xFF\"}]}",
        R"({"records": [], "records": []})"})
    EXPECT_FALSE(Fast(text).has_value()) << text;
}

TEST(ReadLargeRunFile, NeverReadsAnythingElseThanTheOtherWay) {
  std::mt19937 random(5);
  const std::string whole = kSmall;
  const std::string letters = "{}[]\":,0123456789.eE+-\\untrflas \x80\xC3\n";
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string mutant = whole;
    for (unsigned edits = 0; edits <= random() % 2; ++edits) {
      const auto at = random() % mutant.size();
      const auto kind = random() % 3;
      if (kind == 0) mutant[at] = letters[random() % letters.size()];
      if (kind == 1) mutant.erase(at, 1 + random() % 3);
      if (kind == 2) mutant.insert(at, 1, letters[random() % letters.size()]);
    }
    const auto fast = Fast(mutant), some = Fast(mutant, Keep::kForComparison);
    ASSERT_EQ(fast.has_value(), some.has_value()) << mutant;
    if (!fast) continue;
    ++accepted;
    const auto slow = Slow(mutant);
    ASSERT_TRUE(slow.has_value()) << mutant;
    ASSERT_EQ(ToJson(*fast), ToJson(*slow)) << mutant;
  }
  EXPECT_GT(accepted, 1000);
}

TEST(JsonCursor, RefillsBetweenElementsAndRefusesLargerOnes) {
  std::string text = "[";
  for (int i = 0; i < 100; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", i);
  text += "]";
  const auto sum = [&](std::size_t window, const std::string& json) {
    std::istringstream in(json);
    JsonCursor at(in, window);
    double total = 0;
    at.Array([&] {
      at.Refill();
      total += at.Number();
    });
    at.End();
    return total;
  };
  EXPECT_EQ(sum(16, text), 4950);
  EXPECT_THROW(sum(16, "[1, 2, 0.12345678901234567890123456789]"), Unusual);
}

}  // namespace
}  // namespace dlroof
