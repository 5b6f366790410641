#include "bench/lstm/cudnn_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/lstm/loops.h"
#include "counters/base/error.h"
#include "tests/fakes/refusal.h"

namespace dlroof::lstm {
namespace {

using testing::HasSubstr;

CudnnLstmCase Read(const std::string& rest) {
  return ReadCudnnLstmCase(workload::ParseBenchmarkName("LSTM/gpu/cudnn/" + rest));
}

std::string CudnnRefusal(const std::string& rest) {
  return fakes::RefusalOf([&] { Read(rest); });
}

TEST(ReadCudnnLstmCase, NamesAlgorithmAndType) {
  const auto plain = Read("fwd_inference/f32/t16n16i32h64");
  EXPECT_EQ(plain.algorithm, RnnAlgorithm::kStandard);
  EXPECT_EQ(plain.type, "f32");
  EXPECT_EQ(Read("bwd/bf16/t16n16i32h64/persist-static").algorithm, RnnAlgorithm::kPersistStatic);
  EXPECT_EQ(Read("bwd/tf32/t16n16i32h64/persist-small-h").algorithm, RnnAlgorithm::kPersistSmallH);
  EXPECT_EQ(Read("fwd_training/f16/t16n16i32h64l2p32bi/persist-dynamic").algorithm,
            RnnAlgorithm::kPersistDynamic);
}

TEST(ReadCudnnLstmCase, RefusesWhatCannotBe) {
  EXPECT_THAT(CudnnRefusal("fwd_inference/int8/t1n1i1h1"),
              HasSubstr("it has f32, tf32, f16, bf16"));
  EXPECT_THAT(CudnnRefusal("fwd/f32/t1n1i1h1"), HasSubstr("no direction 'fwd'"));
  EXPECT_THAT(CudnnRefusal("bwd/f32/t1n1i1h1/peephole"), HasSubstr("has no option 'peephole'"));
  EXPECT_THAT(CudnnRefusal("bwd/f32/t1n1i1h1/standard"), HasSubstr("has no option 'standard'"));
  EXPECT_THAT(CudnnRefusal("bwd/f32/t1n1i1h1/persist-static/persist-dynamic"),
              HasSubstr("column "));
}

TEST(RnnSpecOf, IsTheCallOfTheProblem) {
  EXPECT_EQ(RnnSpecOf(Read("bwd/f16/t16n4i32h64l3p24bi/persist-static")),
            (RnnSpec{.algorithm = RnnAlgorithm::kPersistStatic,
                     .math = RnnMath::kTensorCores,
                     .data_type = "f16",
                     .bidirectional = true,
                     .input = 32,
                     .hidden = 64,
                     .projection = 24,
                     .layers = 3}));
  // Without a projection cuDNN wants the hidden size.
  EXPECT_EQ(RnnSpecOf(Read("bwd/f16/t16n4i32h64")).projection, 64);
}

TEST(RnnSpecOf, F32AndTf32DifferInTheMathAlone) {
  auto f32 = RnnSpecOf(Read("bwd/f32/t1n1i8h8"));
  EXPECT_EQ(f32.math, RnnMath::kFma);
  f32.math = RnnMath::kDefault;
  EXPECT_EQ(RnnSpecOf(Read("bwd/tf32/t1n1i8h8")), f32);
}

TEST(RnnSpecOf, PassesAreNotAddedAndAProjectionIsNarrowerThanTheCell) {
  EXPECT_THROW(RnnSpecOf(Read("bwd/f32/t1n1i8h8bisum")), Unsupported);
  EXPECT_EQ(RnnSpecOf(Read("bwd/f32/t1n1i8h8p7")).projection, 7);
  EXPECT_THROW(RnnSpecOf(Read("bwd/f32/t1n1i8h8p8")), Unsupported);
  EXPECT_THROW(RnnSpecOf(Read("bwd/f32/t1n1i8h8p9")), Unsupported);
}

TEST(RequireRnnType, Bf16IsThereFromVersion913On) {
  EXPECT_NO_THROW(RequireRnnType("f32", 90800));
  EXPECT_NO_THROW(RequireRnnType("f16", 90800));
  EXPECT_NO_THROW(RequireRnnType("bf16", 91300));
  EXPECT_EQ(fakes::RefusalOf<Unsupported>([] { RequireRnnType("bf16", 91200); }),
            "LSTMs in bf16 need cuDNN 9.13.0 or newer, this is 9.12.0");
}

TEST(RequireRnnUnit, RefusesWhatWouldSilentlyBeAnotherType) {
  EXPECT_NO_THROW(RequireRnnUnit("f32", 60));
  EXPECT_NO_THROW(RequireRnnUnit("f16", 75));
  EXPECT_NO_THROW(RequireRnnUnit("tf32", 80));
  EXPECT_THROW(RequireRnnUnit("f16", 61), Unsupported);
  EXPECT_THROW(RequireRnnUnit("bf16", 75), Unsupported);
  EXPECT_EQ(fakes::RefusalOf<Unsupported>([] { RequireRnnUnit("tf32", 75); }),
            "tf32 needs compute capability 8.0, this GPU has 7.5");
}

TEST(GpuLstmTolerance, TellsF32FromTf32) {
  const auto f32 = GpuLstmTolerance(Read("bwd/f32/t1n1i8h8"));
  EXPECT_LT(f32, std::exp2(-11));  // one rounding to tf32
  EXPECT_GT(GpuLstmTolerance(Read("bwd/tf32/t1n1i8h8")), std::exp2(-10));
  // 64 x 128 terms are 4 x 2048: twice as much.
  EXPECT_DOUBLE_EQ(GpuLstmTolerance(Read("bwd/f32/t64n128i8h8")), 2 * f32);
}

TEST(DescribeRnn, SaysWhatMayMultiply) {
  EXPECT_EQ(DescribeRnn(RnnSpecOf(Read("bwd/f32/t1n1i8h8")), 12, 34),
            "standard, no tensor cores, workspace 12 B, reserve 34 B");
  EXPECT_EQ(DescribeRnn(RnnSpecOf(Read("fwd_inference/f16/t1n1i8h8/persist-small-h")), 12, 0),
            "persist-small-h, tensor cores allowed and expected where FLOPs are not counted, "
            "workspace 12 B");
}

// Layer 1 of two, second pass of two, forget gate on the hidden state: pseudo-layer 3, matrix 5.
TEST(RnnParts, NumbersLayersPassesAndMatricesAsCudnnDoes) {
  const auto parts = RnnParts(ParseLstmProblem("t1n1i3h4l2p2bi"));
  ASSERT_EQ(parts.size(), 2U * 2 * 9);
  EXPECT_EQ(parts[27 + 5], (RnnPart{1, 1, 3, 5, 4, 2}));
  EXPECT_EQ(parts[27 + 0], (RnnPart{1, 1, 3, 0, 4, 4}));  // reads both passes of the layer below
  EXPECT_EQ(parts[0], (RnnPart{0, 0, 0, 0, 4, 3}));
  EXPECT_EQ(parts[8], (RnnPart{0, 0, 0, 8, 2, 4}));  // the projection
  EXPECT_EQ(RnnParts(ParseLstmProblem("t1n1i3h4")).size(), 8U);
}

// i2 h3: our input weights are [channel][gate][unit]; gate 1 (forget) of channel c, unit u stands
// at (c x 4 + 1) x 3 + u.
TEST(MatrixOf, HasARowPerUnit) {
  const auto problem = ParseLstmProblem("t1n1i2h3");
  LstmInput<float> input = ZeroWeights(problem);
  for (size_t k = 0; k < input.layers[0].input.size(); ++k)
    input.layers[0].input[k] = static_cast<float>(k);
  EXPECT_EQ(MatrixOf(RnnParts(problem)[1], input), (std::vector<float>{3, 15, 4, 16, 5, 17}));
}

TEST(HalfBiasOf, TwoHalvesMakeABias) {
  const auto problem = ParseLstmProblem("t1n1i2h3l2bi");
  const auto input = SeededLstmInput(problem, 5, "f16");
  auto sum = ZeroWeights(problem);
  for (const auto& part : RnnParts(problem)) {
    auto twice = HalfBiasOf(part, input);
    for (float& value : twice) value *= 2;
    AddHalfBias(part, twice, sum);
  }
  for (size_t layer = 0; layer < 2; ++layer)
    EXPECT_EQ(sum.layers[layer].bias, input.layers[layer].bias);
}

TEST(PutMatrix, IsTheInverseOfMatrixOf) {
  const auto problem = ParseLstmProblem("t1n1i5h4l2p3bi");
  const auto input = SeededLstmInput(problem, 5, "f32");
  auto copy = ZeroWeights(problem);
  for (const auto& part : RnnParts(problem)) PutMatrix(part, MatrixOf(part, input), copy);
  for (size_t layer = 0; layer < 2; ++layer) {
    EXPECT_EQ(copy.layers[layer].input, input.layers[layer].input);
    EXPECT_EQ(copy.layers[layer].state, input.layers[layer].state);
    EXPECT_EQ(copy.layers[layer].projection, input.layers[layer].projection);
  }
  EXPECT_THROW(PutMatrix(RnnParts(problem)[0], {1, 2}, copy), std::logic_error);
}

// One step as cuDNN's documentation of cudnnRNNMode_t writes it, with its matrices and both biases:
// i = s(W_i x + R_i h + b_Wi + b_Ri), f, o alike, c' = tanh(W_c x + R_c h + b_Wc + b_Rc),
// c = f c + i c', h = o tanh(c), with a projection h = P (o tanh(c)).
struct CudnnStep {
  const LstmInput<float>& input;
  std::vector<RnnPart> parts;  // of one pseudo-layer

