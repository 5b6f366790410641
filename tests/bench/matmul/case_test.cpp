#include "bench/matmul/case.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "bench/matmul/loops.h"
#include "bench/suites/suite.h"
#include "tests/fakes/foreign_lines.h"
#include "tests/fakes/refusal.h"

namespace dlroof::matmul {
namespace {

using testing::HasSubstr;

// The built-in suites of matrix products, against what is published about their models.

std::string ProblemRefusal(std::string_view text) {
  return fakes::RefusalOf(ParseMatmul, text, 10);
}

TEST(MatmulProblem, ReadsWhatItWritesAndRefusesWithTheColumnAndWhatLeaves64Bits) {
  std::mt19937 random(1);
  const auto size = [&] { return int64_t{1} + static_cast<int64_t>(random() % 3000); };
  for (int i = 0; i < 2000; ++i) {
    const MatmulProblem problem{i % 2 == 0 ? 1 : size(), size(),           size(), size(),
                                random() % 2 == 0,       random() % 2 == 0};
    ASSERT_EQ(ParseMatmul(ToText(problem)), problem) << ToText(problem);
  }
  EXPECT_EQ(ToText(MatmulProblem{12, 128, 64, 128, false, true}), "b12m128n64k128_tB");
  EXPECT_EQ(ToText(MatmulProblem{1, 1, 2, 3, true, true}), "m1n2k3_tAtB");
  EXPECT_EQ(ProblemRefusal("m1n2k3"), "accepted");
  EXPECT_THAT(ProblemRefusal("n2m1k3"), HasSubstr("column 11: expected 'm', got 'n'"));
  EXPECT_THAT(ProblemRefusal("m1n2"), HasSubstr("column 15: expected 'k', got the end"));
  EXPECT_THAT(ProblemRefusal("m1n0k3"), HasSubstr("column 14: expected the size n"));
  EXPECT_THAT(ProblemRefusal("m1n02k3"), HasSubstr("column 14"));
  EXPECT_THAT(ProblemRefusal("b1m1n2k3"),
              HasSubstr("column 12: expected a batch, an integer from 2"));
  EXPECT_THAT(ProblemRefusal("m1n2k3_"), HasSubstr("column 18: expected tA, tB or tAtB"));
  EXPECT_THAT(ProblemRefusal("m1n2k3_tBtA"), HasSubstr("column 20: expected the end, got 't'"));
  EXPECT_THAT(ProblemRefusal("m1n2k3_tAx"), HasSubstr("column 20: expected the end or tB"));
  EXPECT_THAT(ProblemRefusal("m1n2k3x"), HasSubstr("column 17"));
  EXPECT_THAT(ProblemRefusal("m2147483648n1k1"), HasSubstr("column 12"));
  EXPECT_THAT(ProblemRefusal("b2147483647m2147483647n1k2147483647"), HasSubstr("A's size in byte"));
  EXPECT_THAT(ProblemRefusal("m1000000000n1000000000k1000000000"), HasSubstr("column 11: "));
}

MatmulCase Case(const std::string& name) {
  return ReadOnednnMatmulCase(workload::ParseBenchmarkName("Matmul/cpu/onednn/" + name));
}

std::string Refusal(const std::string& name) { return fakes::RefusalOf(Case, name); }

TEST(MatmulCase, ReadsEveryOptionAndRefusesWithTheColumnInTheWholeName) {
  const auto matmul = Case("fwd/u8s8f32/m1n2k3/ip/training/bias/relu/scales/fpmath-bf16");
  EXPECT_TRUE(matmul.ip && matmul.training && matmul.bias &&
              matmul.eltwise == workload::Eltwise::kRelu && matmul.scales && !matmul.any);
  EXPECT_EQ(matmul.types, (workload::ProductTypes{"u8", "s8", "f32"}));
  EXPECT_EQ(matmul.fpmath, "bf16");
  EXPECT_TRUE(Case("fwd/f32/m1n2k3/any").any);
  const auto fused = Case("fwd/bf16/m1n2k3/bias/sum/gelu_tanh");
  EXPECT_TRUE(fused.sum && fused.eltwise == workload::Eltwise::kGeluTanh);
  const auto plain = Case("bwd_data/f32/m1n2k3");
  EXPECT_FALSE(plain.ip || plain.training || plain.bias || plain.sum || plain.eltwise ||
               plain.scales || plain.any);
  // Matmul/cpu/onednn/ is 18 characters long.
  EXPECT_EQ(Refusal("fwd/f32/m1n2k3"), "accepted");
  EXPECT_THAT(Refusal("bwd/f32/m1n2k3"), HasSubstr("column 19: expected a direction"));
  EXPECT_THAT(Refusal("fwd/f8/m1n2k3"), HasSubstr("column 23: expected a type (f32, bf16, f16, "));
  EXPECT_THAT(Refusal("fwd/u8s8u8/m1n2k3"), HasSubstr("column 23"));  // int8 is its name
  EXPECT_THAT(Refusal("fwd/f32/m1n2"), HasSubstr("column 31: expected 'k', got the end"));
  EXPECT_THAT(Refusal("fwd/f32/b2m1n2k3/ip"), HasSubstr("column 36: 'ip'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3_tB/ip"), HasSubstr("'ip'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3/training"), HasSubstr("'training'"));
  EXPECT_THAT(Refusal("bwd_data/f32/m1n2k3/ip/training"), HasSubstr("'training'"));
  EXPECT_THAT(Refusal("bwd_weights/f32/m1n2k3/bias"), HasSubstr("'bias'"));
  EXPECT_EQ(Refusal("bwd_weights/f32/m1n2k3/ip/bias"), "accepted");
  EXPECT_THAT(Refusal("bwd_data/f32/m1n2k3/ip/bias"), HasSubstr("'bias'"));
  EXPECT_THAT(Refusal("bwd_data/f32/m1n2k3/relu"), HasSubstr("'relu'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3/scales"), HasSubstr("'scales'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3/ip/any"), HasSubstr("'any'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3_tA/any"), HasSubstr("'any'"));
  EXPECT_THAT(Refusal("bwd_data/f32/m1n2k3/any"), HasSubstr("'any'"));
}

TEST(CompressedWeights, HaveNamesWithTheirScalesAndZeroPointsAndOnlyProductsThatExist) {
  const auto grouped = Case("fwd/bf16u4bf16/m1n8k256_tB/bias/scales-g128/zero-points");
  EXPECT_EQ(grouped.types, (workload::ProductTypes{"bf16", "u4", "bf16"}));
  EXPECT_TRUE(grouped.group == 128 && grouped.zero_points && !grouped.scales);
  EXPECT_EQ(Case("fwd/f32s8f32/m1n8k100/scales").group, 100);
  for (const std::string type : {"f32s8f32", "f32u8f32", "f16s4f32", "bf16u4bf16", "f32s4f32"})
    EXPECT_EQ(Refusal("fwd/" + type + "/m1n2k64/scales-g32/zero-points/any/fpmath-any"),
              "accepted");
  // Matmul/cpu/onednn/ is 18 characters long.
  EXPECT_THAT(Refusal("fwd/f32s4f32/m1n3k2/scales"), HasSubstr("column 32: weights of 4 bits need "
                                                               "an even n"));
  EXPECT_THAT(Refusal("fwd/f32u4f32/m1n2k3_tB/scales"), HasSubstr("an even k"));
  EXPECT_EQ(Refusal("fwd/f32s8f32/m1n3k3/scales"), "accepted");
  EXPECT_THAT(Refusal("fwd/f32s4f32/m1n2k3"), HasSubstr("column 23: the type f32s4f32 needs the"));
  EXPECT_THAT(Refusal("fwd/f32s4s32/m1n2k3/scales"), HasSubstr("column 23: expected a type"));
  EXPECT_THAT(Refusal("fwd/u8s4f32/m1n2k3/scales"), HasSubstr("column 23: expected a type"));
  EXPECT_THAT(Refusal("fwd/s4s8f32/m1n2k3/scales"), HasSubstr("column 23: expected a type"));
  EXPECT_THAT(Refusal("bwd_data/f32s4f32/m1n2k3/scales"), HasSubstr("column 19: integer weights"));
  EXPECT_THAT(Refusal("fwd/f32s8f32/m1n2k3/ip/scales"), HasSubstr("'ip' has no integer weights"));
  EXPECT_THAT(Refusal("fwd/f32s8f32/m1n2k100/scales-g64"), HasSubstr("a multiple of the group"));
  EXPECT_THAT(Refusal("fwd/f32s8f32/m1n2k64/scales-g64"), HasSubstr("is one group"));
  for (const std::string type : {"f32", "int8", "u8s8f32"}) {
    EXPECT_THAT(Refusal("fwd/" + type + "/m1n2k64/scales-g32"), HasSubstr("'scales-g32' needs"));
    EXPECT_THAT(Refusal("fwd/" + type + "/m1n2k64/zero-points"), HasSubstr("'zero-points' needs"));
  }
  EXPECT_THROW(workload::MakeWorkload("Conv2D/cpu/onednn/fwd/f32s8f32/n1c1h1w1k1r1s1"), BadInput);
}

MatmulCase CublasltCase(const std::string& name) {
  return ReadCublasltMatmulCase(workload::ParseBenchmarkName("Matmul/gpu/cublaslt/" + name));
}

// The product as BLAS has it: matrices column by column, leading dimension = rows.
std::vector<double> ColumnMajor(const ProductSpec& spec,
                                const workload::ProductArrays<double>& arrays) {
  const auto at = [&](const MatrixSpec& matrix, int64_t pair, int64_t row, int64_t column) {
    if (matrix.transposed) std::swap(row, column);
    return MatrixOf(arrays, matrix.matrix).at((pair * matrix.columns + column) * matrix.rows + row);
  };
  const int64_t depth = spec.first.transposed ? spec.first.rows : spec.first.columns;
  std::vector<double> result;
  for (int64_t pair = 0; pair < spec.batch; ++pair)
    for (int64_t column = 0; column < spec.result.columns; ++column)
      for (int64_t row = 0; row < spec.result.rows; ++row) {
        double sum = 0;
        for (int64_t step = 0; step < depth; ++step)
          sum += at(spec.first, pair, row, step) * at(spec.second, pair, step, column);
        result.push_back(sum);
      }
  return result;
}

TEST(CublasltProduct, IsTheRowMajorOneColumnByColumn) {
  for (const std::string direction : {"fwd", "bwd_data", "bwd_weights"})
    for (const std::string order : {"", "_tA", "_tB", "_tAtB"}) {
      const auto matmul = CublasltCase(direction + "/f16/b2m3n4k5" + order);
      auto arrays = workload::ArraysOf({}, SizesOf(matmul));
      double next = 1;
      for (auto* values : {&arrays.source, &arrays.weights, &arrays.destination})
        for (double& value : *values) value = next++;
      const auto found = ColumnMajor(ProductSpecOf(matmul), arrays);
      RunMatmulCase(matmul, arrays);
      EXPECT_EQ(found, MatrixOf(arrays, ProductOf(matmul).result)) << direction << order;
    }
}

TEST(CublasltName, HasItsTypesAndOptionsAndIsKnownInEveryBuild) {
  EXPECT_EQ(CublasltCase("fwd/tf32/m1n2k3/bias/relu").fpmath, "tf32-truncated");
  EXPECT_EQ(ProductSpecOf(CublasltCase("fwd/tf32/m1n2k3")).compute, "tf32");
  EXPECT_EQ(ProductSpecOf(CublasltCase("fwd/s8s8s32/m1n2k3")).result.type, "s32");
  EXPECT_EQ(PipeOf("f32"), "fp32.vector");
  EXPECT_EQ(PipeOf("bf16"), "bf16.matrix");
  const auto refusal = [](const std::string& name) { return fakes::RefusalOf(CublasltCase, name); };
  // Matmul/gpu/cublaslt/ is 20 characters long.
  EXPECT_THAT(refusal("fwd/int8/m1n2k3"), HasSubstr("column 25: expected a type (f32, tf32, "));
  EXPECT_THAT(refusal("fwd/f16/m1n2k3/ip"), HasSubstr("column 36"));
  EXPECT_NO_THROW(workload::MakeWorkload("Matmul/gpu/cublaslt/fwd/f16/m1n2k3"));
  EXPECT_THROW(workload::MakeWorkload("Matmul/gpu/cublaslt/fwd/f16/m1n2"), BadInput);
}

struct CountedProblem {
  MatmulProblem problem;
  int64_t count;
};

// Layers of one direction and type.
std::vector<CountedProblem> Layers(const std::string& suite, const std::string& direction,
                                   const std::string& type) {
  std::vector<CountedProblem> layers;
  const auto suites = suites::SelectSuites({suite});
  for (const auto& layer : suites.at(0).layers) {
    const auto name = workload::ParseBenchmarkName(layer.name);
    if (name.direction == direction && name.type == type)
      layers.push_back({ParseMatmul(name.problem), layer.count});
  }
  return layers;
}

double Flops(const std::string& suite) {
  double flops = 0;
  for (const auto& layer : Layers(suite, "fwd", "f32"))
    flops += static_cast<double>(layer.count * Flops(layer.problem));
  return flops;
}

TEST(BertSuites, HaveThePublishedFlopsAndParameters) {
  // TinyBERT (arXiv 1909.10351), table 1: BERT-base has 22.5 B FLOPs at 128 tokens and 109 M
  // parameters. Eight sequences a batch.
  EXPECT_NEAR(Flops("bert_base") / 8, 22.5e9, 0.2e9);
  for (const char* suite : {"bert_base", "bert_base_384"}) {
    int64_t parameters = 0;
    for (const auto& layer : Layers(suite, "fwd", "f32"))
      if (layer.problem.b == 1)
        parameters += layer.count * (CountB(layer.problem) + layer.problem.n);
    // Beside the products: embeddings of 30,522 words, 512 places and 2 segments, and 25 layer
    // norms, each 768 wide; the norms have two numbers each. In all 109,482,240, as the Hugging
    // Face model bert-base-uncased has.
    EXPECT_EQ(parameters + (30522 + 512 + 2 + 2 * 25) * 768, 109482240) << suite;
  }
}

// The weights of the suite and of what it leaves out: 58 layers of 256 routed experts and their
// router, embedding and last product of 129,280 words. The paper counts 671 billion.
TEST(DeepSeekSuite, HasThePublishedWeights) {
  int64_t weights = int64_t{58} * 256 * (3 * 7168 * 2048 + 7168) + int64_t{2} * 129280 * 7168;
  for (const auto& layer : Layers("deepseek_v3", "fwd", "e4m3e4m3bf16"))
    weights += layer.count * CountB(layer.problem);
  EXPECT_NEAR(static_cast<double>(weights) / 1e9, 671.0, 0.1);
}

std::string Line(const std::string& name) { return MatmulBenchdnn(Case(name)).value_or(""); }

TEST(MatmulBenchdnn, RepeatsTheCallItsGradientsAndInnerProducts) {
  EXPECT_EQ(Line("fwd/f32/m128n768k64"),
            "--matmul --mode=P --stag=ab --wtag=ab --dtag=ab 128x64:64x768");
  EXPECT_EQ(Line("fwd/f32/m128n768k64/any"), "--matmul --mode=P 128x64:64x768");
  EXPECT_EQ(Line("fwd/int8/b12m128n64k32_tAtB/bias/relu/scales/fpmath-any"),
            "--matmul --mode=P --dt=u8:s8:u8 --stag=acb --wtag=acb --dtag=abc --bia_dt=f32 "
            "--bia_mask=4 --attr-scales=src:common:0.5+wei:per_oc:0.5+dst:common:0.5 "
            "--attr-post-ops=relu --attr-fpmath=any 12x128x32:12x32x64");
  EXPECT_EQ(Line("fwd/bf16/m2n3k4/bias"),
            "--matmul --mode=P --dt=bf16 --stag=ab --wtag=ab --dtag=ab --bia_dt=bf16 2x4:4x3");
  EXPECT_EQ(Line("fwd/u8s8s32/m2n3k4/scales"),
            "--matmul --mode=P --dt=u8:s8:s32 --stag=ab --wtag=ab --dtag=ab "
            "--attr-scales=src:common:0.5+wei:per_oc:0.5 2x4:4x3");
  // dA (2x4) = dC (2x3) B^T (3x4); dB (4x3) = A^T (4x2) dC (2x3)
  EXPECT_EQ(Line("bwd_data/f32/m2n3k4"), "--matmul --mode=P --stag=ab --wtag=ba --dtag=ab 2x3:3x4");
  EXPECT_EQ(Line("bwd_weights/f32/m2n3k4"),
            "--matmul --mode=P --stag=ba --wtag=ab --dtag=ab 4x2:2x3");
  EXPECT_EQ(Line("bwd_weights/bf16f32bf16/m2n3k4"),
            "--matmul --mode=P --dt=bf16:bf16:f32 --stag=ba --wtag=ab --dtag=ab 4x2:2x3");
  EXPECT_EQ(Line("fwd/f32/m16n1000k2048/ip"), "--ip --mode=P --dir=FWD_I mb16ic2048oc1000");
  EXPECT_EQ(Line("fwd/int8/m2n3k4/ip/training/bias/relu/scales"),
            "--ip --mode=P --dir=FWD_B --dt=u8:s8:u8 "
            "--attr-scales=src:common:0.5+wei:per_oc:0.5+dst:common:0.5 --attr-post-ops=relu "
            "mb2ic4oc3");
  EXPECT_EQ(Line("bwd_data/bf16/m2n3k4/ip"), "--ip --mode=P --dir=BWD_D --dt=bf16 mb2ic4oc3");
  EXPECT_EQ(Line("bwd_weights/f32/m2n3k4/ip/bias"), "--ip --mode=P --dir=BWD_WB mb2ic4oc3");
  EXPECT_EQ(Line("fwd/f32/m2n3k4/ip/bias"), "") << "FWD_I has no bias";
  EXPECT_EQ(Line("bwd_data/int8/m2n3k4/scales"), "");
  EXPECT_EQ(Line("fwd/f16u4f16/m1n8k256/bias/scales-g128/zero-points"),
            "--matmul --mode=P --dt=f16:u4:f16 --stag=ab --wtag=ab --dtag=ab --bia_dt=f32 "
            "--attr-scales=wei:per_ocic:f16:128x1 --attr-zero-points=wei:per_ocic:u4:128x1 "
            "--attr-fpmath=f16:true 1x256:256x8");
}

std::string RandomForward(std::mt19937& random) {
  const auto size = [&] { return 1 + random() % 40; };
  const auto of = [&](const std::vector<std::string>& choices) {
    return choices[random() % choices.size()];
  };
  const auto type =
      of({"f32", "bf16", "f16", "int8", "u8s8s8", "u8s8s32", "u8s8f32", "s8s8s8", "s8s8u8",
          "s8s8f32", "bf16bf16f32", "f32bf16bf16", "f32s4f32", "bf16u8bf16", "f16u4f32"});
  const bool compressed = type.ends_with("4f32") || type == "bf16u8bf16";
  const bool ip = !compressed && random() % 3 == 0;
  const auto order = ip ? "" : of({"", "", "_tA", "_tB", "_tAtB"});
  auto name = fmt::format(
      "fwd/{}/{}m{}n{}k{}{}", type, ip || random() % 2 == 0 ? "" : fmt::format("b{}", 1 + size()),
      size(), (compressed ? 2U : 1U) * size(), (compressed ? 128U : 1U) * size(), order);
  if (ip) name += of({"/ip", "/ip/training", "/ip/training/bias"});
  if (!ip) name += of({"", "/bias"});
  name += of({"", "/relu"});
  if (compressed)
    name += of({"/scales", "/scales-g32", "/scales-g64"}) + of({"", "/zero-points"});
  else if (type.find("s8") != std::string::npos || type == "int8")
    name += of({"", "/scales"});
  if (!ip && order.empty()) name += of({"", "/any"});
  if (compressed) return name + of({"", "/fpmath-any"});
  return name + of({"", "/fpmath-bf16", "/fpmath-f16", "/fpmath-tf32", "/fpmath-any"});
}

TEST(MatmulBenchdnn, LinesReadBackAsTheSameBenchmarkOrAsAGradientsProduct) {
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    const auto name = RandomForward(random);
    ASSERT_EQ(fakes::BenchmarkOf(Line(name)), "Matmul/cpu/onednn/" + name) << Line(name);
  }
  for (const std::string direction : {"bwd_data", "bwd_weights"})
    for (const std::string order : {"", "_tA", "_tB", "_tAtB"}) {
      const auto matmul = Case(direction + "/f32/b3m4n5k6" + order);
      const auto read = fakes::BenchmarkOf(MatmulBenchdnn(matmul).value());
      auto expected = ProductOf(matmul);
      expected.left.matrix = Matrix::kA;
      expected.right.matrix = Matrix::kB;
      expected.result = Matrix::kC;
      EXPECT_EQ(ProductOf(ReadOnednnMatmulCase(workload::ParseBenchmarkName(read))), expected)
          << read;
    }
  for (const std::string name : {"bwd_data/f32/m2n3k4/ip", "bwd_weights/bf16/m2n3k4/ip/bias"})
    EXPECT_EQ(fakes::BenchmarkOf(Line(name)), "Matmul/cpu/onednn/" + name);
}

// Lines of benchdnn's own inputs (tests/benchdnn/inputs/matmul and ip of oneDNN 3.2), and others.
constexpr fakes::ForeignLine kForeign[] = {
    {"--matmul 12x128x64:12x64x128:12x128x128_n\"encoder:QK_matmul:12\"",
     "fwd/f32/b12m128n128k64/any"},
    {"--matmul --stag=ab --wtag=ba --dtag=ab 10x30:30x20", "fwd/f32/m10n20k30_tB"},
    {"--matmul --stag=abx --wtag=abx --dtag=abx 2x10x30:2x30x20", "fwd/f32/b2m10n20k30"},
    {"--matmul --bia_dt=f32 --bia_mask=4 2x10x30:2x30x20", "fwd/f32/b2m10n20k30/bias/any"},
    {"--matmul --dt=u8:s8:s32 10x30:30x20", "fwd/u8s8s32/m10n20k30/any"},
    {"--matmul --bia_dt=f32 --bia_mask=2 2x10x30:2x30x20", "!bias mask 2"},
    {"--matmul --bia_dt=s8 10x30:30x20", "!bias of type s8"},
    {"--matmul --stag=ab --wtag=any --dtag=ab 10x30:30x20", "fwd/f32/m10n20k30/any"},
    {"--matmul --stag=any --wtag=ab --dtag=ab 10x30:30x20", "!layout any of some matrices"},
    {"--matmul --stag=ab --wtag=ab --dtag=ba 10x30:30x20", "!transposed result"},
    {"--matmul --stag=ab --wtag=BA16a64b2a --dtag=ab 10x30:30x20", "!layout BA16a64b2a"},
    {"--matmul --runtime_dims_masks=3:3 10x30:30x20", "!--runtime-dims-masks=3:3: not supported"},
    {"--matmul --strides=8x1:6x1:7x1 2x4:4x3", "!--strides=8x1:6x1:7x1: not supported"},
    {"--matmul --attr-post-ops=sum:1 10x30:30x20", "fwd/f32/m10n20k30/sum/any"},
    {"--matmul --attr-post-ops=sum+eltwise_gelu_erf --bia_dt=f32 10x30:30x20",
     "fwd/f32/m10n20k30/bias/sum/gelu_erf/any"},
    {"--ip --dir=FWD_I --attr-post-ops=gelu_tanh:0:0 mb4ic8oc3", "fwd/f32/m4n3k8/ip/gelu_tanh"},
    {"--matmul --attr-post-ops=sum:0.5 10x30:30x20", "!post-ops sum:0.5"},
    {"--matmul --attr-post-ops=sum:1:3 10x30:30x20", "!post-ops sum:1:3"},
    {"--matmul --attr-post-ops=gelu_erf+sum 10x30:30x20", "!post-ops gelu_erf+sum"},
    {"--matmul --attr-post-ops=tanh 10x30:30x20", "!post-ops tanh"},
    {"--matmul --dt=u8:s8:u8 --attr-post-ops=sum 10x30:30x20", "!post-ops sum of integers"},
    {"--matmul --attr-zero-points=src:common:1 10x30:30x20",
     "!--attr-zero-points=src:common:1: not supported"},
    {"--matmul --dt=f64 10x30:30x20", "!types f64:f64:f64"},
    {"--matmul --attr-scales=wei:per_oc: 10x30:30x20", "!scales wei:per_oc"},
    // Of oneDNN 3.5 and newer. Scales of each group of a single product have two spellings.
    {"--matmul --dt=f32:s4:f32 --attr-scales=wei:per_oc --attr-fpmath=strict:true 1x64:64x20",
     "fwd/f32s4f32/m1n20k64/scales/any"},
    {"--matmul --dt=f16:u4:f16 --wtag=ba --stag=ab --dtag=ab --attr-scales=wei:per_ocic:f16:128x1 "
     "--attr-zero-points=wei:per_ocic:u4:128x1 --attr-fpmath=f16:true 1x256:256x20",
     "fwd/f16u4f16/m1n20k256_tB/scales-g128/zero-points"},
    {"--matmul --dt=bf16:s8:f32 --attr-scales=wei:per_tensor:bf16:32x1 --attr-fpmath=any:true "
     "4x64:64x20",
     "fwd/bf16s8f32/m4n20k64/scales-g32/any/fpmath-any"},
    {"--matmul --dt=f32:s4:f32 --attr-fpmath=f16:true --attr-scales=wei:per_ocic:f16:128x1 "
     "1x256:256x20",
     "!scales wei:per_ocic:f16:128x1"},
    {"--matmul --dt=bf16:s8:f32 --attr-scales=wei:per_oc:bf16 4x64:64x20",
     "!types bf16:s8:f32 by fpmath strict"},
    {"--matmul --attr-fpmath=bf16:true 4x64:64x20", "!types f32:f32:f32 by fpmath bf16:true"},
    {"--matmul --dt=f32:s8:f32 --attr-scales=wei:per_oc --attr-zero-points=wei:per_oc:s32 "
     "--attr-fpmath=strict:true 4x64:64x20",
     "!zero points wei:per_oc:s32"},
    {"--matmul --dt=s8:s8:f32 --attr-zero-points=wei:per_oc 4x64:64x20", "!zero points wei:per_oc"},
    {"--matmul --dt=f32:u8:f32 --attr-scales=src:common:2+wei:per_oc --attr-fpmath=strict:true "
     "4x64:64x20",
     "!scales src:common+wei:per_oc"},
    {"--matmul 2x3x4x5:2x3x5x6", "!4-D matmul"},
    {"--matmul 1x4x5:3x5x6", "!broadcast batch"},
    {"--matmul 96x8:8x512:96:512", "!result of other sizes"},
    {"--matmul 10x30:30x20:10x30", "!result of other sizes"},
    {"--matmul --encoding=csr+0.5: 10x30:30x20", "!--encoding=csr+0.5:: not supported"},
    {"--matmul 2x4:4x3\"name\"", "fwd/f32/m2n3k4/any"},
    {"--ip ic2048oc1000n\"resnet:ip1\"", "fwd/f32/m2n1000k2048/ip/training/bias"},
    {"--ip --mb=112 --dir=FWD_I ic2048oc1000", "fwd/f32/m112n1000k2048/ip"},
    {"--ip --cfg=u8s8f32 --dir=FWD_I mb4ic8oc3", "fwd/u8s8f32/m4n3k8/ip"},
    {"--ip --cfg=bf16bf16bf16 --dir=BWD_D mb4ic8oc3", "bwd_data/bf16/m4n3k8/ip"},
    {"--ip mb16ic256ih6oc4096", "!inner product of images"},
    {"--ip --wtag=ba mb16ic256oc4096", "!--wtag=ba: not supported"},
    {"--ip --dir=BWD_DW mb16ic256oc4096", "!--dir=BWD_DW: not supported"},
};

TEST(MatmulBenchdnn, ReadsForeignLinesOrGivesTheReason) {
  fakes::ExpectBenchmarks(kForeign, "Matmul/cpu/onednn/");
}

TEST(MatmulBenchdnn, WhatIsNoProblemHasAReason) {
  for (const auto& [line, reason] : {std::pair("--matmul 10x30", "expected MxK:KxN"),
                                     {"--matmul 10x30:20x20", "the factors do not match"},
                                     {"--matmul 10x:30x20", "expected a size"},
                                     {"--matmul 10x0:0x20", "expected a size"},
                                     {"--matmul 2x10x30:30x20", "the same number of dimensions"},
                                     {"--matmul 10x30:30x20q", "expected the name"},
                                     {"--matmul --dir=FWD_I 1x1:1x1", "benchdnn's driver matmul"},
                                     {"--ip ic3", "this problem lacks oc"}})
    EXPECT_THAT(suites::ReadBenchdnn(line, "line").at(0).reason, HasSubstr(reason)) << line;
}

}  // namespace
}  // namespace dlroof::matmul
