#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/fakes/primitives/problems.h"

namespace dlroof::logs {
namespace {

using fakes::ColumnBackward, fakes::Draw, fakes::ExpectWork, fakes::Filter, fakes::Formula,
    fakes::ForwardFormulas, fakes::Function, fakes::InverseDeviation, fakes::IsAbove,
    fakes::kFiltered, fakes::kInOut, fakes::kProblems, fakes::LayerBackward, fakes::Made,
    fakes::Max, fakes::MaxOf, fakes::MultiplyAdd, fakes::NormalizeForward, fakes::Normalized,
    fakes::NormFlags, fakes::Operations, fakes::ProductsOf, fakes::RandomFilter, fakes::SumOf,
    fakes::Tally, fakes::Times, fakes::Values;

// Closed forms of elementwise kinds and pooling against loops that count: 300 random problems each.

// The gradient g of the destination times the derivative; d is the destination.
std::map<std::string, Formula> BackwardFormulas() {
  static const Tally s, g, a, c, one, kept;
  return {{"relu", [] { (void)(IsAbove(s, one) * g); }},
          {"tanh",
           [] {
             const Tally d = Function(s);
             (void)(g * (one - d * d));
           }},
          {"tanh_use_dst_for_bwd", [] { (void)(g * (one - kept * kept)); }},
          {"logistic",
           [] {
             const Tally d = Function(s);
             (void)(g * d * (one - d));
           }},
          {"logistic_use_dst_for_bwd", [] { (void)(g * kept * (one - kept)); }},
          {"exp", [] { (void)(Function(s) * g); }},
          {"exp_use_dst_for_bwd", [] { (void)(kept * g); }},
          {"sqrt", [] { (void)(g / (a * Function(s))); }},
          {"sqrt_use_dst_for_bwd", [] { (void)(g / (a * kept)); }},
          {"square", [] { (void)(a * s * g); }},
          {"abs", [] { (void)(IsAbove(s, one) * g); }},
          {"linear", [] { (void)(a * g); }},
          {"clip", [] { (void)IsAbove(s, one), (void)(IsAbove(s, one) * g); }},
          {"log", [] { (void)(g / s); }},
          {"gelu_erf",
           [] {
             const Tally v = c * s;
             const Tally bell = a * v * Function(one - v * v);
             (void)(c * (one + Function(v) + bell) * g);
           }},
          {"swish", [] {
             const Tally scaled = a * s;
             const Tally sigmoid = Function(scaled);
             (void)(sigmoid * (one + scaled * (one - sigmoid)) * g);
           }}};
}

TEST(PrimitiveWork, EveryEltwiseIsItsFormula) {
  Draw draw;
  const auto expect = [&](const std::string& prop, const auto& formulas) {
    for (const auto& [name, formula] : formulas)
      for (int i = 0; i < kProblems / 10; ++i) {
        const auto n = draw.UpTo(5), m = draw.UpTo(5);
        ExpectWork(
            Made("eltwise", prop, "data:f32::blocked:ab::f0",
                 fmt::format("alg:eltwise_{} alpha:0 beta:0", name), fmt::format("{}x{}", n, m)),
            0, Operations([&, &element_formula = formula] { Times(n * m, element_formula); }));
      }
  };
  expect("forward_training", ForwardFormulas());
  expect("backward_data", BackwardFormulas());
}

TEST(PrimitiveWork, BinaryAndSum) {
  Draw draw;
  for (int i = 0; i < kProblems; ++i) {
    const auto n = draw.UpTo(5), c = draw.UpTo(5), h = draw.UpTo(5);
    const bool wide = draw.Coin();
    ExpectWork(Made("binary", "undef",
                    "src:f32::blocked:abc::f0 src:f32::blocked:abc::f0 dst:f32::blocked:abc::f0",
                    "alg:binary_add", fmt::format("{}x{}x{}:{}x{}x1", n, wide ? c : 1, h, n, c)),
               0, n * c * h);
    std::string sources;
    const auto count = draw.UpTo(4);
    Times(count, [&] { sources += "src:f32::blocked:abc::f0 "; });
    const Values values(static_cast<std::size_t>(count));
    ExpectWork(Made("sum", "undef", sources + "dst:f32::blocked:abc::f0", "",
                    fmt::format("{}x{}x{}", n, c, h)),
               0, Operations([&] { Times(n * c * h, [&] { (void)SumOf(values); }); }));
  }
}

TEST(PrimitiveWork, Reductions) {
  Draw draw;
  const char* algorithms[] = {"sum", "max", "mean", "norm_lp_sum", "norm_lp_power_p_max"};
  for (int i = 0; i < kProblems; ++i) {
    const auto n = draw.UpTo(5), c = draw.UpTo(5), h = draw.UpTo(5);
    const std::string algorithm = algorithms[i % 5];
    const bool norm = algorithm.starts_with("norm");
    const auto operations = Operations([&] {
      Times(n * h, [&] {
        Values values;
        Times(c, [&] { values.push_back(norm ? Function(Tally()) : Tally()); });
        Tally all = algorithm == "max" ? MaxOf(values) : SumOf(values);
        if (algorithm == "mean") all = all / Tally();
        if (norm) all = Max(all, Tally());
        if (algorithm == "norm_lp_sum") all = Function(all);
      });
    });
    ExpectWork(
        Made("reduction", "undef", kInOut, fmt::format("alg:reduction_{} p:2 eps:1", algorithm),
             fmt::format("{}x{}x{}:{}x1x{}", n, c, h, n, h)),
        0, operations);
  }
}

TEST(PrimitiveWork, Pooling) {
  Draw draw;
  for (int i = 0; i < kProblems; ++i) {
    const auto f = RandomFilter(draw);
    const bool maximum = draw.Coin(), backward = draw.Coin();
    const Values taps(static_cast<std::size_t>(f.kh * f.kw));
    const auto operations = Operations([&] {
      Times(f.mb * f.ic * f.oh * f.ow, [&] {
        if (backward) {
          if (!maximum) (void)(Tally() / Tally());
          Times(maximum ? 1 : f.kh * f.kw, [] { (void)(Tally() + Tally()); });
        } else if (maximum) {
          (void)MaxOf(taps);
        } else {
          (void)(SumOf(taps) / Tally());
        }
      });
    });
    ExpectWork(Made("pooling", backward ? "backward_data" : "forward_training", kInOut,
                    maximum ? "alg:pooling_max" : "alg:pooling_avg_exclude_padding",
                    fmt::format("mb{}ic{}_ih{}oh{}kh{}sh2dh0ph0_iw{}ow{}kw{}sw2dw0pw0", f.mb, f.ic,
                                f.ih, f.oh, f.kh, f.iw, f.ow, f.kw)),
               0, operations);
  }
}

// Closed forms of normalizations and softmax against loops that count: 300 random problems each.

constexpr const char* kProps[] = {"forward_training", "forward_inference", "backward",
                                  "backward_data"};

// The gradients of scale and shift are the sums that the data's gradient needs.
void BatchBackward(const Values& x, const NormFlags& flags, bool makes_scales) {
  const Tally inverse = InverseDeviation();
  if (flags.relu)
    for (const auto& value : x) (void)IsAbove(value, Tally());
  Tally of_scale, of_shift;
  Values normalized;
  if (!flags.global || (makes_scales && (flags.scale || flags.shift))) {
    normalized = Normalized(x, inverse);
    of_scale = SumOf(ProductsOf(x, normalized));
    of_shift = SumOf(x);
  }
  const Tally factor = flags.scale ? inverse * Tally() : inverse;
  if (!flags.global) {
    of_scale = of_scale / Tally();
    of_shift = of_shift / Tally();
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    (void)(flags.global ? factor * x[i] : factor * (x[i] - of_shift - normalized[i] * of_scale));
}

TEST(PrimitiveWork, BatchNormalization) {
  Draw draw;
  for (int i = 0; i < kProblems; ++i) {
    const auto mb = draw.UpTo(4), ic = draw.UpTo(4), ih = draw.UpTo(4), iw = draw.UpTo(4);
    const std::string prop = kProps[i % 4];
    const NormFlags flags{draw.Coin(), draw.Coin(), draw.Coin(), draw.Coin()};
    const Values x(static_cast<std::size_t>(mb * ih * iw));
    ExpectWork(Made("batch_normalization", prop, kInOut, flags.Text(),
                    fmt::format("mb{}ic{}_ih{}_iw{}", mb, ic, ih, iw)),
               0, Operations([&] {
                 Times(ic, [&] {
                   prop.starts_with("backward") ? BatchBackward(x, flags, prop == "backward")
                                                : NormalizeForward(x, flags);
                 });
               }));
  }
}

constexpr const char* kInOutGradient =
    "src:f32::blocked:abcd::f0 dst:f32::blocked:abcd::f0 diff_src:f32::blocked:abcd::f0";

// Rows are the groups of a sample; scale and shift belong to channels.
TEST(PrimitiveWork, GroupNormalization) {
  Draw draw;
  for (int i = 0; i < kProblems; ++i) {
    const auto mb = draw.UpTo(3), g = draw.UpTo(3), ic = g * draw.UpTo(3), ih = draw.UpTo(3);
    const std::string prop = kProps[i % 4];
    const bool backward = prop.starts_with("backward");
    const NormFlags flags{draw.Coin(), draw.Coin(), draw.Coin(), !backward && draw.Coin()};
    const Values x(static_cast<std::size_t>(ic / g * ih * 2)),
        channel(static_cast<std::size_t>(mb * ih * 2));
    const auto operations = Operations([&] {
      Times(mb * g, [&] { backward ? LayerBackward(x, flags) : NormalizeForward(x, flags); });
      if (prop != "backward") return;
      Times(ic, [&] { ColumnBackward(channel, flags); });
    });
    const auto made = Made("group_normalization", prop, backward ? kInOutGradient : kInOut,
                           flags.Text(), fmt::format("g{}mb{}ic{}ih{}iw2", g, mb, ic, ih));
    ExpectWork(made, 0, operations);
    // 4 byte of each tensor's elements, of two statistics of a group, of scale and shift (which no
    // gradient reads), and of their gradients
    const int64_t elements = mb * ic * ih * 2 * (backward ? 3 : 2);
    const int64_t statistics = flags.global || prop != "forward_inference" ? 2 * mb * g : 0;
    const int64_t scales = ic * (flags.scale + (backward ? 0 : flags.shift) +
                                 (prop == "backward" ? flags.scale + flags.shift : 0));
    EXPECT_EQ(*WorkOf(made).bytes, static_cast<double>(4 * (elements + statistics + scales)));
  }
}

TEST(PrimitiveWork, Softmax) {
  Draw draw;
  for (int i = 0; i < kProblems; ++i) {
    const auto a = draw.UpTo(5), b = draw.UpTo(5), c = draw.UpTo(5);
    const int64_t dims[] = {a, b, c};
    const auto axis = draw.UpTo(3) - 1;
    const bool logarithm = draw.Coin(), backward = draw.Coin();
    const int64_t n = dims[axis];
    const Values x(static_cast<std::size_t>(n));
    const auto operations = Operations([&] {
      Times(a * b * c / n, [&] {
        if (backward) {
          // d * (g - sum of d * g), or g - exp(d) * sum of g
          Values products = x;
          if (!logarithm) products = ProductsOf(x, x);
          const Tally sum = SumOf(products);
          for (const auto& d : x) (void)(logarithm ? d - Function(d) * sum : d * (d - sum));
          return;
        }
        fakes::Softmax(x, logarithm);
      });
    });
    ExpectWork(Made("softmax", backward ? "backward_data" : "forward_inference", kInOut,
                    fmt::format("alg:softmax_{} axis:{}", logarithm ? "log" : "accurate", axis),
                    fmt::format("{}x{}x{}", a, b, c)),
               0, operations);
  }
}

// Closed forms of products and recurrent cells against loops that count: 300 to 1000 random
// problems each.

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

TEST(PrimitiveWork, ADeconvolutionSkipsWhatIsCutFromItsResultAndADilationInDepthCountsToo) {
  Draw draw;
  for (int i = 0; i < 1000; ++i) {
    const auto f = RandomFilter(draw);
    const auto matrix = Operations([&] {
      VisitInside(f, f.ih, f.iw, f.oh, f.ow, [&] { MultiplyAdd(f.mb * f.oc * (f.ic / f.g)); });
    });
    ExpectWork(Made("deconvolution", "forward_inference", Filtered(false), "", f.Text()), matrix,
               0);
  }
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

// 12 elements of 2 byte: an addition, and the destination read; then 0.5 * x * (1 + erf(c * x)).
TEST(WorkOfPostOps, IsWorkedByHand) {
  const auto work = WorkOfPostOps({"sum", "eltwise_gelu_erf"}, 12, 2);
  EXPECT_EQ(work.elementwise, 12 * (1 + 5));
  EXPECT_EQ(work.bytes, 12 * 2);
  EXPECT_EQ(work.matrix, 0);
  EXPECT_THROW(WorkOfPostOps({"binary_add:f32"}, 12, 2), NoClosedForm);
  EXPECT_THROW(WorkOfPostOps({"dw:k3s1p1"}, 12, 2), NoClosedForm);
}

// One step of one unit of each cell, by the formulas in primitive_work.cpp.
void ForwardUnit(const std::string& cell) {
  Tally x, s, b, state;
  const auto gate = [&] { return Function(x + b); };  // W x + R h is summed by the products
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
