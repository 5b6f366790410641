#include "bench/command_line/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof::command_line {
namespace {

using testing::HasSubstr;

// tests/cli/test_completion.py runs the scripts in their shells. Here is only what a shell would
// misread: help texts with quotes and brackets.
Completed Hostile() {
  Command program{.path = {"dlroof"}, .about = "a program"};
  program.arguments = {{.names = {"--out"}, .type = "FILE", .help = "it's [a] \\ b: c"}};
  return {.programs = {program}, .types = {{"FILE", {.paths = Completion::Paths::kFiles}}}};
}

TEST(ZshCompletion, EscapesHelp) {
  EXPECT_THAT(ZshCompletion(Hostile()),
              HasSubstr("'(--out)'--out='[it'\\''s \\[a\\] \\\\ b: c]:FILE:_files'"));
}

TEST(FishCompletion, EscapesHelp) {
  EXPECT_THAT(FishCompletion(Hostile()), HasSubstr("-l out -r -F -d 'it\\'s [a] \\\\ b: c'\n"));
}

TEST(BashCompletion, SaysWhichValuesAreFiles) {
  EXPECT_THAT(BashCompletion(Hostile()), HasSubstr("    'dlroof --out') echo ' file :' ;;\n"));
}

}  // namespace
}  // namespace dlroof::command_line
