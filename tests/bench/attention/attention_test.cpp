#include "bench/attention/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "tests/fakes/outcome.h"
#include "tests/fakes/refusal.h"

namespace dlroof::attention {
namespace {

using testing::HasSubstr;

// Returns a problem that ParseAttention accepts.
AttentionProblem RandomProblem(std::mt19937& random) {
  const auto size = [&](int64_t most) {
    return int64_t{1} + static_cast<int64_t>(random() % static_cast<uint64_t>(most));
  };
  for (;;) {
    AttentionProblem p;
    p.b = size(3), p.kv = size(3), p.h = p.kv * size(3);
    p.q = size(9), p.k = size(9), p.d = size(5);
    p.causal = static_cast<Causal>(random() % 3);
    if (random() % 2 == 0) p.window = size(9);
    if (random() % 2 == 0)
      for (int64_t i = 0; i < p.b; ++i) p.lengths.push_back(size(p.k));
    if (fakes::RefusalOf([&] { ParseAttention(ToText(p)); }) == "accepted") return p;
  }
}

// The mask, stated once more: returns whether a query sees a key.
bool Sees(const AttentionProblem& p, int64_t sequence, int64_t query, int64_t key) {
  const int64_t length = p.lengths.empty() ? p.k : p.lengths[static_cast<size_t>(sequence)];
  if (key >= length) return false;
  if (p.causal == Causal::kNone) return true;
  const int64_t diagonal = p.causal == Causal::kTopLeft ? query : length - p.q + query;
  return key <= diagonal && (!p.window || key > diagonal - *p.window);
}

TEST(Attention, TextAndProblemAreInverse) {
  std::mt19937 random(1);
  std::set<std::string> texts;
  for (int i = 0; i < 500; ++i) {
    const auto problem = RandomProblem(random);
    ASSERT_EQ(ParseAttention(ToText(problem)), problem) << ToText(problem);
    texts.insert(ToText(problem));
  }
  EXPECT_GT(texts.size(), 400U);
  for (const auto* text :
       {"b1h32q2048k2048d128_kv8tl", "b16h32q1k4096d128_kv8", "b1h32q512k4096d128_kv8br",
        "b1h32q8192k8192d128_kv8w4096tl", "b2h71q1k2048d64_kv1l900:2048", "b1h8q1k4096d64_w1024br"})
    EXPECT_EQ(ToText(ParseAttention(text)), text);
}

TEST(Attention, RefusesWithTheColumn) {
  const auto refusal = [](std::string_view text) {
    return fakes::RefusalOf([&] { ParseAttention(text, 10); });
  };
  for (const auto& [text, reason] :
       {std::pair("h1b1", "column 11: expected 'b', got 'h'"),
        {"b1h1q1k1", "column 19: expected 'd', got the end"},
        {"b1h1q1k1d0", "column 20: expected the size d"},
        {"b1h1q1k1d1_", "column 22: expected kv, w, l, tl or br, got the end"},
        {"b1h1q2k2d1_causal", "column 22: expected the end (order: kv, w, l, tl or br), got 'c'"},
        {"b1h1q2k2d1_tlw1", "column 24: expected the end"},
        {"b2h1q1k4d1_l3", "column 24: expected ':', got the end"},
        {"b1h4q1k1d1_kv3", "column 11: the key-value heads (kv) do not divide the heads (h)"},
        {"b1h4q1k1d1_kv4", "column 11: its text is b1h4q1k1d1"},
        {"b1h1q1k4d1_l5", "column 11: a sequence is longer than the keys (k)"},
        {"b2h1q1k4d1_l4:4", "column 11: l pads no sequence"},
        {"b1h1q4k4d1_br", "column 11: with as many queries as keys br is tl"},
        {"b1h1q1k4d1_br", "column 11: br hides no key from one query"},
        {"b1h1q4k4d1_w2", "column 11: a window (w) needs a diagonal (tl or br)"},
        {"b1h1q4k8d1_w4tl", "column 11: w hides no key"},
        {"b1h1q4k8d1_w8br", "column 11: w hides no key"},
        {"b1h1q5k4d1_br", "column 11: a query sees no key"},
        {"b1h1q8k4d1_w2tl", "column 11: a query sees no key"},
        {"b2h1q4k4d1_l4:3br", "column 11: a query sees no key"},
        {"b2147483647h2147483647q1k1d1", "column 11: the size of q in byte overflows"},
        {"b1h1q2147483647k2147483647d1", "column 11: the number of FLOPs overflows"}})
    EXPECT_THAT(refusal(text), HasSubstr(reason)) << text;
}

TEST(Attention, RefusalsCountColumnsInTheWholeName) {
  for (const auto& [name, reason] :
       {std::pair("Attention/cpu/onednn/bwd/f32/b1h1q1k1d1", "column 22: expected a direction"),
        {"Attention/cpu/onednn/fwd/int8/b1h1q1k1d1", "column 26: expected a type (f32, bf16, f16)"},
        {"Attention/cpu/reference/fwd/f32/b1h1q1k1d1", "column 29: expected a type (f64)"},
        {"Attention/cpu/onednn/fwd/f32/b1h1q1k1", "column 38: expected 'd'"},
        {"Attention/cpu/onednn/fwd/f32/b1h1q1k1d1/relu", "column 41"},
        {"Attention/gpu/cudnn/fwd/f32/b1h1q1k1d1", "expected a type (f16, bf16, fp8)"},
        {"Attention/gpu/cudnn/bwd/f16/b1h1q1k1d1/page16", "column 40"},
        {"Attention/gpu/cudnn/fwd/f16/b1h1q1k1d1/page16/training", "column 47"}})
    EXPECT_THAT(fakes::RefusalOf([&, text = name] { workload::MakeWorkload(text); }),
                HasSubstr(reason))
        << name;
}

// FLOPs and bytes of 200 random problems by asking for each pair whether the query sees the key.
TEST(AttentionWork, IsThatOfTheVisiblePairs) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const auto p = RandomProblem(random);
    int64_t pairs = 0, seen = 0;
    for (int64_t sequence = 0; sequence < p.b; ++sequence)
      for (int64_t key = 0; key < p.k; ++key) {
        int64_t queries = 0;
        for (int64_t query = 0; query < p.q; ++query) queries += Sees(p, sequence, query, key);
        pairs += queries;
        seen += queries > 0;
      }
    EXPECT_EQ(Pairs(p), p.h * pairs) << ToText(p);
    const auto work = WorkOf(p, "bf16", {"bf16.vector", "bf16.matrix", "fp32.vector"}, 4);
    const auto products = static_cast<double>(4 * p.d * p.h * pairs);
    const auto rest = static_cast<double>(p.h * (6 * pairs - 2 * p.b * p.q));
    EXPECT_EQ(work.flops, (std::map<std::string, double>{{"bf16.vector", products / 2},
                                                         {"bf16.matrix", products / 2},
                                                         {"fp32.vector", rest}}));
    EXPECT_EQ(work.parts,
              (std::map<std::string, double>{{"matrix", products}, {"elementwise", rest}}));
    EXPECT_EQ(work.bytes.at(Level::kDram),
              static_cast<double>(2 * p.d * (2 * p.b * p.h * p.q + 2 * p.kv * seen)))
        << ToText(p);
    EXPECT_EQ(work.launches, 4);
    // Backward: five products; q, o, do, dq, k, v, dk, dv in 2 byte and the statistics in 4.
    const auto back = WorkOf({.problem = p, .type = "f16", .backward = true});
    EXPECT_EQ(
        back.flops,
        (std::map<std::string, double>{
            {"fp16.matrix", static_cast<double>(10 * p.d * p.h * pairs)},
            {"fp32.vector", static_cast<double>(6 * p.h * pairs + 2 * p.d * p.b * p.h * p.q)}}));
    EXPECT_EQ(back.bytes.at(Level::kDram),
              static_cast<double>(2 * p.d * (4 * p.b * p.h * p.q + 4 * p.kv * seen) +
                                  4 * p.b * p.h * p.q))
        << ToText(p);
    const auto training = WorkOf({.problem = p, .type = "e4m3", .training = true, .page = 16});
    EXPECT_EQ(training.flops.at("fp8.matrix"), products);
    EXPECT_EQ(training.bytes.at(Level::kDram),
              static_cast<double>(p.d * (2 * p.b * p.h * p.q + 2 * p.kv * seen) +
                                  4 * p.b * p.h * p.q + 8 * p.b))  // one page each
        << ToText(p);
  }
}

