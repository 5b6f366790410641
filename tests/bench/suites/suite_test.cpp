#include "bench/suites/suite.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/fakes/refusal.h"

namespace dlroof::suites {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kPlain = "Conv2D/cpu/reference/fwd/f64/";

// A line of the suite: the plain loops on this problem.
std::string Plain(std::string_view problem) { return std::string(kPlain).append(problem); }

Suite ReadText(const std::string& text) { return ReadSuite(text, "my.txt"); }

std::vector<std::string> Read(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& layer : ReadText(text).layers) names.push_back(layer.name);
  return names;
}

std::vector<int64_t> Counts(const std::string& text) {
  std::vector<int64_t> counts;
  for (const auto& layer : ReadText(text).layers) counts.push_back(layer.count);
  return counts;
}

std::string Refusal(const std::string& text) {
  return fakes::RefusalOf([&] { Read(text); });
}

void Refuses(const std::string& text, const std::string& place_and_why) {
  EXPECT_THAT(Refusal(text), testing::StartsWith("my.txt:" + place_and_why)) << text;
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

TEST(ReadSuite, RefusalsNameFileLineAndTheColumnInTheName) {
  const auto problem = Plain("n1c1h1w1k1r1s1_s1");
  Refuses("# first\n" + problem, "2: " + problem + ": column 44: write this problem as");
  Refuses("LSTMM/cpu/x/fwd/f32/t1\n", "1: LSTMM/cpu/x/fwd/f32/t1: column 1: no ");
  Refuses("\n\nConv2D/cpu\n", "3: Conv2D/cpu: column 11: expected op/");
  Refuses(Plain("n{1,0}c1h1w1k1r1s1"),
          "1: " + Plain("n0c1h1w1k1r1s1") + ": column 31: expected the size n");
}

TEST(ReadSuite, EveryCutOfALineIsReadOrRefused) {
  const std::string line = "\n" + Plain("n{1,22}c1h{3,4}w3k1r1s1{,_p1}") + " x12";
  for (size_t length = 2; length < line.size(); ++length) {
    const auto refusal = Refusal(line.substr(0, length));
    EXPECT_TRUE(refusal == "accepted" || refusal.starts_with("my.txt:2: ")) << refusal;
  }
}

TEST(ReadSuite, AProblemFollowsTheTemplatesOfItsOpAboveIt) {
  EXPECT_THAT(Read("Conv2D/cpu/reference/{fwd,bwd_data}/f64/*\n"
                   "LSTM/cpu/reference/bwd/f64/*\n"
                   "Conv2D n{1,2}c1h1w1k1r1s1\n"
                   "LSTM t1n1i1h1\n"
                   "Conv2D/cpu/onednn/fwd/f32/*/relu/cold\n"
                   "Conv2D n1c1h1w1k1r1s1\n"
                   "LSTM t2n1i1h1\n"),
              ElementsAre("Conv2D/cpu/reference/fwd/f64/n1c1h1w1k1r1s1",
                          "Conv2D/cpu/reference/fwd/f64/n2c1h1w1k1r1s1",
                          "Conv2D/cpu/reference/bwd_data/f64/n1c1h1w1k1r1s1",
                          "Conv2D/cpu/reference/bwd_data/f64/n2c1h1w1k1r1s1",
                          "LSTM/cpu/reference/bwd/f64/t1n1i1h1",
                          "Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1/relu/cold",
                          "LSTM/cpu/reference/bwd/f64/t2n1i1h1"));
}

TEST(ReadSuite, AProblemsDirectionAndTypeChooseAmongItsTemplatesOrReplaceTheirs) {
  EXPECT_THAT(Read("Conv2D/bwd/bf16 n1c1h1w1k1r1s1/cold\n"),
              ElementsAre("Conv2D/cpu/onednn/bwd_data/bf16/n1c1h1w1k1r1s1/cold",
                          "Conv2D/cpu/onednn/bwd_weights/bf16/n1c1h1w1k1r1s1/cold"));
  EXPECT_THAT(Read("Conv2D/fwd/{f32,f16} n1c1h1w1k1r1s1\n"),
              ElementsAre("Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1",
                          "Conv2D/cpu/onednn/fwd/f16/n1c1h1w1k1r1s1"));
}

TEST(ReadSuite, AProblemFollowsTheTemplatesOfItsDevices) {
  const std::string text =
      "Conv2D/cpu/onednn/fwd/f32/*\nConv2D/gpu/cudnn/fwd/f16/*\n"
      "Conv2D n1c1h1w1k1r1s1 x2\nLSTM/gpu/cudnn/bwd/f16/*\nLSTM t1n1i1h1 x3\n";
  const auto names = [&](const SuiteDevices& devices) {
    std::string all;
    const auto suite = ReadSuite(text, "my.txt", devices);
    for (const auto& [name, count] : suite.layers) all += fmt::format("{} x{}\n", name, count);
    return all;
  };
  const std::string cpu = "Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1 x2\n";
  const std::string gpu = "Conv2D/gpu/cudnn/fwd/f16/n1c1h1w1k1r1s1 x2\n";
  const std::string lstm = "LSTM/gpu/cudnn/bwd/f16/t1n1i1h1 x3\n";  // has no template of the CPU
  EXPECT_EQ(names({}), cpu + lstm);
  EXPECT_EQ(names({.cpu = false, .gpu = true}), gpu + lstm);
  EXPECT_EQ(names({.cpu = true, .gpu = true}), cpu + gpu + lstm);
}

TEST(ReadSuite, ABadTemplateIsRefused) {
  const auto refused = [](const std::string& line, const std::string& reason) {
    EXPECT_THAT(Refusal("# f99\n" + line + "\n Conv2D n1c1h1w1k1r1s1"),
                testing::AllOf(testing::StartsWith("my.txt:"), HasSubstr(reason)));
  };
  refused("Conv2D/cpu/onednn/fwd/{f32,f99}/*", "expected a type");
  refused("Conv2D/cpu/onednn/up/f32/*", "expected a direction");
  refused("Conv2D/cpu/mkl/fwd/f32/*", "no benchmark Conv2D/cpu/mkl");
  refused("Conv2D/cpu/onednn/fwd/f32/*/blue", "Conv2D/cpu/onednn has no op");
  refused("Conv2D/gpu/cudnn/fwd/f99/*", "expected a type");
  refused("Conv4D/cpu/onednn/fwd/f32/*", "2: no operator 'Conv4D'");
  refused("Conv2D/cpu/*", "2: expected a template op/device/");
  refused("Conv2D/cpu/onednn/fwd/f32/*_s2", "2: expected a template op/device/");
  refused("Conv2D/cpu/onednn/fwd/f32/* x3", "2: expected the end of the line after a template");
  refused("Conv2D/cpu/onednn//f32/*", "2: expected a word or one brace list");
  Refuses("\nConv2D/cpu/onednn/fwd/f32/*\nLSTM t1n1i1h1", "2: no problem of Conv2D foll");
}

TEST(ReadSuite, ABadProblemIsRefused) {
  const auto refused = [&](const std::string& line, const std::string& reason) {
    EXPECT_THAT(Refusal("Conv2D/cpu/onednn/{fwd,bwd_data}/f32/*\n" + line),
                testing::AllOf(testing::StartsWith("my.txt:2: "), HasSubstr(reason)));
  };
  refused("Conv2D n0c1h1w1k1r1s1", "expected the size n");
  refused("Conv2D/fwd/f99 n1c1h1w1k1r1s1", "expected a type");
  refused("Conv2D/{fwd,up} n1c1h1w1k1r1s1", "expected a direction");
  refused("Conv4D n1c1h1w1k1r1s1", "no operator 'Conv4D'; there are Attention, Conv2D, Conv3D");
  refused("Conv2D/fwd/ n1c1h1w1k1r1s1", "expected a word or one brace list");
  refused("Conv2D n1c1h1w1k1r1s1 3", "expected xN, the number of occurrences of the layer");
  for (const std::string count : {"x0", "x", "x03", "x99999999999999999999"})
    refused("Conv2D n1c1h1w1k1r1s1 " + count, "expected the number of occurrences of the layer");
  refused("Conv2D n1c1h1w1k1r1s1 x3x", "expected the end of the line, got 'x'");
  refused("Conv2D n1c1h1w1k1r1s1/relu", "'relu' can only be fused into fwd");
  Refuses("LSTM t1n1i1h1\nLSTM/bwd t1n1i1h1",
          "2: LSTM/cpu/onednn/bwd/f32/t1n1i1h1 is already in line 1");
}

TEST(ReadSuite, ACountStandsBehindTheName) {
  const auto text = Plain("n1c1h1w1k1r1s1\n") + Plain("n{2,3}c1h1w1k1r1s1 \t x16 # sixteen\n");
  EXPECT_THAT(Counts(text), ElementsAre(1, 16, 16));
  EXPECT_TRUE(ReadText(text).counted);
  EXPECT_TRUE(ReadText(Plain("n1c1h1w1k1r1s1 x1")).counted) << "a model without repeated layers";
  EXPECT_FALSE(ReadText(Plain("n1c1h1w1k1r1s1 # x3")).counted);
}

TEST(ReadSuite, BracesMustMatchAndHoldAChoice) {
  EXPECT_THAT(Refusal(Plain("n{1,2")), HasSubstr("my.txt:1: '{' without its '}'"));
  EXPECT_THAT(Refusal("  a}"), HasSubstr("'}' without its '{'"));
  EXPECT_THAT(Refusal("a{b,{c,d}}"), HasSubstr("brace lists do not nest"));
  EXPECT_THAT(Refusal("a{}"), HasSubstr("a brace list needs at least two choices"));
  EXPECT_THAT(Refusal("a{b}"), HasSubstr("a brace list needs at least two choices"));
}

TEST(ReadSuite, HostileFilesAreOneSentence) {
  EXPECT_EQ(Refusal(""), "my.txt: the file contains no benchmark name");
  EXPECT_EQ(Refusal("# only a comment"), "my.txt: the file contains no benchmark name");
  EXPECT_THAT(Refusal(std::string(3 << 20, 'a')), HasSubstr("1 MiB"));
  std::string braces = "a";
  for (int i = 0; i < 200; ++i) braces += "{a,b,c,d,e,f,g,h}";  // 8^200
  EXPECT_THAT(Refusal(braces), HasSubstr("my.txt:1: the suite has more than 10000 names"));
  EXPECT_THAT(Refusal(std::string("\0\x1b[31m/b/c/d/e/f{1,2}", 21)),
              testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(Refusal(Plain("n1c1h1w1k1r1s1 \x1b[31m")), HasSubstr("expected xN"));
  EXPECT_THAT(Refusal(Plain("n1c1h1w1k1r1s1 \x1b[31m")), testing::Not(HasSubstr("\x1b")));
}

TEST(ReadSuite, RandomBytesAreReadOrRefused) {
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string text = "# x\n" + Plain("n{1,2}c1h5w5k1r3s3_{s2,p1}\n") + Plain("n9c1h1w1k1r1s1");
    for (int change = 0; change < 3; ++change)
      text[random() % text.size()] =
          random() % 2 == 0 ? "{},#\n/12"[random() % 8] : static_cast<char>(random());
    const auto outcome = Refusal(text);
    ASSERT_TRUE(outcome.starts_with("my.txt:") || outcome == "accepted") << outcome;
  }
}

}  // namespace
}  // namespace dlroof::suites
