#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include "baselines/history/builds.h"
#include "baselines/history/history.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::history {
namespace {

using fakes::Measured, fakes::Name, fakes::RefusalOf, fakes::RunOf;
using statistics::Verdict;
using testing::ElementsAre, testing::HasSubstr, testing::IsEmpty, testing::Not, testing::SizeIs;
namespace fs = std::filesystem;

LevelChange ChangeAt(std::size_t series, std::size_t run, double ratio, double errors = 10) {
  LevelChange change{.series = series, .run = run, .earliest = run, .latest = run, .lasts = true};
  change.log_ratio = std::log(ratio);
  change.error = std::abs(change.log_ratio) / errors;
  return change;
}

TEST(FindEvents, SeriesThatChangedInOneRunAreOneEventSlowerAndFasterApart) {
  const auto events = FindEvents({ChangeAt(3, 7, 1.1), ChangeAt(5, 7, 1.3), ChangeAt(8, 7, 1.2)});
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].run, 7);
  EXPECT_THAT(events[0].series, ElementsAre(5, 8, 3));  // the largest change first
  EXPECT_NEAR(events[0].ratio, 1.2, 1e-12);
  EXPECT_NEAR(events[0].low, 1.1, 1e-12);
  EXPECT_NEAR(events[0].high, 1.3, 1e-12);
  EXPECT_EQ(events[0].sureness, Sureness::kSure);
  auto repaired = ChangeAt(0, 4, 1.1);
  repaired.lasts = false;
  EXPECT_THAT(FindEvents({repaired}), IsEmpty());
  const auto apart = FindEvents({ChangeAt(0, 4, 1.1), ChangeAt(1, 9, 1.1), ChangeAt(2, 9, 0.8)});
  ASSERT_THAT(apart, SizeIs(3));
  EXPECT_EQ(apart[0].run, 9);
  EXPECT_EQ(apart[1].run, 9);
  EXPECT_NE(apart[0].ratio > 1, apart[1].ratio > 1);
  EXPECT_EQ(apart[2].run, 4);
  auto vague = ChangeAt(9, 6, 1.05);
  vague.earliest = 5;
  vague.latest = 8;
  const auto joined = FindEvents({ChangeAt(0, 7, 1.1), ChangeAt(1, 7, 1.1), vague});
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined[0].run, 7);
  EXPECT_EQ(joined[0].earliest, 7);
  EXPECT_EQ(joined[0].latest, 7);
}

TEST(FindEvents, WhatNearlyAllDidTogetherMayBeTheMachineAndOneIsAsSureAsItsErrors) {
  std::vector<LevelChange> changes;
  for (std::size_t series = 0; series < 20; ++series) changes.push_back(ChangeAt(series, 1, 1.05));
  EXPECT_EQ(FindEvents(changes, {24, 24})[0].sureness, Sureness::kProgramOrMachine);
  EXPECT_EQ(FindEvents(changes, {24, 40})[0].sureness, Sureness::kSure) << "half of them";
  for (auto& change : changes) change.log_ratio = 0.2;
  EXPECT_EQ(FindEvents(changes, {24, 24})[0].sureness, Sureness::kSure) << "no machine does";
  EXPECT_EQ(FindEvents({ChangeAt(0, 4, 1.1, 3)})[0].sureness, Sureness::kMayBeChance);
  EXPECT_EQ(FindEvents({ChangeAt(0, 4, 1.1, 4.5)})[0].sureness, Sureness::kSure);
  // Two weak ones in one run may be chance, three are not.
  EXPECT_EQ(FindEvents({ChangeAt(0, 4, 1.1, 3), ChangeAt(1, 4, 1.1, 3)})[0].sureness,
            Sureness::kMayBeChance);
  EXPECT_EQ(FindEvents({ChangeAt(0, 4, 1.1, 3), ChangeAt(1, 4, 1.1, 3), ChangeAt(2, 4, 1.1, 3)})[0]
                .sureness,
            Sureness::kSure);
}