// A causal prompt of 4 tokens has 4 x 5 / 2 pairs per head. Of f64 all is on one pipe.
TEST(AttentionWork, IsWorkedByHand) {
  EXPECT_EQ(Pairs(ParseAttention("b1h3q4k4d2_tl")), 3 * 10);
  EXPECT_EQ(Pairs(ParseAttention("b1h1q2k4d2_br")), 3 + 4);
  EXPECT_EQ(Pairs(ParseAttention("b1h1q4k4d2_w2tl")), 1 + 2 + 2 + 2);
  const std::string pipe = "fp64.vector";
  EXPECT_EQ(WorkOf(ParseAttention("b1h1q1k2d3"), "f64", {pipe, pipe, pipe}, 1).flops,
            (std::map<std::string, double>{{pipe, 4 * 3 * 2 + 6 * 2 - 2}}));
}

TEST(AttentionBatch, IsTheNumberOfSequences) {
  const auto& op = *workload::FindOp("Attention");
  const auto with = [&](const std::string& problem) {
    return op.with_batch(workload::ParseBenchmarkName("Attention/cpu/onednn/fwd/f32/" + problem),
                         16);
  };
  EXPECT_EQ(with("b1h8q1k64d8_kv2"), "b16h8q1k64d8_kv2");
  EXPECT_THROW(with("b2h8q1k64d8_l3:64"), Unsupported);
}

