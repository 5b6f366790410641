// Closed forms of products and recurrent cells against loops that count: 300 to 1000 random
// problems each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/fakes/primitives/problems.h"

namespace dlroof::logs {
namespace {

using fakes::Draw, fakes::ExpectWork, fakes::Filter, fakes::Function, fakes::Made, fakes::Max,
    fakes::MultiplyAdd, fakes::Operations, fakes::RandomFilter, fakes::Tally, fakes::Times,
    fakes::kFiltered, fakes::kProblems;

// The tensors of a product.
std::string Filtered(bool bias) {
  return fmt::format(fmt::runtime(kFiltered), bias ? "f32" : "undef");
}

// Calls `visit` for every pair of a point to which the filter is applied and a tap whose element of
// an image of `rows` x `columns` exists.
void VisitInside(const Filter& f, int64_t points_h, int64_t points_w, int64_t rows, int64_t columns,
                 const std::function<void()>& visit) {
  for (int64_t h = 0; h < points_h; ++h)
    for (int64_t w = 0; w < points_w; ++w)
      for (int64_t r = 0; r < f.kh; ++r)
        for (int64_t s = 0; s < f.kw; ++s) {
          const int64_t y = h * f.sh - f.ph + r * (f.dh + 1), x = w * f.sw - f.pw + s * (f.dw + 1);
          if (y >= 0 && y < rows && x >= 0 && x < columns) visit();
        }
}

TEST(PrimitiveWork, AConvolutionSkipsThePaddingInEveryDirection) {
  Draw draw;
  const char* props[] = {"forward_training", "forward_inference", "backward_data",
                         "backward_weights"};
  for (int i = 0; i < 1000; ++i) {
    const auto f = RandomFilter(draw);
    const bool bias = draw.Coin();
    const std::string prop = props[i % 4];
    const auto matrix = Operations([&] {
      VisitInside(f, f.oh, f.ow, f.ih, f.iw, [&] { MultiplyAdd(f.mb * f.oc * (f.ic / f.g)); });
    });
    // An addition for each element.
    const auto elementwise = bias && prop != "backward_data" ? f.mb * f.oc * f.oh * f.ow : 0;
    ExpectWork(Made("convolution", prop, Filtered(bias), "alg:convolution_direct", f.Text()),
               matrix, elementwise);
  }
}

TEST(PrimitiveWork, ADeconvolutionSkipsWhatIsCutFromItsResult) {
  Draw draw;
  for (int i = 0; i < 1000; ++i) {
    const auto f = RandomFilter(draw);
    const auto matrix = Operations([&] {
      VisitInside(f, f.ih, f.iw, f.oh, f.ow, [&] { MultiplyAdd(f.mb * f.oc * (f.ic / f.g)); });
    });
    ExpectWork(Made("deconvolution", "forward_inference", Filtered(false), "", f.Text()), matrix,
               0);
  }
}

TEST(PrimitiveWork, ADilationInDepthCountsToo) {
  // Of 4 x 2 pairs in depth (8 planes after 3 of padding, rate 4): taps 0 and 4, outputs 0 to 3
  // read planes -3 to 0 and 1 to 4. Of 3 x 3 pairs in height 7 are inside, in width all of 2 x 1.
  const auto work =
      WorkOf(Made("convolution", "forward_inference", Filtered(false), "",
                  "mb2_ic3oc5_id8od4kd2sd1dd3pd3_ih3oh3kh3sh1dh0ph1_iw2ow2kw1sw1dw0pw0"));
  EXPECT_EQ(work.matrix, 2. * (2 * 3 * 5) * (1 + 4) * 7 * 2);
}

TEST(PrimitiveWork, AStrideOfZeroHasNoForm) {
  const auto work = WorkOf(Made("convolution", "forward_inference", Filtered(false), "",
                                "mb2_ic3oc5_ih3oh3kh3sh0dh1ph1"));
  EXPECT_FALSE(work.matrix);
  EXPECT_EQ(work.reason->text, "the problem has impossible sizes");
}

TEST(PrimitiveWork, MatrixProductsOfAnyRank) {
  Draw draw;
  for (int i = 0; i < kProblems; ++i) {
    const auto m = draw.UpTo(6), k = draw.UpTo(6), n = draw.UpTo(6), b = draw.UpTo(4);
    const bool bias = draw.Coin(), batched = draw.Coin(), shared = draw.Coin();
    const auto problem = batched ? fmt::format("{}x{}x{}:{}x{}x{}", b, m, k, shared ? 1 : b, k, n)
                                 : fmt::format("{}x{}:{}x{}", m, k, k, n);
    const int64_t points = (batched ? b : 1) * m * n;
    ExpectWork(Made(draw.Coin() ? "matmul" : "gemm_api", "undef", Filtered(bias), "", problem),
               Operations([&] { Times(points, [&] { MultiplyAdd(k); }); }), bias ? points : 0);
  }
}

TEST(PrimitiveWork, InnerProduct) {
  Draw draw;
  for (int i = 0; i < kProblems; ++i) {
    const auto mb = draw.UpTo(6), ic = draw.UpTo(6), oc = draw.UpTo(6), ih = draw.UpTo(3);
    ExpectWork(Made("inner_product", "forward_training", Filtered(true), "",
                    fmt::format("mb{}ic{}ih{}iw2oc{}", mb, ic, ih, oc)),
               Operations([&] { Times(mb * oc, [&] { MultiplyAdd(ic * ih * 2); }); }), mb * oc);
  }
}

TEST(PrimitiveWork, PostOpsWorkOnTheDestination) {
  Draw draw;
  for (int i = 0; i < kProblems; ++i) {
    const auto f = RandomFilter(draw);
    const int64_t points = f.mb * f.oc * f.oh * f.ow;
    const auto work = WorkOf(Made("convolution", "forward_inference", Filtered(false), "", f.Text(),
                                  "attr-scratchpad:user "
                                  "attr-post-ops:sum+eltwise_relu+binary_add:f32:2+sum:0.5"));
    const auto operations = Operations([&] {
      Times(points, [] {
        Tally value;
        value = value + Tally();
        value = Max(value, Tally());
        value = value + Tally();
        value = value + Tally() * Tally();
      });
    });
    EXPECT_EQ(*work.elementwise, static_cast<double>(operations));
  }
}

// 12 elements of 2 byte: an addition, and the destination read; then 0.5 * x * (1 + erf(c * x)).
TEST(WorkOfPostOps, IsWorkedByHand) {
  const auto work = WorkOfPostOps({"sum", "eltwise_gelu_erf"}, 12, 2);
  EXPECT_EQ(work.elementwise, 12 * (1 + 5));
  EXPECT_EQ(work.bytes, 12 * 2);
  EXPECT_EQ(work.matrix, 0);
  EXPECT_THROW(WorkOfPostOps({"binary_add:f32"}, 12, 2), NoClosedForm);
  EXPECT_THROW(WorkOfPostOps({"dw:k3s1p1"}, 12, 2), NoClosedForm);
}

// One step of one unit of each cell, by the formulas in primitive.cpp.
void ForwardUnit(const std::string& cell) {
  Tally x, s, b, state;
  const auto gate = [&] { return Function(x + b); };  // products add into each other
  if (cell == "vanilla_rnn") {
    (void)gate();
  } else if (cell == "vanilla_lstm") {
    const Tally i = gate(), f = gate(), g = gate(), o = gate();
    const Tally c = f * state + i * g;
    (void)(o * Function(c));
  } else {
    const Tally u = gate(), r = gate();
    Tally o;
    if (cell.starts_with("vanilla")) {
      (void)(r * state);
      o = gate();
    } else {
      o = Function(x + r * (s + b) + b);
    }
    (void)(u * state + (Tally() - u) * o);
  }
}

void BackwardUnit(const std::string& cell) {
  const Tally one, u, r, o, h, s, f, i, g, c, above;
  const auto sigmoid = [&](Tally d, Tally value) { return d * value * (one - value); };
  const auto tanh = [&](Tally d, Tally value) { return d * (one - value * value); };
  const auto bias = [&](int gates) { Times(gates, [] { (void)(Tally() + Tally()); }); };
  if (cell == "vanilla_rnn") {
    (void)tanh(above, h);
    bias(1);
  } else if (cell == "vanilla_lstm") {
    const Tally tc = Function(c);
    (void)sigmoid(above * tc, o);
    const Tally dc = above + tanh(above * o, tc);  // dc 5: dh*o, 1 - tc*tc, times, plus dc
    (void)sigmoid(dc * g, i);
    (void)sigmoid(dc * h, f);
    (void)tanh(dc * i, g);
    (void)(dc * f);
    bias(4);
  } else {
    const Tally d_o = tanh(above * (one - u), o);
    (void)(above * (h - o) * u * (one - u));
    Tally dh = above * u;
    if (cell.starts_with("vanilla")) {
      (void)sigmoid(g * h, r);
      dh = dh + g * r;
      (void)(r * h);
      bias(3);
    } else {
      (void)sigmoid(d_o * s, r);
      (void)(d_o * r);
      bias(4);
    }
  }
}

TEST(PrimitiveWork, RecurrentCells) {
  Draw draw;
  const std::map<std::string, int64_t> gates = {
      {"vanilla_rnn", 1}, {"vanilla_lstm", 4}, {"vanilla_gru", 3}, {"lbr_gru", 3}};
  constexpr const char* kTensors =
      "src_layer:f32::blocked:abc::f0 src_iter:f32::blocked:abcd::f0 "
      "wei_layer:f32:a:blocked:abcde::f0 wei_iter:f32:a:blocked:abcde::f0 "
      "bias:f32::blocked:abcd::f0 dst_layer:f32::blocked:abc::f0 dst_iter:f32::blocked:abcd::f0";
  for (const auto& [cell, count] : gates)
    for (int i = 0; i < kProblems; ++i) {
      const auto l = draw.UpTo(3), t = draw.UpTo(3), mb = draw.UpTo(3), x = draw.UpTo(4);
      const auto h = draw.UpTo(4);
      const bool backward = draw.Coin(), both = draw.Coin();
      const int64_t passes = both ? 2 : 1;
      const auto matrix = Operations([&, &gate_count = count] {
        for (int64_t layer = 0; layer < l; ++layer)
          Times(passes * t * mb * gate_count * h,
                [&] { Times(backward ? 2 : 1, [&] { MultiplyAdd((layer == 0 ? x : h) + h); }); });
      });
      const auto elementwise = Operations([&, &cell_name = cell] {
        Times(passes * l * t * mb * h, [&] {
          backward ? BackwardUnit(cell_name) : ForwardUnit(cell_name);
          if (backward) (void)(Tally() + Tally());  // the gradient from above
        });
        if (both && !backward) Times(t * mb * h, [] { (void)(Tally() + Tally()); });
      });
      ExpectWork(Made("rnn", backward ? "backward" : "forward_training", kTensors,
                      fmt::format("alg:{} direction:{} activation:undef flags:", cell,
                                  both ? "bidirectional_sum" : "unidirectional_left2right"),
                      fmt::format("l{}t{}mb{}sic{}slc{}dhc{}dic{}", l, t, mb, h, x, h, h)),
                 matrix, elementwise);
    }
}

}  // namespace
}  // namespace dlroof::logs
