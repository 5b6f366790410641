#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bench/suites/suite.h"
#include "counters/base/files.h"
#include "tests/fakes/refusal.h"

namespace dlroof::suites {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

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
  return fakes::RefusalOf([&] { ChosenOf(text, choices); });
}

// The first layer has no data gradient.
constexpr const char* kModel =
    "Conv2D/{fwd,bwd_weights} n16c3h8w8k8r1s1 x1\nConv2D n16c8h8w8k8r1s1 x3\n";

TEST(Chosen, AChoiceThatTheSuiteHasSelects) {
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
}

TEST(Chosen, AChoiceThatTheSuiteHasNotReplacesItsOwn) {
  EXPECT_EQ(ChosenOf(kModel, {.directions = "fwd", .types = "f32,f16"}),
            "my\n  Conv2D/cpu/onednn/fwd/f32/n16c3h8w8k8r1s1 x1\n"
            "  Conv2D/cpu/onednn/fwd/f16/n16c3h8w8k8r1s1 x1\n"
            "  Conv2D/cpu/onednn/fwd/f32/n16c8h8w8k8r1s1 x3\n"
            "  Conv2D/cpu/onednn/fwd/f16/n16c8h8w8k8r1s1 x3\n");
  EXPECT_EQ(ChosenOf("LSTM/fwd_inference/f32 t1n1i1h1{,/cold}\n", {.directions = "bwd"}),
            "my\n  LSTM/cpu/onednn/bwd/f32/t1n1i1h1 x1\n"
            "  LSTM/cpu/onednn/bwd/f32/t1n1i1h1/cold x1\n");
}

TEST(Chosen, EachDeviceOfASuiteFollowsAChoiceByItself) {
  const std::string both =
      "Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1\nConv2D/gpu/cudnn/fwd/f16/n1c1h1w1k1r1s1\n";
  EXPECT_EQ(ChosenOf(both, {.types = "f16"}),
            "my\n  Conv2D/cpu/onednn/fwd/f16/n1c1h1w1k1r1s1 x1\n"
            "  Conv2D/gpu/cudnn/fwd/f16/n1c1h1w1k1r1s1 x1\n");
}

TEST(Chosen, EachBatchSizeMakesASuite) {
  EXPECT_EQ(ChosenOf("Conv2D/fwd/f32 n16c1h1w1k1r1s1 x3\n", {.batch = "1,64,1"}),
            "my batch 1\n  Conv2D/cpu/onednn/fwd/f32/n1c1h1w1k1r1s1 x3\n"
            "my batch 64\n  Conv2D/cpu/onednn/fwd/f32/n64c1h1w1k1r1s1 x3\n");
  // Layers of a model that differ only in their batch sizes are added up, but those of a list are
  // not.
  EXPECT_EQ(ChosenOf("LSTM/bwd/f32 t1n{2,3}i1h1 x3\n", {.batch = "5"}),
            "my batch 5\n  LSTM/cpu/onednn/bwd/f32/t1n5i1h1 x6\n");
  EXPECT_EQ(ChosenOf("LSTM/bwd/f32 t1n{2,3}i1h1\n", {.batch = "5"}),
            "my batch 5\n  LSTM/cpu/onednn/bwd/f32/t1n5i1h1 x1\n");
}

TEST(Chosen, AnInnerProductHasABatchSizeAndAnotherMatrixProductNone) {
  EXPECT_THAT(ChosenOf("Matmul/fwd/f32 m16n4k4/ip\nMatmul/fwd/f32 m16n4k4\n", {.batch = "2"}),
              StartsWith("my batch 2\n  Matmul/cpu/onednn/fwd/f32/m2n4k4/ip x1\n"
                         "  not Matmul/cpu/onednn/fwd/f32/m16n4k4: a matrix product does not say"));
}

