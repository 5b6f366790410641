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

TEST(ReadSuite, RefusalsNameFileLineAndColumn) {
  Refuses("# first\n" + Plain("n1c1h1w1k1r1s1_s1\n"), "2: column 44: write this problem as");
  Refuses("LSTMM/cpu/x/fwd/f32/t1\n", "1: column 1: no ");
  Refuses("\n\nConv2D/cpu\n", "3: column 11: expected op/");
}

TEST(ReadSuite, ColumnsAreThoseOfTheLineNotOfTheExpandedName) {
  // Conv2D/cpu/reference/fwd/f64/n{1,0}c1: 29 characters, then n { 1 , and the 0 is column 34.
  EXPECT_THAT(Refusal(Plain("n{1,0}c1h1w1k1r1s1")),
              testing::AllOf(testing::StartsWith("my.txt:1: column 34: expected the size n"),
                             HasSubstr("(in " + Plain("n0c1h1w1k1r1s1)"))));
  Refuses("  " + Plain("n0c1h1w1k1r1s1"), "1: column 33:");
  // The error is behind the list: name 1 ends early at column 30 + 6 = 36 of the line.
  Refuses(Plain("n{1,22}h1w1k1r1s1"), "1: column 37: ");
  // A problem that is wrong as a whole: the column where it begins.
  constexpr std::string_view kHuge = "2147483647";
  Refuses(fmt::format("LSTM/cpu/reference/bwd/f64/t{0}n{0}i{0}h{0}", kHuge),
          "1: column 28: the work of this LSTM overflows");
  // At the end of the name.
  Refuses("{Conv2D,LSTM}/cpu", "1: column 18: ");
}

// As the second line of a file.
std::string Second(const std::string& line) {
  std::string text(1, '\n');
  return text.append(line);
}

// The column that a refusal names; 0 for another line or none.
int ColumnIn(const std::string& refusal) {
  constexpr std::string_view kStart = "my.txt:2: column ";
  return refusal.starts_with(kStart) ? std::stoi(refusal.substr(kStart.size())) : 0;
}

TEST(ReadSuite, APlantedErrorIsFoundWhereItStands) {
  const std::string line = "\t " + Plain("n{1,22}c1h{3,4}w3k1r1s1{,_p1}") + "  x12 # twelve";
  ASSERT_EQ(Read(Second(line)).size(), 8U);
  const auto comment = line.find('#');
  for (size_t at = 0; at < comment; ++at) {
    std::string planted = line;
    planted[at] = '!';  // nowhere allowed outside a comment
    const auto refusal = Refusal(Second(planted));
    // A brace that is gone shows where the other one stands, or what it leaves behind.
    const bool brace = line[at] == '{' || line[at] == '}' || line[at] == ',';
    // Spaces around the count are no error's place, but what is put there is.
    if (brace) {
      EXPECT_GT(ColumnIn(refusal), 0) << refusal;
    } else {
      EXPECT_EQ(ColumnIn(refusal), at + 1) << planted << "\n" << refusal;
    }
  }
}

