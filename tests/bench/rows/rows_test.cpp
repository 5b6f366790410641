#include "bench/rows/rows.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "bench/workload/memory.h"
#include "tests/fakes/foreign_lines.h"
#include "tests/fakes/outcome.h"
#include "tests/fakes/refusal.h"

namespace dlroof::rows {
namespace {

using testing::HasSubstr;
using workload::Eltwise;

TEST(Rows, TextAndProblemAreInverseAndRefusesWithTheColumn) {
  std::mt19937 random(1);
  const auto size = [&] { return int64_t{1} + static_cast<int64_t>(random() % 3000); };
  for (int i = 0; i < 500; ++i) {
    const Rows rows{size(), size()};
    ASSERT_EQ(ParseRows(ToText(rows)), rows) << ToText(rows);
  }
  EXPECT_EQ(ToText(Rows{1024, 512}), "m1024n512");
  const auto refusal = [](std::string_view text) { return fakes::RefusalOf(ParseRows, text, 10); };
  EXPECT_EQ(refusal("m1n2"), "accepted");
  EXPECT_THAT(refusal("n2m1"), HasSubstr("column 11: expected 'm', got 'n'"));
  EXPECT_THAT(refusal("m1"), HasSubstr("column 13: expected 'n', got the end"));
  EXPECT_THAT(refusal("m1n0"), HasSubstr("column 14: expected the size n"));
  EXPECT_THAT(refusal("m1n2k3"), HasSubstr("column 15: expected the end, got 'k'"));
  EXPECT_THAT(refusal("m2147483648n1"), HasSubstr("column 12"));
  EXPECT_THAT(refusal("m2147483647n2147483647"), HasSubstr("column 11: the tensors' size"));
}

// `name` is what follows Op/cpu/onednn/.
RowsCase CaseOf(const RowsOperator& op, const std::string& name) {
  return ReadOnednnCase(op,
                        workload::ParseBenchmarkName(std::string(op.name) + "/cpu/onednn/" + name));
}

TEST(RowsCase, ReadsEveryPartAndRefusesWithTheColumnInTheWholeName) {
  const Rows rows{2, 3};
  EXPECT_EQ(CaseOf(kSoftmax, "fwd/f32/m2n3"), (RowsCase{&kSoftmax, rows}));
  EXPECT_EQ(CaseOf(kSoftmax, "fwd/bf16/m2n3/training"), (RowsCase{&kSoftmax, rows, "bf16", true}));
  EXPECT_EQ(CaseOf(kLayerNorm, "fwd/f32/m2n3"), (RowsCase{&kLayerNorm, rows}));
  EXPECT_EQ(CaseOf(kLayerNorm, "fwd/bf16/m2n3/training/scale/shift"),
            (RowsCase{&kLayerNorm, rows, "bf16", true, true, true}));
  EXPECT_EQ(CaseOf(kEltwise, "fwd/f32/m2n3"), (RowsCase{&kEltwise, rows}));
  EXPECT_EQ(CaseOf(kEltwise, "fwd/bf16/m2n3/training/gelu_tanh"),
            (RowsCase{&kEltwise, rows, "bf16", true, false, false, Eltwise::kGeluTanh}));
  const auto refusal = [](const std::string& name) {
    return fakes::RefusalOf(workload::MakeWorkload, name);
  };
  for (const auto& [name, reason] :
       {std::pair("Softmax/cpu/onednn/bwd/f32/m1n2", "column 20: expected a direction (fwd)"),
        {"Softmax/cpu/onednn/fwd/int8/m1n2", "column 24: expected a type (f32, bf16)"},
        {"Softmax/cpu/onednn/fwd/f32/m1k2", "column 30: expected 'n', got 'k'"},
        {"Softmax/cpu/reference/fwd/f64/m1n2/training", "Softmax/cpu/reference has no option"},
        {"LayerNorm/cpu/onednn/fwd/f32/m2n3/shift/scale", "'scale' cannot come after 'shift'"},
        {"LayerNorm/cpu/onednn/fwd/f16/m2n3", "column 26: expected a type (f32, bf16)"},
        {"Eltwise/cpu/onednn/fwd/f32/m2n3/relu", "column 33"},
        {"LayerNorm/cpu/onednn/bwd/f32/m2n3/training", "column 35: 'training' applies to fwd"},
        {"LayerNorm/cpu/onednn/bwd_data/f32/m2n3", "column 22: expected a direction (fwd, bwd)"},
        {"RmsNorm/cpu/onednn/fwd/f32/m2n3/residual", "column 33: 'residual' is for RmsNorm/gpu"},
        {"RmsNorm/gpu/cudnn/bwd/f16/m2n3/residual/scale", "'residual' applies to fwd"},
        {"LayerNorm/gpu/cudnn/fwd/f16/m2n3/residual", "no option 'residual'"},
        {"RmsNorm/gpu/cudnn/fwd/f16/m2n3/shift", "column 32"},
        {"Softmax/gpu/cudnn/fwd/int8/m2n3", "expected a type (f32, f16, bf16)"},
        {"Eltwise/cpu/onednn/fwd/f32/m2n3/tanh/logistic", "tanh"}})
    EXPECT_THAT(refusal(name), HasSubstr(reason)) << name;
}

std::vector<double> Loops(const RowsCase& request, const Tensors<double>& in) {
  std::vector<double> y(ResultSize(request));
  request.op->run(request, in, y);
  return y;
}

// Layer normalization: mean 2, variance 2/3; scale 2 and shift 1 per column.
// gelu(1) = 0.8413447461 and gelu(-2) = -2 x 0.0227501319, from tables of the normal distribution;
// GELU's form with tanh differs by -1.5e-4 at 1; 1 / (1 + 3) and (9 - 1) / (9 + 1) with x = log 3.
TEST(RowsLoops, AreTheDefinition) {
  using testing::DoubleNear;
  using testing::Pointwise;
  EXPECT_THAT(
      Loops({&kSoftmax, {2, 3}}, {{0, std::log(2), std::log(5), 1000, 1000, 1000 - std::log(2)}}),
      Pointwise(DoubleNear(1e-13), {1.0 / 8, 2.0 / 8, 5.0 / 8, 0.4, 0.4, 0.2}));
  const double away = 2 / std::sqrt(2.0 / 3 + double{kLayerNormEpsilon});
  EXPECT_THAT(
      Loops({&kLayerNorm, {1, 3}, "f64", false, true, true}, {{1, 2, 3}, {{2, 2, 2}, {1, 1, 1}}}),
      Pointwise(DoubleNear(1e-13), {1 - away, 1.0, 1 + away}));
  // The mean square of 1, 2, 3 and -4 is 7.5.
  const double root = std::sqrt(7.5 + double{kLayerNormEpsilon});
  EXPECT_THAT(Loops({&kRmsNorm, {1, 4}, "f64", false, true}, {{1, 2, 3, -4}, {{2, 2, 2, 0.5}, {}}}),
              Pointwise(DoubleNear(1e-13), {2 / root, 4 / root, 6 / root, -2 / root}));
  const auto at = [](Eltwise function, double x) {
    return Loops({&kEltwise, {1, 1}, "f64", false, false, false, function}, {{x}})[0];
  };
  EXPECT_EQ(at(Eltwise::kRelu, -2), 0);
  EXPECT_EQ(at(Eltwise::kRelu, 3), 3);
  EXPECT_NEAR(at(Eltwise::kGeluErf, 1), 0.8413447461, 1e-9);
  EXPECT_NEAR(at(Eltwise::kGeluErf, -2), -2 * 0.0227501319, 1e-9);
  EXPECT_NEAR(at(Eltwise::kGeluTanh, 1), 0.8411920, 1e-6);
  EXPECT_NEAR(at(Eltwise::kLogistic, -std::log(3)), 0.25, 1e-15);
  EXPECT_NEAR(at(Eltwise::kTanh, std::log(3)), 0.8, 1e-15);
}

// Central differences of the forward loops; the loss is the sum of dy y.
TEST(RowsLoops, GradientsAreTheSlopesOfTheForwardLoopsWhichAreABenchmark) {
  for (const auto* const op : {&kLayerNorm, &kRmsNorm}) {
    const bool centred = op == &kLayerNorm;
    RowsCase norm{op, {3, 5}, "f64", false, true, centred, Eltwise::kRelu, true};
    const auto narrow = op->inputs(norm, 7);
    Tensors<double> in{{narrow.source.begin(), narrow.source.end()}};
    for (const auto& from : narrow.parameters) in.parameters.emplace_back(from.begin(), from.end());
    const auto gradients = Loops(norm, in);
    norm.backward = false;
    const auto loss = [&](const Tensors<double>& at) {
      const auto y = Loops(norm, at);
      return std::inner_product(y.begin(), y.end(), in.parameters[kGradient].begin(), 0.0);
    };
    constexpr double kStep = 1e-5;
    const auto slope = [&](auto number) {
      auto above = in, below = in;
      number(above) += kStep;
      number(below) -= kStep;
      return (loss(above) - loss(below)) / (2 * kStep);
    };
    const auto expect = [&](size_t at, double right) {
      EXPECT_NEAR(gradients.at(at), right, 1e-6) << op->name << at;
    };
    for (size_t i = 0; i < 15; ++i)
      expect(i, slope([i](auto& t) -> double& { return t.source[i]; }));
    for (size_t i = 0; i < 5; ++i) {
      expect(15 + i, slope([i](auto& t) -> double& { return t.parameters[kScale][i]; }));
      if (centred)
        expect(20 + i, slope([i](auto& t) -> double& { return t.parameters[kShift][i]; }));
    }
  }
  for (const auto* name :
       {"Softmax/cpu/reference/fwd/f64/m9n33", "LayerNorm/cpu/reference/fwd/f64/m9n33/scale/shift",
        "LayerNorm/cpu/reference/fwd/f64/m9n1", "LayerNorm/cpu/reference/bwd/f64/m9n33/scale/shift",
        "RmsNorm/cpu/reference/fwd/f64/m9n33/residual/scale",
        "RmsNorm/cpu/reference/bwd/f64/m9n33/scale", "RmsNorm/cpu/reference/fwd/f64/m9n33",
        "Eltwise/cpu/reference/fwd/f64/m9n33", "Eltwise/cpu/reference/fwd/f64/m9n33/gelu_erf",
        "Eltwise/cpu/reference/fwd/f64/m9n33/gelu_tanh",
        "Eltwise/cpu/reference/fwd/f64/m9n33/logistic",
        "Eltwise/cpu/reference/fwd/f64/m9n33/training/tanh"})
    EXPECT_EQ(fakes::Outcome(name), "ok plain loops") << name;
}

// Returns what a library may leave: the loops' result, rounded to the case's type.
std::vector<float> RightResult(const RowsCase& request, const Tensors<float>& in) {
  Tensors<double> wide{{in.source.begin(), in.source.end()}};
  for (const auto& from : in.parameters) wide.parameters.emplace_back(from.begin(), from.end());
  const auto exact = Loops(request, wide);
  std::vector<float> output(exact.begin(), exact.end());
  const size_t narrow = request.backward ? in.source.size() : output.size();
  for (size_t i = 0; i < narrow; ++i) {  // dscale and dshift are f32
    if (request.type == "bf16") output[i] = workload::RoundToBf16(output[i]);
    if (request.type == "f16") output[i] = workload::RoundToF16(output[i]);
  }
  return output;
}

// Expects that the check takes the right result, and finds a first or last element that is wrong:
// of the rows and, behind them, of the gradients of scale and shift.
void ExpectCheckFindsOneElement(const RowsCase& request) {
  const auto in = request.op->inputs(request, 5);
  const auto right = RightResult(request, in);
  EXPECT_TRUE(Check(request, in, right, 5).ok) << request.type << ToText(request.rows);
  const size_t rows = request.backward ? in.source.size() : right.size();
  const auto n = static_cast<size_t>(request.rows.n);
  std::set<size_t> places = {0, rows - 1};
  if (request.backward) places.insert({rows, rows + n - 1});
  if (request.backward && request.shift) places.insert({rows + n, rows + 2 * n - 1});
  for (const size_t at : places) {
    const float away = request.op == &kSoftmax ? 0  // less than one row's
                       : at >= rows            ? 0.2F
                       : request.backward      ? 0.02F
                                               : 0.05F;
    for (const float bad : {right[at] * 1.02F + away, std::numeric_limits<float>::quiet_NaN()}) {
      auto wrong = right;
      wrong[at] = bad;
      EXPECT_FALSE(Check(request, in, wrong, 5).ok)
          << request.op->name << request.type << ToText(request.rows) << at;
    }
  }
}

TEST(RowsCheck, FindsOneWrongElementAlsoOfAGradientAndATermThatASoftmaxLacks) {
  for (const std::string type : {"f32", "bf16"}) {
    for (const Rows rows : {Rows{17, 33}, {1, 5000}, {12000, 1024}}) {
      ExpectCheckFindsOneElement({&kSoftmax, rows, type});
      ExpectCheckFindsOneElement({&kLayerNorm, rows, type, false, true, true});
      ExpectCheckFindsOneElement({&kSwiGlu, rows, type});
      for (const auto function : workload::kEltwises)
        ExpectCheckFindsOneElement({&kEltwise, rows, type, false, false, false, function});
    }
    ExpectCheckFindsOneElement({&kSoftmax, {300, 1}, type});
    ExpectCheckFindsOneElement({&kRmsNorm, {17, 33}, type, false, true});
    ExpectCheckFindsOneElement(
        {&kRmsNorm, {17, 33}, type, false, true, false, Eltwise::kRelu, false, true});
  }
  for (const auto* const op : {&kSoftmax, &kLayerNorm, &kRmsNorm})
    ExpectCheckFindsOneElement({op, {17, 33}, "f16", false, op != &kSoftmax, op == &kLayerNorm});
  for (const auto* const op : {&kLayerNorm, &kRmsNorm})
    for (const std::string type : {"f32", "bf16"})
      for (const Rows rows : {Rows{17, 33}, {12000, 1024}})
        ExpectCheckFindsOneElement(
            {op, rows, type, false, true, op == &kLayerNorm, Eltwise::kRelu, true});
  // A row whose sum lacks the largest of 1024 terms.
  const RowsCase softmax{&kSoftmax, {2, 1024}};
  const auto in = kSoftmax.inputs(softmax, 5);
  auto wrong = RightResult(softmax, in);
  const float lost = *std::max_element(wrong.begin(), wrong.begin() + 1024);
  for (size_t i = 0; i < 1024; ++i) wrong[i] /= 1 - lost;
  EXPECT_FALSE(Check(softmax, in, wrong, 5).ok) << lost;
}

// A normalization whose mean is, or is not, subtracted.
TEST(RowsCheck, TellsTheNormalizationsAndTheGelusApart) {
  const RowsCase layer{&kLayerNorm, {2, 64}, "bf16", false, true},
      rms{&kRmsNorm, {2, 64}, "bf16", false, true};
  auto in = kLayerNorm.inputs(layer, 5);
  EXPECT_FALSE(Check(rms, in, RightResult(layer, in), 5).ok);
  EXPECT_FALSE(Check(layer, in, RightResult(rms, in), 5).ok);
  // The variance with n - 1 in the place of n is 0.1 % larger for 1024 elements.
  const RowsCase norm{&kLayerNorm, {2, 1024}};
  in = kLayerNorm.inputs(norm, 5);
  auto wrong = RightResult(norm, in);
  for (float& value : wrong) value *= std::sqrt(1023.0F / 1024);
  EXPECT_FALSE(Check(norm, in, wrong, 5).ok);
  // The two GELUs differ by up to 5e-4.
  const RowsCase request{&kEltwise, {8, 100}, "f32", false, false, false, Eltwise::kGeluErf};
  auto other = request;
  other.function = Eltwise::kGeluTanh;
  const auto gelu = kEltwise.inputs(request, 5);
  EXPECT_FALSE(Check(request, gelu, RightResult(other, gelu), 5).ok);
}

constexpr fakes::ForeignLine kSoftmaxLines[] = {
    {"--softmax 8192x64", "fwd/f32/m8192n64/training"},
    {"--softmax --dir=FWD_I --axis=3 --stag=abx 8x12x128x128", "fwd/f32/m12288n128"},
    {"--softmax --dir=FWD_I --stag=ab --alg=softmax_accurate --mb=5 2x3n\"x\"", "fwd/f32/m5n3"},
    {"--softmax --sdt=bf16 --ddt=bf16 2x3", "fwd/bf16/m2n3/training"},
    {"--softmax --sdt=f32 --ddt=bf16 2x3", "!types f32:bf16"},
    {"--softmax --dir=BWD_D 2x3", "!--dir=BWD_D: not supported"},
    {"--softmax --alg=LOGSOFTMAX 2x3", "!--alg=LOGSOFTMAX: not supported"},
    {"--softmax --axis=1 2x3x4x5", "!axis 1 of 4 dimensions"},
    {"--softmax --dtag=ba 2x3", "!layout ba"},
    {"--softmax --inplace=true 2x3", "!--inplace=true: not supported"},
    {"--softmax --attr-post-ops=relu 2x3", "!--attr-post-ops=relu: not supported"},
    {"--softmax --axis=2 2147483647x2147483647x2147483647", "!impossible shape"},
};
constexpr fakes::ForeignLine kLayerNormLines[] = {
    {"--lnorm 8192x64", "fwd/f32/m8192n64/training"},
    {"--lnorm --dir=FWD_I --flags=CH --tag=abx 8x128x768", "fwd/f32/m1024n768/scale/shift"},
    {"--lnorm --dir=FWD_I --dt=bf16 --flags=C 2x3", "fwd/bf16/m2n3/scale"},
    {"--lnorm --dir=FWD_I --tag=abc:any 2x3x4", "fwd/f32/m6n4"},
    {"--lnorm --dt=bf16:f32 2x3", "!--dt=bf16:f32: not supported"},
    {"--lnorm --dir=BWD_DW --flags=CH 2x3", "bwd/f32/m2n3/scale/shift"},
    {"--lnorm --dir=BWD_D 2x3", "!--dir=BWD_D: not supported"},
    {"--lnorm --flags=G 2x3", "!--flags=G: not supported"},
    {"--lnorm --tag=ba 2x3", "!layout ba"},
    {"--lnorm --inplace=true 2x3", "!--inplace=true: not supported"},
};
constexpr fakes::ForeignLine kEltwiseLines[] = {
    {"--eltwise 8192x64", "fwd/f32/m8192n64/training"},
    {"--eltwise --dir=FWD_I --alg=gelu_erf --tag=axb 2x3x4x5", "fwd/f32/m24n5/gelu_erf"},
    {"--eltwise --dir=FWD_I --dt=bf16 --alg=eltwise_tanh --alpha=0.5 --mb=5 2x3",
     "fwd/bf16/m5n3/tanh"},
    {"--eltwise --alg=RELU --alpha=0.0 2x3", "fwd/f32/m2n3/training"},
    {"--eltwise --alpha=0.1 2x3", "!relu with a slope"},
    {"--eltwise --alg=swish 2x3", "!--alg=swish: not supported"},
    {"--eltwise --dt=f16 2x3", "!--dt=f16: not supported"},
    {"--eltwise --dir=BWD_D 2x3", "!--dir=BWD_D: not supported"},
    {"--eltwise --tag=aBx16b 2x3", "!layout aBx16b"},
    {"--eltwise --inplace=true 2x3", "!--inplace=true: not supported"},
};

TEST(RowsBenchdnn, ReadsForeignLinesOrSaysWhyNotAndWritesTheLineOfABenchmark) {
  fakes::ExpectBenchmarks(kSoftmaxLines, "Softmax/cpu/onednn/");
  fakes::ExpectBenchmarks(kLayerNormLines, "LayerNorm/cpu/onednn/");
  fakes::ExpectBenchmarks(kEltwiseLines, "Eltwise/cpu/onednn/");
  const auto repro = [](const std::string& name) { return workload::MakeWorkload(name).repro; };
  EXPECT_EQ(
      repro("Softmax/cpu/onednn/fwd/bf16/m3n4"),
      "--softmax --mode=P --dir=FWD_I --axis=1 --sdt=bf16 --ddt=bf16 --stag=ab --dtag=ab 3x4");
  EXPECT_FALSE(repro("Softmax/cpu/onednn/fwd/f32/m3n4/cold"));
  EXPECT_EQ(repro("LayerNorm/cpu/onednn/fwd/bf16/m3n4/scale/shift"),
            "--lnorm --mode=P --dir=FWD_I --dt=bf16:bf16 --tag=ab --flags=CH 3x4");
  EXPECT_EQ(repro("LayerNorm/cpu/onednn/bwd/f32/m3n4/scale"),
            "--lnorm --mode=P --dir=BWD_DW --dt=f32:f32 --tag=ab --flags=C 3x4");
  EXPECT_EQ(repro("Eltwise/cpu/onednn/fwd/bf16/m3n4/gelu_erf"),
            "--eltwise --mode=P --dir=FWD_I --dt=bf16 --tag=ab --alg=gelu_erf 3x4");
}

// oneDNN 2 has one tensor for source and destination, and one for scale and shift.
TEST(RowsBenchdnn, WritesTheLineOfALoggedCall) {
  const auto line = [](const logs::PrimitiveText& text) {
    return suites::BenchdnnLine(logs::ReadPrimitive(text)).value_or("none");
  };
  EXPECT_EQ(line({.kind = "softmax",
                  .prop = "forward_inference",
                  .tensors = "data_bf16::blocked:ba:f0",
                  .auxiliary = "axis:1",
                  .problem = "12x1024"}),
            "--softmax --mode=P --dir=FWD_I --axis=1 --sdt=bf16 --ddt=bf16 --stag=ba --dtag=ba "
            "12x1024");
  EXPECT_THAT(line({.kind = "logsoftmax", .auxiliary = "axis:1", .problem = "1x2"}),
              HasSubstr("--alg=LOGSOFTMAX"));
  EXPECT_EQ(line({.kind = "layer_normalization",
                  .prop = "forward_training",
                  .tensors = "data_f32::blocked:abc:f0 stats_f32::blocked:ab:f0",
                  .auxiliary = "flags:S",
                  .problem = "4x128x768"}),
            "--lnorm --mode=P --dir=FWD_D --dt=f32:f32 --tag=abc --flags=CH 4x128x768");
  EXPECT_EQ(line({.kind = "eltwise",
                  .prop = "forward_training",
                  .tensors = "data_f32::blocked:acdb:f0",
                  .auxiliary = "alg:eltwise_relu alpha:0.25 beta:0",
                  .problem = "4x8x5x5"}),
            "--eltwise --mode=P --dir=FWD_D --tag=acdb --alg=relu --alpha=0.25 4x8x5x5");
}

}  // namespace
}  // namespace dlroof::rows
