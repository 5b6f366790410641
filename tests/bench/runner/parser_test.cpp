#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "bench/runner/command.h"
#include "tests/fakes/refusal.h"

namespace dlroof::runner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A program with a command that takes options of each kind, and a command below a command.
struct Example {
  Command Program() {
    return {
        .name = "program",
        .about = "a program",
        .commands = {
            {.name = "measure", .about = "measures", .options = Options(), .run = [] { return 7; }},
            {.name = "cluster",
             .about = "many nodes",
             .commands = {{.name = "report",
                           .about = "a report",
                           .options = {{"FILE", &file, "a file", {.required = true}}},
                           .run = [] { return 8; }}}}}};
  }

  std::vector<Option> Options() {
    return {{"FILES", &files, "files", {.required = true}},
            {"ARGUMENTS", &arguments, "after --", {.type = kFlag}},
            {"-q,--quick", &quick, "look briefly", {.excludes = {"--threads"}}},
            {"--threads", &threads, "number of threads", {.limits = Range{1, 8}}},
            {"--clock", &clock, "clock", {.limits = Range{0.5, 2}}},
            {"--check", &check, "check first"},
            {"--levels", &levels, "levels", {.one_each = true, .comma = true}},
            {"--form", &form, "form", {.choices = {"table", "json"}}},
            {"--ab", &ab, "two", {.one_each = true, .words = 2}},
            {"--budget", &budget, "seconds", {.limits = AtLeastZero{}}}};
  }

  int Run(std::vector<std::string> words) {
    words.insert(words.begin(), "program");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    return runner::Run(Program(), "1.2.3", static_cast<int>(argv.size()), argv.data());
  }

  bool quick = false;
  std::optional<bool> check;
  std::optional<int> threads;
  double clock = 1, budget = 5;
  std::string file, form = "table";
  std::vector<std::string> files, arguments, levels, ab;
};

TEST(Run, RunsTheNamedCommandWithItsValues) {
  Example example;
  EXPECT_EQ(example.Run({"measure", "a", "b", "--threads", "3", "--clock=1.5", "--check=false",
                         "--levels=l1,l2", "--levels", "dram", "--form=json", "--ab", "x", "y",
                         "--budget=0"}),
            7);
  EXPECT_THAT(example.files, ElementsAre("a", "b"));
  EXPECT_EQ(example.threads, 3);
  EXPECT_EQ(example.clock, 1.5);
  EXPECT_EQ(example.check, false);
  EXPECT_THAT(example.levels, ElementsAre("l1", "l2", "dram"));
  EXPECT_EQ(example.form, "json");
  EXPECT_THAT(example.ab, ElementsAre("x", "y"));
  EXPECT_EQ(example.budget, 0);
  EXPECT_EQ(example.Run({"cluster", "report", "c.json"}), 8);
  EXPECT_EQ(example.file, "c.json");
}

TEST(Run, WordsAfterDashesGoToTheirOption) {
  Example example;
  EXPECT_EQ(example.Run({"measure", "a", "--ab", "x", "y", "--", "b", "--quick", "--", "c"}), 7);
  EXPECT_THAT(example.files, ElementsAre("a"));
  EXPECT_THAT(example.arguments, ElementsAre("b", "--quick", "--", "c"));
  EXPECT_FALSE(example.quick);
  // A command without such an option takes them as arguments.
  EXPECT_EQ(example.Run({"cluster", "report", "--", "-odd.json"}), 8);
  EXPECT_EQ(example.file, "-odd.json");
}

TEST(Run, RefusesWhatBreaksARule) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"measure", "a", "--threads=9"},
        {"measure", "a", "--clock=0.1"},
        {"measure", "a", "--form=xml"},
        {"measure", "a", "--budget=-1"},
        {"measure", "a", "--threads"},
        {"measure", "a", "--quick", "--threads=1"},
        {"measure", "a", "--slow"},
        {"cluster", "report"},
        {"cluster"},
        {}}) {
    Example example;
    testing::internal::CaptureStderr();
    EXPECT_EQ(example.Run(words), 2) << testing::PrintToString(words);
    EXPECT_THAT(
        testing::internal::GetCapturedStderr(),
        testing::MatchesRegex("program: .+ \\(program --help lists commands and flags\\)\n"));
  }
}

