#include "bench/matmul/loops.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "bench/matmul/case.h"
#include "bench/matmul/grouped.h"
#include "bench/workload/memory.h"
#include "tests/bench/random_problems.h"
#include "tests/fakes/outcome.h"
#include "tests/fakes/refusal.h"

namespace dlroof::matmul {
namespace {

using fakes::Between;
using testing::ElementsAre, testing::HasSubstr;
using workload::ProductArrays, workload::ProductInputs, workload::ProductOutput;

constexpr ProductDirection kAll[] = {ProductDirection::kForward, ProductDirection::kBackwardData,
                                     ProductDirection::kBackwardWeights};

MatmulCase SmallCase(std::mt19937& random, ProductDirection direction) {
  const auto size = [&] { return int64_t{1} + static_cast<int64_t>(random() % 7); };
  MatmulCase matmul;
  matmul.direction = direction;
  matmul.problem = {size(), size(), size(), size(), random() % 2 == 0, random() % 2 == 0};
  matmul.ip = random() % 3 == 0;
  if (matmul.ip) matmul.problem = {1, size(), size(), size()};
  const bool forward = direction == ProductDirection::kForward;
  if (forward && random() % 3 == 0) matmul.eltwise = workload::Eltwise::kRelu;
  matmul.sum = forward && random() % 3 == 0;
  matmul.bias = (forward || (matmul.ip && direction == ProductDirection::kBackwardWeights)) &&
                random() % 2 == 0;
  return matmul;
}

// The definition, by an element's place in its matrix and not in memory.
size_t AtA(const MatmulProblem& p, int64_t pair, int64_t i, int64_t l) {
  return pair * p.m * p.k + (p.transposed_a ? l * p.m + i : i * p.k + l);
}
size_t AtB(const MatmulCase& matmul, int64_t pair, int64_t l, int64_t j) {
  const auto& p = matmul.problem;
  return pair * p.k * p.n + (p.transposed_b || matmul.ip ? j * p.k + l : l * p.n + j);
}

// Returns the result in its order in memory.
std::vector<double> Definition(const MatmulCase& matmul, const ProductArrays<double>& factors) {
  const auto& p = matmul.problem;
  auto sums = workload::ArraysOf({}, SizesOf(matmul));
  for (int64_t pair = 0; pair < p.b; ++pair)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j)
        for (int64_t l = 0; l < p.k; ++l) {
          const size_t a = AtA(p, pair, i, l), b = AtB(matmul, pair, l, j),
                       c = (pair * p.m + i) * p.n + j;
          sums.destination.at(c) += factors.source.at(a) * factors.weights.at(b);
          sums.source.at(a) += factors.destination.at(c) * factors.weights.at(b);
          sums.weights.at(b) += factors.destination.at(c) * factors.source.at(a);
        }
  return MatrixOf(sums, ProductOf(matmul).result);
}

TEST(MatmulReference, LoopsAreTheDefinitionAndAddBiasReluAndTheDestination) {
  std::mt19937 random(4);
  for (int i = 0; i < 900; ++i) {
    auto matmul = SmallCase(random, kAll[i % 3]);
    matmul.bias = matmul.sum = false;
    matmul.eltwise.reset();
    const auto inputs = workload::SeededInputs(matmul, i);
    auto arrays = workload::ArraysOf(inputs, SizesOf(matmul));
    const auto expected = Definition(matmul, arrays);
    RunMatmulCase(matmul, arrays);
    const auto product = ProductOf(matmul);
    const auto& result = MatrixOf(arrays, product.result);
    ASSERT_EQ(result.size(), expected.size());
    for (size_t at = 0; at < result.size(); ++at) {
      ASSERT_NEAR(result[at], expected[at], 1e-13) << ToText(matmul.problem) << ' ' << at;
      ASSERT_NEAR(MatmulElementAt(product, inputs, at).value, expected[at], 1e-13);
    }
  }
  MatmulCase matmul;
  matmul.problem = ParseMatmul("m2n2k1");
  matmul.bias = true;
  matmul.eltwise = workload::Eltwise::kRelu;
  ProductArrays<double> arrays{{1, 2}, {3, -4}, {0, 0, 0, 0}, {-5, 6}};
  RunMatmulCase(matmul, arrays);
  // {1, 2} x {3, -4} = {3, -4; 6, -8}; plus {-5, 6}: {-2, 2; 1, -2}.
  EXPECT_EQ(arrays.destination, (std::vector<double>{0, 2, 1, 0}));
  matmul.ip = true;
  matmul.eltwise.reset();
  matmul.direction = ProductDirection::kBackwardWeights;
  arrays.destination = {1, 2, 3, 4};
  RunMatmulCase(matmul, arrays);
  EXPECT_EQ(arrays.bias, (std::vector<double>{1 + 3, 2 + 4}));
  EXPECT_EQ(arrays.weights, (std::vector<double>{1 * 1 + 2 * 3, 1 * 2 + 2 * 4}));
  // 3 x 2 plus a bias of 1 plus what was there, -9 and -6: -2 and 1; gelu(-2) = -2 x 0.0227501319,
  // gelu(1) = 0.8413447461, from tables of the normal distribution.
  MatmulCase adding;
  adding.problem = ParseMatmul("m1n2k1");
  adding.bias = adding.sum = true;
  ProductArrays<double> added{{3}, {2, 2}, {5, 5}, {1, 0}, {-9, -5}};
  RunMatmulCase(adding, added);
  EXPECT_EQ(added.destination, (std::vector<double>{-2, 1}));
  adding.eltwise = workload::Eltwise::kGeluErf;
  RunMatmulCase(adding, added);
  EXPECT_NEAR(added.destination[0], -2 * 0.0227501319, 1e-9);
  EXPECT_NEAR(added.destination[1], 0.8413447461, 1e-9);
}

MatmulCase CheckedCase(const std::string& name) {
  return ReadOnednnMatmulCase(workload::ParseBenchmarkName("Matmul/cpu/onednn/" + name));
}

// Returns the result of the loops, as f32.
ProductOutput<float> RightOutput(const MatmulCase& matmul, const ProductInputs& inputs) {
  auto arrays = workload::ArraysOf(inputs, SizesOf(matmul));
  RunMatmulCase(matmul, arrays);
  const auto& result = MatrixOf(arrays, ProductOf(matmul).result);
  ProductOutput<float> output{{result.begin(), result.end()}};
  if (matmul.bias && matmul.direction != ProductDirection::kForward)
    output.bias_gradient.assign(arrays.bias.begin(), arrays.bias.end());
  return output;
}

// The check finds an addend that is left out, and the other GELU (they differ by up to 5e-4).
TEST(MatmulCheck, FindsAMissingAddendAndTheOtherFunction) {
  MatmulCase matmul;
  matmul.problem = ParseMatmul("m8n9k10");
  matmul.sum = true;
  matmul.eltwise = workload::Eltwise::kGeluErf;
  const auto inputs = workload::SeededInputs(matmul, 3);
  const auto result = [&](const MatmulCase& other) { return RightOutput(other, inputs); };
  EXPECT_TRUE(CheckOutput(matmul, inputs, result(matmul), 3).ok);
  auto other = matmul;
  other.sum = false;
  EXPECT_FALSE(CheckOutput(matmul, inputs, result(other), 3).ok);
  other = matmul;
  other.eltwise = workload::Eltwise::kGeluTanh;
  EXPECT_FALSE(CheckOutput(matmul, inputs, result(other), 3).ok);
}

// Weights are made again from the stored integers, element by element of each column, and
// multiplied in double. A scale or a zero point of the neighboring column or group is found.
TEST(CompressedWeights, AreTheScaledDistanceFromTheirZeroPointAndFaultsAreFound) {
  for (const std::string name :
       {"fwd/f32s8f32/m3n29k64/scales", "fwd/f32u8f32/b2m3n15k96_tB/scales-g32/zero-points",
        "fwd/bf16s4f32/m1n6k64_tA/scales-g32/zero-points",
        "fwd/f16u4f32/m9n4k64/scales/zero-points", "fwd/f32s4f32/m9n8k128/bias/relu/scales-g64"}) {
    const auto matmul = CheckedCase(name);
    const auto& p = matmul.problem;
    const auto inputs = workload::SeededInputs(matmul, 5);
    const auto& range = *workload::FindIntegerWeights(matmul.types.weights);
    EXPECT_EQ(*std::ranges::min_element(inputs.weights), range.low) << name;
    EXPECT_EQ(*std::ranges::max_element(inputs.weights), range.high) << name;
    const auto [scales, zero_points] = QuantizationOf(matmul);
    ASSERT_EQ(std::ssize(scales), p.k / matmul.group * p.n);
    EXPECT_EQ(zero_points.empty(), !matmul.zero_points);
    // Scales and zero points are those of other weights, so far away.
    const auto output = [&, &scales = scales, &zero_points = zero_points](int64_t columns,
                                                                          int64_t steps) {
      auto expanded = inputs;
      for (int64_t pair = 0; pair < p.b; ++pair)
        for (int64_t step = 0; step < p.k; ++step)
          for (int64_t column = 0; column < p.n; ++column) {
            const int64_t group =
                (step + steps) % p.k / matmul.group * p.n + (column + columns) % p.n;
            float& weight = expanded.weights.at(AtB(matmul, pair, step, column));
            weight -= zero_points.empty() ? 0 : zero_points.at(group);
            weight *= scales.at(group);
          }
      return std::pair(expanded.weights, RightOutput(matmul, expanded));
    };
    const auto [weights, right] = output(0, 0);
    EXPECT_TRUE(CheckOutput(matmul, inputs, right, 5).ok) << name;
    EXPECT_FALSE(CheckOutput(matmul, inputs, output(1, 0).second, 5).ok) << name;
    EXPECT_EQ(CheckOutput(matmul, inputs, output(0, 1).second, 5).ok, matmul.group == p.k) << name;
    auto expanded = inputs.weights;
    Expand(matmul, expanded);
    EXPECT_EQ(expanded, weights) << name;
    for (const float weight : expanded)  // exact in every type
      ASSERT_EQ(workload::RoundToBf16(weight), weight) << name;
  }
}

constexpr const char* kCases[] = {"fwd/f32/m17n9k33/bias/relu", "bwd_data/f32/b3m5n7k9_tAtB",
                                  "bwd_weights/f32/m33n8k5/ip/bias", "fwd/u8s8s32/m9n10k20"};

TEST(MatmulCheck, FindsOneWrongElementAndSamplesLargeProblemsWithTheirCorners) {
  for (const char* name : kCases) {
    const auto matmul = CheckedCase(name);
    const auto inputs = workload::SeededInputs(matmul, 5);
    const auto right = RightOutput(matmul, inputs);
    const auto found = CheckOutput(matmul, inputs, right, 5);
    EXPECT_TRUE(found.ok) << name << ' ' << found.max_error;
    EXPECT_THAT(found.how, HasSubstr("all ")) << name;
    for (const size_t at : {size_t{0}, right.values.size() / 2, right.values.size() - 1}) {
      auto wrong = right;
      wrong.values[at] += 2;
      EXPECT_FALSE(CheckOutput(matmul, inputs, wrong, 5).ok) << name << ' ' << at;
      wrong.values[at] = std::numeric_limits<float>::quiet_NaN();
      const auto lost = CheckOutput(matmul, inputs, wrong, 5);
      EXPECT_FALSE(lost.ok);
      EXPECT_THAT(lost.how, HasSubstr("1 of "));
    }
  }
  // 2 * 600 * 300 * 200 = 72 MFLOP.
  const auto matmul = CheckedCase("fwd/f32/m600n300k200");
  const auto inputs = workload::SeededInputs(matmul, 5);
  auto output = RightOutput(matmul, inputs);
  const auto found = CheckOutput(matmul, inputs, output, 5);
  EXPECT_TRUE(found.ok);
  EXPECT_THAT(found.how, HasSubstr("sampled outputs of 180000"));
  for (const size_t corner : {0, 299, 599 * 300, 600 * 300 - 1}) {
    auto wrong = output;
    wrong.values[corner] += 1;
    EXPECT_FALSE(CheckOutput(matmul, inputs, wrong, 5).ok) << corner;
  }
}

// Below 2^-14 the numbers of f16 are 2^-24 apart: the nearest one may be off by 2^-25, however
// small the result is. A product of one term has no other error to hide that in.
TEST(MatmulCheck, ASubnormalF16ResultMayBeOffByHalfItsSpacing) {
  const auto matmul = CheckedCase("fwd/f16/m1n1k1");
  auto inputs = workload::SeededInputs(matmul, 5);
  MatrixOf(inputs, Matrix::kA) = {0x1p-8F};
  MatrixOf(inputs, Matrix::kB) = {0x1.4b8p-9F};
  const double exact = 0x1.4b8p-17;  // 9.88e-6, 165.75 times 2^-24
  for (const auto& [steps, right] : {std::pair{166, true}, {165, false}, {167, false}}) {
    const auto found = CheckOutput(
        matmul, inputs, ProductOutput<float>{{static_cast<float>(steps * 0x1p-24)}, {}}, 5);
    EXPECT_EQ(found.ok, right) << steps << " x 2^-24 for " << exact << ": " << found.max_error;
  }
}

GroupedProblem RandomProblem(std::mt19937& random, int64_t most) {
  GroupedProblem p{.g = Between(random, 1, most),
                   .m = Between(random, 1, most),
                   .n = Between(random, 1, most),
                   .k = Between(random, 1, most)};
  if (random() % 2 == 0) p.zipf_seed = Between(random, 0, 9);
  return p;
}

TEST(GroupedMatmul, ProblemAndTextAreInverseRowsAreSpreadAndWorkIsThatOfTheRows) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto problem = RandomProblem(random, 3000);
    ASSERT_EQ(ParseGrouped(ToText(problem)), problem) << ToText(problem);
  }
  const auto refusal = [](const std::string& text) {
    return fakes::RefusalOf(ParseGrouped, text, 10);
  };
  EXPECT_THAT(refusal("g2m2n2k2_zipf"), HasSubstr("column 24: expected a seed"));
  EXPECT_THAT(refusal("g2m2n2k2_z1"), HasSubstr("column 19: expected '_zipf'"));
  EXPECT_THAT(refusal("g2000000000m1n2000000000k2000000000"), HasSubstr("column 11: "));
  EXPECT_THAT(RowsOfExperts(ParseGrouped("g4m10n1k1")), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(RowsOfExperts(ParseGrouped("g4m2n1k1")), ElementsAre(1, 1, 0, 0));
  // 1 / (r (1 + 1/2 + 1/3 + 1/4)) of a million: 480,000, 240,000, 160,000, 120,000, each within
  // five deviations (at most 500 each).
  auto million = RowsOfExperts(ParseGrouped("g4m1000000n1k1_zipf3"));
  std::ranges::sort(million, std::greater<>());
  const std::vector<double> expected = {480000, 240000, 160000, 120000};
  EXPECT_THAT(million, testing::Pointwise(testing::DoubleNear(2500), expected));
  EXPECT_EQ(std::accumulate(million.begin(), million.end(), int64_t{0}), 1000000);
  // A name means the same routing on every machine.
  EXPECT_THAT(RowsOfExperts(ParseGrouped("g8m20n1k1_zipf7")), ElementsAre(2, 1, 10, 2, 1, 2, 2, 0));
  // Row by row: FLOPs, and the bytes of the experts that are used.
  std::mt19937 cases(2);
  for (int i = 0; i < 200; ++i) {
    GroupedCase grouped;
    grouped.problem = RandomProblem(cases, 20);
    const auto& p = grouped.problem;
    double flops = 0, weights = 0;
    for (const auto rows : RowsOfExperts(p)) {
      for (int64_t row = 0; row < rows; ++row) flops += 2.0 * static_cast<double>(p.n * p.k);
      if (rows > 0) weights += static_cast<double>(p.n * p.k);
    }
    const auto work = WorkOf(grouped, "fp32.vector");
    ASSERT_EQ(work.flops.at("fp32.vector"), flops) << ToText(p);
    ASSERT_EQ(work.bytes.at(Level::kDram),
              4 * (weights + static_cast<double>(p.m * p.k + p.m * p.n)))
        << ToText(p);
  }
}

