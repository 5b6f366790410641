#include "bench/benchdnn/driver.h"

#include <gtest/gtest.h>

#include "bench/benchdnn/tokens.h"

namespace dlroof {
namespace {

std::string_view NameOfDriver(std::string_view text) {
  const auto* const driver = DriverOfProblem(text);
  return driver == nullptr ? "none" : driver->name;
}

TEST(DriverOfProblem, IsTheOneWhoseLettersTheTextHas) {
  EXPECT_EQ(NameOfDriver("mb1_g2ic4ih8"), "conv");
  EXPECT_EQ(NameOfDriver("g1mb3ic3"), "conv");
  EXPECT_EQ(NameOfDriver("mb3l2sic4"), "rnn");
  EXPECT_EQ(NameOfDriver("t50mb3"), "rnn");
  EXPECT_EQ(NameOfDriver("LSTM/cpu/onednn/fwd_inference/f32/t1n1i1h1"), "none");
  EXPECT_EQ(NameOfDriver("googlenet"), "none");
  EXPECT_EQ(NameOfDriver("mb"), "none");
  EXPECT_EQ(NameOfDriver("mb12"), "none");
  EXPECT_EQ(NameOfDriver(""), "none");
}

std::string Places(std::string_view text) {
  std::string places;
  for (const auto& token : BenchdnnTokens(text)) {
    const auto place = token.At(0);
    places +=
        token.text + "@" + std::to_string(place.line) + ":" + std::to_string(place.column) + " ";
  }
  return places;
}

TEST(BenchdnnTokens, SkipsCommentsAndKnowsPlaces) {
  EXPECT_EQ(Places("# a b\n  --x=1 c#d\t#e f\n\ng"), "--x=1@2:3 c#d@2:9 g@4:1 ");
  EXPECT_EQ(Places(" \n#"), "");
}

TEST(BenchdnnTokens, BackslashJoinsWordsThatKeepTheirPlaces) {
  EXPECT_EQ(Places("a, \\\n  b,\\\n# comment\nc d"), "a,b,c@1:1 d@4:3 ");
  const auto token = BenchdnnTokens("a, \\\n  bc")[0];
  EXPECT_EQ(token.At(3).line, 2);
  EXPECT_EQ(token.At(3).column, 4);  // of c
  EXPECT_EQ(Places("\\"), "");
  EXPECT_EQ(Places("a \\"), "a@1:1 ");
}

}  // namespace
}  // namespace dlroof
