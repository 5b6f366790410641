#include "bench/suites/benchdnn.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <random>

#include "bench/lstm/case.h"
#include "bench/suites/suite.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {
namespace {

using testing::ElementsAre;

std::string LineOf(const std::string& rest) {
  const auto name =
      workload::ParseBenchmarkName(rest.starts_with("LSTM") ? rest : "LSTM/cpu/onednn/" + rest);
  const auto lstm = ReadLstmCase(
      name, LstmTypeNames(),
      {{"peephole"}, {"ldigo"}, {"fpmath-bf16", "fpmath-f16", "fpmath-tf32", "fpmath-any"}});
  return LstmBenchdnn(lstm).value_or("");
}

// Written from benchdnn's grammar; each was run through benchdnn 3.2.
TEST(LstmBenchdnn, SaysTheSameCall) {
  const std::pair<std::string, std::string> pairs[] = {
      {"fwd_inference/f32/t16n16i32h16",
       "--rnn --mode=P --alg=VANILLA_LSTM --trivial-strides=true l1t16mb16sic16slc32dhc16dic16"},
      {"fwd_training/f32/t16n16i16h16l4",
       "--rnn --mode=P --prop=FWD_D --alg=VANILLA_LSTM --trivial-strides=true "
       "l4t16mb16sic16slc16dhc16dic16"},
      {"bwd/bf16/t2n3i5h7bi",
       "--rnn --mode=P --prop=BWD_DW --cfg=bf16 --alg=VANILLA_LSTM --direction=concat "
       "--trivial-strides=true l1t2mb3sic7slc5dhc7dic7"},
      {"fwd_inference/bf16f32/t2n3i5h7bisum",
       "--rnn --mode=P --cfg=bf16f32 --alg=VANILLA_LSTM --direction=sum --trivial-strides=true "
       "l1t2mb3sic7slc5dhc7dic7"},
      {"fwd_inference/int8/t2n3i32h64p32",
       "--rnn --mode=P --cfg=u8u8u8u8 --alg=VANILLA_LSTM --with-projection=true "
       "--trivial-strides=true l1t2mb3sic32slc32dhc64dic32"},
      {"fwd_inference/f32u8f32u8/t2n3i32h32l2",
       "--rnn --mode=P --cfg=f32u8f32u8 --alg=VANILLA_LSTM --trivial-strides=true "
       "l2t2mb3sic32slc32dhc32dic32"},
      {"bwd/f32/t2n3i4h8p4/peephole/fpmath-bf16",
       "--rnn --mode=P --prop=BWD_DW --alg=VANILLA_LSTM --with-peephole=true "
       "--with-projection=true --trivial-strides=true --attr-fpmath=bf16 l1t2mb3sic4slc4dhc8dic4"}};
  for (const auto& [name, line] : pairs) EXPECT_EQ(LineOf(name), line) << name;
}

TEST(LstmBenchdnn, IsAbsentForCallsThatBenchdnnCannotExpress) {
  EXPECT_EQ(LineOf("fwd_inference/f32/t2n3i5h7l2"), "");      // two primitives: widths differ
  EXPECT_EQ(LineOf("fwd_inference/f32/t2n3i7h7l2bi"), "");    // passes join after each layer
  EXPECT_EQ(LineOf("fwd_inference/f32/t2n3i7h7/ldigo"), "");  // no option for weights' layout
  EXPECT_EQ(LineOf("fwd_inference/bf16/t2n3i7h7p3"), "");     // skipped there
}

// Over random names: what benchdnn's line says is read as the benchmark that it came from.
TEST(LstmBenchdnn, ReadsBackAsTheSameBenchmark) {
  std::mt19937 random(5);
  const auto pick = [&](const auto& choices) {
    return *(std::begin(choices) +
             static_cast<std::ptrdiff_t>(random() % static_cast<size_t>(std::size(choices))));
  };
  const std::vector<std::string> directions = {"fwd_inference", "fwd_training", "bwd"};
  const std::vector<std::string> widths = {"i5h7",     "i7h7",   "i7h7l3",   "i5h9p4",
                                           "i5h9l2p5", "i4h4bi", "i5h7bisum"};
  const std::vector<std::string> peepholes = {"", "/peephole"};
  const std::vector<std::string> modes = {"", "/fpmath-bf16", "/fpmath-f16", "/fpmath-tf32",
                                          "/fpmath-any"};
  int lines = 0;
  for (int k = 0; k < 3000; ++k) {
    const auto name = fmt::format("LSTM/cpu/onednn/{}/{}/t{}n{}{}{}{}", pick(directions),
                                  pick(LstmTypeNames()), 1 + random() % 40, 1 + random() % 40,
                                  pick(widths), pick(peepholes), pick(modes));
    const auto line = LineOf(name);
    if (line.empty()) continue;  // bf16 with a projection
    const auto read = suites::ReadBenchdnn(line, "line");
    ASSERT_EQ(read.size(), 1U) << line;
    ASSERT_EQ(read[0].name, name) << line << ": " << read[0].reason;
    ++lines;
  }
  EXPECT_GT(lines, 2500);
}

TEST(LstmStages, OnePrimitiveWhereTheLibrarysStackIsTheSame) {
  const auto stages = [](const char* text) { return LstmStages(ParseLstmProblem(text)); };
  EXPECT_THAT(stages("t1n1i5h7"), ElementsAre(LstmStage{0, 1}));
  EXPECT_THAT(stages("t1n1i5h7bi"), ElementsAre(LstmStage{0, 1}));
  EXPECT_THAT(stages("t1n1i7h7l4"), ElementsAre(LstmStage{0, 4}));
  EXPECT_THAT(stages("t1n1i7h9l4p7"), ElementsAre(LstmStage{0, 4}));
  EXPECT_THAT(stages("t1n1i5h7l4"), ElementsAre(LstmStage{0, 1}, LstmStage{1, 3}));
  EXPECT_THAT(stages("t1n1i14h7l2bi"), ElementsAre(LstmStage{0, 1}, LstmStage{1, 1}));
  EXPECT_THAT(stages("t1n1i7h7l2bisum"), ElementsAre(LstmStage{0, 1}, LstmStage{1, 1}));
}

}  // namespace
}  // namespace dlroof::lstm