// A series of 40 runs whose level is multiplied at some runs.
std::vector<LevelChange> ChangesWith(const std::vector<std::pair<std::size_t, double>>& steps,
                                     double noise, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, noise);
  std::vector<double> values;
  for (std::size_t run = 0; run < 40; ++run) {
    double level = 1;
    for (const auto& [at, ratio] : steps) level *= run >= at ? ratio : 1;
    values.push_back(level * std::exp(normal(engine)));
  }
  std::vector<std::size_t> runs(values.size());
  std::iota(runs.begin(), runs.end(), 0);
  return ChangesOf(2, ProfileOf(values), runs);
}

TEST(ChangesOf, ALastingStepLastsWithinItsRangeAndOneThatWasTakenBackDoesNot) {
  const auto changes = ChangesWith({{25, 1.2}}, 0.01, 1);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].series, 2);
  EXPECT_TRUE(changes[0].lasts);
  EXPECT_EQ(changes[0].run, 25);
  EXPECT_LE(changes[0].earliest, 25);
  EXPECT_GE(changes[0].latest, 25);
  EXPECT_NEAR(changes[0].log_ratio, std::log(1.2), 4 * changes[0].error);
  int found = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    for (const auto& change : ChangesWith({{27, 1.35}}, 0.02, seed)) {
      ++found;
      EXPECT_EQ(change.run, 27);
    }
  EXPECT_EQ(found, 200);
  const auto again = ChangesWith({{12, 1.2}, {28, 1 / 1.2}}, 0.005, 1);
  ASSERT_THAT(again, SizeIs(2));
  EXPECT_FALSE(again[0].lasts);
  EXPECT_FALSE(again[1].lasts);  // a repair is no gain
  int all = 0, within = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    for (const auto& change : ChangesWith({{20, 1.06}}, 0.025, seed)) {
      ++all;
      within += change.earliest <= 20 && 20 <= change.latest ? 1 : 0;
    }
  EXPECT_GT(all, 150);
  EXPECT_GT(within, 0.9 * all);
}

TEST(PatternOf, KeepsWhatTheNamesShare) {
  EXPECT_EQ(PatternOf({"a/b/1"}), "a/b/1");
  EXPECT_EQ(PatternOf({"a/b/1", "a/c/1"}), "a/{b,c}/1");
  EXPECT_EQ(PatternOf({"a/1", "a/2", "a/3", "a/4"}), "a/*");
  EXPECT_EQ(PatternOf({"a/1", "a/1/2"}), "*");
  EXPECT_EQ(PatternOf({}), "");
}

// A result with rows of these verdicts and ratios.
struct Result {
  std::deque<record::Record> records;
  compare::CompareResult result;

  void Add(const std::string& name, Verdict verdict, double ratio, double high) {
    const auto& record = records.emplace_back(record::Record{.name = name});
    compare::Comparison row{.base = &record, .contender = &record, .verdict = verdict};
    if (verdict != Verdict::kInsufficient)
      row.judgement = statistics::Judgement{
          .verdict = verdict, .ratio = ratio, .ci95 = {ratio - (high - ratio), high}};
    row.before.seconds = 1e-3;
    row.after.seconds = ratio * 1e-3;
    result.rows.push_back(row);
    result.judged.min_effect = 0.05;
    CountVerdicts(result);
  }
};

TEST(UnclearNames, AreThoseThatMayBeSlowerTheMostSuspiciousFirst) {
  Result result;
  result.Add("same", Verdict::kSame, 1.0, 1.01);
  result.Add("maybe", Verdict::kAmbiguous, 1.04, 1.08);
  result.Add("rather faster", Verdict::kAmbiguous, 0.96, 1.02);
  result.Add("noisy", Verdict::kInsufficient, 1, 1);
  result.Add("slower", Verdict::kSlower, 1.1, 1.12);
  result.Add("more", Verdict::kAmbiguous, 1.2, 1.5);
  result.Add("faster", Verdict::kFaster, 0.6, 0.7);
  EXPECT_THAT(UnclearNames(result.result, {"slower", "more"}),
              ElementsAre("maybe", "faster", "noisy"));
}

