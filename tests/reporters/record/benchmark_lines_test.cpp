#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <sstream>

#include "counters/base/files.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/record/run_file.h"
#include "tests/fakes/refusal.h"
#include "tests/test_data.h"

namespace dlroof::record {
namespace {

using testing::HasSubstr;

struct Reading {
  std::map<std::string, double> nanoseconds;  // of each record with a time
  RunFile run;
  std::string warnings;
};

Reading ReadText(const std::string& text) {
  std::ostringstream warnings;
  Reading reading{.run = ParseRunFile(text, "gb.json", warnings)};
  reading.warnings = warnings.str();
  for (const auto& record : reading.run.records)
    if (const auto time = TimeOf(record.repetitions))
      reading.nanoseconds[record.name] = std::round(time->median * 1e13) / 1e4;
  return reading;
}

Reading FromFile(const std::string& name) {
  return ReadText(ReadFile(fakes::TestData("faults/" + name), "a file of Google Benchmark"));
}

const std::map<std::string, double> kBoth = {{"BM_A", 100}, {"BM_B", 200}};

TEST(BenchmarkLines, InvalidJsonOfGoogleBenchmarkLosesNoOtherEntry) {
  for (const char* name :
       {"winpath.json", "rms.json", "ctxcomma.json", "skipesc.json", "ctrl.json"})
    EXPECT_EQ(FromFile(name).nanoseconds, kBoth) << name;
  EXPECT_EQ(FromFile("skipesc.json").run.records.at(1).reason, "File not found c:\\hello.txt.");
  EXPECT_EQ(FromFile("ctrl.json").run.records.at(1).reason, "no device");
  EXPECT_EQ(Text(FromFile("winpath.json").run.context, "executable"),
            "C:\\Users\\me\\new\\bench.exe");
  EXPECT_EQ(Text(FromFile("ctxcomma.json").run.context, "foo"), "bar");
}

TEST(BenchmarkLines, RunsThatFollowEachOtherAreRead) {
  const auto text = ReadFile(fakes::TestData("faults/pre.json"), "a file of Google Benchmark");
  auto second = text;
  for (std::size_t at = 0; (at = second.find("BM_", at)) != second.npos; at += 3)
    second.replace(at, 3, "CM_");
  const auto reading = ReadText(text + second);
  EXPECT_EQ(reading.nanoseconds, (std::map<std::string, double>{
                                     {"BM_A", 100}, {"BM_B", 200}, {"CM_A", 100}, {"CM_B", 200}}));
  EXPECT_THAT(reading.warnings, HasSubstr("the context of the first one counts"));
}

TEST(BenchmarkLines, TextOfTheProgramIsLeftOutAndNamed) {
  for (const auto& [name, remark] : std::map<std::string, std::string>{
           {"pre.json", "2 lines that are not Google Benchmark's are left out, line 1 first"},
           {"warn.json", "7 lines"},
           {"midtext.json",
            "1 lines that are not Google Benchmark's are left out, line 24 first: "
            "'loading shape 2 ...'"}}) {
    const auto read = FromFile(name);
    EXPECT_EQ(read.nanoseconds, kBoth) << name;
    EXPECT_THAT(read.warnings, HasSubstr(remark));
  }
  auto text = ReadFile(fakes::TestData("faults/pre.json"), "a file of Google Benchmark");
  text.insert(text.find("\"real_time\""), "[warn] {x\n");
  text.insert(text.rfind("    {"), "done: [3/4] {\"a\"\nwait ...");
  EXPECT_EQ(ReadText(text + "}\n]} bye\n").nanoseconds, kBoth);
  auto line = ReadFile(fakes::TestData("faults/pre.json"), "a file of Google Benchmark");
  std::erase(line, '\n');
  EXPECT_EQ(ReadText(line + "bye {}").nanoseconds, kBoth);
}

// 20000 iterations of 1628.88 and 1626.46 ns, as the files have them.
TEST(BenchmarkLines, NumbersOfALocaleAreRead) {
  for (const auto& [name, time] :
       std::map<std::string, double>{{"de.json", 1628.8807}, {"en.json", 1626.462}}) {
    const auto read = FromFile(name);
    ASSERT_EQ(read.run.records.size(), 1U) << name;
    EXPECT_NEAR(read.nanoseconds.begin()->second, time, 1e-3) << name;
    EXPECT_EQ(read.run.records[0].repetitions[0].iterations, 20000);
    EXPECT_THAT(read.warnings, HasSubstr("are of CPU time, those here"));
    EXPECT_EQ(Member(read.run.context.at("caches").at(2), "size"), 1048576);
  }
}

TEST(BenchmarkLines, DlroofsOwnFilesAreRefused) {
  auto text = ReadFile(fakes::TestData("run_small.json"), "a run file");
  text.insert(text.find("\"num_cpus\""), "oops\n");
  EXPECT_THAT(fakes::RefusalOf([&] { ReadText(text); }), HasSubstr("gb.json: not JSON: "));
}

// Deletes, doubles, breaks or renames one line of an entry: no other entry changes.
TEST(BenchmarkLines, ABrokenLineCostsItsEntryOnly) {
  const auto text = ReadFile(fakes::TestData("faults/threads_195.json"), "Google Benchmark's file");
  const auto whole = ReadText(text);
  std::vector<std::string> lines;
  for (const auto line : logs::SplitText(text, '\n')) lines.emplace_back(line);
  std::size_t first = 0;  // line of the first entry
  while (lines[first].find("\"benchmarks\"") == std::string::npos) ++first;
  std::mt19937 random(55);
  for (int i = 0; i < 3000; ++i) {
    auto changed = lines;
    const auto at = first + 1 + random() % (lines.size() - first - 4);
    auto& line = changed[at];
    switch (random() % 5) {
      case 0:
        changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), std::string(line));
        break;
      case 2:
        line = line.substr(0, line.find(':') + 1) + " \\x,";
        break;
      case 3:
        line = line.substr(0, line.find(':') + 1) + " [true],";
        break;
      default:
        line.insert(std::min(line.find('"') + 1, line.size()), "x");
    }
    std::string joined;
    for (const auto& one : changed) joined += one + '\n';
    const auto read = ReadText(joined);
    std::size_t times = 0;
    for (const auto& record : read.run.records)
      for (const auto& repetition : record.repetitions) {
        ++times;
        const bool known = std::ranges::any_of(whole.run.records, [&](const Record& one) {
          return std::ranges::any_of(one.repetitions, [&](const Repetition& other) {
            const double factor = one.threads.value_or(1);
            return repetition.seconds == other.seconds ||
                   repetition.seconds == other.seconds * factor;  // its "threads" is broken
          });
        });
        EXPECT_TRUE(known) << joined;
      }
    ASSERT_GE(times, 15U) << read.warnings << joined;  // of 16
  }
}

}  // namespace
}  // namespace dlroof::record