TEST(Run, NamesTheCommandMostLikeAnUnknownOne) {
  Example example;
  EXPECT_EQ(fakes::RefusalOf([&] { example.Run({"mesure"}); }),
            "unknown command 'mesure'; did you mean 'measure'? program --help lists all");
  EXPECT_EQ(
      fakes::RefusalOf([&] {
        example.Run({"cluster", "repot"});
      }),
      "unknown command 'cluster repot'; did you mean 'cluster report'? program cluster --help "
      "lists all");
}

TEST(Run, PrintsHelpAndTheVersion) {
  Example example;
  testing::internal::CaptureStdout();
  EXPECT_EQ(example.Run({"measure", "--help"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::AllOf(HasSubstr("-q,--quick"), HasSubstr("INT:INT in [1 - 8]"),
                             HasSubstr("{table,json}")));
  testing::internal::CaptureStdout();
  EXPECT_EQ(example.Run({"--version"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "1.2.3\n");
}

TEST(Parse, ReadsFlagsOfAProgramWithoutCommands) {
  Example example;
  Command program{.name = "bench", .about = "Flags:", .options = example.Options()};
  program.options.erase(program.options.begin(), program.options.begin() + 2);  // not flags
  Parse(program, {"-q", "--levels=l1"});
  EXPECT_TRUE(example.quick);
  EXPECT_EQ(fakes::RefusalOf([&] { Parse(program, {"--help"}); }).substr(0, 7), "flags: ");
  EXPECT_THAT(Help(program), HasSubstr("Flags:"));
}

// A program with a flag of each kind, and a command below a command.
struct CompletedProgram {
  Command Program() {
    return {.name = "program",
            .about = "a program",
            .options = {{"-q,--quick", &quick, "look briefly"},
                        {"--machine", &file, "a machine file", {.type = kFile}},
                        {"--levels",
                         &list,
                         "memory levels",
                         {.choices = {"l1", "dram"}, .one_each = true, .comma = true}},
                        {"--pipe", &threads, "for other programs", {.hidden = true}}},
            .commands = {
                {.name = "cluster",
                 .about = "many nodes",
                 .commands = {
                     {.name = "script",
                      .about = "a script",
                      .options = {
                          {"FILES", &list, "run files", {.type = kFile, .required = true}}}}}}}};
  }

  bool quick = false;
  int threads = 1;
  std::optional<std::string> file;
  std::vector<std::string> list;
};

TEST(BashCompletion, HasTheWordsOfEachCommandAndTheKindsOfTheirValues) {
  CompletedProgram example;
  const auto script =
      BashCompletion({example.Program()}, {{kFile, {.paths = Completion::Paths::kFiles}}});
  EXPECT_THAT(script, HasSubstr("    'program') echo 'cluster --help --version --quick --machine "
                                "--levels' ;;\n"));
  EXPECT_THAT(script, HasSubstr("    'program --machine') echo ' file :' ;;\n"));
  EXPECT_THAT(script, HasSubstr("    'program --levels') echo ' list :l1 dram' ;;\n"));
  EXPECT_THAT(script, HasSubstr("    'program cluster script') echo ' file :' ;;\n"));
}

TEST(CompletionOf, ChoicesComeBeforeTheType) {
  CompletedProgram example;
  const TypeCompletions types = {{kFile, {.paths = Completion::Paths::kFiles}}};
  const auto of = [&](const Rules& rules) {
    return CompletionOf({"--x", &example.file, "", rules}, types);
  };
  EXPECT_THAT(of({.type = kFile, .choices = {"a", "b"}}).words, ElementsAre("a", "b"));
  EXPECT_EQ(of({.type = kFile}).paths, Completion::Paths::kFiles);
  EXPECT_EQ(of({.type = "TEXT"}).paths, Completion::Paths::kNone);
}

TEST(WriteFlagTable, HasALineForEachFlag) {
  CompletedProgram example;
  EXPECT_EQ(WriteFlagTable({example.Program()}),
            "program\t-q,--quick\tnothing\toptional\n"
            "program\t--machine\tvalue\toptional\n"
            "program\t--levels\tvalues\toptional\tl1,dram\n"
            "program cluster script\tFILES\tvalues\trequired\n");
}

}  // namespace
}  // namespace dlroof::runner
