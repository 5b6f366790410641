#include "bench/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::commands {
namespace {

using testing::HasSubstr;

TEST(NameMap, SaysWhichLineIsWrong) {
  const auto refusal = [](const std::string& text) {
    return fakes::RefusalOf([&] { ParseNameMap(text, "map.txt"); });
  };
  EXPECT_THAT(refusal("# both\na b\n\nc\n"), HasSubstr("map.txt:4: expected 'base-name new-name'"));
  EXPECT_THAT(refusal("a b c\n"), HasSubstr("map.txt:1:"));
  EXPECT_THAT(refusal("a b\nc b\n"), HasSubstr("map.txt:2: a name on this line is mapped twice"));
  EXPECT_EQ(ParseNameMap("BM<int, 2>\tBM<int, 3>\r\n", "m").at("BM<int, 2>"), "BM<int, 3>");
}

}  // namespace
}  // namespace dlroof::commands