TEST(ReplaceRows, TakesTheLaterVerdictAndCountsAnew) {
  Result result, later;
  result.Add("a", Verdict::kSlower, 1.1, 1.12);
  result.Add("b", Verdict::kAmbiguous, 1.1, 1.2);
  EXPECT_EQ(result.result.exit_code, 1);
  later.Add("a", Verdict::kSame, 1.0, 1.01);
  later.result.interleaved = true;
  EXPECT_THAT(ReplaceRows(later.result, result.result), ElementsAre("a"));
  EXPECT_EQ(result.result.rows[0].verdict, Verdict::kSame);
  EXPECT_EQ(result.result.rows[1].verdict, Verdict::kAmbiguous);
  EXPECT_EQ(result.result.exit_code, 3) << "half of them are ambiguous";
  EXPECT_TRUE(result.result.interleaved) << "the remarks advise nothing that was done";
  EXPECT_EQ(result.result.judged.run_noise_from, "; none of what was measured again, interleaved");
}

// One benchmark whose level rose some runs ago: beside the newest stored program it is the same.
TEST(ReplaceRows, ExplainTheShiftOfFewBenchmarksIfNoOtherCanBeSlower) {
  for (const auto other : {Verdict::kSame, Verdict::kAmbiguous}) {
    Result result, later;
    result.Add("a", Verdict::kSlower, 1.05, 1.06);
    result.Add("b", other, 1.04, 1.06);
    result.Add("c", Verdict::kSame, 1.0, 1.01);
    result.result.judged.common = statistics::CommonShift{};
    result.result.judged.common->is_unexplained = true;
    later.Add("a", Verdict::kSame, 1.0, 1.01);
    later.result.interleaved = true;
    ReplaceRows(later.result, result.result);
    EXPECT_EQ(result.result.exit_code, other == Verdict::kSame ? 0 : 3);
  }
}