// One head of size 1, so that a score is q k: weights of keys log 1, log 2, log 5 for q = 1 are
// 1/8, 2/8, 5/8. Query 1 is 0, whose weights are equal.
TEST(AttentionLoops, AreTheDefinition) {
  const Tensors in{{1, 0}, {0, std::log(2), std::log(5)}, {8, 16, 24}};
  const auto loops = [&](const std::string& problem) {
    std::vector<double> o(2);
    RunLoops(ParseAttention(problem), in, o);
    return o;
  };
  using testing::DoubleNear;
  using testing::Pointwise;
  const auto is = [](double first, double second) {
    return Pointwise(DoubleNear(1e-12), {first, second});
  };
  EXPECT_THAT(loops("b1h1q2k3d1"), is(1 + 4 + 15, 16));
  EXPECT_THAT(loops("b1h1q2k3d1_tl"), is(8, 12));
  EXPECT_THAT(loops("b1h1q2k3d1_br"), is((8 + 32) / 3.0, 16));
  EXPECT_THAT(loops("b1h1q2k3d1_w1br"), is(16, 24));
  EXPECT_THAT(loops("b1h1q2k3d1_l2"), is((8 + 32) / 3.0, 12));
  // Two heads share the keys, or are two heads of one query each.
  EXPECT_THAT(loops("b1h2q1k3d1_kv1"), is(20, 16));
}