  double Sum(int gate, int64_t row, const std::vector<double>& x,
             const std::vector<double>& h) const {
    double sum = 0;
    for (const int linear : {gate, gate + 4}) {
      const auto& part = parts[static_cast<size_t>(linear)];
      const auto matrix = MatrixOf(part, input);
      const auto& read = linear < 4 ? x : h;
      for (int64_t c = 0; c < part.columns; ++c)
        sum += matrix[static_cast<size_t>(row * part.columns + c)] * read[static_cast<size_t>(c)];
      sum += HalfBiasOf(part, input)[static_cast<size_t>(row)];
    }
    return sum;
  }

  void Run(const std::vector<double>& x, std::vector<double>& h, std::vector<double>& c) const {
    const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
    std::vector<double> exposed(c.size());
    for (size_t u = 0; u < c.size(); ++u) {
      const auto row = static_cast<int64_t>(u);
      c[u] = sigmoid(Sum(1, row, x, h)) * c[u] +
             sigmoid(Sum(0, row, x, h)) * std::tanh(Sum(2, row, x, h));
      exposed[u] = sigmoid(Sum(3, row, x, h)) * std::tanh(c[u]);
    }
    if (parts.size() == 8) {
      h = exposed;
      return;
    }
    const auto matrix = MatrixOf(parts[8], input);
    for (size_t k = 0; k < h.size(); ++k) {
      h[k] = 0;
      for (size_t u = 0; u < c.size(); ++u) h[k] += matrix[k * c.size() + u] * exposed[u];
    }
  }
};

TEST(RnnParts, MakeOurLstmByCudnnsFormula) {
  for (const char* text : {"t3n1i5h4", "t3n1i5h4p3", "t2n1i3h3l2"}) {
    const auto problem = ParseLstmProblem(text);
    const auto input = SeededLstmInput(problem, 11, "f32");
    LstmForwardResult<double> ours;
    LstmForward(problem, ToDouble(input), ours);
    const auto parts = RnnParts(problem);
    const auto each = static_cast<int64_t>(parts.size()) / problem.l;
    std::vector<std::vector<double>> rows;  // what a layer reads, by step
    for (int64_t t = 0; t < problem.t; ++t)
      rows.emplace_back(input.source.begin() + t * problem.i,
                        input.source.begin() + (t + 1) * problem.i);
    for (int64_t layer = 0; layer < problem.l; ++layer) {
      const CudnnStep step{input,
                           {parts.begin() + layer * each, parts.begin() + (layer + 1) * each}};
      const int64_t width = StateWidth(problem);
      std::vector<double> h(input.initial_hidden.begin() + layer * width,
                            input.initial_hidden.begin() + (layer + 1) * width);
      std::vector<double> c(input.initial_cell.begin() + layer * problem.h,
                            input.initial_cell.begin() + (layer + 1) * problem.h);
      for (auto& row : rows) {
        step.Run(row, h, c);
        row = h;
      }
      for (int64_t u = 0; u < problem.h; ++u)
        EXPECT_NEAR(c[static_cast<size_t>(u)],
                    ours.outputs.final_cell[static_cast<size_t>(layer * problem.h + u)], 1e-7)
            << text;
      for (int64_t k = 0; k < width; ++k)
        EXPECT_NEAR(h[static_cast<size_t>(k)],
                    ours.outputs.final_hidden[static_cast<size_t>(layer * width + k)], 1e-7)
            << text;
    }
  }
}

}  // namespace
}  // namespace dlroof::lstm
