#include <gmock/gmock.h>

#include <filesystem>

#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;
using testing::ElementsAre, testing::HasSubstr, testing::IsEmpty, testing::Pair;

JournalHeader Header() {
  JournalHeader header{.programs = {"old", "new"},
                       .builds = {"1", "2"},
                       .arguments = {"--benchmark_filter=\"x\n"},
                       .settings = {"random order"}};
  header.benchmarks = {{"a/n20", "a/n21"}};
  header.seed = 0xfedcba9876543210U;
  header.id = "0a";
  return header;
}

JournalEntry JournalEntryOfTwo() {
  JournalEntry entry{{"a/n20", "a/n21"}, 3, 1.5, {}};
  entry.outcomes.push_back({Reason{"signal 11"}, {}});
  entry.outcomes.push_back({std::nullopt, {{"records", nlohmann::json::array()}}});
  return entry;
}

std::string Refusal(const std::string& text) { return fakes::RefusalOf(ParseJournal, text, "j"); }

TEST(Journal, IsReadAsItWasWrittenAndAcceptsMessagesThatAreNotUtf8) {
  const auto text = JournalLine(Header()) +
                    JournalLine(nlohmann::json::array({{{"device", "cpu"}}})) +
                    JournalLine(JournalEntryOfTwo());
  const auto journal = ParseJournal(text, "j");
  EXPECT_EQ(journal.header, Header());
  EXPECT_EQ(journal.machines.at(0).at("device"), "cpu");
  EXPECT_THAT(journal.entries, ElementsAre(JournalEntryOfTwo()));
  EXPECT_EQ(journal.complete_bytes, text.size());
  auto entry = JournalEntryOfTwo();
  entry.outcomes[0].failure = Reason{"\xff said"};
  EXPECT_EQ(ParseJournal(JournalLine(Header()) + JournalLine(entry), "j").entries.size(), 1);
}

TEST(Journal, CutAnywhereHasItsCompleteLinesAndOtherFilesAreRefused) {
  const auto header = JournalLine(Header()), entry = JournalLine(JournalEntryOfTwo());
  const auto text = header + entry + entry;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto journal = ParseJournal(text.substr(0, cut), "j");
    const bool has_header = cut >= header.size();
    const std::size_t entries = has_header ? (cut - header.size()) / entry.size() : 0;
    EXPECT_EQ(journal.header.has_value(), has_header) << cut;
    EXPECT_EQ(journal.entries.size(), entries) << cut;
    EXPECT_EQ(journal.complete_bytes, has_header ? header.size() + entries * entry.size() : 0)
        << cut;
  }
  EXPECT_THAT(Refusal("hello\n"), HasSubstr("j:1: not a line"));
  EXPECT_THAT(Refusal("{}\n"), HasSubstr("j:1: not the journal"));
  auto broken = JournalEntryOfTwo();
  broken.outcomes.pop_back();
  EXPECT_THAT(Refusal(JournalLine(Header()) + JournalLine(broken)), HasSubstr("one of each"));
}

// The journal's name may be that of a file of somebody else, or of a link to one.
TEST(JournalFile, LeavesOtherFilesAsTheyAre) {
  const TemporaryFolder folder;
  const auto path = folder / "run.json.journal";
  for (const char* text :
       {"precious", "{\"a\": 1}", "{\"a\": 1}\n", "{", R"({"arguments":["a"]})"}) {
    WriteFile(path, text);
    EXPECT_THAT(fakes::RefusalOf([&] { JournalFile{path}; }),
                HasSubstr("run.json.journal: not the journal of a run"));
    EXPECT_EQ(ReadFileIfAny(path), text);
  }
  auto line = JournalLine(Header());
  WriteFile(path, R"({"arguments":[],)" + line.substr(1));  // of 2.0.0, where its keys were sorted
  EXPECT_TRUE(JournalFile(path).found().header);
  WriteFile(path, line.substr(0, 30));
  EXPECT_EQ(JournalFile(path).found().complete_bytes, 0U);
  EXPECT_EQ(ReadFileIfAny(path), "");
  std::filesystem::create_symlink(path, folder / "link");
  EXPECT_THAT(fakes::RefusalOf([&] { JournalFile{folder / "link"}; }),
              HasSubstr("link: cannot be written: "));
  const JournalFile first(path);
  EXPECT_THAT(fakes::RefusalOf([&] { JournalFile{path}; }), HasSubstr("is writing it"));
}