TEST(GroupedMatmul, LibraryAndLoopsAgreeAndAnExpertWithoutRowsIsSkipped) {
  int ran = 0;
  for (const std::string problem : {"g4m10n17k33", "g8m20n64k32_zipf7", "g1m1n1k1", "g3m2n5k7",
                                    "g4m9n17k33_zipf2", "g16m256n48k64_zipf1", "g64m8n32k32"}) {
    EXPECT_THAT(fakes::Outcome("GroupedMatmul/cpu/reference/fwd/f64/" + problem),
                testing::StartsWith("ok "));
    for (const std::string type : {"f32", "bf16", "f16"}) {
      const auto outcome = fakes::Outcome("GroupedMatmul/cpu/onednn/fwd/" + type + "/" + problem);
      if (outcome.starts_with("ok ")) ++ran;
      // This CPU or library may lack the narrow types.
      EXPECT_THAT(outcome, testing::StartsWith(type == "f32" || outcome.starts_with("ok ")
                                                   ? "ok "
                                                   : "unsupported: "))
          << problem;
    }
  }
  EXPECT_GE(ran, 6);
  // An expert without rows takes no row of another: rows 5, 2, 0 and 2, so that row 7 is the last
  // expert's.
  GroupedCase grouped;
  grouped.problem = ParseGrouped("g4m9n16k16_zipf2");
  ASSERT_THAT(RowsOfExperts(grouped.problem), ElementsAre(5, 2, 0, 2));
  const auto in = workload::SeededInputs(grouped, 5);
  double sum = 0;
  for (size_t i = 0; i < 16; ++i)
    sum += double{in.source.at(7 * 16 + i)} * double{in.weights.at((3 * 16 + 5) * 16 + i)};
  EXPECT_NEAR(ResultOf(grouped, in).element(7 * 16 + 5).value, sum, 1e-12);
}