TEST(Chosen, WhatALibraryHasNotIsSkippedWithItsReason) {
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

TEST(Chosen, ABatchSizeThatNoProblemTakesIsRefused) {
  EXPECT_THAT(Refusal("Matmul/fwd/f32 m16n4k4\n", {.batch = "2"}),
              AllOf(StartsWith("--dlroof_batch=2: no chosen problem has a batch size: a matrix"),
                    HasSubstr("(such as Matmul/cpu/onednn/fwd/f32/m16n4k4)")));
}

TEST(Chosen, AChoiceThatNobodyKnowsIsRefused) {
  const auto refused = [](const SuiteChoices& choices, const std::string& start) {
    EXPECT_THAT(Refusal(kModel, choices), StartsWith(start));
  };
  refused({.types = "f32,f99"}, "--dlroof_types=f32,f99: expected a type (f32, ");
  refused({.types = "f3"}, "--dlroof_types=f3: expected a type");
  refused({.types = "f32,"}, "--dlroof_types=f32,: empty part of a benchmark name");
  refused({.directions = "fwd,up"},
          "--dlroof_directions=fwd,up: unknown direction 'up'; expected fwd, bwd, bwd_data, ");
  refused({.directions = "b"}, "--dlroof_directions=b: unknown direction 'b'");
}

TEST(Chosen, AnImpossibleBatchSizeIsRefused) {
  const auto refused = [](const std::string& batch, const std::string& reason) {
    EXPECT_THAT(Refusal(kModel, {.batch = batch}),
                StartsWith("--dlroof_batch=" + batch + ": " + reason));
  };
  refused("0", "expected a batch size, an integer from 1 to 2147483647, got '0'");
  refused("1e9x", "expected ',' or the end, got 'e'");
  refused("16,", "expected a batch size, an integer from 1 to 2147483647, got the end");
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

TEST(SelectSuites, ABuiltInNameReplacesTheDefaultSet) {
  EXPECT_THAT(Names({"vgg16,resnet50", "vgg16"}), ElementsAre("vgg16", "resnet50"));
}

TEST(SelectSuites, AFileReplacesTheDefaultSuitesAndJoinsNamedOnes) {
  const Folder folder;
  const auto file = Folder::Write("./my.txt", kName);
  EXPECT_THAT(Names({file}), ElementsAre("./my.txt"));
  EXPECT_THAT(Names({file + ",alexnet"}), ElementsAre("./my.txt", "alexnet"));
  EXPECT_THAT(Names({"alexnet", file}), ElementsAre("alexnet", "./my.txt"));
  EXPECT_THAT(Names({file + "," + file}), ElementsAre("./my.txt"));
}

TEST(SelectSuites, BenchdnnsFilesAndLinesReplaceTheDefaultSuites) {
  const Folder folder;
  const auto file = Folder::Write("./set", "--conv ic4ih4oc4kh1\n");
  EXPECT_THAT(Names({file}), ElementsAre("./set"));
  EXPECT_THAT(Names({"--conv ic4ih4oc4kh1"}), ElementsAre("--dlroof_suite"));
  EXPECT_THAT(Names({file, "--conv ic4ih4oc4kh1", "alexnet"}),
              ElementsAre("./set", "--dlroof_suite", "alexnet"));
}

TEST(SelectionSentence, SaysWhichSuitesRunAndHowManyBenchmarks) {
  const Folder folder;
  const auto file = Folder::Write("./my.txt", "Conv2D/cpu/reference/fwd/f64/n{1,2}c1h1w1k1r1s1\n");
  EXPECT_EQ(SelectionSentence(SelectSuites({file})), "suite ./my.txt: 2 benchmarks\n");
  EXPECT_EQ(SelectionSentence(SelectSuites({"--conv --dir=FWD_I ic4ih4oc4kh1"})),
            "suite (benchdnn line): 1 benchmark\n");
  EXPECT_EQ(
      SelectionSentence(Chosen(SelectSuites({"--conv --dir=FWD_I ic4ih4oc4kh1"}), {.batch = "3"})),
      "suite (benchdnn line) batch 3: 1 benchmark\n");
  EXPECT_THAT(SelectionSentence(SelectSuites({})), StartsWith("suites paper, reference: "));
  const std::vector<Suite> same = {{.name = "a", .layers = {{kName, 2}}},
                                   {.name = "b", .layers = {{kName, 3}}}};
  EXPECT_EQ(SelectionSentence(same), "suites a, b: 1 benchmark\n");
}

TEST(SelectSuites, AFileNeedsNoDotWhenItExistsAndMayHaveCommas) {
  const Folder folder;
  Folder::Write("mine", kName);
  Folder::Write("a,b", kName);
  EXPECT_THAT(Names({"mine"}), ElementsAre("mine"));
  EXPECT_THAT(Names({"a,b"}), ElementsAre("a,b"));
  Folder::Write("paper", kName);
  EXPECT_THAT(Names({"paper"}), ElementsAre("paper")) << "a built-in name means the built-in suite";
  EXPECT_GT(SelectSuites({"paper"})[0].layers.size(), 1U);
}

TEST(SelectSuites, AnUnknownNameListsThoseThereAre) {
  EXPECT_THAT(SelectionRefusal({"resnet5"}),
              AllOf(StartsWith("--dlroof_suite: unknown suite 'resnet5'; expected the path of a "
                               "file, or one of alexnet, "),
                    HasSubstr(" cold, ")));
  EXPECT_THAT(SelectionRefusal({"resnet50,"}), HasSubstr("unknown suite ''"));
  EXPECT_THAT(SelectionRefusal({""}), HasSubstr("unknown suite ''"));
  EXPECT_THAT(SelectionRefusal({"./none.txt"}), HasSubstr("./none.txt: cannot be read"));
}

TEST(SelectSuites, OnlyWhatIsSelectedIsRead) {
  const Folder folder;
  // An unknown name is refused before the bad file is read.
  EXPECT_THAT(SelectionRefusal({Folder::Write("./bad.txt", "nonsense"), "unknown"}),
              HasSubstr("'unknown'"));
  EXPECT_THAT(SelectionRefusal({"./bad.txt"}), StartsWith("./bad.txt:1: nonsense: column 9: "));
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

TEST(OnDevices, WithoutTheGpuItsBenchmarksAreLeftOut) {
  EXPECT_THAT(LayersOn(true, false, {kName, "LSTM/gpu/cudnn/bwd/f16/t1n1i1h1"}),
              ElementsAre(kName));
}

TEST(OnDevices, WithoutTheCpuItsBenchmarksMoveToTheGpuOnce) {
  EXPECT_THAT(LayersOn(false, true,
                       {"LSTM/cpu/onednn/bwd/f32/t1n1i1h1", "LSTM/cpu/onednn/bwd/bf16/t1n1i1h1",
                        "LSTM/gpu/cudnn/bwd/f32/t1n1i1h1", "LSTM/cpu/reference/bwd/f64/t1n1i1h1"}),
              ElementsAre("LSTM/gpu/cudnn/bwd/bf16/t1n1i1h1", "LSTM/gpu/cudnn/bwd/f32/t1n1i1h1"));
}

TEST(OnDevices, ModelsMayBeRunWhole) {
  const auto moved = OnDevices(SelectSuites({"resnet50"}), false, true).at(0);
  EXPECT_EQ(moved.layers.size(), SelectSuites({"resnet50"})[0].layers.size());
  EXPECT_TRUE(moved.counted);
}

TEST(DefaultSuites, AreThoseOfTheDevices) {
  EXPECT_THAT(DefaultSuites({.cpu = true, .gpu = true}), ElementsAre("paper", "reference"));
  EXPECT_THAT(DefaultSuites({.cpu = false, .gpu = true}), ElementsAre("paper"));
  EXPECT_EQ(SelectSuites({}, {.cpu = false, .gpu = true}).at(0).name, "paper");
}

TEST(SuiteList, HasALinePerSuite) {
  EXPECT_TRUE(AsksForSuiteList({"help"}));
  EXPECT_FALSE(AsksForSuiteList({"paper"}));
  const auto list = SuiteList();
  for (const auto& suite : BuiltInSuites()) {
    EXPECT_THAT(list, HasSubstr(std::string(suite.name)));
    EXPECT_THAT(list, HasSubstr(std::string(Summary(suite))));
    EXPECT_GT(Summary(suite).size(), 20U) << suite.name;
  }
}

TEST(WorkloadsOf, ABenchmarkOfTwoSuitesIsThereOnce) {
  const std::vector<Suite> suites = {{.name = "a", .layers = {{kName, 2}}},
                                     {.name = "b", .layers = {{kName, 3}}}};
  EXPECT_EQ(WorkloadsOf(suites).size(), 1U);
}

TEST(SuitesContext, HoldsEveryLayerOfACountedSuite) {
  const std::vector<Suite> suites = {
      {.name = "list", .layers = {{"x", 1}}},
      {.name = "model", .layers = {{"a", 3}, {"b", 1}}, .counted = true}};
  EXPECT_EQ(SuitesContext(suites), nlohmann::json::parse(R"([{"name": "model", "layers": [
      {"name": "a", "count": 3}, {"name": "b", "count": 1}]}])"));
  EXPECT_EQ(SuitesContext({}), nlohmann::json::array());
}

TEST(SuitesContext, KeepsWhatWasSkippedAndWhy) {
  const std::vector<Suite> suites = {
      SuiteFromProblems("s.txt", {{{"s.txt", 11, "ic4", ""}, "a"},
                                  {{"s.txt", 12, "id4ih4", "1-D convolution"}, std::nullopt},
                                  {{"set", 13, "id5ih5", "1-D convolution"}, std::nullopt},
                                  {{"s.txt", 14, "ic4", ""}, "a"},
                                  {{"set", 20, "x", "sum"}, std::nullopt}})};
  EXPECT_EQ(suites[0].layers.size(), 1U) << "a name that comes again is the same benchmark";
  const auto context = SuitesContext(suites);
  ASSERT_EQ(context.size(), 1U);
  EXPECT_EQ(context[0]["name"], "s.txt");
  EXPECT_FALSE(context[0].contains("layers"));
  EXPECT_EQ(context[0]["skipped"],
            nlohmann::json::parse(
                R"([{"line": 12, "text": "id4ih4", "reason": "1-D convolution"},
                    {"line": 13, "text": "id5ih5", "reason": "1-D convolution", "file": "set"},
                    {"line": 20, "text": "x", "reason": "sum", "file": "set"}])"));
  EXPECT_EQ(SkippedSentences(suites),
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
              testing::Contains("LSTM/gpu/cudnn/fwd_inference/f16/t2n2i8h8/persist-static x1"));
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
            "--dlroof_algorithm=bias: expected auto, best, persist-dynamic, persist-small-h, "
            "persist-static, winograd");
  EXPECT_EQ(refusal("LSTM/gpu/cudnn/fwd_inference/f16/t2n2i8h8\n", "best"),
            "--dlroof_algorithm=best: no benchmark of the run has this option");
}

}  // namespace
}  // namespace dlroof::suites
