#include "reporters/roofline/op_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reporters/roofline/sweep_line.h"

namespace dlroof::roofline {
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

constexpr const char* kConv = "n16c64h56w56k64r3s3_s2p0:1x0:1";

TEST(ProblemParts, AreKeysWithTheirValuesAndPlaces) {
  const auto parts = ProblemParts(kConv);
  ASSERT_EQ(parts.size(), 9u);
  EXPECT_EQ(parts[0].key, "n");
  EXPECT_EQ(parts[0].value, "16");
  EXPECT_EQ(parts[7].key, "_s");
  EXPECT_EQ(parts[8].key, "_p");
  EXPECT_EQ(parts[8].value, "0:1x0:1");
  EXPECT_EQ(std::string(kConv).substr(parts[2].value_begin, parts[2].end - parts[2].value_begin),
            "56");
}

TEST(WithValue, ReplacesTheValue) {
  EXPECT_THAT(WithValue(kConv, {"batch", "n"}, "4"), ElementsAre("n4c64h56w56k64r3s3_s2p0:1x0:1"));
  EXPECT_THAT(WithValue(kConv, {"stride", "_s", "_p"}, "4"),
              ElementsAre("n16c64h56w56k64r3s3_s4p0:1x0:1"));
}

TEST(WithValue, KeepsASquareSquareAndItsPadding) {
  EXPECT_THAT(WithValue("n1c3h3w3k3r3s3_p3", {"image", "h", "w _p"}, "9"),
              ElementsAre("n1c3h9w9k3r3s3_p3"));
  EXPECT_THAT(WithValue("n1c3h3w7k3r3s3", {"image", "h", "w _p"}, "9"),
              ElementsAre("n1c3h9w7k3r3s3"))
      << "it was no square";
}

TEST(WithValue, OffersTheTextsOfAKeyThatMayBeLeftOut) {
  EXPECT_THAT(WithValue("t1n1i8h8l2", {"layers", "l"}, "1"), ElementsAre("t1n1i8h8l1", "t1n1i8h8"));
  EXPECT_THAT(WithValue("r3s3_s2", {"stride", "_s", "_p"}, "1"), Contains("r3s3"));
  EXPECT_THAT(WithValue("t1n1i8h8bi", {"layers", "l"}, "2"), Contains("t1n1i8h8l2bi"));
  EXPECT_THAT(WithValue("r3s3", {"stride", "_s", "_p"}, "2"), ElementsAre("r3s3_s2"));
  EXPECT_THAT(WithValue("r3s3_p1", {"stride", "_s", "_p"}, "2"), Contains("r3s3_s2p1"));
  EXPECT_THAT(WithValue("r3s3", {"stride", "_s", "_p"}, "1"), ElementsAre("r3s3"));
}

}  // namespace
}  // namespace dlroof::roofline