// Scales of fp8 and fp4 products: cuBLASLt's layouts against the inverse of its documentation's
// formulas, the check against planted wrong scales.

MatmulCase Case(const std::string& name) {
  return ReadCublasltMatmulCase(workload::ParseBenchmarkName("Matmul/gpu/cublaslt/fwd/" + name));
}

const std::string kFp8 = "e4m3e4m3bf16/", kFp4 = "e2m1e2m1bf16/";

std::string Refusal(const std::string& name) { return fakes::RefusalOf(Case, name); }

TEST(ScalingName, HasScalesOfItsType) {
  EXPECT_EQ(Case(kFp8 + "m1n2k3").scaling, Scaling::kNone);
  EXPECT_EQ(Case(kFp8 + "m1n2k3_tB/bias/scales-rows").scaling, Scaling::kRows);
  EXPECT_EQ(Case(kFp4 + "m1n2k3_tB/scales-nv").scaling, Scaling::kNv);
  EXPECT_EQ(PipeOf("e4m3e4m3bf16"), "fp8.matrix");
  // Matmul/gpu/cublaslt/fwd/ is 24 characters long.
  EXPECT_THAT(Refusal("bf16/m1n2k3_tB/scales-mx"), HasSubstr("column 40: 'scales-mx' needs the"));
  EXPECT_THAT(Refusal(kFp8 + "m1n2k3_tB/scales-nv"), HasSubstr("needs the type e2m1e2m1bf16"));
  EXPECT_THAT(Refusal(kFp4 + "m1n2k3_tB/scales-mx"), HasSubstr("does not exist for fp4"));
  EXPECT_THAT(Refusal(kFp4 + "m1n2k3_tB"), HasSubstr("column 25: the type e2m1e2m1bf16 needs"));
  EXPECT_THAT(Refusal(kFp8 + "m1n2k3/scales-rows"), HasSubstr("one product with _tB"));
  EXPECT_THAT(Refusal(kFp8 + "b2m1n2k3_tB/scales-rows"), HasSubstr("one product with _tB"));
  EXPECT_THAT(Refusal(kFp8 + "m1n2k3_tB/scales-rows/scales-mx"), HasSubstr("'scales-mx'"));
}

