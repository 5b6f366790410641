#include "bench/command_line/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof::command_line {
namespace {

using testing::HasSubstr;

Completed Hostile() {
  Command program{.path = {"dlroof"}, .about = "a program"};
  program.arguments = {{.names = {"--out"}, .type = "FILE", .help = "it's [a] \\ b: c"}};
  return {.programs = {program}, .types = {{"FILE", {.paths = Completion::Paths::kFiles}}}};
}

TEST(BashCompletion, SaysWhichValuesAreFiles) {
  EXPECT_THAT(BashCompletion(Hostile()), HasSubstr("    'dlroof --out') echo ' file :' ;;\n"));
}

}  // namespace
}  // namespace dlroof::command_line
