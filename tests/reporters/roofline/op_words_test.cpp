#include "reporters/roofline/op_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reporters/roofline/sweep_line.h"

namespace dlroof {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;

const OpVocabulary kWords = {{"A", {"first", {{"batch", "n"}, {"image", "h", "w _p"}}}},
                             {"B", {"second", {{"batch", "n"}, {"image", "i"}}}}};

TEST(OpWords, AParameterOfTheSameLettersIsOneOfAllItsOps) {
  const auto parameters = SweepParameters(kWords);
  ASSERT_THAT(parameters, testing::SizeIs(3));
  EXPECT_THAT(parameters[0].ops, ElementsAre("A", "B"));
  EXPECT_THAT(parameters[1].ops, ElementsAre("A"));
  EXPECT_THAT(parameters[2].ops, ElementsAre("B"));
  EXPECT_THAT(SweepNames(kWords), ElementsAre("batch", "image"));
}

// A file of a program that has an op which this one lacks.
TEST(OpWords, AFileBringsThoseOfItsOps) {
  PlacedRun run;
  run.file.context = {{"dlroof", {{"ops", ToJson(kWords)}}}};
  for (const char* problem : {"n1h3w3_p1", "n1h5w5_p2"}) {
    run.file.records.push_back({.op = "A", .problem = problem});
    run.places.emplace_back().placement.time.emplace();
  }
  EXPECT_THAT(SweepLines(run, "image").at(0).values, ElementsAre(3, 5));
  EXPECT_EQ(NounOf("B", WordsOf(run.file.context)), "second");
  EXPECT_EQ(NounOf("C", WordsOf(run.file.context)), "call");
}

TEST(OpWords, ThoseOfThisProgramCount) {
  const json context = {{"dlroof", {{"ops", {{"Conv2D", {{"noun", "nonsense"}}}}}}}};
  EXPECT_EQ(NounOf("Conv2D", WordsOf(context)), "convolution");
  EXPECT_EQ(NounOf("Conv2D", {}), "convolution");
  EXPECT_THAT(SweepNames(WordsOf(context)), Contains("hidden"));
}

TEST(OpWords, TakesAnyContext) {
  for (const char* text :
       {"null", "1", R"({"dlroof": {"ops": [1]}})",
        R"({"dlroof": {"ops": {"X": 1, "Y": {"sweep": [null, {"name": 1}, {"key": "k"}]}}}})"})
    EXPECT_THAT(SweepNames(WordsOf(json::parse(text))), Contains("batch")) << text;
}

}  // namespace
}  // namespace dlroof