TEST(ScalingRefusal, NamesTheGpusThatHaveIt) {
  const auto refusal = [](const std::string& name, int capability) {
    const auto reason = ScalingRefusal(Case(name), capability);
    return reason ? reason->text : "none";
  };
  EXPECT_EQ(refusal(kFp8 + "m1n2k3_tB/scales-blocks", 90), "none");
  EXPECT_EQ(refusal(kFp8 + "m1n2k3_tB/scales-blocks", 100),
            "scales-blocks needs a GPU of compute capability 9.0 (Hopper); this one has 10.0");
  EXPECT_EQ(
      refusal(kFp8 + "m1n2k3_tB/scales-mx", 90),
      "scales-mx needs a GPU of compute capability 10.0 or higher (Blackwell); this one has 9.0");
  EXPECT_EQ(refusal(kFp8 + "m1n2k3", 80),
            "e4m3e4m3bf16 needs a GPU of compute capability 8.9 or higher (Ada); this one has 8.0");
  EXPECT_EQ(refusal("f16/m1n2k3", 70), "none");
}

// The scale of an element as the documentation finds it in memory.
float ScaleInMemory(Scaling scaling, bool is_weights, int64_t rows, int64_t depth,
                    const std::vector<std::byte>& bytes, int64_t row, int64_t step) {
  const auto f32 = [&](int64_t index) {
    return workload::Decoded(bytes, "f32").at(static_cast<size_t>(index));
  };
  const int64_t l = (depth + 127) / 128, l4 = (l + 3) / 4 * 4;
  if (scaling == Scaling::kTensor) return f32(0);
  if (scaling == Scaling::kRows) return f32(row);
  if (scaling == Scaling::kBlocks)
    return is_weights ? f32(row / 128 * l4 + step / 128) : f32(step / 128 * rows + row);
  const int64_t block = step / (scaling == Scaling::kMx ? 32 : 16);
  const int64_t blocks =
      (depth + (scaling == Scaling::kMx ? 31 : 15)) / (scaling == Scaling::kMx ? 32 : 16);
  const int64_t inner_dim = (blocks + 3) / 4 * 4;
  const int64_t tile = (block / 4 * 4 + row / 128 * inner_dim) * 128;
  for (int64_t offset = 0; offset < 512; ++offset)
    if (offset % 16 / 4 * 32 + offset / 16 == row % 128 && offset % 4 == block % 4) {
      const auto bits = std::to_integer<uint8_t>(bytes.at(static_cast<size_t>(tile + offset)));
      return scaling == Scaling::kMx ? std::ldexp(1.0F, bits - 127) : workload::FromE4m3Bits(bits);
    }
  throw std::logic_error("no offset");
}

