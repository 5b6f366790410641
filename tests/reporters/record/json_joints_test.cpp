// Reading what is alike the short way gives what reading each by itself gives.
#include "reporters/record/json_joints.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <sstream>

#include "counters/base/error.h"
#include "reporters/record/json_cursor.h"
#include "reporters/record/large_run_file.h"
#include "reporters/roofline/placed_json.h"

namespace dlroof {
namespace {

constexpr const char* kValue =
    R"({"bound": "dram", "roofs": {"fp32.vector": 1.5e-3}, "none": {}, "list": [1, -2, [], [true]],)"
    R"( "point": {"x": 0.125, "y": null, "a\"b": "t\u00e9"}, "last": false})";

constexpr const char* kRecord =
    R"({"algorithm": "brgemm", "classic": [{"level": "dram", "roof": -0.5E+2}],)"
    R"( "device": "cpu", "name": "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4", "repetitions": [)"
    R"({"cpu_seconds": 2, "disturbed": true, "iterations": 4.0, "main_cpu_seconds": 1,)"
    R"( "run_delay_seconds": 0, "seconds": 1.5e-3}, {"disturbed": false, "seconds": 0.25},)"
    R"( {"disturbed": false, "seconds": 12345678.25}], "seconds": {"median": 1},)"
    R"( "status": "ok", "threads": 2, "work": {"modelled": {"bytes": {"dram": 56.0},)"
    R"( "flops": {"fp32.vector": 12}, "launches": 1, "parts": {"matrix": 1, "more": 2}}}})";

std::string Mutant(const std::string& whole, std::mt19937& random) {
  const std::string letters("{}[]\":,0123456789.eE+-\\untrflas \x80\xC3\n\0", 36);
  std::string mutant = whole;
  for (unsigned edits = 0; edits <= random() % 2; ++edits) {
    const auto at = random() % mutant.size();
    const auto kind = random() % 4;
    if (kind == 0) mutant[at] = letters[random() % letters.size()];
    if (kind == 1) mutant.erase(at, 1 + random() % 3);
    if (kind == 2) mutant.insert(at, 1, letters[random() % letters.size()]);
    if (kind == 3) mutant.insert(at, mutant.substr(random() % mutant.size(), random() % 30));
  }
  return mutant;
}

// What `skip` steps over in the last of the array's elements; absent: it is not JSON.
std::optional<std::string> LastSkipped(const std::string& text,
                                       const std::function<std::string_view(JsonCursor&)>& skip) {
  std::istringstream in(text);
  std::string last;
  try {
    JsonCursor at(in, 1 << 16);
    at.Array([&] { last.assign(skip(at)); });
    at.End();
  } catch (const Unusual&) {
    return std::nullopt;
  }
  return last;
}

TEST(JsonJoints, ValuesThatAreAlikeAreSteppedOverAsAnyOthers) {
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto text = fmt::format("[{0}, {0},\n{0}, {1}]", kValue, Mutant(kValue, random));
    JsonJoints joints;
    const auto quick = LastSkipped(text, [&](JsonCursor& at) { return at.Skip(joints); });
    const auto slow = LastSkipped(text, [](JsonCursor& at) { return at.Skip(); });
    ASSERT_EQ(quick, slow) << text;
    accepted += slow ? 1 : 0;
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_LT(accepted, 19000);
}

TEST(JsonJoints, DeepValuesAreSteppedOverAsFarAsOthers) {
  for (const int depth : {1, 59, 60, 61, 150, 198, 199, 200, 300}) {
    const std::string open(depth, '['), close(depth, ']');
    const auto text = fmt::format("[{}1{}]", open, close);
    JsonJoints joints;
    const auto quick = LastSkipped(text, [&](JsonCursor& at) { return at.Skip(joints); });
    EXPECT_EQ(quick, LastSkipped(text, [](JsonCursor& at) { return at.Skip(); })) << depth;
    EXPECT_EQ(quick.has_value(), depth < 200) << depth;
  }
}

std::optional<RunFile> Read(const std::string& records, Keep keep = Keep::kAll) {
  std::istringstream in(R"({"records": [)" + records + "]}");
  return ReadLargeRunFile(in, "run.json", keep);
}

TEST(ReadLargeRunFile, ReadsARecordBehindOthersLikeItAsItReadsItAlone) {
  std::mt19937 random(9);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto mutant = Mutant(kRecord, random);
    const auto text = fmt::format("{0}, {0},\n {0}, {1}", kRecord, mutant);
    for (const Keep keep : {Keep::kAll, Keep::kForComparison}) {
      const auto alone = Read(mutant, keep), behind = Read(text, keep);
      ASSERT_EQ(alone.has_value(), behind.has_value()) << mutant;
      if (!alone || alone->records.size() != 1) continue;
      ++accepted;
      ASSERT_EQ(behind->records.size(), 4U) << mutant;
      ASSERT_EQ(ToJson(*alone)["records"][0], ToJson(*behind)["records"][3]) << mutant;
    }
  }
  EXPECT_GT(accepted, 2000);
}

TEST(ReadLargeRunFile, KeysThatComeAndGoAreReadAlike) {
  // More kinds of keys, between records, within a skipped value and in `parts`, than are
  // remembered.
  std::string text;
  for (int i = 0; i < 600; ++i)
    text += fmt::format(R"({0}{{"k{1}": [{1}], "name": "n{1}", "more": {{"m{1}": {1}}}, "{2}": 1,)"
                        R"( "work": {{"modelled": {{"parts": {{"p{1}": {1}}}}}}}}})",
                        i == 0 ? "" : ", ", i, std::string(i % 100, 'x'));
  const auto fast = Read(text);
  ASSERT_TRUE(fast);
  ASSERT_EQ(fast->records.size(), 600U);
  for (int i = 0; i < 600; ++i) {
    const auto& record = fast->records[i];
    EXPECT_EQ(record.name, fmt::format("n{}", i));
    ASSERT_EQ(record.work.count(Provenance::kModelled), 1U) << i;
    EXPECT_EQ(record.work.at(Provenance::kModelled).parts,
              (std::map<std::string, double>{{fmt::format("p{}", i), i}}));
  }
}

TEST(ReadLargeRunFile, ARecordMayBeLargerThanWhatIsReadAtOnce) {
  std::string repetitions = R"({"seconds": 1})";
  for (int i = 2; i <= 60000; ++i) repetitions += fmt::format(R"(, {{"seconds": {}}})", i);
  const auto text = fmt::format(
      R"({{"name": "a"}}, {{"name": "b", "repetitions": [{}]}}, {{"name": "c"}})", repetitions);
  ASSERT_GT(text.size(), 1000000U);
  const auto run = Read(text);
  ASSERT_TRUE(run);
  ASSERT_EQ(run->records.size(), 3U);
  ASSERT_EQ(run->records[1].repetitions.size(), 60000U);
  EXPECT_EQ(run->records[1].repetitions.back().seconds, 60000);
  EXPECT_EQ(run->records[2].name, "c");
  // Cut off within: nothing, not half of it.
  std::istringstream cut((R"({"records": [)" + text).substr(0, text.size() - 100));
  EXPECT_FALSE(ReadLargeRunFile(cut, "run.json").has_value());
}

TEST(JsonCursor, AZeroByteIsNoEscape) {
  const std::string text("[\"a\\\0b\"]", 8);
  EXPECT_FALSE(LastSkipped(text, [](JsonCursor& at) { return at.Skip(); }));
}

}  // namespace
}  // namespace dlroof