// Returns the result of a process whose repetitions took these times. [s]
Outcome Result(const std::string& problem, const std::vector<double>& seconds) {
  record::Record record = fakes::Measured(problem, 1);
  record.repetitions.clear();
  json entries = json::array();
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    record.repetitions.push_back({.seconds = seconds[i], .iterations = 1});
    entries.push_back(
        {{"name", fakes::Name(problem)}, {"run_type", "iteration"}, {"repetition_index", i}});
  }
  entries.push_back({{"name", fakes::Name(problem) + "_mean"}, {"run_type", "aggregate"}});
  record::RunFile run;
  run.context = {{"date", "today"}, {"dlroof", {{"schema", 1}, {"command", "its own"}}}};
  run.records = {record};
  json whole = roofline::ToJson(run);
  whole["benchmarks"] = entries;
  return {std::nullopt, whole};
}

Part PartOf(const std::string& problem, const std::vector<double>& seconds,
            std::optional<int> block = std::nullopt) {
  return PartFrom(fakes::Name(problem) + "/real_time", Result(problem, seconds), block);
}

// The order of benchmarks and the machines are seen by tests/cli/test_run.py.
TEST(Merge, KeepsFailedRecordsAndBlocksThatFollowEachOther) {
  EXPECT_THAT(PartFrom(fakes::Name("n1"), Result("n2", {1}), std::nullopt).failure.value().text,
              HasSubstr("left no result"));
  EXPECT_THAT(
      PartFrom(fakes::Name("n1"), {std::nullopt, {{"records", 5}}}, std::nullopt).failure->text,
      HasSubstr("records"));
  const auto failed = PartFrom(fakes::Name("n1"), {Reason{"hangs"}, {}}, 1);
  const record::Record record = RecordOf(fakes::Name("n1"), {PartOf("n1", {9, 9, 1}, 0), failed});
  EXPECT_EQ(record.status, record::Status::kFailed);
  EXPECT_EQ(record.reason, "hangs");
  const std::vector<Part> parts = {PartOf("n1", {9, 9, 1, 2, 1}, 0), PartOf("n1", {8, 8, 1, 1}, 4)};
  std::vector<std::pair<double, int>> joined;
  for (const auto& repetition : RecordOf(fakes::Name("n1"), parts).repetitions)
    joined.emplace_back(repetition.seconds, repetition.block.value());
  EXPECT_THAT(joined, ElementsAre(Pair(1, 0), Pair(2, 0), Pair(1, 0), Pair(1, 4), Pair(1, 4)));
  const auto blocks = ToJson(MergedRun({{fakes::Name("n1"), parts}}, {}, json::object()));
  ASSERT_EQ(blocks["benchmarks"].size(), 5);
  EXPECT_EQ(blocks["benchmarks"][4]["repetitions"], 5);
}

void EachValue(json& value, const std::function<void(json&)>& visit) {
  visit(value);
  if (value.is_structured())
    for (auto& member : value) EachValue(member, visit);
}

TEST(Merge, ValuesOfAnotherTypeInAJournalAreRefusedOrLeftOut) {
  auto header = Header();
  header.programs = {"new"};
  const std::string listed = fakes::Name("n1") + "/real_time";
  const JournalEntry entry{{std::nullopt, listed}, 0, 1.5, {Result("n1", {1, 1, 1})}};
  auto machines = json::parse(JournalLine(json::array({machine::ToJson(fakes::SmallMachine())}))),
       block = json::parse(JournalLine(entry));
  const auto read = [&](std::optional<int> process) {
    const auto journal =
        ParseJournal(JournalLine(header) + machines.dump() + "\n" + block.dump() + "\n", "j");
    std::vector<Supervised> done;
    for (const auto& one : journal.entries)
      done.push_back({one.benchmark.contender,
                      {PartFrom(one.benchmark.contender, one.outcomes.at(0), process)}});
    ToJson(MergedRun(done, journal.machines, json::object()));
  };
  for (json* line : {&machines, &block})
    EachValue(*line, [&](json& value) {
      const json before = value;
      for (const char* other : {"5", "\"x\"", "[5]", "{\"a\": 5}", "null", "true"}) {
        value = json::parse(other);
        for (const auto process : {std::optional<int>(), std::optional<int>(0)}) try {
            read(process);
          } catch (const BadInput&) {
          } catch (const std::exception& error) {
            ADD_FAILURE() << error.what() << ": " << line->dump();
          }
      }
      value = before;
    });
}

TEST(Schedule, BothSidesGoFirstAboutAsOftenAndTheTimeLeftIsTheMean) {
  int base = 0;
  for (std::uint64_t block = 0; block < 200; ++block)
    for (const bool first : DrawBaseFirst(5, 1, block)) base += first ? 1 : 0;
  // 1000 draws: three deviations are 47.
  EXPECT_GT(base, 450);
  EXPECT_LT(base, 550);
  EXPECT_EQ(DrawBaseFirst(64, 1, 2), DrawBaseFirst(64, 1, 2));
  EXPECT_NE(DrawBaseFirst(64, 1, 2), DrawBaseFirst(64, 1, 3));
  EXPECT_NE(DrawBaseFirst(64, 1, 2), DrawBaseFirst(64, 2, 2));
  EXPECT_EQ(LeftText({1, 3}, 5), "10 s");
  EXPECT_EQ(LeftText({1, 3}, 5, 4), "4 s") << "the budget ends earlier";
}

