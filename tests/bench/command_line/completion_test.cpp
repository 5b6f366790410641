#include "bench/command_line/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof::command_line {
namespace {

using testing::HasSubstr;

TEST(BashCompletion, SaysWhichValuesAreFiles) {
  const Completed completed{
      .programs = {{.path = {"dlroof"}, .arguments = {{.names = {"--out"}, .type = "FILE"}}}},
      .types = {{"FILE", {.paths = Completion::Paths::kFiles}}}};
  EXPECT_THAT(BashCompletion(completed), HasSubstr("    'dlroof --out') echo ' file :' ;;\n"));
}

}  // namespace
}  // namespace dlroof::command_line
