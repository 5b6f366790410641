#include "bench/suites/suite_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "counters/base/folders.h"
#include "tests/fakes/refusal.h"

namespace dlroof::suites {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kName = "Conv2D/cpu/reference/fwd/f64/n1c1h1w1k1r1s1";

// A folder of its own that is the working directory while it lives.
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

TEST(SelectSuites, TheDefaultSetIsThePapersAndTheReference) {
  EXPECT_THAT(Names({}), ElementsAre("paper", "reference"));
}

TEST(SelectSuites, ABuiltInNameReplacesTheDefaultSet) {
  EXPECT_THAT(Names({"resnet50"}), ElementsAre("resnet50"));
  EXPECT_THAT(Names({"vgg16", "paper"}), ElementsAre("vgg16", "paper"));
  EXPECT_THAT(Names({"vgg16,resnet50", "vgg16"}), ElementsAre("vgg16", "resnet50"));
}

TEST(SelectSuites, FilesAloneAreAddedToTheDefaultSet) {
  const Folder folder;
  const auto file = Folder::Write("./my.txt", kName);
  EXPECT_THAT(Names({file}), ElementsAre("paper", "reference", "./my.txt"));
  EXPECT_THAT(Names({file + ",alexnet"}), ElementsAre("./my.txt", "alexnet"));
  EXPECT_THAT(Names({"alexnet", file}), ElementsAre("alexnet", "./my.txt"));
}

TEST(SelectSuites, AFileNeedsNoDotWhenItExistsAndMayHaveCommas) {
  const Folder folder;
  Folder::Write("mine", kName);
  Folder::Write("a,b", kName);
  EXPECT_THAT(Names({"mine"}), ElementsAre("paper", "reference", "mine"));
  EXPECT_THAT(Names({"a,b"}), ElementsAre("paper", "reference", "a,b"));
  Folder::Write("paper", kName);
  EXPECT_THAT(Names({"paper"}), ElementsAre("paper")) << "a built-in name means the built-in suite";
  EXPECT_GT(SelectSuites({"paper"})[0].layers.size(), 1U);
}

TEST(SelectSuites, AnUnknownNameListsThoseThereAre) {
  EXPECT_THAT(SelectionRefusal({"resnet5"}),
              AllOf(StartsWith("--dlroof_suite: no suite 'resnet5'; there are alexnet, "),
                    HasSubstr(" cold, ")));
  EXPECT_THAT(SelectionRefusal({"resnet50,"}), HasSubstr("no suite ''"));
  EXPECT_THAT(SelectionRefusal({""}), HasSubstr("no suite ''"));
  EXPECT_THAT(SelectionRefusal({"./none.txt"}), HasSubstr("./none.txt: cannot be read"));
}

TEST(SelectSuites, OnlyWhatIsSelectedIsRead) {
  const Folder folder;
  // An unknown name is refused before the bad file is read.
  EXPECT_THAT(SelectionRefusal({Folder::Write("./bad.txt", "nonsense"), "unknown"}),
              HasSubstr("'unknown'"));
  EXPECT_THAT(SelectionRefusal({"./bad.txt"}), StartsWith("./bad.txt:1: column 9: "));
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

TEST(OnDevices, WithBothNothingChanges) {
  const std::vector<std::string> names = {kName, "LSTM/gpu/cudnn/bwd/f16/t1n1i1h1"};
  EXPECT_EQ(LayersOn(true, true, names), names);
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
                                  {{"s.txt", 12, "id4ih4", "3-D convolution"}, ""},
                                  {{"set", 13, "id5ih5", "3-D convolution"}, ""},
                                  {{"s.txt", 14, "ic4", ""}, "a"},
                                  {{"set", 20, "x", "sum"}, ""}})};
  EXPECT_EQ(suites[0].layers.size(), 1U) << "a name that comes again is the same benchmark";
  const auto context = SuitesContext(suites);
  ASSERT_EQ(context.size(), 1U);
  EXPECT_EQ(context[0]["name"], "s.txt");
  EXPECT_FALSE(context[0].contains("layers"));
  EXPECT_EQ(context[0]["skipped"],
            nlohmann::json::parse(
                R"([{"line": 12, "text": "id4ih4", "reason": "3-D convolution"},
                    {"line": 13, "text": "id5ih5", "reason": "3-D convolution", "file": "set"},
                    {"line": 20, "text": "x", "reason": "sum", "file": "set"}])"));
  EXPECT_EQ(SkippedSentences(suites),
            "s.txt: 2 problems are no benchmarks here: 3-D convolution (first: line 12)\n"
            "s.txt: 1 problem is no benchmark here: sum (first: set:20)\n");
}

}  // namespace
}  // namespace dlroof::suites