TEST(ParseBisectAll, TakesTheFirstWordOfEachLine) {
  EXPECT_THAT(ParseBisectAll("c3 (dist=2)\nc2 (tag: v1, dist=1)\n\nc5 (HEAD -> main, dist=0)\n"),
              ElementsAre("c3", "c2", "c5"));
  EXPECT_THAT(ParseBisectAll(""), IsEmpty());
}

// Candidates in a line of commits c0 (good), c1, ...
std::vector<std::string> CandidatesOfLine(const std::string& bad,
                                          const std::vector<std::string>& goods) {
  int from = 0;
  for (const auto& good : goods) from = std::max(from, std::stoi(good.substr(1)));
  const int to = std::stoi(bad.substr(1));
  std::vector<std::pair<int, std::string>> by_distance;
  for (int i = from + 1; i <= to; ++i)
    by_distance.emplace_back(std::abs(2 * i - from - to), "c" + std::to_string(i));
  std::sort(by_distance.begin(), by_distance.end());
  return VectorOf<std::string>(by_distance, [](const auto& row) { return row.second; });
}

TEST(FindSuspects, FindsEachCommitInLogarithmicSteps) {
  for (int slow = 1; slow <= 20; ++slow) {
    int steps = 0;
    const auto suspects =
        FindSuspects("c0", "c20", CandidatesOfLine, [&](const std::string& commit, std::size_t) {
          ++steps;
          return std::stoi(commit.substr(1)) >= slow ? Finding::kLikeBad : Finding::kLikeGood;
        });
    EXPECT_THAT(suspects, ElementsAre("c" + std::to_string(slow)));
    EXPECT_LE(steps, 5);
  }
  EXPECT_THAT(FindSuspects("c0", "c1", CandidatesOfLine,
                           [](const std::string& commit, std::size_t) {
                             ADD_FAILURE() << commit << ": none is between";
                             return Finding::kSkipped;
                           }),
              ElementsAre("c1"));
}

TEST(SupervisedProgram, AFilterKeepsTheOneNameAndTheCommandReplacesFilterAndCeilings) {
  EXPECT_EQ(ExactFilter("LSTM/cpu/t1n2_p0:1x0:1/real_time"), "^LSTM/cpu/t1n2_p0:1x0:1/real_time$");
  EXPECT_EQ(ExactFilter("BM<int, 2>(a+b).*[x]"), "^BM<int, 2>\\(a\\+b\\)\\.\\*\\[x\\]$");
  EXPECT_EQ(FlagValue({"--a=1", "--b=2", "--a=3"}, "a"), "3");
  EXPECT_EQ(FlagValue({"--ab=1"}, "a"), std::nullopt);
  EXPECT_THROW(CheckArguments({"--dlroof_turns=3,4"}), BadInput);
  EXPECT_NO_THROW(CheckArguments({"--benchmark_filter=x", "--benchmark_repetitions=3"}));
  const ProcessPaths paths = {"run.json", "out", "err"};
  EXPECT_THAT(
      CommandFor("bench", {"--benchmark_filter=x", "--dlroof_seed=3"}, "n1", "m.json", paths),
      ElementsAre("bench", "--dlroof_seed=3", "--benchmark_filter=^n1$", "--benchmark_out=run.json",
                  "--dlroof_live_check=false", "--dlroof_machine=m.json"));
  // A program without dlroof gets Google Benchmark's flags.
  EXPECT_THAT(CommandFor("bench", {"--benchmark_filter=x"}, "BM_A/8", "m.json", paths, true),
              ElementsAre("bench", "--benchmark_filter=^BM_A/8$", "--benchmark_out=run.json",
                          "--benchmark_repetitions=9"));
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/real_time"}, {}, 8), ElementsAre(1, 8));
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/threads4/cold/manual_time", "LSTM/n1"}, {}, 8),
              ElementsAre(1, 4, 8));
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/threads4/real_time"}, {"--dlroof_threads=2"}, 8),
              ElementsAre(1, 2, 4));
  // Refused by its name, not measured.
  EXPECT_THAT(ThreadsOf({"Conv2D/n1/threads16/real_time"}, {}, 8), ElementsAre(1, 8));
}

}  // namespace
}  // namespace dlroof::supervise
