#include <fmt/format.h>
#include <gmock/gmock.h>

#include "bench/lstm/case.h"
#include "tests/fakes/outcome.h"

namespace dlroof::lstm {
namespace {

using testing::HasSubstr;

// Small problems, each with a property that is easy to get wrong.
constexpr std::string_view kProblems[] = {
    "t1n1i1h1",         // the smallest problem
    "t4n3i5h7",         // odd sizes, input and hidden state of different widths
    "t3n2i16h16l3",     // three layers in one primitive
    "t3n2i5h7l3",       // a separate first layer, whose input is narrower
    "t5n2i5h7bi",       // both passes in one primitive
    "t5n2i5h7bisum",    // passes that are added
    "t4n3i5h7l3bi",     // passes that are joined after each layer
    "t4n3i7h7l2bisum",  // as wide as the input, but still two primitives
    "t3n2i5h8p4",       // projection
    "t3n2i5h8l2p4bi",   // all at once
    "t3n16i64h128p64",  // large enough for AMX kernels
};

// Two defects of oneDNN 3.2, both with and without AMX: signed hidden states are stored like
// unsigned ones, negative values as 0 (jit_uni_rnn_common_postgemm.hpp clamps to [0, 255], and the
// reference loops do the same); and the weights of a bf16 projection get the layout of f32
// (rnn_utils.cpp, set_expected_desc), although rnn_brgemm_utils.cpp does not support it. Records of
// such calls have the status "wrong".
bool IsRight(const std::string& outcome, const std::string& type, const std::string& problem) {
  if (outcome.starts_with("ok ")) return true;
  const auto source = LstmTypeOf(type).source;
  const bool projects = ParseLstmProblem(problem).p != 0;
  const auto wrong_by = [&](std::string_view implementation) {
    return outcome.starts_with(fmt::format("wrong {} ", implementation));
  };
  const bool amx = wrong_by("brgemm:avx512_core_amx");
  return (source == "s8" && (amx || wrong_by("ref"))) ||
         (source == "bf16" && projects && (amx || wrong_by("brgemm:avx512_core_bf16")));
}

// Uses one thread, because a second one would spin at every step of a problem this small.
TEST(LstmOnednn, AgreesWithTheLoopsInEveryDirectionAndType) {
  for (const auto* direction : {"fwd_inference", "fwd_training", "bwd"})
    for (const auto& type : LstmTypeNames())
      for (const auto problem : kProblems) {
        const auto name = fmt::format("LSTM/cpu/onednn/{}/{}/{}", direction, type, problem);
        const auto outcome = fakes::Outcome(name, 1);
        // f32 runs wherever oneDNN does; other types may be refused here, but never wrong.
        if (type != "f32" && outcome.starts_with("unsupported"))
          EXPECT_THAT(outcome, HasSubstr(type)) << name << ": the reason names no type";
        else
          EXPECT_TRUE(IsRight(outcome, type, std::string(problem))) << name << ' ' << outcome;
      }
}

// Every call that the library does not refuse agrees with the loops. In f32 it supports every
// option except plain weights for `bwd`, which reads them transposed.
void ExpectRightOrRefused(const std::string& option, const std::string& type) {
  for (const std::string direction : {"fwd_inference", "fwd_training", "bwd"})
    for (const auto* problem : {"t4n3i5h7", "t3n2i16h16l3", "t3n2i5h8l2p4bi", "t3n2i5h7bisum"}) {
      const auto name =
          fmt::format("LSTM/cpu/onednn/{}/{}/{}/{}", direction, type, problem, option);
      const auto outcome = fakes::Outcome(name, 1);
      const bool may_refuse =
          type != "f32" || (direction == "bwd" && option.find("ldigo") != std::string::npos);
      if (may_refuse && outcome.starts_with("unsupported"))
        EXPECT_THAT(outcome, HasSubstr("oneDNN")) << name << ": not the library's words";
      else
        EXPECT_TRUE(IsRight(outcome, type, problem)) << name << ' ' << outcome;
    }
}

TEST(LstmOnednn, AgreesWithTheLoopsInEveryOptionOrIsRefusedByTheLibrary) {
  for (const auto* option : {"peephole", "ldigo", "peephole/ldigo", "fpmath-bf16", "fpmath-f16",
                             "fpmath-tf32", "fpmath-any"})
    for (const auto& type : LstmTypeNames()) ExpectRightOrRefused(option, type);
}

TEST(LstmOnednn, AgreesWithTheLoopsOnTwoThreads) {
  EXPECT_THAT(fakes::Outcome("LSTM/cpu/onednn/fwd_inference/f32/t3n8i16h32", 2),
              testing::StartsWith("ok "));
  EXPECT_THAT(fakes::Outcome("LSTM/cpu/onednn/bwd/f32/t3n8i16h32", 2), testing::StartsWith("ok "));
}

TEST(LstmOnednn, SaysWhatTheLibraryChoseAndWhatItDoes) {
  const auto call = fakes::Prepared("LSTM/cpu/onednn/fwd_inference/f32/t2n3i5h7");
  EXPECT_FALSE(call.algorithm.empty());
  EXPECT_FALSE(call.isa.empty());
  // 6 x 2 * 28 * 12 in products, 6 x 13 * 7 elementwise; EveryOperator looks at sums and bytes
  EXPECT_EQ(call.modelled.parts,
            (std::map<std::string, double>{{"matrix", 4032}, {"elementwise", 546}}));
  EXPECT_EQ(call.modelled.launches, 1);
  EXPECT_EQ(
      workload::MakeWorkload("LSTM/cpu/onednn/bwd/f32/t2n1i5h7l2bi").prepare({}).modelled.launches,
      2);
}

TEST(LstmOnednn, ListsTheMemoryOfACallAndALargeProblemIsCheckedOnItsTwin) {
  const auto listed = [](const std::string& rest) {
    return fakes::BytesOf(workload::MakeWorkload("LSTM/cpu/onednn/" + rest).prepare({}));
  };
  using fakes::ListedBytes;
  // The counts of CountEveryTensorOnce in case_test.cpp; plain weights are not padded.
  constexpr size_t kWeights = 336 + 28 + 21, kStates = 84;
  EXPECT_EQ(listed("fwd_inference/f32/t2n3i5h7/peephole/ldigo"),
            (ListedBytes{4 * kWeights, 4 * (30 + 42 + kStates)}));
  // With two primitives, the output of the first one (t x n x h = 42) is one tensor, and a second
  // layer adds weights (7 + 7) * 28, bias and states.
  EXPECT_EQ(listed("fwd_inference/f32/t2n3i5h7l2/ldigo"),
            (ListedBytes{4 * (336 + 28 + 392 + 28), 4 * (30 + 42 + 42 + 2 * kStates)}));
  // `bwd` reads its workspace too and writes a gradient of each tensor; those are no weights.
  const auto [weights, rest] = listed("bwd/f32/t2n3i5h7/peephole");
  EXPECT_GE(weights, 4 * kWeights);
  EXPECT_LT(weights, 8 * kWeights + 7168);  // 28 rows of 256 more at most
  EXPECT_GT(rest, 4 * (kWeights + 2 * (30 + 42 + kStates)));
  const auto call = fakes::Prepared("LSTM/cpu/onednn/fwd_inference/f32/t64n32i64h64");
  const auto found = call.verify();
  EXPECT_TRUE(found.ok) << found.max_error;
  // 2 * 64 * 32 * 256 * 128 = 134 MFLOP; two halvings of t are below 50
  EXPECT_THAT(found.how, HasSubstr("outputs of the twin t16n32i64h64 ("));
}

// In one layer the sum of stored numbers fits, but a next layer would subtract one shift of two.
TEST(LstmOnednn, UnsignedInt8SumsPassesOfOneLayerAndWhatCannotFitIsUnsupportedAndNotTried) {
  const auto found = fakes::Outcome("LSTM/cpu/onednn/fwd_inference/int8/t4n3i16h32bisum", 1);
  if (found.find("unimplemented") == std::string::npos) {
    EXPECT_THAT(found, testing::StartsWith("ok "));
  }
  EXPECT_THAT(fakes::Outcome("LSTM/cpu/onednn/fwd_inference/int8/t1n1i1h1l2bisum", 1),
              HasSubstr("unsupported: oneDNN adds the stored u8 numbers"));
  EXPECT_THAT(fakes::Outcome("LSTM/cpu/onednn/bwd/bf16/t1000000n1000000i64h64", 1),
              HasSubstr("GB of memory"));
}

}  // namespace
}  // namespace dlroof::lstm