const std::vector<std::string> kProblems = {"m1n1k16_tB", "m5n3k7_tB", "m130n257k300_tB",
                                            "m64n128k1000_tB"};

std::vector<MatmulCase> Cases() {
  std::vector<MatmulCase> cases;
  for (const auto& problem : kProblems)
    for (const auto option : ScalingOptions())
      cases.push_back(
          Case((option == "scales-nv" ? kFp4 : kFp8) + problem + "/" + std::string(option)));
  return cases;
}

TEST(FactorScales, AreStoredAsCublasltReadsThem) {
  for (const auto& matmul : Cases())
    for (const Matrix matrix : {Matrix::kA, Matrix::kB}) {
      const FactorScales scales(matmul, matrix, 7);
      const auto bytes = scales.Stored();
      const bool is_weights = matrix == Matrix::kB;
      const int64_t rows = is_weights ? matmul.problem.n : matmul.problem.m;
      for (int64_t row = 0; row < rows; row += std::max<int64_t>(1, rows / 60))
        for (int64_t step = 0; step < matmul.problem.k; step += 5)
          ASSERT_EQ(
              ScaleInMemory(matmul.scaling, is_weights, rows, matmul.problem.k, bytes, row, step),
              scales.At(row, step))
              << ToText(matmul.problem) << " " << static_cast<int>(matmul.scaling);
    }
}