// Heads 0 and 1 read key-value head 0, heads 2 and 3 read head 1; sequences have their own.
TEST(AttentionLoops, FindTheKeysOfEachHeadAndSequence) {
  const Tensors in{std::vector<double>(8, 0), std::vector<double>(4, 0), {1, 2, 3, 4}};
  std::vector<double> o(8);
  RunLoops(ParseAttention("b2h4q1k1d1_kv2"), in, o);
  EXPECT_EQ(o, (std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST(AttentionLoops, AreABenchmark) {
  for (const std::string problem :
       {"b2h4q9k9d33_kv2tl", "b1h1q7k20d16_w5br", "b2h2q3k9d8_l4:9", "b1h1q1k1d1"})
    EXPECT_EQ(fakes::Outcome("Attention/cpu/reference/fwd/f64/" + problem), "ok plain loops");
}

// Returns what a library may leave: the loops' result of a problem, rounded to the type.
std::vector<double> RightResult(const AttentionProblem& p, std::string_view type,
                                const Tensors& in) {
  std::vector<double> o(in.q.size());
  RunLoops(p, in, o);
  for (double& value : o)
    value = type == "bf16"  ? workload::RoundToBf16(static_cast<float>(value))
            : type == "f16" ? workload::RoundToF16(static_cast<float>(value))
                            : static_cast<float>(value);
  return o;
}

TEST(AttentionCheck, TakesTheRightResultAndFindsOneWrongElement) {
  for (const std::string type : {"f32", "bf16", "f16"})
    for (const auto* text : {"b1h2q33k33d17_tl", "b1h4q1k512d64_kv1", "b1h1q64k1000d32_br"}) {
      const auto p = ParseAttention(text);
      const auto in = SeededInputs(p, type, 5);
      const auto right = RightResult(p, type, in);
      EXPECT_TRUE(Check(p, type, in, right, 5).ok) << type << text;
      for (const size_t at : {size_t{0}, right.size() - 1})
        for (const double bad : {right[at] * 1.02 + 0.02, std::nan("")}) {
          auto wrong = right;
          wrong[at] = bad;
          EXPECT_FALSE(Check(p, type, in, wrong, 5).ok) << type << text;
        }
    }
}

// Faults of attention kernels: another mask, one key too many or too few, heads that read another
// head's keys, padding that is read.
TEST(AttentionCheck, FindsTheResultOfAnotherMask) {
  for (const std::string type : {"f32", "bf16", "f16"})
    for (const auto& [text, other] : {std::pair("b1h1q99k99d64_tl", "b1h1q99k99d64"),
                                      {"b1h1q64k256d64_br", "b1h1q64k256d64_tl"},
                                      {"b1h2q8k2048d64_br", "b1h2q8k2048d64"},
                                      {"b1h2q8k2048d64_w1000br", "b1h2q8k2048d64_w1001br"},
                                      {"b1h2q8k2048d64_w1000br", "b1h2q8k2048d64_w999br"},
                                      {"b1h2q4k2048d64", "b1h2q4k2048d64_l2047"},
                                      {"b2h2q4k512d64_l100:512", "b2h2q4k512d64"}}) {
      const auto p = ParseAttention(text);
      const auto in = SeededInputs(p, type, 5);
      const auto wrong = RightResult(ParseAttention(other), type, in);
      EXPECT_FALSE(Check(p, type, in, wrong, 5).ok) << type << " " << text << " as " << other;
    }
}

TEST(AttentionCheck, FindsAWrongScaleAndASharedHeadTooFar) {
  const auto p = ParseAttention("b1h4q8k64d64_kv2");
  for (const std::string type : {"f32", "bf16", "f16"}) {
    const auto in = SeededInputs(p, type, 5);
    auto scaled = in;
    for (double& value : scaled.q) value *= 1.05;
    EXPECT_FALSE(Check(p, type, in, RightResult(p, type, scaled), 5).ok) << type;
    auto shared = in;  // head 1 reads the keys of head 2
    std::copy(in.k.begin() + 64 * 64, in.k.end(), shared.k.begin());
    EXPECT_FALSE(Check(p, type, in, RightResult(p, type, shared), 5).ok) << type;
  }
}

}  // namespace
}  // namespace dlroof::attention