TEST(ReadSuite, EveryCutOfALineIsReadOrNamesAColumn) {
  const std::string line = Plain("n{1,22}c1h{3,4}w3k1r1s1{,_p1}") + " x12";
  for (size_t length = 1; length < line.size(); ++length) {
    const auto refusal = Refusal(Second(line.substr(0, length)));
    if (refusal == "accepted") continue;
    EXPECT_GT(ColumnIn(refusal), 0) << refusal;
    EXPECT_LE(ColumnIn(refusal), length + 1) << refusal;
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

TEST(ReadSuite, WithoutATemplateAProblemFollowsItsOps) {
  EXPECT_THAT(Read("LSTM t1n1i1h1\n"),
              ElementsAre("LSTM/cpu/onednn/fwd_inference/f32/t1n1i1h1",
                          "LSTM/cpu/onednn/fwd_inference/bf16/t1n1i1h1",
                          "LSTM/cpu/onednn/fwd_training/f32/t1n1i1h1",
                          "LSTM/cpu/onednn/fwd_training/bf16/t1n1i1h1",
                          "LSTM/cpu/onednn/bwd/f32/t1n1i1h1", "LSTM/cpu/onednn/bwd/bf16/t1n1i1h1"));
  EXPECT_EQ(Read("Conv2D n1c1h1w1k1r1s1\n").size(), 7U) << "int8 forward alone";
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

TEST(ReadSuite, ABadTemplateIsRefusedWhereItStands) {
  const std::string problem = "\n Conv2D n1c1h1w1k1r1s1";
  // Conv2D/cpu/onednn/ are 18 characters, fwd/ 22, and {f32, 27.
  Refuses("# f99\nConv2D/cpu/onednn/fwd/{f32,f99}/*" + problem, "2: column 28: expected a type");
  Refuses("Conv2D/cpu/onednn/up/f32/*" + problem, "1: column 19: expected a direction");
  Refuses("Conv2D/cpu/mkl/fwd/f32/*" + problem, "1: column 1: no benchmark Conv2D/cpu/mkl");
  Refuses("Conv2D/cpu/onednn/fwd/f32/*/blue" + problem,
          "1: column 29: Conv2D/cpu/onednn has no op");
  Refuses("Conv2D/gpu/cudnn/fwd/f99/*" + problem, "1: column 22: expected a type");
  Refuses("Conv3D/cpu/onednn/fwd/f32/*" + problem, "1: column 1: no operator 'Conv3D'");
  Refuses("Conv2D/cpu/*" + problem, "1: column 12: expected a template op/device/");
  Refuses("Conv2D/cpu/onednn/fwd/f32/*_s2" + problem,
          "1: column 27: expected a template op/device/");
  Refuses("Conv2D/cpu/onednn/fwd/f32/* x3" + problem,
          "1: column 29: expected the end of the line after a template");
  Refuses("Conv2D/cpu/onednn//f32/*" + problem, "1: column 19: expected a word or one brace list");
  Refuses("\nConv2D/cpu/onednn/fwd/f32/*\nLSTM t1n1i1h1", "2: column 1: no problem of Conv2D foll");
}

TEST(ReadSuite, ABadProblemIsRefusedWhereItStands) {
  const auto refused = [&](const std::string& line, const std::string& start) {
    Refuses("Conv2D/cpu/onednn/{fwd,bwd_data}/f32/*\n" + line, "2: column " + start);
  };
  refused("Conv2D n0c1h1w1k1r1s1", "9: expected the size n");
  refused("  Conv2D  n{1,0}c1h1w1k1r1s1", "15: expected the size n");
  refused("Conv2D/fwd/f99 n1c1h1w1k1r1s1", "12: expected a type");
  refused("Conv2D/{fwd,up} n1c1h1w1k1r1s1", "13: expected a direction");
  refused("Conv3D n1c1h1w1k1r1s1", "1: no operator 'Conv3D'; there are Attention, Conv2D, Eltwise");
  refused("Conv2D/fwd/ n1c1h1w1k1r1s1", "12: expected a word or one brace list");
  refused("Conv2D n1c1h1w1k1r1s1 3", "23: expected xN, the number of occurrences of the layer");
  refused("Conv2D n1c1h1w1k1r1s1 x0", "24: expected the number of occurrences of the layer");
  refused("Conv2D n1c1h1w1k1r1s1/relu", "23: 'relu' can only be fused into fwd");
  EXPECT_THAT(Refusal("LSTM t1n1i1h1\nLSTM/bwd t1n1i1h1"),
              testing::StartsWith("my.txt:2: column 1: LSTM/cpu/onednn/bwd/f32/t1n1i1h1 is "
                                  "already in line 1"));
}

TEST(ReadSuite, ACountStandsBehindTheName) {
  const auto text = Plain("n1c1h1w1k1r1s1\n") + Plain("n{2,3}c1h1w1k1r1s1 \t x16 # sixteen\n");
  EXPECT_THAT(Counts(text), ElementsAre(1, 16, 16));
  EXPECT_TRUE(ReadText(text).counted);
  EXPECT_TRUE(ReadText(Plain("n1c1h1w1k1r1s1 x1")).counted) << "a model without repeated layers";
  EXPECT_FALSE(ReadText(Plain("n1c1h1w1k1r1s1 # x3")).counted);
}

TEST(ReadSuite, ABadCountIsRefusedWithItsColumn) {
  const auto of = [](const std::string& rest) { return Refusal(Plain("n1c1h1w1k1r1s1") + rest); };
  // The name has 29 + 14 = 43 characters.
  EXPECT_THAT(of(" 3"), testing::StartsWith("my.txt:1: column 45: expected xN, the number"));
  EXPECT_THAT(of(" x0"), testing::StartsWith("my.txt:1: column 46: expected the number"));
  EXPECT_THAT(of(" x"),
              HasSubstr("column 46: expected the number of occurrences of the layer, an integer"));
  EXPECT_THAT(of(" x3x"), HasSubstr("column 47: expected the end of the line, got 'x'"));
  EXPECT_THAT(of(" x3 x3"), HasSubstr("column 47: expected the end of the line"));
  EXPECT_THAT(of(" x03"), HasSubstr("column 46: "));
  EXPECT_THAT(of(" x99999999999999999999"), HasSubstr("column 46: "));
  EXPECT_THAT(of(" -3"), HasSubstr("column 45: "));
}

TEST(ReadSuite, BracesMustMatchAndHoldAChoice) {
  EXPECT_THAT(Refusal(Plain("n{1,2")), HasSubstr("my.txt:1: column 31: '{' without its '}'"));
  EXPECT_THAT(Refusal("  a}"), HasSubstr("column 4: '}' without its '{'"));
  EXPECT_THAT(Refusal("a{b,{c,d}}"), HasSubstr("column 5: brace lists do not nest"));
  EXPECT_THAT(Refusal("a{}"), HasSubstr("column 2: a brace list needs at least two choices"));
  EXPECT_THAT(Refusal("a{b}"), HasSubstr("column 2: a brace list needs at least two choices"));
}

TEST(ReadSuite, ANameIsThereOnce) {
  EXPECT_THAT(Refusal(Plain("n1c1h1w1k1r1s1\n#\n") + Plain("n{2,1}c1h1w1k1r1s1\n")),
              testing::AllOf(testing::StartsWith("my.txt:3: column 1: "),
                             HasSubstr("is already in line 1")));
}

TEST(ReadSuite, HostileFilesAreOneSentence) {
  EXPECT_EQ(Refusal(""), "my.txt: the file contains no benchmark name");
  EXPECT_EQ(Refusal("# only a comment"), "my.txt: the file contains no benchmark name");
  EXPECT_THAT(Refusal(std::string(3 << 20, 'a')), HasSubstr("1 MiB"));
  std::string braces = "a";
  for (int i = 0; i < 200; ++i) braces += "{a,b,c,d,e,f,g,h}";  // 8^200
  EXPECT_THAT(Refusal(braces),
              HasSubstr("my.txt:1: column 1: the suite has more than 10000 names"));
  EXPECT_THAT(Refusal(std::string("\0\x1b[31m/b/c/d/e/f{1,2}", 21)),
              testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(Refusal(Plain("n1c1h1w1k1r1s1 \x1b[31m")), HasSubstr("column 45: expected xN"));
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
