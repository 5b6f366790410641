#include "bench/attention/attention.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "bench/conv2d/case.h"
#include "bench/conv2d/conv3d.h"
#include "bench/matmul/case.h"
#include "bench/matmul/grouped.h"
#include "bench/rows/rows.h"
#include "bench/suites/suite.h"
#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "tests/fakes/foreign_lines.h"
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
    if (fakes::RefusalOf(ParseAttention, ToText(p), 0) == "accepted") return p;
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

TEST(Attention, RefusesWithTheColumnAlsoInTheWholeName) {
  const auto refusal = [](std::string_view text) {
    return fakes::RefusalOf(ParseAttention, text, 10);
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
  for (const auto& [name, reason] :
       {std::pair("Attention/cpu/onednn/bwd_data/f32/b1h1q1k1d1",
                  "column 22: expected a direction"),
        {"Attention/cpu/onednn/bwd/f32/b1h1q1k1d1/graph", "column 41"},
        {"Attention/cpu/reference/bwd/f64/b1h1q1k1d1", "column 25: expected a direction"},
        {"Attention/cpu/onednn/fwd/int8/b1h1q1k1d1", "column 26: expected a type (f32, bf16, f16)"},
        {"Attention/cpu/reference/fwd/f32/b1h1q1k1d1", "column 29: expected a type (f64)"},
        {"Attention/cpu/onednn/fwd/f32/b1h1q1k1", "column 38: expected 'd'"},
        {"Attention/cpu/reference/fwd/f64/b1h1q1k1d1/graph", "column 44"},
        {"Attention/gpu/cudnn/fwd/f32/b1h1q1k1d1", "expected a type (f16, bf16, fp8)"},
        {"Attention/gpu/cudnn/bwd/f16/b1h1q1k1d1/page16", "column 40"},
        {"Attention/gpu/cudnn/fwd/f16/b1h1q1k1d1/page16/training", "column 47"}})
    EXPECT_THAT(fakes::RefusalOf(workload::MakeWorkload, name), HasSubstr(reason)) << name;
}

// FLOPs and bytes of 200 random problems by asking for each pair whether the query sees the key.
TEST(AttentionWork, IsThatOfTheVisiblePairsAndWorkedByHand) {
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
    SCOPED_TRACE(ToText(p));
    using Flops = std::map<std::string, double>;
    const auto size = static_cast<double>(p.d), rows = static_cast<double>(p.b * p.h * p.q),
               keys = static_cast<double>(p.kv * seen), visible = static_cast<double>(p.h * pairs);
    const auto work = WorkOf(p, "bf16", {"bf16.vector", "bf16.matrix", "fp32.vector"}, 4);
    const double product = 2 * size * visible, rest = 6 * visible - 2 * rows;
    EXPECT_EQ(work.flops,
              (Flops{{"bf16.vector", product}, {"bf16.matrix", product}, {"fp32.vector", rest}}));
    EXPECT_EQ(work.parts, (Flops{{"matrix", 2 * product}, {"elementwise", rest}}));
    EXPECT_EQ(work.bytes.at(Level::kDram), 2 * size * (2 * rows + 2 * keys));
    EXPECT_EQ(work.launches, 4);
    // Backward: five products; q, o, do, dq, k, v, dk, dv in 2 byte and the statistics in 4.
    const auto back = WorkOf({.problem = p, .type = "f16", .backward = true});
    EXPECT_EQ(back.flops, (Flops{{"fp16.matrix", 5 * product},
                                 {"fp32.vector", 6 * visible + 2 * size * rows}}));
    EXPECT_EQ(back.bytes.at(Level::kDram), 2 * size * (4 * rows + 4 * keys) + 4 * rows);
    // On CPUs each product has the pipe of its implementation.
    const auto cpu = BackwardWorkOf(p, "f16", {"a", "b", "a", "c", "a"}, "e", 10);
    EXPECT_EQ(cpu.bytes, back.bytes);
    EXPECT_EQ(cpu.parts, back.parts);
    EXPECT_EQ(back.written, 2 * size * (rows + 2 * keys)) << "dq, dk and dv";
    EXPECT_EQ(cpu.written, back.written);
    EXPECT_EQ(cpu.flops, (Flops{{"a", 3 * product},
                                {"b", product},
                                {"c", product},
                                {"e", back.flops.at("fp32.vector")}}));
    EXPECT_EQ(cpu.launches, 10);
    const auto training = WorkOf({.problem = p, .type = "e4m3", .training = true, .page = 16});
    EXPECT_EQ(training.flops.at("fp8.matrix"), 2 * product);
    EXPECT_EQ(training.bytes.at(Level::kDram),
              size * (2 * rows + 2 * keys) + 4 * rows + 8 * static_cast<double>(p.b))
        << "one page each";
  }
  // A causal prompt of 4 tokens has 4 x 5 / 2 pairs per head. Of f64 all is on one pipe.
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
TEST(AttentionLoops, AreTheDefinitionAndFindTheKeysOfEachHeadAndSequence) {
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
  // Heads 0 and 1 read key-value head 0, heads 2 and 3 read head 1; sequences have their own.
  const Tensors shared{std::vector<double>(8, 0), std::vector<double>(4, 0), {1, 2, 3, 4}};
  std::vector<double> o(8);
  RunLoops(ParseAttention("b2h4q1k1d1_kv2"), shared, o);
  EXPECT_EQ(o, (std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4}));
  for (const std::string problem :
       {"b2h4q9k9d33_kv2tl", "b1h1q7k20d16_w5br", "b2h2q3k9d8_l4:9", "b1h1q1k1d1"})
    EXPECT_EQ(fakes::Outcome("Attention/cpu/reference/fwd/f64/" + problem), "ok plain loops");
}

