#include "bench/command_line/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "bench/command_line/completion.h"

namespace dlroof::command_line {
namespace {

using testing::ElementsAre;

// A program with a flag of each kind, and a command below a command.
struct Program {
  Program() {
    app.add_flag("-q,--quick", quick, "look briefly");
    auto* first = app.add_option("--machine", file, "a machine file")->type_name(kFile);
    app.add_option("--levels", list, "memory levels")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"l1", "dram"}));
    app.add_option("--threads", threads, "number of threads")
        ->check(CLI::Range(1, 8))
        ->excludes(first);
    app.add_option("--hidden", file, "for other programs")->group("");
    auto* script =
        app.add_subcommand("cluster", "many nodes")->add_subcommand("script", "a script");
    script->add_option("FILES", list, "run files")->type_name(kFile)->required();
  }

  CLI::App app{"a program", "program"};
  bool quick = false;
  int threads = 1;
  std::optional<std::string> file;
  std::vector<std::string> list;
};

const Argument& Named(const Command& command, const std::string& name) {
  for (const auto& argument : command.arguments)
    if (argument.names.back() == name) return argument;
  throw std::out_of_range(name);
}

TEST(Describe, ListsFlagsWithTheirKindOfValue) {
  Program program;
  const auto command = Describe(program.app, {"program"});
  EXPECT_THAT(Named(command, "--quick").names, ElementsAre("-q", "--quick"));
  EXPECT_EQ(Named(command, "--quick").type, "");
  EXPECT_EQ(Named(command, "--machine").type, kFile);
  EXPECT_FALSE(Named(command, "--machine").many);
  EXPECT_TRUE(Named(command, "--levels").many);
  EXPECT_TRUE(Named(command, "--levels").comma);
  EXPECT_THAT(Named(command, "--levels").choices, ElementsAre("l1", "dram"));
  EXPECT_THROW(Named(command, "--hidden"), std::out_of_range);
}

TEST(Describe, ListsCommandsAndPositionalArguments) {
  Program program;
  const auto command = Describe(program.app, {"program"});
  const auto all = WithSubcommands(command);
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[2]->Path(), "program cluster script");
  const auto& files = Named(*all[2], "FILES");
  EXPECT_TRUE(files.positional && files.required && files.many);
}

TEST(CompletionOf, ChoicesComeBeforeTheType) {
  const TypeCompletions types = {{kFile, {.paths = Completion::Paths::kFiles}}};
  EXPECT_THAT(CompletionOf({.type = kFile, .choices = {"a", "b"}}, types).words,
              ElementsAre("a", "b"));
  EXPECT_EQ(CompletionOf({.type = kFile}, types).paths, Completion::Paths::kFiles);
  EXPECT_EQ(CompletionOf({.type = "TEXT"}, types).paths, Completion::Paths::kNone);
}

TEST(WriteFlagTable, HasALineForEachFlag) {
  Program program;
  EXPECT_EQ(WriteFlagTable({Describe(program.app, {"program"})}),
            "program\t-h,--help\tnothing\toptional\n"
            "program\t-q,--quick\tnothing\toptional\n"
            "program\t--machine\tvalue\toptional\n"
            "program\t--levels\tvalues\toptional\tl1,dram\n"
            "program\t--threads\tvalue\toptional\n"
            "program cluster\t-h,--help\tnothing\toptional\n"
            "program cluster script\t-h,--help\tnothing\toptional\n"
            "program cluster script\tFILES\tvalues\trequired\n");
}

}  // namespace
}  // namespace dlroof::command_line
