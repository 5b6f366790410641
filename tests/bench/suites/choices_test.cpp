#include "bench/suites/choices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::suites {
namespace {

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

TEST(Chosen, WithoutAChoiceNothingChanges) {
  EXPECT_EQ(ChosenOf(kModel, {}), Listed({ReadSuite(kModel, "my")}));
}

TEST(Chosen, AChoiceThatTheSuiteHasSelects) {
  EXPECT_EQ(ChosenOf(kModel, {.directions = "bwd_data", .types = "f32"}),
            "my\n  Conv2D/cpu/onednn/bwd_data/f32/n16c8h8w8k8r1s1 x3\n");
  EXPECT_EQ(ChosenOf(kModel, {.directions = "bwd", .types = "f32"}),
            "my\n  Conv2D/cpu/onednn/bwd_weights/f32/n16c3h8w8k8r1s1 x1\n"
            "  Conv2D/cpu/onednn/bwd_data/f32/n16c8h8w8k8r1s1 x3\n"
            "  Conv2D/cpu/onednn/bwd_weights/f32/n16c8h8w8k8r1s1 x3\n");
  // int8 is there, forward alone: the gradients have none.
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
  EXPECT_EQ(ChosenOf("Conv2D/fwd/f32 n1c1h1w1k1r1s1\n", {.library = "reference", .types = "f64"}),
            "my\n  Conv2D/cpu/reference/fwd/f64/n1c1h1w1k1r1s1 x1\n");
}

TEST(Chosen, FullNamesFollowTheSameChoices) {
  EXPECT_EQ(ChosenOf("Conv2D/cpu/onednn/fwd/{f32,bf16}/n1c1h1w1k1r1s1/relu x2\n"
                     "Conv2D/cpu/reference/fwd/f64/n1c2h1w1k1r1s1\n",
                     {.types = "bf16", .batch = "4"}),
            "my batch 4\n  Conv2D/cpu/onednn/fwd/bf16/n4c1h1w1k1r1s1/relu x2\n");
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
  // Layers of a model that only their batch sizes told apart are one; in a list they are no
  // model's.
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
              AllOf(StartsWith("--dlroof_batch=2: column 1: no chosen problem takes it: a matrix"),
                    HasSubstr("(such as Matmul/cpu/onednn/fwd/f32/m16n4k4)")));
}

TEST(Chosen, AChoiceThatNobodyKnowsIsRefusedWithItsColumn) {
  const auto refused = [](const SuiteChoices& choices, const std::string& start) {
    EXPECT_THAT(Refusal(kModel, choices), StartsWith(start));
  };
  refused({.types = "f32,f99"}, "--dlroof_types=f32,f99: column 5: expected a type (f32, ");
  refused({.types = "f3"}, "--dlroof_types=f3: column 1: expected a type");
  refused({.types = "f32,"}, "--dlroof_types=f32,: column 5: an empty choice");
  refused({.types = ",f32"}, "--dlroof_types=,f32: column 1: an empty choice");
  refused({.directions = "fwd,up"},
          "--dlroof_directions=fwd,up: column 5: no direction 'up'; there are fwd, bwd_data, ");
  refused({.directions = "b"}, "--dlroof_directions=b: column 1: no direction 'b'");
  refused({.library = "mkl"}, "--dlroof_library=mkl: column 1: no library 'mkl'; there are ");
}

TEST(Chosen, AnImpossibleBatchSizeIsRefusedWithItsColumn) {
  const auto refused = [](const std::string& batch, const std::string& why) {
    EXPECT_THAT(Refusal(kModel, {.batch = batch}),
                StartsWith("--dlroof_batch=" + batch + ": column " + why));
  };
  refused("0", "1: expected a batch size, an integer from 1 to 2147483647, got '0'");
  refused("-1", "1: expected a batch size, an integer from 1 to 2147483647, got '-'");
  refused("abc", "1: expected a batch size");
  refused("1e9x", "2: expected ',', got 'e'");
  refused("16,08", "4: expected a batch size");
  refused("16,", "4: expected a batch size, an integer from 1 to 2147483647, got the end");
  refused("16, 32", "4: expected a batch size");
  refused("99999999999", "1: expected a batch size");
  EXPECT_THAT(Refusal("LSTM/bwd/f32 t2147483647n1i2000h2000\n", {.batch = "1,2147483647"}),
              AllOf(StartsWith("--dlroof_batch=1,2147483647: column 3: "), HasSubstr("overflow")));
}

}  // namespace
}  // namespace dlroof::suites
