#include "bench/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "bench/conv2d.h"
#include "bench/workload.h"
#include "counters/error.h"

namespace dlroof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kPlain = "Conv2D/cpu/reference/fwd/f64/";

// A line of the suite: the plain loops on this problem.
std::string Plain(std::string_view problem) { return std::string(kPlain).append(problem); }

std::vector<std::string> Read(const std::string& text) {
  std::istringstream stream(text);
  return ReadSuite(stream, "my.txt");
}

std::string Refusal(const std::string& text) {
  try {
    return "accepted " + std::to_string(Read(text).size());
  } catch (const BadInput& error) {
    return error.what();
  }
}

TEST(ReadSuite, SkipsCommentsBlankLinesAndSpaces) {
  EXPECT_THAT(Read("# a comment\n\n  " + Plain("n1c1h1w1k1r1s1 \t# another\r\n \n") +
                   Plain("n2c1h1w1k1r1s1")),
              ElementsAre(Plain("n1c1h1w1k1r1s1"), Plain("n2c1h1w1k1r1s1")));
}

TEST(ReadSuite, BracesStandForEachChoiceTheLastVaryingFastest) {
  EXPECT_THAT(Read("Conv2D/cpu/reference/{fwd,bwd_data}/f64/n{1,2}c1h1w1k1r1s1\n"),
              ElementsAre("Conv2D/cpu/reference/fwd/f64/n1c1h1w1k1r1s1",
                          "Conv2D/cpu/reference/fwd/f64/n2c1h1w1k1r1s1",
                          "Conv2D/cpu/reference/bwd_data/f64/n1c1h1w1k1r1s1",
                          "Conv2D/cpu/reference/bwd_data/f64/n2c1h1w1k1r1s1"));
  EXPECT_THAT(Read(Plain("n1c1h3w3k1r1s1{,_p1}")),
              ElementsAre(Plain("n1c1h3w3k1r1s1"), Plain("n1c1h3w3k1r1s1_p1")));
}

TEST(ReadSuite, RefusalsNameFileLineAndColumn) {
  EXPECT_THAT(Refusal("# first\n" + Plain("n1c1h1w1k1r1s1_s1\n")),
              testing::StartsWith("my.txt:2: column 44: this problem is written"));
  EXPECT_THAT(Refusal("LSTMM/cpu/x/fwd/f32/t1\n"), testing::StartsWith("my.txt:1: column 1: no "));
  EXPECT_THAT(Refusal("\n\nConv2D/cpu\n"),
              testing::StartsWith("my.txt:3: column 11: expected op/"));
}

TEST(ReadSuite, ColumnsOfAnExpandedNameSayWhichName) {
  EXPECT_THAT(Refusal(Plain("n{1,0}c1h1w1k1r1s1")),
              testing::StartsWith("my.txt:1: in the name " + Plain("n0c1h1w1k1r1s1: column 31: ")));
  EXPECT_THAT(Refusal("  " + Plain("n0c1h1w1k1r1s1")), HasSubstr("in the name " + Plain("n0")));
}

TEST(ReadSuite, BracesMustMatchAndHoldAChoice) {
  EXPECT_THAT(Refusal(Plain("n{1,2")), HasSubstr("my.txt:1: column 31: '{' without its '}'"));
  EXPECT_THAT(Refusal("  a}"), HasSubstr("column 4: '}' without its '{'"));
  EXPECT_THAT(Refusal("a{b,{c,d}}"), HasSubstr("column 5: brace lists do not nest"));
  EXPECT_THAT(Refusal("a{}"), HasSubstr("column 2: a brace list has two choices"));
  EXPECT_THAT(Refusal("a{b}"), HasSubstr("column 2: a brace list has two choices"));
}

TEST(ReadSuite, ANameIsThereOnce) {
  EXPECT_THAT(Refusal(Plain("n1c1h1w1k1r1s1\n#\n") + Plain("n{2,1}c1h1w1k1r1s1\n")),
              testing::AllOf(testing::StartsWith("my.txt:3: "), HasSubstr("already, in line 1")));
}

TEST(ReadSuite, HostileFilesAreOneSentence) {
  EXPECT_EQ(Refusal(""), "my.txt: no benchmark name in it");
  EXPECT_EQ(Refusal("# only a comment"), "my.txt: no benchmark name in it");
  EXPECT_THAT(Refusal(std::string(3 << 20, 'a')), HasSubstr("1 MiB"));
  std::string braces = "a";
  for (int i = 0; i < 200; ++i) braces += "{a,b,c,d,e,f,g,h}";  // 8^200
  EXPECT_THAT(Refusal(braces), HasSubstr("my.txt:1: a suite holds 10000 names at most"));
  EXPECT_THAT(Refusal(std::string("\0\x1b[31m/b/c/d/e/f{1,2}", 21)),
              testing::Not(HasSubstr("\x1b")));
  std::ifstream missing("/nonexistent/suite.txt");
  EXPECT_THROW(ReadSuite(missing, "s"), BadInput);
  std::ifstream directory("/");
  EXPECT_THROW(ReadSuite(directory, "s"), BadInput);
}

TEST(ReadSuite, RandomBytesAreReadOrRefused) {
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string text = "# x\n" + Plain("n{1,2}c1h5w5k1r3s3_{s2,p1}\n") + Plain("n9c1h1w1k1r1s1");
    for (int change = 0; change < 3; ++change)
      text[random() % text.size()] =
          random() % 2 == 0 ? "{},#\n/12"[random() % 8] : static_cast<char>(random());
    const auto outcome = Refusal(text);
    ASSERT_TRUE(outcome.rfind("my.txt:", 0) == 0 || outcome.rfind("accepted", 0) == 0) << outcome;
  }
}

TEST(BuiltInSuites, AreReadableAndShareNoName) {
  std::set<std::string> names;
  for (const auto& suite : BuiltInSuites()) {
    std::istringstream text{std::string(suite.text)};
    for (const auto& name : ReadSuite(text, std::string(suite.name)))
      EXPECT_TRUE(names.insert(name).second) << name << " is in two suites";
  }
  EXPECT_GE(BuiltInSuites().size(), 2);
}

TEST(BuiltInSuites, HoldThePapersTenConvolutionsWithItsOutputSizes) {
  std::map<std::string, int> outputs;  // of each problem: rows
  int names = 0;
  for (const auto& suite : BuiltInSuites()) {
    if (suite.name != "paper_conv2d.txt") continue;
    std::istringstream text{std::string(suite.text)};
    for (const auto& name : ReadSuite(text, "paper")) {
      const auto problem = ParseConv2d(ParseBenchmarkName(name).problem);
      // SAME padding: ceil(112 / stride) outputs.
      EXPECT_EQ(OutputHeight(problem), (112 + problem.stride_h - 1) / problem.stride_h) << name;
      EXPECT_EQ(OutputWidth(problem), OutputHeight(problem)) << name;
      ++outputs[ToText(problem)];
      ++names;
    }
  }
  EXPECT_EQ(outputs.size(), 10);
  for (const auto& [problem, count] : outputs) EXPECT_EQ(count, 7) << problem;  // 3 x 2 + int8
  EXPECT_EQ(names, 70);
}

}  // namespace
}  // namespace dlroof