int LinesIn(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST(CommentOf, HasAtMostTenLinesTheWorstFirstAndNoCommandWithoutCommits) {
  Result result;
  for (int i = 0; i < 40; ++i)
    result.Add(fmt::format("n\n{}", i), Verdict::kSlower, 1.1 + 0.01 * i, 1.2 + 0.01 * i);
  const Report report{.result = &result.result,
                      .commit = "0123456789abcdef",
                      .branch = "main",
                      .commits = std::vector<std::string>(7, "fedcba9876543210"),
                      .again = 3,
                      .interleaved_with = "fedcba9876543210",
                      .unclear = {"a", "b"}};
  const auto comment = CommentOf(report);
  EXPECT_EQ(LinesIn(comment), kMaxCommentLines);
  EXPECT_THAT(comment, HasSubstr("### dlroof: 40 slower (2 could still be slower)"));
  EXPECT_LT(comment.find("n 39"), comment.find("n 38"));
  fakes::ExpectHas(comment, {"and 36 more", "- could still be slower: a and 1 more",
                             "3 measured again, interleaved with the program of fedcba987654",
                             "dlroof bisect fedcba987654 0123456789ab -- "});
  Result other;
  other.Add("a", Verdict::kSlower, 1.1, 1.12);
  EXPECT_THAT(CommentOf({.result = &other.result, .branch = "main", .commits = {""}}),
              Not(HasSubstr("bisect")));
  EXPECT_THAT(CommentOf({.result = &other.result,
                         .commit = "new",
                         .branch = "main",
                         .commits = {"old"},
                         .adjacent = [](const auto&, const auto&) { return true; }}),
              HasSubstr("; which commit: `new`, the only one after `old`\n"));
  std::string name = "x";
  for (int i = 0; i < 200; ++i) name += "é";
  Result named;
  named.Add(name, Verdict::kSlower, 1.1, 1.12);
  EXPECT_TRUE(text::IsUtf8(CommentOf({.result = &named.result, .commits = {""}})))
      << "cut between its characters";
}

TEST(CommentOf, NamesTheCommitSinceWhichALevelIsSlower) {
  Result result;
  result.Add("a", Verdict::kSlower, 1.1, 1.12);
  result.result.rows[0].judgement->runs_since = 2;
  const auto comment = CommentOf({.result = &result.result,
                                  .commit = "innocent",
                                  .branch = "main",
                                  .commits = {"fast", "0123456789abcdef"},
                                  .program = "out/b"});
  fakes::ExpectHas(comment, {" ms, slower since 0123456789ab\n",
                             "`dlroof bisect fast 0123456789ab --build 'BUILD COMMAND' "
                             "--program out/b -- a`"});
}

TEST(CommentOf, SaysWhyNothingCanBeToldAndWhatHelps) {
  Result result;
  result.Add("a", Verdict::kInsufficient, 1, 1);
  result.Add("b", Verdict::kAmbiguous, 1.1, 1.2);
  result.Add("c", Verdict::kInsufficient, 1, 1);
  result.result.rows[0].reason = "clean repetitions: 0 of 9";
  result.result.rows[1].reason = "too uncertain";
  result.result.rows[2].reason = "clean repetitions: 1 of 9";
  EXPECT_THAT(CommentOf({.result = &result.result,
                         .branch = "main",
                         .commits = {""},
                         .unclear = {"b", "a", "c"}}),
              HasSubstr("- could still be slower: b and 2 more: clean repetitions: 0 of 9; a "
                        "machine without other programs can tell, or a larger --budget, up to 40 "
                        "blocks each\n"));
}

TEST(BisectCommand, QuotesForeignTextAndHasNoCommitThatIsAnOption) {
  EXPECT_EQ(BisectCommand("$(x)", "a;b", "n'", ""), R"(dlroof bisect '$(x)' 'a;b' -- 'n'\''')");
  EXPECT_EQ(BisectCommand("--build=x", "b", "n", ""), "");
}

// https://github.com/actions/toolkit: "%", line breaks, and in properties ":" and "," are escaped.
TEST(AnnotationsOf, EscapesWhatGithubReads) {
  Result result;
  result.Add("a,b::c\nd", Verdict::kSlower, 1.1, 1.12);
  const auto lines = AnnotationsOf({.result = &result.result, .branch = "main", .commits = {""}});
  EXPECT_THAT(lines, HasSubstr("::error title=dlroof%3A a%2Cb%3A%3Ac%0Ad::a,b::c%0Ad: +10.0 %25"));
  EXPECT_EQ(LinesIn(lines), 1);
}

TEST(OwnLibraries, AreThoseOutsideOfTheSystemsFolders) {
  EXPECT_THAT(OwnLibraries("\tlinux-vdso.so.1 (0x00007ffc)\n"
                           "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f01)\n"
                           "\tlibdnnl.so.3 => /opt/a b/libdnnl.so.3 (0x00007f02)\n"
                           "\tlibgone.so => not found\n"
                           "\t/lib64/ld-linux-x86-64.so.2 (0x00007f03)\n"),
              ElementsAre("/opt/a b/libdnnl.so.3"));
  EXPECT_THAT(OwnLibraries("\tnot a dynamic executable\n"), IsEmpty());
}

TEST(ParseSize, TakesDecimalUnits) {
  EXPECT_EQ(ParseSize("--limit", "0"), 0);
  EXPECT_EQ(ParseSize("--limit", "1500"), 1500);
  EXPECT_EQ(ParseSize("--limit", "2k"), 2000);
  EXPECT_EQ(ParseSize("--limit", "0.5M"), 500'000);
  EXPECT_EQ(ParseSize("--limit", "2G"), 2'000'000'000);
  for (const char* bad : {"", "G", "2g", "-1", "2 G", "1e30", "nan"})
    EXPECT_THROW(ParseSize("--limit", bad), BadInput) << bad;
}

// Writes a file of this size [byte] that stands for a program (without libraries, as a script).
std::string WriteProgram(const TemporaryFolder& folder, const std::string& name, char fill,
                         std::size_t bytes) {
  const auto path = folder / name;
  WriteFile(path, std::string(bytes, fill));
  return path;
}

TEST(Builds, FindsWhatItKeepsAlsoByAnAbbreviation) {
  const TemporaryFolder folder;
  const Builds builds(folder / "builds");
  EXPECT_FALSE(builds.Find("0123456789ab"));
  const auto kept = builds.Keep("0123456789ab", WriteProgram(folder, "p", 'a', 100), 1000);
  EXPECT_EQ(kept.added_bytes, 100);
  EXPECT_EQ(kept.all_bytes, 100);
  EXPECT_THAT(kept.program.files, ElementsAre("p"));
  EXPECT_TRUE(fs::exists(kept.program.run));
  for (const char* name : {"0123456789ab", "0123456", "0123456789abcdef"}) {
    const auto found = builds.Find(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->commit, "0123456789ab");
  }
  for (const char* name : {"012345", "1123456", "", "objects", "../x"})
    EXPECT_FALSE(builds.Find(name)) << name;
  builds.Keep("0123456", WriteProgram(folder, "p", 'a', 100), 1000);
  EXPECT_EQ(builds.Find("0123456789ab")->commit, "0123456789ab") << "not the first that is similar";
}

TEST(Builds, FollowsNoLinkUnderTheNameOfAnObject) {
  const TemporaryFolder folder;
  const Builds builds(folder / "builds");
  const auto program = WriteProgram(folder, "p", 'a', 100);
  builds.Keep("one", program, 1000);
  const auto object = fs::directory_iterator(folder / "builds/objects")->path();
  fs::remove_all(folder / "builds/one");
  fs::remove(object);
  WriteFile(folder / "victim", "precious");
  fs::create_symlink(folder / "victim", object.string() + ".new");
  builds.Keep("one", program, 1000);
  EXPECT_EQ(ReadFileIfAny(folder / "victim"), "precious");
}

TEST(Builds, ReplacesAProgramAndRefusesANameThatIsNoFolder) {
  const TemporaryFolder folder;
  const Builds builds(folder / "builds");
  builds.Keep("one", WriteProgram(folder, "p", 'a', 100), 1000);
  fs::create_directories(folder / "builds/.two");
  fs::create_hard_link(folder / "builds/one/p", folder / "builds/.two/p");
  const auto replaced = builds.Keep("one", WriteProgram(folder, "q", 'b', 50), 1000);
  EXPECT_THAT(replaced.program.files, ElementsAre("q"));
  EXPECT_EQ(replaced.all_bytes, 50);
  EXPECT_FALSE(fs::exists(folder / "builds/.two"));
  for (const char* name : {"", "a/b", ".", "..", "objects"})
    EXPECT_THROW(builds.Keep(name, folder / "p", 1000), BadInput) << name;
}

TEST(StoredRuns, ANameMapIsOfTheRunsThatHaveTheOldName) {
  const TemporaryFolder folder;
  const auto store = [&](const std::string& name, compare::NamedRun run) {
    run.file.context["date"] = "2026-01-01T10:00:00+00:00";
    std::ofstream(folder / name) << roofline::ToJson(run.file).dump();
  };
  store("a.json", RunOf("a", {Measured("n1", 2)}));
  store("b.json", RunOf("b", {Measured("n0", 2)}));
  const auto contender = RunOf("new.json", {Measured("n0", 2), Measured("m1", 2)});
  std::ostringstream warnings;
  EXPECT_EQ(FindBaselines(folder / "", contender, {{Name("n1"), Name("m1")}}, warnings).size(), 2);
  EXPECT_EQ(warnings.str(), "");
  EXPECT_THAT(
      RefusalOf([&] {
        FindBaselines(folder / "", contender, {{Name("n7"), Name("m1")}}, warnings);
      }),
      HasSubstr("no stored run of this machine has the benchmark 'Conv2D/cpu/onednn/fwd/f32/n7'"));
}

TEST(RunsOfBranch, NamedRunsComeBeforeCommitsInGit) {
  const StoredRun named{.id = 1, .commit = "a", .branch = "main"};
  const StoredRun other{.id = 2, .commit = "b", .branch = "topic"};
  const StoredRun nameless{.id = 3, .commit = "c"};
  const auto ids = [](const std::vector<StoredRun>& runs) {
    return VectorOf<std::int64_t>(runs, &StoredRun::id);
  };
  EXPECT_THAT(ids(RunsOfBranch({named, other, nameless}, "main", {"b", "c"})), ElementsAre(1));
  EXPECT_THAT(ids(RunsOfBranch({other, nameless}, "main", {"b", "c"})), ElementsAre(3));
  EXPECT_THAT(ids(RunsOfBranch({other, nameless}, "main", {})), IsEmpty());
}

}  // namespace
}  // namespace dlroof::history
