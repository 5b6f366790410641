#include "bench/runner/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace dlroof::runner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A program with a flag of each kind, and a command below a command.
struct Example {
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
  Example example;
  const auto script =
      BashCompletion({example.Program()}, {{kFile, {.paths = Completion::Paths::kFiles}}});
  EXPECT_THAT(script, HasSubstr("    'program') echo 'cluster --help --version --quick --machine "
                                "--levels' ;;\n"));
  EXPECT_THAT(script, HasSubstr("    'program --machine') echo ' file :' ;;\n"));
  EXPECT_THAT(script, HasSubstr("    'program --levels') echo ' list :l1 dram' ;;\n"));
  EXPECT_THAT(script, HasSubstr("    'program cluster script') echo ' file :' ;;\n"));
}

TEST(CompletionOf, ChoicesComeBeforeTheType) {
  Example example;
  const TypeCompletions types = {{kFile, {.paths = Completion::Paths::kFiles}}};
  const auto of = [&](const Rules& rules) {
    return CompletionOf({"--x", &example.file, "", rules}, types);
  };
  EXPECT_THAT(of({.type = kFile, .choices = {"a", "b"}}).words, ElementsAre("a", "b"));
  EXPECT_EQ(of({.type = kFile}).paths, Completion::Paths::kFiles);
  EXPECT_EQ(of({.type = "TEXT"}).paths, Completion::Paths::kNone);
}

TEST(WriteFlagTable, HasALineForEachFlag) {
  Example example;
  EXPECT_EQ(WriteFlagTable({example.Program()}),
            "program\t-q,--quick\tnothing\toptional\n"
            "program\t--machine\tvalue\toptional\n"
            "program\t--levels\tvalues\toptional\tl1,dram\n"
            "program cluster script\tFILES\tvalues\trequired\n");
}

}  // namespace
}  // namespace dlroof::runner
