#include "bench/suites/suite.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "bench/conv2d/case.h"
#include "counters/base/files.h"
#include "tests/fakes/refusal.h"
#include "tests/test_data.h"

namespace dlroof::suites {
namespace {

using testing::ElementsAre, testing::HasSubstr, testing::StartsWith, testing::Not,
    testing::Contains;

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

std::string Refusal(const std::string& text) { return fakes::RefusalOf(Read, text); }

void Refuses(const std::string& text, const std::string& place_and_why) {
  EXPECT_THAT(Refusal(text), StartsWith("my.txt:" + place_and_why)) << text;
}

TEST(ReadSuite, SkipsCommentsVariesBracesAndRefusesWithFileLineAndColumn) {
  EXPECT_THAT(Read("# a comment\n\n  " + Plain("n1c1h1w1k1r1s1 \t# another\r\n \n") +
                   Plain("n2c1h1w1k1r1s1")),
              ElementsAre(Plain("n1c1h1w1k1r1s1"), Plain("n2c1h1w1k1r1s1")));
  EXPECT_THAT(Read("Conv2D/cpu/reference/{fwd,bwd_data}/f64/n{1,2}c1h1w1k1r1s1\n"),
              ElementsAre("Conv2D/cpu/reference/fwd/f64/n1c1h1w1k1r1s1",
                          "Conv2D/cpu/reference/fwd/f64/n2c1h1w1k1r1s1",
                          "Conv2D/cpu/reference/bwd_data/f64/n1c1h1w1k1r1s1",
                          "Conv2D/cpu/reference/bwd_data/f64/n2c1h1w1k1r1s1"));
  EXPECT_THAT(Read(Plain("n1c1h3w3k1r1s1{,_p1}")),
              ElementsAre(Plain("n1c1h3w3k1r1s1"), Plain("n1c1h3w3k1r1s1_p1")));
  const auto problem = Plain("n1c1h1w1k1r1s1_s1");
  Refuses("# first\n" + problem, "2: " + problem + ": column 44: write this problem as");
  Refuses("LSTMM/cpu/x/fwd/f32/t1\n", "1: LSTMM/cpu/x/fwd/f32/t1: column 1: no ");
  Refuses("\n\nConv2D/cpu\n", "3: Conv2D/cpu: column 11: expected op/");
  Refuses(Plain("n{1,0}c1h1w1k1r1s1"),
          "1: " + Plain("n0c1h1w1k1r1s1") + ": column 31: expected the size n");
  const std::string line = "\n" + Plain("n{1,22}c1h{3,4}w3k1r1s1{,_p1}") + " x12";
  for (size_t length = 2; length < line.size(); ++length) {
    const auto refusal = Refusal(line.substr(0, length));
    EXPECT_TRUE(refusal == "accepted" || refusal.starts_with("my.txt:2: ")) << refusal;
  }
}

TEST(ReadSuite, AProblemFollowsTheTemplatesOfItsOpAndDevicesOrReplacesThem) {
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
  EXPECT_THAT(Read("Conv2D/bwd/bf16 n1c1h1w1k1r1s1/cold\n"),
              ElementsAre("Conv2D/cpu/onednn/bwd_data/bf16/n1c1h1w1k1r1s1/cold",
                          "Conv2D/cpu/onednn/bwd_weights/bf16/n1c1h1w1k1r1s1/cold"));
  EXPECT_THAT(Read("Conv2D/fwd/{f32,f16} n1c1h1w1k1r1s1\n"),
              ElementsAre("Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1",
                          "Conv2D/cpu/onednn/fwd/f16/n1c1h1w1k1r1s1"));
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
                testing::AllOf(StartsWith("my.txt:"), HasSubstr(reason)));
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

TEST(ReadSuite, ABadProblemIsRefusedAndACountStandsBehindTheName) {
  const auto refused = [&](const std::string& line, const std::string& reason) {
    EXPECT_THAT(Refusal("Conv2D/cpu/onednn/{fwd,bwd_data}/f32/*\n" + line),
                testing::AllOf(StartsWith("my.txt:2: "), HasSubstr(reason)));
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
  const auto text = Plain("n1c1h1w1k1r1s1\n") + Plain("n{2,3}c1h1w1k1r1s1 \t x16 # sixteen\n");
  EXPECT_THAT(Counts(text), ElementsAre(1, 16, 16));
  EXPECT_TRUE(ReadText(text).counted);
  EXPECT_TRUE(ReadText(Plain("n1c1h1w1k1r1s1 x1")).counted) << "a model without repeated layers";
  EXPECT_FALSE(ReadText(Plain("n1c1h1w1k1r1s1 # x3")).counted);
}

TEST(ReadSuite, BadBracesAndHostileFilesAreOneSentenceAndRandomBytesAreReadOrRefused) {
  EXPECT_THAT(Refusal(Plain("n{1,2")), HasSubstr("my.txt:1: '{' without its '}'"));
  EXPECT_THAT(Refusal("  a}"), HasSubstr("'}' without its '{'"));
  EXPECT_THAT(Refusal("a{b,{c,d}}"), HasSubstr("brace lists do not nest"));
  EXPECT_THAT(Refusal("a{}"), HasSubstr("a brace list needs at least two choices"));
  EXPECT_THAT(Refusal("a{b}"), HasSubstr("a brace list needs at least two choices"));
  EXPECT_EQ(Refusal(""), "my.txt: the file contains no benchmark name");
  EXPECT_EQ(Refusal("# only a comment"), "my.txt: the file contains no benchmark name");
  EXPECT_THAT(Refusal(std::string(3 << 20, 'a')), HasSubstr("1 MiB"));
  std::string braces = "a";
  for (int i = 0; i < 200; ++i) braces += "{a,b,c,d,e,f,g,h}";  // 8^200
  EXPECT_THAT(Refusal(braces), HasSubstr("my.txt:1: the suite has more than 10000 names"));
  EXPECT_THAT(Refusal(std::string("\0\x1b[31m/b/c/d/e/f{1,2}", 21)), Not(HasSubstr("\x1b")));
  EXPECT_THAT(Refusal(Plain("n1c1h1w1k1r1s1 \x1b[31m")), HasSubstr("expected xN"));
  EXPECT_THAT(Refusal(Plain("n1c1h1w1k1r1s1 \x1b[31m")), Not(HasSubstr("\x1b")));
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

std::string Listed(const std::vector<Suite>& suites) {
  std::string text;
  for (const auto& suite : suites) {
    text += suite.name + "\n";
    for (const auto& [name, count] : suite.layers) text += fmt::format("  {} x{}\n", name, count);
    for (const auto& skipped : suite.skipped)
      text += fmt::format("  not {}: {}\n", skipped.text, skipped.reason);
  }
  return text;
}

std::string ChosenOf(const std::string& text, const SuiteChoices& choices) {
  return Listed(Chosen({ReadSuite(text, "my")}, choices));
}

std::string Refusal(const std::string& text, const SuiteChoices& choices) {
  return fakes::RefusalOf(ChosenOf, text, choices);
}

// The first layer has no data gradient.
constexpr const char* kModel =
    "Conv2D/{fwd,bwd_weights} n16c3h8w8k8r1s1 x1\nConv2D n16c8h8w8k8r1s1 x3\n";

TEST(Chosen, AChoiceSelectsOrReplacesOnEachDeviceByItself) {
  EXPECT_EQ(ChosenOf(kModel, {.directions = "bwd_data", .types = "f32"}),
            "my\n  Conv2D/cpu/onednn/bwd_data/f32/n16c8h8w8k8r1s1 x3\n");
  EXPECT_EQ(ChosenOf(kModel, {.directions = "bwd", .types = "f32"}),
            "my\n  Conv2D/cpu/onednn/bwd_weights/f32/n16c3h8w8k8r1s1 x1\n"
            "  Conv2D/cpu/onednn/bwd_data/f32/n16c8h8w8k8r1s1 x3\n"
            "  Conv2D/cpu/onednn/bwd_weights/f32/n16c8h8w8k8r1s1 x3\n");
  // The suite has int8 only for fwd, since gradients have no int8.
  EXPECT_EQ(ChosenOf(kModel, {.types = "int8"}),
            "my\n  Conv2D/cpu/onednn/fwd/int8/n16c3h8w8k8r1s1 x1\n"
            "  Conv2D/cpu/onednn/fwd/int8/n16c8h8w8k8r1s1 x3\n");
  EXPECT_EQ(ChosenOf(kModel, {.directions = "fwd", .types = "f32,f16"}),
            "my\n  Conv2D/cpu/onednn/fwd/f32/n16c3h8w8k8r1s1 x1\n"
            "  Conv2D/cpu/onednn/fwd/f16/n16c3h8w8k8r1s1 x1\n"
            "  Conv2D/cpu/onednn/fwd/f32/n16c8h8w8k8r1s1 x3\n"
            "  Conv2D/cpu/onednn/fwd/f16/n16c8h8w8k8r1s1 x3\n");
  EXPECT_EQ(ChosenOf("LSTM/fwd_inference/f32 t1n1i1h1{,/cold}\n", {.directions = "bwd"}),
            "my\n  LSTM/cpu/onednn/bwd/f32/t1n1i1h1 x1\n"
            "  LSTM/cpu/onednn/bwd/f32/t1n1i1h1/cold x1\n");
  const std::string both =
      "Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1\nConv2D/gpu/cudnn/fwd/f16/n1c1h1w1k1r1s1\n";
  EXPECT_EQ(ChosenOf(both, {.types = "f16"}),
            "my\n  Conv2D/cpu/onednn/fwd/f16/n1c1h1w1k1r1s1 x1\n"
            "  Conv2D/gpu/cudnn/fwd/f16/n1c1h1w1k1r1s1 x1\n");
}

TEST(Chosen, EachBatchSizeMakesASuiteOfWhatTakesItAndALibraryHas) {
  EXPECT_EQ(ChosenOf("Conv2D/fwd/f32 n16c1h1w1k1r1s1 x3\n", {.batch = "1,64,1"}),
            "my batch 1\n  Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1 x3\n"
            "my batch 64\n  Conv2D/cpu/onednn/fwd/f32/n64c1h1w1k1r1s1 x3\n");
  // Layers of a model that differ only in their batch sizes are added up, but those of a list are
  // not.
  EXPECT_EQ(ChosenOf("LSTM/bwd/f32 t1n{2,3}i1h1 x3\n", {.batch = "5"}),
            "my batch 5\n  LSTM/cpu/onednn/bwd/f32/t1n5i1h1 x6\n");
  EXPECT_EQ(ChosenOf("LSTM/bwd/f32 t1n{2,3}i1h1\n", {.batch = "5"}),
            "my batch 5\n  LSTM/cpu/onednn/bwd/f32/t1n5i1h1 x1\n");
  EXPECT_THAT(ChosenOf("Matmul/fwd/f32 m16n4k4/ip\nMatmul/fwd/f32 m16n4k4\n", {.batch = "2"}),
              StartsWith("my batch 2\n  Matmul/cpu/onednn/fwd/f32/m2n4k4/ip x1\n"
                         "  not Matmul/cpu/onednn/fwd/f32/m16n4k4: a matrix product does not say"));
  EXPECT_THAT(Refusal("Matmul/fwd/f32 m16n4k4\n", {.batch = "2"}),
              AllOf(StartsWith("--dlroof_batch=2: no chosen problem has a batch size: a matrix"),
                    HasSubstr("(such as Matmul/cpu/onednn/fwd/f32/m16n4k4)")));
  EXPECT_THAT(ChosenOf("Conv2D/fwd/f32 n1c1h1w1k1r1s1\n", {.types = "tf32,f32"}),
              StartsWith("my\n  Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1 x1\n"
                         "  not Conv2D/cpu/onednn/fwd/tf32/n1c1h1w1k1r1s1: expected a type"));
  EXPECT_THAT(ChosenOf("LSTM/bwd/f32 t1n1i1h1\nConv2D/fwd/f32 n1c1h1w1k1r1s1\n",
                       {.directions = "bwd_data"}),
              AllOf(HasSubstr("not LSTM/cpu/onednn/bwd_data/f32/t1n1i1h1: an LSTM has no dir"),
                    HasSubstr("  Conv2D/cpu/onednn/bwd_data/f32/n1c1h1w1k1r1s1 x1\n")));
  EXPECT_THAT(ChosenOf("Conv2D/fwd/f32 n1c1h1w1k1r1s1\n", {.types = "tf32"}),
              StartsWith("my\n  not Conv2D/cpu/onednn/fwd/tf32/"))
      << "no error without any left";
}

TEST(Chosen, AChoiceThatNobodyKnowsAndAnImpossibleBatchSizeAreRefused) {
  const auto refused = [](const SuiteChoices& choices, const std::string& start) {
    EXPECT_THAT(Refusal(kModel, choices), StartsWith(start));
  };
  refused({.types = "f32,f99"}, "--dlroof_types=f32,f99: expected a type (f32, ");
  refused({.types = "f3"}, "--dlroof_types=f3: expected a type");
  refused({.types = "f32,"}, "--dlroof_types=f32,: empty part of a benchmark name");
  refused({.directions = "fwd,up"},
          "--dlroof_directions=fwd,up: unknown direction 'up'; expected fwd, bwd, bwd_data, ");
  refused({.directions = "b"}, "--dlroof_directions=b: unknown direction 'b'");
  const std::pair<std::string, const char*> sizes[] = {
      {"0", "expected a batch size, an integer from 1 to 2147483647, got '0'"},
      {"1e9x", "expected ',' or the end, got 'e'"},
      {"16,", "expected a batch size, an integer from 1 to 2147483647, got the end"}};
  for (const auto& [batch, reason] : sizes)
    EXPECT_THAT(Refusal(kModel, {.batch = batch}),
                StartsWith("--dlroof_batch=" + batch + ": " + reason));
  EXPECT_THAT(Refusal("LSTM/bwd/f32 t2147483647n1i2000h2000\n", {.batch = "1,2147483647"}),
              AllOf(StartsWith("--dlroof_batch=1,2147483647: "), HasSubstr("overflow")));
}

constexpr const char* kName = "Conv2D/cpu/reference/fwd/f64/n1c1h1w1k1r1s1";

// A new folder that is the working directory as long as the object exists.
class Folder {
 public:
  Folder() { std::filesystem::current_path(folder_ / ""); }
  ~Folder() { std::filesystem::current_path(before_); }

  static std::string Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    return path;
  }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
  const TemporaryFolder folder_;
};

std::vector<std::string> Names(const std::vector<std::string>& values) {
  std::vector<std::string> names;
  for (const auto& suite : SelectSuites(values)) names.push_back(suite.name);
  return names;
}

std::string SelectionRefusal(const std::vector<std::string>& values) {
  return fakes::RefusalOf([&] { SelectSuites(values); });
}

TEST(SelectSuites, ABuiltInNameAFileOrALineOfBenchdnnReplacesTheDefaultSuites) {
  EXPECT_THAT(Names({"vgg16,resnet50", "vgg16"}), ElementsAre("vgg16", "resnet50"));
  const Folder folder;
  const auto file = Folder::Write("./my.txt", kName);
  EXPECT_THAT(Names({file}), ElementsAre("./my.txt"));
  EXPECT_THAT(Names({file + ",alexnet"}), ElementsAre("./my.txt", "alexnet"));
  EXPECT_THAT(Names({"alexnet", file}), ElementsAre("alexnet", "./my.txt"));
  EXPECT_THAT(Names({file + "," + file}), ElementsAre("./my.txt"));
  const auto set = Folder::Write("./set", "--conv ic4ih4oc4kh1\n");
  EXPECT_THAT(Names({set}), ElementsAre("./set"));
  EXPECT_THAT(Names({"--conv ic4ih4oc4kh1"}), ElementsAre("--dlroof_suite"));
  EXPECT_THAT(Names({set, "--conv ic4ih4oc4kh1", "alexnet"}),
              ElementsAre("./set", "--dlroof_suite", "alexnet"));
}

TEST(SelectionSentence, SaysWhichSuitesRunAndHowManyBenchmarks) {
  EXPECT_EQ(SelectionSentence(SelectSuites({"--conv --dir=FWD_I ic4ih4oc4kh1"})),
            "suite (benchdnn line): 1 benchmark\n");
  EXPECT_EQ(
      SelectionSentence(Chosen(SelectSuites({"--conv --dir=FWD_I ic4ih4oc4kh1"}), {.batch = "3"})),
      "suite (benchdnn line) batch 3: 1 benchmark\n");
  EXPECT_EQ(SelectionSentence(SelectSuites({"LSTM/cpu/onednn/bwd/f32/t1n1i8h8"})),
            "suite LSTM/cpu/onednn/bwd/f32/t1n1i8h8: 1 benchmark\n");
  const std::vector<Suite> same = {{.name = "a", .layers = {{kName, 2}}},
                                   {.name = "b", .layers = {{kName, 3}}}};
  EXPECT_EQ(SelectionSentence(same), "suites a, b: 1 benchmark\n");
  EXPECT_EQ(WorkloadsOf(same).size(), 1U);
}

TEST(SelectSuites, AFileNeedsNoDotAndOnlyWhatIsSelectedIsRead) {
  const Folder folder;
  Folder::Write("mine", kName);
  Folder::Write("a,b", kName);
  EXPECT_THAT(Names({"mine"}), ElementsAre("mine"));
  EXPECT_THAT(Names({"a,b"}), ElementsAre("a,b"));
  Folder::Write("paper", kName);
  EXPECT_THAT(Names({"paper"}), ElementsAre("paper")) << "a built-in name means the built-in suite";
  EXPECT_GT(SelectSuites({"paper"})[0].layers.size(), 1U);
  const Folder empty;
  // An unknown name is refused before the bad file is read.
  EXPECT_THAT(SelectionRefusal({Folder::Write("./bad.txt", "nonsense"), "unknown"}),
              HasSubstr("'unknown'"));
  EXPECT_THAT(SelectionRefusal({"resnet50,"}), HasSubstr("unknown suite ''"));
  EXPECT_THAT(SelectionRefusal({""}), HasSubstr("unknown suite ''"));
  EXPECT_THAT(SelectionRefusal({"./none.txt"}), HasSubstr("./none.txt: cannot be read"));
}

std::vector<std::string> LayersOn(bool cpu, bool gpu, const std::vector<std::string>& names,
                                  std::size_t skipped = 0) {
  Suite suite{.name = "s"};
  for (const auto& name : names) suite.layers.push_back({name, 3});
  const auto moved = OnDevices({suite}, cpu, gpu).at(0);
  EXPECT_EQ(moved.skipped.size(), skipped);
  std::vector<std::string> left;
  for (const auto& layer : moved.layers) {
    left.push_back(layer.name);
    EXPECT_EQ(layer.count, 3);
  }
  return left;
}

TEST(OnDevices, WithoutTheGpuItsBenchmarksAreLeftOutAndWithoutTheCpuTheyMoveOnce) {
  EXPECT_THAT(LayersOn(true, false, {kName, "LSTM/gpu/cudnn/bwd/f16/t1n1i1h1"}),
              ElementsAre(kName));
  EXPECT_THAT(LayersOn(false, true,
                       {"LSTM/cpu/onednn/bwd/f32/t1n1i1h1", "LSTM/cpu/onednn/bwd/bf16/t1n1i1h1",
                        "LSTM/gpu/cudnn/bwd/f32/t1n1i1h1", "LSTM/cpu/reference/bwd/f64/t1n1i1h1"}),
              ElementsAre("LSTM/gpu/cudnn/bwd/bf16/t1n1i1h1", "LSTM/gpu/cudnn/bwd/f32/t1n1i1h1"));
  const auto moved = OnDevices(SelectSuites({"resnet50"}), false, true).at(0);
  EXPECT_EQ(moved.layers.size(), SelectSuites({"resnet50"})[0].layers.size());
  EXPECT_TRUE(moved.counted);
}

TEST(DefaultSuites, AreThoseOfTheDevicesAndTheListHasALinePerSuite) {
  EXPECT_THAT(DefaultSuites({.cpu = true, .gpu = true}), ElementsAre("paper", "reference"));
  EXPECT_THAT(DefaultSuites({.cpu = false, .gpu = true}), ElementsAre("paper"));
  EXPECT_EQ(SelectSuites({}, {.cpu = false, .gpu = true}).at(0).name, "paper");
  EXPECT_TRUE(AsksForSuiteList({"help"}));
  EXPECT_FALSE(AsksForSuiteList({"paper"}));
  const auto list = SuiteList();
  EXPECT_THAT(list, StartsWith("Models, each call with its number:\n  alexnet "));
  EXPECT_THAT(list, HasSubstr("\n  bert\n    bert_base "));
  EXPECT_THAT(list, HasSubstr("\nOperators:\n  attention "));
  for (const auto& suite : BuiltInSuites()) {
    EXPECT_THAT(list, HasSubstr(std::string(suite.name)));
    EXPECT_THAT(list, HasSubstr(std::string(Summary(suite))));
    EXPECT_GT(Summary(suite).size(), 20U) << suite.name;
  }
}

TEST(SuitesContext, HoldsEveryLayerOfACountedSuiteAndWhatWasSkipped) {
  const std::vector<Suite> suites = {
      {.name = "list", .layers = {{"x", 1}}},
      {.name = "model", .layers = {{"a", 3}, {"b", 1}}, .counted = true}};
  EXPECT_EQ(SuitesContext(suites), nlohmann::json::parse(R"([{"name": "model", "layers": [
      {"name": "a", "count": 3}, {"name": "b", "count": 1}]}])"));
  EXPECT_EQ(SuitesContext({}), nlohmann::json::array());
  const std::vector<Suite> skipped = {
      SuiteFromProblems("s.txt", {{{"s.txt", 11, "ic4", ""}, "a"},
                                  {{"s.txt", 12, "id4ih4", "1-D convolution"}, std::nullopt},
                                  {{"set", 13, "id5ih5", "1-D convolution"}, std::nullopt},
                                  {{"s.txt", 14, "ic4", ""}, "a"},
                                  {{"set", 20, "x", "sum"}, std::nullopt}})};
  EXPECT_EQ(skipped[0].layers.size(), 1U) << "a name that comes again is the same benchmark";
  const auto context = SuitesContext(skipped);
  ASSERT_EQ(context.size(), 1U);
  EXPECT_EQ(context[0]["name"], "s.txt");
  EXPECT_FALSE(context[0].contains("layers"));
  EXPECT_EQ(context[0]["skipped"],
            nlohmann::json::parse(
                R"([{"line": 12, "text": "id4ih4", "reason": "1-D convolution"},
                    {"line": 13, "text": "id5ih5", "reason": "1-D convolution", "file": "set"},
                    {"line": 20, "text": "x", "reason": "sum", "file": "set"}])"));
  EXPECT_EQ(SkippedSentences(skipped),
            "s.txt: skipped 2 problems: 1-D convolution (first: line 12)\n"
            "s.txt: skipped 1 problem: sum (first: set:20)\n");
}

constexpr const char* kForAlgorithms =
    "Conv2D/gpu/cudnn/fwd/f16/n1c8h8w8k8r1s1/cold x2\n"
    "Conv2D/gpu/cudnn/fwd/f16/n1c8h8w8k8r1s1/engine7 x3\n"
    "Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r3s3\n"
    "LSTM/gpu/cudnn/fwd_inference/f16/t2n2i8h8\n";

std::vector<std::string> NamesWith(const std::string& text, const std::string& algorithm) {
  std::vector<std::string> names;
  for (const auto& suite : WithAlgorithm({ReadSuite(text, "my")}, algorithm))
    for (const auto& layer : suite.layers)
      names.push_back(fmt::format("{} x{}", layer.name, layer.count));
  return names;
}

TEST(WithAlgorithm, IsAddedToTheNamesThatMayHaveIt) {
  EXPECT_THAT(NamesWith(kForAlgorithms, "best"),
              ElementsAre("Conv2D/gpu/cudnn/fwd/f16/n1c8h8w8k8r1s1/best/cold x2",
                          "Conv2D/gpu/cudnn/fwd/f16/n1c8h8w8k8r1s1/engine7 x3",
                          "Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r3s3 x1",
                          "LSTM/gpu/cudnn/fwd_inference/f16/t2n2i8h8 x1"));
  EXPECT_THAT(NamesWith(kForAlgorithms, "persist-static"),
              Contains("LSTM/gpu/cudnn/fwd_inference/f16/t2n2i8h8/persist-static x1"));
  // A name that has it already stays, and names that become equal are one layer.
  EXPECT_THAT(NamesWith("Conv2D/gpu/cudnn/fwd/f16/n1c8h8w8k8r1s1/best x4\n"
                        "Conv2D/gpu/cudnn/fwd/f16/n1c8h8w8k8r1s1 x2\n",
                        "best"),
              ElementsAre("Conv2D/gpu/cudnn/fwd/f16/n1c8h8w8k8r1s1/best x6"));
}

TEST(WithAlgorithm, RefusesWhatNoNameMayHave) {
  const auto refusal = [](const std::string& text, const std::string& algorithm) {
    return fakes::RefusalOf([&] { WithAlgorithm({ReadSuite(text, "my")}, algorithm); });
  };
  EXPECT_EQ(refusal(kForAlgorithms, "bias"),
            "--dlroof_algorithm=bias: expected auto, best, graph, persist-dynamic, "
            "persist-small-h, persist-static, winograd");
  EXPECT_EQ(refusal("LSTM/gpu/cudnn/fwd_inference/f16/t2n2i8h8\n", "best"),
            "--dlroof_algorithm=best: no benchmark of the run has this option");
}

// Compares the built-in suites with what is published about their models.

std::vector<Layer> AllLayers(const std::string& suite) {
  return SelectSuites({suite}).at(0).layers;
}

// Returns the problems of the layers of one direction and type, with their occurrences.
std::vector<std::pair<std::string, int64_t>> Layers(const std::string& suite,
                                                    const std::string& direction,
                                                    const std::string& type) {
  std::vector<std::pair<std::string, int64_t>> layers;
  for (const auto& layer : AllLayers(suite)) {
    const auto name = workload::ParseBenchmarkName(layer.name);
    if (name.direction == direction && name.type == type)
      layers.emplace_back(name.problem, layer.count);
  }
  return layers;
}

// Returns the occurrences of each problem.
std::map<std::string, int64_t> Problems(const std::string& suite, const std::string& direction,
                                        const std::string& type) {
  const auto layers = Layers(suite, direction, type);
  return {layers.begin(), layers.end()};
}

int64_t Calls(const std::string& suite) {
  int64_t calls = 0;
  for (const auto& [problem, count] : Layers(suite, "fwd", "f32")) calls += count;
  return calls;
}

// [1] dense multiply-adds of one image, as papers count them.
double MultiplyAdds(const std::string& suite) {
  double flops = 0, images = 0;
  for (const auto& [text, count] : Layers(suite, "fwd", "f32")) {
    const auto problem = conv2d::ParseConv2d(text);
    images = static_cast<double>(problem.n);
    flops += static_cast<double>(count * conv2d::DenseFlops(problem));
  }
  return flops / 2 / images;
}

TEST(BuiltInSuites, BeginWithATextAndTheDefaultSetSharesNoName) {
  for (const auto& suite : BuiltInSuites()) EXPECT_TRUE(suite.text.starts_with("# ")) << suite.name;
  std::set<std::string> names;
  const auto suites = SelectSuites({});
  for (const auto& suite : suites)
    for (const auto& layer : suite.layers)
      EXPECT_TRUE(names.insert(layer.name).second) << layer.name << " is in two suites";
}

// Returns "alexnet cpu 33 33 0x09eb5e8365d19ae8" for a suite on one device: its number of
// benchmarks, the sum of their counts, and the FNV-1a sum of the sorted lines "NAME COUNT\n".
std::string Content(const std::string& suite, const std::string& device) {
  const auto suites = SelectSuites({suite}, {.cpu = device == "cpu", .gpu = device == "gpu"});
  std::set<std::string> lines;
  int64_t calls = 0;
  for (const auto& [name, count] : suites.at(0).layers) {
    lines.insert(fmt::format("{} {}\n", name, count));
    calls += count;
  }
  uint64_t sum = 0xcbf29ce484222325;
  for (const auto& line : lines)
    for (const char c : line) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{} {} {} {} {:#018x}", suite, device, lines.size(), calls, sum);
}

// A suite's benchmarks never change: tests/data/suites.txt has a line for each suite and device.
TEST(BuiltInSuites, SelectWhatTheyAlwaysDid) {
  std::ifstream file(fakes::TestData("suites.txt"));
  std::set<std::string> known;
  std::string suite, device;
  for (std::string line; std::getline(file, line); known.insert(suite)) {
    std::istringstream(line) >> suite >> device;
    EXPECT_EQ(Content(suite, device), line);
  }
  for (const auto& built_in : BuiltInSuites()) {
    const std::string name(built_in.name);
    EXPECT_TRUE(known.contains(name))
        << "tests/data/suites.txt has no line of it; a new suite's is: " << Content(name, "cpu");
  }
}

// Published sizes. Convolutions: counted in each paper's table. GMAC: torchvision's table of
// pre-trained weights (its "GFLOPS" are multiply-adds: ResNet50 4.09, ResNet152 11.51, VGG16 15.47,
// MobileNet_V2 0.30), less the classifier's matrix products, worked by hand from its shapes;
// GoogLeNet: "1.5 billion multiply-adds" in its paper, one digit of precision; AlexNet: the sum of
// its five layers from the paper's figure 2, by hand:
// 96*55*55*363 + 256*27*27*1200 + 384*13*13*2304 + 384*13*13*1728 + 256*13*13*1728 = 665,784,864.
struct Published {
  const char* suite;
  int64_t convolutions;
  double multiply_adds, tolerance;
};
constexpr Published kPublished[] = {
    {"alexnet", 5, 665784864, 0},
    {"vgg16", 13, 15.47e9 - (25088 * 4096 + 4096 * 4096 + 4096 * 1000), 0.005e9},
    {"googlenet", 57, 1.5e9, 0.1e9},
    {"resnet50", 53, 4.09e9 - 2048 * 1000, 0.005e9},
    {"resnet152", 155, 11.51e9 - 2048 * 1000, 0.005e9},
    {"mobilenet_v2", 52, 0.30e9 - 1280 * 1000, 0.005e9},
};

TEST(ModelSuites, HaveThePublishedNumberOfConvolutionsAndMultiplyAdds) {
  for (const auto& model : kPublished) {
    EXPECT_EQ(Calls(model.suite), model.convolutions) << model.suite;
    EXPECT_NEAR(MultiplyAdds(model.suite), model.multiply_adds, model.tolerance) << model.suite;
  }
}

TEST(DeepCam, IsTheNetworkThatWasProfiled) {
  // 3 + 3*7 - 1 entry, 48*2 middle, 7 + 6 exit, 4 + 1 + 1 pooling, 1 + 2 + 3 + 2 decoder.
  EXPECT_EQ(Calls("deepcam"), 2 + 21 + 96 + 13 + 6 + 8);
  // Counted on a V100 by the hierarchical roofline paper's profiles (PyTorch, batch 2, forward,
  // every kernel): 1.185 TFLOP in FP32, where cuDNN takes fast algorithms, and 1.370 TFLOP on
  // Tensor Cores, which pad to their tiles. The dense count lies between.
  const double flops = 2 * 2 * MultiplyAdds("deepcam");
  EXPECT_GT(flops, 1.185e12);
  EXPECT_LT(flops, 1.370e12);
  // All but the four deconvolutions have an int8 form; all but the first a data gradient.
  const auto all = Problems("deepcam", "fwd", "f32");
  EXPECT_EQ(Problems("deepcam", "fwd", "int8").size() + 4, all.size());
  EXPECT_EQ(Problems("deepcam", "bwd_data", "bf16").size() + 1, all.size());
  EXPECT_EQ(Problems("deepcam", "bwd_weights", "f32"), all);
}

}  // namespace
}  // namespace dlroof::suites
