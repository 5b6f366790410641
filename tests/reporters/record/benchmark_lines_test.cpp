#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <sstream>

#include "counters/base/files.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"
#include "tests/test_data.h"

namespace dlroof::record {
namespace {

using testing::Each, testing::ElementsAre, testing::Field, testing::HasSubstr;

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

TEST(BenchmarkLines, TextOfTheProgramIsLeftOutAndNamedAndNumbersOfALocaleAreRead) {
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
  // 20000 iterations of 1628.88 and 1626.46 ns, as the files have them.
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

RunFile Stored(const std::string& name, std::string* warnings = nullptr) {
  std::ostringstream out;
  auto run = ReadRunFile(fakes::TestData(name), out);
  if (warnings != nullptr) *warnings = out.str();
  return run;
}

// The profile of a ResNet-50 on an H200: 240 launches took 503 us, and a launch costs 3.66 us.
TEST(CompleteOldKernels, AnOldProfileHasNoLaunchCost) {
  const auto run = roofline::PlaceRun(Stored("h200_profile_resnet50.json"));
  ASSERT_EQ(run.places.size(), 1U);
  EXPECT_EQ(run.file.records[0].timed, "kernels");
  const auto& placement = run.places[0].placement;
  ASSERT_TRUE(placement.time);
  EXPECT_FALSE(placement.time->overhead_seconds);
  EXPECT_EQ(placement.time->bound, roofline::Bound::kMemory);
  EXPECT_NEAR(run.places[0].timing->median, 503e-6, 0.5e-6);
  for (const auto& point : placement.classic) EXPECT_LT(*point.fraction, 1);
}

TEST(CompleteOldKernels, OtherRunsStayAsTheyAreAndANewFileIsWrittenAndReadWithItsMark) {
  auto run = Stored("h200_profile_resnet50.json");
  run.records[0].timed.reset();
  run.context["dlroof"]["command"] = "dlroof_bench --benchmark_out=x.json";
  EXPECT_FALSE(CompleteOldKernels(run));
  EXPECT_FALSE(run.records[0].timed);
  run.context["dlroof"]["imported"] = {{"file", "x.csv"}, {"format", "ncu"}};
  CompleteOldKernels(run);
  EXPECT_EQ(run.records[0].timed, "kernels");
  // A new file says what its times are, so nothing is removed from it.
  run = Stored("h200_profile_resnet50.json");
  const auto json = roofline::ToJson(run);
  EXPECT_EQ(json["records"][0]["timed"], "kernels");
  std::ostringstream none;
  const auto again = ParseRunFile(json.dump(), "x.json", none);
  EXPECT_EQ(again.records[0].timed, "kernels");
  EXPECT_EQ(none.str(), "");
}

// The file is compressed. 3 launches of Hold and 2 of WriteStamps, together 30.014464 ms.
TEST(LeaveOutClockKernels, RemovesThemWithASentence) {
  std::string warnings;
  const auto run = Stored("h200_profile_conv.json.gz", &warnings);
  EXPECT_THAT(run.records, ElementsAre(Field(&Record::name, HasSubstr("fprop_implicit_gemm"))));
  EXPECT_THAT(warnings,
              HasSubstr("left out: dlroof's own kernels, with which it times calls (Hold, "
                        "WriteStamps): 5 launches, 30.0 ms\n"));
}

TEST(IsClockKernel, IsOnlyAKernelOfDlroofsClockAndKnowsEveryKernelOfTheClock) {
  for (const char* own :
       {"dlroof::<unnamed>::Hold(const volatile int *, int *, unsigned long long)",
        "dlroof::cuda::(anonymous namespace)::ReadAll(uint4 const*, unsigned*)"})
    EXPECT_TRUE(IsClockKernel(own)) << own;
  for (const char* other : {"Hold(int)", "app::Hold(int)", "dlroof::cuda::<unnamed>::Copy(int)",
                            "void app::run<dlroof::Hold>(int)"})
    EXPECT_FALSE(IsClockKernel(other)) << other;
  // A kernel that is added to the clock must be left out too.
  std::ifstream file(fakes::TestData("../../counters/cuda/clock_kernels.cu"));
  const std::string source((std::istreambuf_iterator<char>(file)), {});
  const std::regex kernel(R"(__global__ void (\w+)\()");
  int found = 0;
  for (auto at = std::sregex_iterator(source.begin(), source.end(), kernel);
       at != std::sregex_iterator(); ++at, ++found)
    EXPECT_TRUE(IsClockKernel("dlroof::cuda::<unnamed>::" + (*at)[1].str() + "()")) << (*at)[1];
  EXPECT_GE(found, 3);
}

TEST(KernelNameOf, SplitsAtTheSlashBehindTheSet) {
  const auto parts = [](const std::string& name) {
    Record record{.name = name};
    const auto [set, kernel] = KernelNameOf(record);
    return std::string(set) + " | " + std::string(kernel);
  };
  EXPECT_EQ(parts("python3/void f<a/b>(int)"), "python3 | void f<a/b>(int)");
  EXPECT_EQ(parts("f<a/b>(int)"), " | f<a/b>(int)");
  EXPECT_EQ(parts("gemm"), " | gemm");
}

}  // namespace
}  // namespace dlroof::record