std::vector<double> Result(const AttentionProblem& p, const Tensors& in) {
  std::vector<double> o(in.q.size());
  RunLoops(p, in, o);
  return o;
}

// Returns what a library may leave: the loops' result of a problem, rounded to the type.
std::vector<double> RightResult(const AttentionProblem& p, std::string_view type,
                                const Tensors& in) {
  const auto o = Result(p, in);
  const auto rounded = workload::Decoded(workload::Encoded({o.begin(), o.end()}, type), type);
  return {rounded.begin(), rounded.end()};
}

TEST(AttentionCheck, FindsOneWrongElementAnotherMaskAWrongScaleAndASharedHead) {
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
  // Faults of attention kernels, some of which libraries shipped (pytorch issue 193893): another
  // mask, one key too many or too few, an incomplete tile of keys left out, heads that read another
  // head's keys, padding that is read.
  for (const std::string type : {"f32", "bf16", "f16"})
    for (const auto& [text, other] : {std::pair("b1h1q99k99d64_tl", "b1h1q99k99d64"),
                                      {"b1h1q64k256d64_br", "b1h1q64k256d64_tl"},
                                      {"b1h2q8k2048d64_br", "b1h2q8k2048d64"},
                                      {"b1h2q8k2048d64_w1000br", "b1h2q8k2048d64_w1001br"},
                                      {"b1h2q8k2048d64_w1000br", "b1h2q8k2048d64_w999br"},
                                      {"b1h2q4k2048d64", "b1h2q4k2048d64_l2047"},
                                      {"b1h1q4k70d16", "b1h1q4k70d16_l64"},
                                      {"b2h2q4k512d64_l100:512", "b2h2q4k512d64"}}) {
      const auto p = ParseAttention(text);
      const auto in = SeededInputs(p, type, 5);
      const auto wrong = RightResult(ParseAttention(other), type, in);
      EXPECT_FALSE(Check(p, type, in, wrong, 5).ok) << type << " " << text << " as " << other;
    }
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

// What a training step adds: statistics, gradients, and the checks of both.

// The logarithm of the sum of exponentials, read out of the loops: with v = 1 / (number of
// exponentials) it would cancel, so the sum is made of its definition here.
std::vector<double> Statistics(const AttentionProblem& p, const Tensors& in) {
  std::vector<double> statistics;
  for (int64_t row = 0; row < p.b * p.h * p.q; ++row) {
    const int64_t sequence = row / (p.h * p.q), head = row / p.q % p.h / (p.h / p.kv);
    const auto keys = KeysOf(p, sequence, row % p.q);
    double sum = 0;
    for (int64_t key = keys.begin; key < keys.end; ++key) {
      double score = 0;
      for (int64_t i = 0; i < p.d; ++i)
        score += in.q[static_cast<size_t>(row * p.d + i)] *
                 in.k[static_cast<size_t>(((sequence * p.kv + head) * p.k + key) * p.d + i)];
      sum += std::exp(score / std::sqrt(static_cast<double>(p.d)));
    }
    statistics.push_back(std::log(sum));
  }
  return statistics;
}

struct Step {
  AttentionProblem problem;
  Tensors in, gradients;
  BackwardInputs backward;
};

// The gradients are differences of the loops' results for inputs beside each other.
Step StepOf(const std::string& text, const std::string& type) {
  Step step{.problem = ParseAttention(text)};
  const auto& p = step.problem;
  step.in = SeededInputs(p, type, 5);
  step.backward = {Result(p, step.in), SeededGradient(p, type, 5), Statistics(p, step.in)};
  const auto gradient = [&](std::vector<double> Tensors::*member) {
    std::vector<double> slopes;
    for (size_t i = 0; i < (step.in.*member).size(); ++i) {
      constexpr double kStep = 1e-4;
      double slope = 0;
      for (const double sign : {1.0, -1.0}) {
        auto moved = step.in;
        (moved.*member)[i] += sign * kStep;
        const auto o = Result(p, moved);
        for (size_t j = 0; j < o.size(); ++j)
          slope += sign * step.backward.d_o[j] * o[j] / (2 * kStep);
      }
      slopes.push_back(slope);
    }
    return slopes;
  };
  step.gradients = {gradient(&Tensors::q), gradient(&Tensors::k), gradient(&Tensors::v)};
  return step;
}

bool IsRight(const Step& step, const std::string& type) {
  return CheckGradients(step.problem, type, step.in, step.backward, step.gradients, 5).ok;
}

constexpr const char* kProblems[] = {"b2h4q7k7d8_kv2tl",  "b1h2q5k9d3_kv1br", "b1h3q6k6d5_w2tl",
                                     "b2h2q3k8d4_l5:8br", "b1h1q1k12d8",      "b2h4q4k6d4_kv1l3:6"};

TEST(AttentionGradients, AreTheSlopesOfTheResultRoundedToTheirTypeButOfPaddingNotDefined) {
  for (const auto* problem : kProblems)
    EXPECT_TRUE(IsRight(StepOf(problem, "f32"), "f32")) << problem;
  for (const auto* problem : kProblems) {
    auto step = StepOf(problem, "bf16");
    for (auto* const gradient : {&step.gradients.q, &step.gradients.k, &step.gradients.v})
      for (double& value : *gradient) value = workload::RoundToBf16(static_cast<float>(value));
    EXPECT_TRUE(IsRight(step, "bf16")) << problem;
    EXPECT_FALSE(IsRight(step, "f32")) << problem;
  }
  auto step = StepOf("b2h2q3k8d4_l5:8", "f16");
  const size_t first_of_padding = 5 * 4;
  step.gradients.k[first_of_padding] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(IsRight(step, "f16"));
  step.gradients.v[first_of_padding - 1] += 0.1;
  EXPECT_FALSE(IsRight(step, "f16"));
}

// Faults of kernels: a wrong element, another mask, a missing scale, a head that is not added, and
// no subtraction of the sum of do o.
TEST(AttentionGradients, FaultsAreFound) {
  for (const std::string type : {"f32", "bf16", "f16"}) {
    const auto right = StepOf("b1h4q9k9d8_kv2tl", type);
    ASSERT_TRUE(IsRight(right, type));
    for (const auto member : {&Tensors::q, &Tensors::k, &Tensors::v})
      for (const double wrong : {0.3, std::numeric_limits<double>::quiet_NaN()}) {
        auto step = right;
        (step.gradients.*member).back() += wrong;
        EXPECT_FALSE(IsRight(step, type)) << type;
      }
    auto other = right;
    other.gradients = StepOf("b1h4q9k9d8_kv2", type).gradients;
    EXPECT_FALSE(IsRight(other, type)) << type;
    auto unscaled = right;
    for (double& value : unscaled.gradients.q) value *= std::sqrt(8.0);
    EXPECT_FALSE(IsRight(unscaled, type)) << type;
    auto halved = right;
    for (double& value : halved.gradients.v) value /= 2;
    EXPECT_FALSE(IsRight(halved, type)) << type;
    auto forgotten = right;  // then ds is p dp
    std::ranges::fill(forgotten.backward.o, 0.0);
    EXPECT_FALSE(IsRight(forgotten, type)) << type;
  }
}

TEST(AttentionStatistics, AreCheckedWithTheInputs) {
  for (const auto* problem : kProblems) {
    const auto p = ParseAttention(problem);
    const auto in = SeededInputs(p, "f16", 3);
    auto statistics = Statistics(p, in);
    for (double& value : statistics) value = static_cast<float>(value);
    EXPECT_TRUE(CheckStatistics(p, in, statistics, 3).ok) << problem;
    statistics.back() += 1e-3;
    EXPECT_FALSE(CheckStatistics(p, in, statistics, 3).ok) << problem;
  }
}

// A kernel of fp8: the weights of a row, less than 1, and the result are 256 times as large in
// e4m3. With v of one key alone the loops return that key's share of the result.
TEST(AttentionCheck, TakesTheRoundingsOfFp8AndFindsAnotherMask) {
  const auto e4m3 = [](double value) {
    return workload::FromE4m3Bits(workload::E4m3Bits(static_cast<float>(value * kFp8Scale))) /
           kFp8Scale;
  };
  const auto result = [&](const std::string& text, const Tensors& in) {
    const auto p = ParseAttention(text);
    std::vector<double> o(in.q.size());
    for (int64_t key = 0; key < p.k; ++key) {
      auto alone = in;
      std::ranges::fill(alone.v, 0.0);
      std::fill_n(alone.v.begin() + key * p.d, p.d, 1.0);
      const auto weights = Result(p, alone);
      for (size_t i = 0; i < o.size(); ++i)
        o[i] += e4m3(weights[i]) * in.v[static_cast<size_t>(key * p.d) + i % p.d];
    }
    for (double& value : o) value = e4m3(value);
    return o;
  };
  const std::string text = "b1h2q9k64d16_kv1br";
  const auto p = ParseAttention(text);
  const auto in = SeededInputs(p, "e4m3", 5);
  EXPECT_TRUE(Check(p, "e4m3", in, result(text, in), 5).ok);
  EXPECT_FALSE(Check(p, "f16", in, result(text, in), 5).ok);
  EXPECT_FALSE(Check(p, "e4m3", in, result("b1h2q9k64d16_kv1tl", in), 5).ok);
  EXPECT_FALSE(Check(p, "e4m3", in, result("b1h2q9k64d16_kv1w32br", in), 5).ok);
}

// Partitions of oneDNN Graph as three versions of the library report them.
constexpr const char* kLogOf32 =
    "onednn_verbose,info,oneDNN v3.2.0 (commit 4011219)\n"
    "onednn_verbose,info,prim_template:operation,engine,primitive,implementation,prop_kind\n"
    "onednn_verbose,create:cache_miss,cpu,matmul,brg:avx512_core,undef,src_f32:a:blocked:abcd::f0 "
    "wei_f32::blocked:abdc::f0,attr-scratchpad:user ,,1x16x64x64:1x16x64x64,1.75\n";
constexpr const char* kLogOf36 =
    "onednn_verbose,v1,primitive,create:cache_hit,cpu,reorder,jit:uni,undef,src:f32,,,1x1,0.06\n"
    "onednn_verbose,v1,primitive,create:cache_miss,cpu,matmul,brg_matmul:avx512_core,undef,,,,1,1\n"
    "onednn_verbose,v1,primitive,create:cache_hit,cpu,softmax,jit:avx512_core,undef,,,,1,0\n"
    "onednn_verbose,v1,graph,compile:cache_miss,cpu,100002,sdp,qk;scale;softmax;pv,,"
    "in0_f32:0:strided:undef:1:1 out0_f32:9:strided:undef:1:1,fpm:strict,sdp_decomp_kernel_t,"
    "dnnl_backend,1.875\n";

TEST(AttentionGraph, PartitionsAreFusedOnlyIfTheLibrarySaysSo) {
  const auto old = ReadGraphPartition({"MatMul", "Multiply"}, kLogOf32);
  EXPECT_EQ(old.kernel, "");
  EXPECT_EQ(old.implementations, std::vector<std::string>{"brg:avx512_core"});
  const auto fused = ReadGraphPartition({"MatMul", "Multiply", "SoftMax", "MatMul"}, kLogOf36);
  EXPECT_EQ(GraphAlgorithm({fused}),
            "graph, fused: sdp_decomp_kernel_t of brg_matmul:avx512_core + jit:avx512_core");
  auto larger = fused;
  larger.kernel = "larger_partition_kernel_t";
  EXPECT_EQ(GraphAlgorithm({larger}),
            "graph, 1 partition, not fused: larger_partition_kernel_t of brg_matmul:avx512_core + "
            "jit:avx512_core");
  EXPECT_EQ(GraphAlgorithm({old}), "graph, 1 partition: brg:avx512_core");
  EXPECT_EQ(GraphAlgorithm({{{"MatMul"}}}), "graph, 1 partition");
  EXPECT_EQ(GraphAlgorithm({old, {{"SoftMax"}}, {{"MatMul"}, "sdp_decomp_kernel_t"}}),
            "graph, 3 partitions: MatMul+Multiply by brg:avx512_core, SoftMax, MatMul by "
            "sdp_decomp_kernel_t");
  // Lines of anything else, and lines that were cut off, say nothing.
  for (const auto* log : {"", "compile\n", "onednn_verbose,v1,graph,compile:cache_miss,cpu\n",
                          "onednn_verbose,v1,graph,exec,cpu,1,sdp,,,,fpm:strict,a,b,1\n"})
    EXPECT_EQ(GraphAlgorithm({ReadGraphPartition({"MatMul"}, log)}), "graph, 1 partition") << log;
}

TEST(AttentionPages, HaveTheKeysOfTheirTable) {
  // Two heads of three keys of one element, in pages of 16: one page per sequence, exchanged.
  const CudnnAttentionCase request{.problem = ParseAttention("b2h2q1k3d1"), .page = 16};
  std::vector<double> keys = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const auto paged = InPages(request, keys, {1, 0});
  ASSERT_EQ(paged.size(), 64U);
  EXPECT_THAT(std::vector<double>(paged.begin(), paged.begin() + 4),
              testing::ElementsAre(7, 8, 9, 0));
  EXPECT_THAT(std::vector<double>(paged.begin() + 48, paged.begin() + 52),
              testing::ElementsAre(4, 5, 6, 0));
  // Seventeen keys: the last one is the first of the second page.
  keys.assign(17, 1);
  keys.back() = 2;
  const CudnnAttentionCase longer{.problem = ParseAttention("b1h1q1k17d1"), .page = 16};
  EXPECT_EQ(InPages(longer, keys, {0, 1})[16], 2);
  EXPECT_EQ(InPages(longer, keys, {1, 0})[0], 2);
}

// The suites with attention against what is published about their models.

double LeftOut(std::string_view text, std::string_view of) {
  const auto end = text.find(of);
  const auto begin = text.rfind(' ', end - 1);
  return std::stod(std::string(text.substr(begin + 1, end - begin - 1)));
}

// The share of one pass that a suite's text states is that of what it leaves out: 64 residuals of
// 2048 x 4096 (three tensors, one addition) and the rotations of 32 + 8 heads of 128 in 32 layers
// (two tensors; two products and an addition).
TEST(Llama3Suites, SayWhichShareTheyLeaveOut) {
  constexpr double kElement = 2;  // [byte]
  constexpr double kResiduals = 64.0 * 2048 * 4096, kRotated = 32.0 * 2048 * (32 + 8) * 128;
  const double left_flops = kResiduals + 3 * kRotated;
  const double left_bytes = kElement * (3 * kResiduals + 2 * kRotated);
  double flops = left_flops, bytes = left_bytes;
  const auto suites = suites::SelectSuites({"llama3_8b"});
  for (const auto& layer : suites.at(0).layers) {
    const auto name = workload::ParseBenchmarkName(layer.name);
    if (name.type != "bf16") continue;
    Work work;
    if (name.op == "Matmul")
      work = workload::ProductWork(matmul::ReadOnednnMatmulCase(name), "bf16.matrix");
    else if (name.op == "Attention")
      work = WorkOf(Read(name), name.type, {"bf16.matrix", "bf16.matrix", "fp32.vector"}, 1);
    else
      work = rows::WorkOf(
          rows::ReadOnednnCase(name.op == "RmsNorm" ? rows::kRmsNorm : rows::kSwiGlu, name));
    const auto times = static_cast<double>(layer.count);
    flops += times * TotalFlops(work).value();
    bytes += times * work.bytes.at(Level::kDram);
  }
  const auto text = TextOf(suites::BuiltInSuites(), "llama3_8b");
  EXPECT_NEAR(LeftOut(text, " % of the FLOPs"), 100 * left_flops / flops, 5e-4);
  EXPECT_NEAR(LeftOut(text, " % of the bytes"), 100 * left_bytes / bytes, 0.5);
}

struct Parameters {
  const char* suite;
  int64_t published, left_out;  // [1]
};
constexpr Parameters kParameters[] = {
    // Left out: the embedding of 128,256 words, 65 norms.
    {"llama3_8b", 8030261248, int64_t{128256} * 4096 + 65 * 4096},
    {"llama3_8b_decode", 8030261248, int64_t{128256} * 4096 + 65 * 4096},
    {"llama3_8b_decode16", 8030261248, int64_t{128256} * 4096 + 65 * 4096},
    // The embeddings of 30,522 words, 512 positions and two types; 49 norms of scale and shift.
    {"bert_large", 335141888, int64_t{30522 + 512 + 2} * 1024 + 49 * 2048},
    // Left out: the embedding of 128,256 words, 161 norms.
    {"llama3_70b", 70553706496, int64_t{128256} * 8192 + 161 * 8192},
    {"llama3_70b_decode16", 70553706496, int64_t{128256} * 8192 + 161 * 8192},
    // The embedding of 151,936 words; norms of 48 layers: two of 2048, two of 128; the last.
    {"qwen3_moe", 30532122624, int64_t{151936} * 2048 + 48 * 4352 + 2048},
    {"qwen3_moe_decode16", 30532122624, int64_t{151936} * 2048 + 48 * 4352 + 2048},
    // torchvision's count: class token, positions, 49 norms, the bias of the patches.
    {"vit_l", 304326632, 198 * 1024 + 49 * 2048 + 1024},
    // Group and layer norms.
    {"sdxl_unet", 2567463684, 588160},
    // Two norms of each block: 7 of 384 channels, one of 192 and 384, 3 of 192, 3 of 96; those of
    // attention and of the result.
    {"video_vae", 73295603, 7 * 768 + 576 + 3 * 384 + 3 * 192 + 384 + 96}};

// Returns the number of bf16 weights and biases of a suite.
int64_t WeightsOf(const std::string& suite) {
  static const std::set<std::string> without = {"Attention", "RmsNorm", "SwiGlu", "LayerNorm",
                                                "Eltwise"};
  const auto suites = suites::SelectSuites({suite});
  EXPECT_TRUE(suites.at(0).counted) << suite;
  int64_t weights = 0;
  for (const auto& layer : suites.at(0).layers) {
    const auto name = workload::ParseBenchmarkName(layer.name);
    if (name.type != "bf16" || without.contains(name.op)) continue;
    int64_t inputs = 0, outputs = 0;
    if (name.op == "Matmul") {
      const auto product = matmul::ParseMatmul(name.problem);
      inputs = product.k, outputs = product.n;
    } else if (name.op == "GroupedMatmul") {
      const auto problem = matmul::ParseGrouped(name.problem);
      inputs = problem.k, outputs = problem.g * problem.n;
    } else if (name.op == "Conv3D") {
      const auto problem = conv2d::ParseConv3d(name.problem);
      inputs = problem.c, outputs = problem.k;
      for (const auto& axis : problem.axes) inputs *= axis.filter;
    } else {
      const auto problem = conv2d::ParseConv2d(name.problem);
      inputs = problem.c * problem.r * problem.s, outputs = problem.k;
    }
    weights += layer.count * outputs * (inputs + (workload::HasOption(name, "bias") ? 1 : 0));
  }
  return weights;
}

// The published parameters less those that no call multiplies.
TEST(ModelWeights, AreThePublishedParameters) {
  for (const auto& [suite, published, left_out] : kParameters)
    EXPECT_EQ(WeightsOf(suite), published - left_out) << suite;
}

// benchdnn's driver --sdpa.

std::string ReadSdpa(const std::string& line) { return fakes::BenchmarkOf("--sdpa " + line); }

TEST(Sdpa, LinesAreReadBack) {
  std::mt19937 random(57);
  std::set<std::string> names;
  constexpr int kLines = 5000;
  for (int i = 0; i < kLines; ++i) {
    auto p = RandomProblem(random);
    p.lengths.clear(), p.window.reset();
    p.d *= 1 + static_cast<int64_t>(random() % 64);
    if (p.causal == Causal::kBottomRight && (p.q >= p.k || p.q == 1)) p.causal = Causal::kNone;
    const char* const types[] = {"f32", "bf16", "f16"};
    const char* const masks[] = {"none", "causal_top_left", "causal_bottom_right"};
    const auto* const type = types[random() % 3];
    const auto name = fmt::format("Attention/cpu/onednn/fwd/{}/{}", type, ToText(p));
    const auto line = fmt::format("--dt={} --mask={} {}x{}x{}x{}:{}x{}x{}x{}:{}x{}x{}x{}", type,
                                  masks[static_cast<int>(p.causal)], p.b, p.h, p.q, p.d, p.b, p.kv,
                                  p.d, p.k, p.b, p.kv, p.k, p.d);
    ASSERT_EQ(ReadSdpa(line), name) << line;
    names.insert(name);
  }
  EXPECT_GT(names.size(), 4000U);
}

// Lines of oneDNN's tests/benchdnn/inputs/sdpa and doc/driver_sdpa.md.
constexpr fakes::ForeignLine kSdpa[] = {
    {"--sdpa --dt=f16 --mask=causal_top_left 1x12x128x64:1x12x64x128:1x12x128x64",
     "fwd/f16/b1h12q128k128d64_tl"},
    {"--sdpa --scale=div --ktag=abdc 1x32x1x128:1x8x128x385:1x8x385x128",
     "fwd/f32/b1h32q1k385d128_kv8"},
    {"--sdpa --mask=causal_bottom_right 1x2x8x16:1x2x16x8:1x2x8x16", "fwd/f32/b1h2q8k8d16_tl"},
    {"--sdpa --mask=causal_bottom_right 1x2x1x16:1x2x16x8:1x2x8x16", "fwd/f32/b1h2q1k8d16"}};

TEST(Sdpa, OtherCallsHaveAReason) {
  fakes::ExpectBenchmarks(kSdpa, "Attention/cpu/onednn/");
  for (const auto& [line, reason] :
       {std::pair("--dir=BWD_D 1x1x64x32:1x1x32x64:1x1x64x32", "--dir=BWD_D: not supported"),
        {"--mask=buffer_2d 1x2x8x16:1x2x16x8:1x2x8x16", "--mask=buffer_2d: not supported"},
        {"--dt=f16:f16:f16:f32 1x2x8x16:1x2x16x8:1x2x8x16", "types f16:f16:f16:f32"},
        {"--dt=f16:f16 1x2x8x16:1x2x16x8:1x2x8x16", "expected one word, or those of Q, K, V"},
        {"--qtag=acbd 1x2x8x16:1x2x16x8:1x2x8x16", "--qtag=acbd: not supported"},
        {"1x16x384x64:1x16x64x384:1x16x384x32", "values of another head size, 32"},
        {"2x2x8x16:1x2x16x8:1x2x8x16", "broadcast batch"},
        {"1x2x8x16:1x2x16x8", "expected the sizes of Q, K and V"},
        {"1x2x8x16:1x2x8x8:1x2x8x16", "Q and K do not match: head sizes 16 and 8"},
        {"1x2x8x16:1x2x16x8:1x2x9x16", "K and V do not match: 2 and 2 heads, 8 and 9 keys"},
        {"1x3x8x16:1x2x16x8:1x2x8x16", "the key-value heads (kv) do not divide the heads (h)"},
        {"--mask=causal_bottom_right 1x2x9x16:1x2x16x8:1x2x8x16", "a query sees no key"},
        {"9x2x8x2000000000:9x2x2000000000x2000000000:9x2x2000000000x2000000000", "the size of k"}})
    EXPECT_THAT(ReadSdpa(line), HasSubstr(reason)) << line;
}

}  // namespace
}  // namespace dlroof::attention