// What a GPU returns: products of the stored elements, times the scales in memory, rounded to bf16.
std::vector<float> Scaled(const MatmulCase& matmul, const ProductInputs& elements,
                          const FactorScales& a, const FactorScales& b) {
  const auto& p = matmul.problem;
  std::vector<float> result;
  for (int64_t row = 0; row < p.m; ++row)
    for (int64_t column = 0; column < p.n; ++column) {
      double sum = 0;
      for (int64_t step = 0; step < p.k; ++step)
        sum += double{elements.source[static_cast<size_t>(row * p.k + step)]} * a.At(row, step) *
               elements.weights[static_cast<size_t>(column * p.k + step)] * b.At(column, step);
      result.push_back(workload::RoundToBf16(static_cast<float>(sum)));
    }
  return result;
}

TEST(ScaledProduct, IsCheckedWithItsScales) {
  for (const auto& matmul : Cases()) {
    if (matmul.problem.k > 300) continue;
    const auto elements = workload::SeededInputs(matmul, 1);
    const FactorScales a(matmul, Matrix::kA, 4), b(matmul, Matrix::kB, 5);
    auto inputs = elements;
    a.Apply(inputs.source);
    b.Apply(inputs.weights);
    const auto error = [&](const FactorScales& of_a) {
      return CheckOutput(matmul, inputs, ProductOutput<float>{Scaled(matmul, elements, of_a, b)}, 1)
          .max_error;
    };
    EXPECT_LT(error(a), 1) << matmul.type << ToText(matmul.problem);
    if (a.count() <= 5) continue;  // another seed may have the same scales
    EXPECT_GT(error(FactorScales(matmul, Matrix::kA, 99)), 1) << ToText(matmul.problem);
  }
}

}  // namespace
}  // namespace dlroof::matmul
