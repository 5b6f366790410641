// Closed forms of elementwise kinds and pooling against loops that count: 300 random
// problems each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/fakes/primitives/problems.h"

namespace dlroof::logs {
namespace {

using fakes::Draw, fakes::ExpectWork, fakes::Function, fakes::IsAbove, fakes::Made, fakes::Max,
    fakes::MaxOf, fakes::Min, fakes::Operations, fakes::RandomFilter, fakes::SumOf, fakes::Tally,
    fakes::Times, fakes::Values, fakes::kInOut, fakes::kProblems;

using Formula = std::function<void()>;

// Forward formulas of eltwise, by name; a, b, c and e are constants.
std::map<std::string, Formula> ForwardFormulas() {
  static const Tally s, a, b, c, e, one;
  return {{"relu", [] { (void)Max(s, one); }},
          {"tanh", [] { (void)Function(s); }},
          {"logistic", [] { (void)Function(s); }},
          {"exp", [] { (void)Function(s); }},
          {"sqrt", [] { (void)Function(s); }},
          {"abs", [] { (void)Function(s); }},
          {"log", [] { (void)Function(s); }},
          {"round", [] { (void)Function(s); }},
          {"square", [] { (void)(s * s); }},
          {"elu", [] { (void)IsAbove(s, one), (void)(a * (Function(s) - one)); }},
          {"linear", [] { (void)(a * s + b); }},
          {"clip", [] { (void)Min(Max(s, a), b); }},
          {"clip_v2", [] { (void)Min(Max(s, a), b); }},
          {"soft_relu", [] { (void)(Function(one + Function(a * s)) / a); }},
          {"logsigmoid", [] { (void)(one - Function(one + Function(one - s))); }},
          {"pow", [] { (void)(a * Function(s)); }},
          {"gelu_tanh", [] { (void)(a * s * (one + Function(c * s * (one + e * s * s)))); }},
          {"gelu_erf", [] { (void)(a * s * (one + Function(c * s))); }},
          {"swish", [] { (void)(s * Function(a * s)); }},
          {"mish", [] { (void)(s * Function(Function(one + Function(s)))); }},
          {"hardswish", [] { (void)(s * Max(one, Min(one, a * s + b))); }},
          {"hardsigmoid", [] { (void)Max(one, Min(one, a * s + b)); }}};
}

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

}  // namespace
}  // namespace dlroof::logs
