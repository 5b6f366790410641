// Closed forms of elementwise kinds and pooling against loops that count: 300 random
// problems each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/fakes/primitives/problems.h"

namespace dlroof::logs {
namespace {

using Formula = std::function<void()>;

// Forward formulas of eltwise, by name; a, b, c and e are constants.
std::map<std::string, Formula> ForwardFormulas() {
  static const fakes::Tally s, a, b, c, e, one;
  return {{"relu", [] { (void)fakes::Max(s, one); }},
          {"tanh", [] { (void)fakes::Function(s); }},
          {"logistic", [] { (void)fakes::Function(s); }},
          {"exp", [] { (void)fakes::Function(s); }},
          {"sqrt", [] { (void)fakes::Function(s); }},
          {"abs", [] { (void)fakes::Function(s); }},
          {"log", [] { (void)fakes::Function(s); }},
          {"round", [] { (void)fakes::Function(s); }},
          {"square", [] { (void)(s * s); }},
          {"elu", [] { (void)fakes::IsAbove(s, one), (void)(a * (fakes::Function(s) - one)); }},
          {"linear", [] { (void)(a * s + b); }},
          {"clip", [] { (void)fakes::Min(fakes::Max(s, a), b); }},
          {"clip_v2", [] { (void)fakes::Min(fakes::Max(s, a), b); }},
          {"soft_relu", [] { (void)(fakes::Function(one + fakes::Function(a * s)) / a); }},
          {"logsigmoid", [] { (void)(one - fakes::Function(one + fakes::Function(one - s))); }},
          {"pow", [] { (void)(a * fakes::Function(s)); }},
          {"gelu_tanh", [] { (void)(a * s * (one + fakes::Function(c * s * (one + e * s * s)))); }},
          {"gelu_erf", [] { (void)(a * s * (one + fakes::Function(c * s))); }},
          {"swish", [] { (void)(s * fakes::Function(a * s)); }},
          {"mish", [] { (void)(s * fakes::Function(fakes::Function(one + fakes::Function(s)))); }},
          {"hardswish", [] { (void)(s * fakes::Max(one, fakes::Min(one, a * s + b))); }},
          {"hardsigmoid", [] { (void)fakes::Max(one, fakes::Min(one, a * s + b)); }}};
}

// The gradient g of the destination times the derivative; d is the destination.
std::map<std::string, Formula> BackwardFormulas() {
  static const fakes::Tally s, g, a, c, one, kept;
  return {{"relu", [] { (void)(fakes::IsAbove(s, one) * g); }},
          {"tanh",
           [] {
             const fakes::Tally d = fakes::Function(s);
             (void)(g * (one - d * d));
           }},
          {"tanh_use_dst_for_bwd", [] { (void)(g * (one - kept * kept)); }},
          {"logistic",
           [] {
             const fakes::Tally d = fakes::Function(s);
             (void)(g * d * (one - d));
           }},
          {"logistic_use_dst_for_bwd", [] { (void)(g * kept * (one - kept)); }},
          {"exp", [] { (void)(fakes::Function(s) * g); }},
          {"exp_use_dst_for_bwd", [] { (void)(kept * g); }},
          {"sqrt", [] { (void)(g / (a * fakes::Function(s))); }},
          {"sqrt_use_dst_for_bwd", [] { (void)(g / (a * kept)); }},
          {"square", [] { (void)(a * s * g); }},
          {"abs", [] { (void)(fakes::IsAbove(s, one) * g); }},
          {"linear", [] { (void)(a * g); }},
          {"clip", [] { (void)fakes::IsAbove(s, one), (void)(fakes::IsAbove(s, one) * g); }},
          {"log", [] { (void)(g / s); }},
          {"gelu_erf",
           [] {
             const fakes::Tally v = c * s;
             const fakes::Tally bell = a * v * fakes::Function(one - v * v);
             (void)(c * (one + fakes::Function(v) + bell) * g);
           }},
          {"swish", [] {
             const fakes::Tally scaled = a * s;
             const fakes::Tally sigmoid = fakes::Function(scaled);
             (void)(sigmoid * (one + scaled * (one - sigmoid)) * g);
           }}};
}

TEST(PrimitiveWork, EveryEltwiseIsItsFormula) {
  fakes::Draw draw;
  const auto expect = [&](const std::string& prop, const auto& formulas) {
    for (const auto& [name, formula] : formulas)
      for (int i = 0; i < fakes::kProblems / 10; ++i) {
        const auto n = draw.UpTo(5), m = draw.UpTo(5);
        fakes::ExpectWork(fakes::Made("eltwise", prop, "data:f32::blocked:ab::f0",
                                      fmt::format("alg:eltwise_{} alpha:0 beta:0", name),
                                      fmt::format("{}x{}", n, m)),
                          0, fakes::Operations([&, &one = formula] { fakes::Times(n * m, one); }));
      }
  };
  expect("forward_training", ForwardFormulas());
  expect("backward_data", BackwardFormulas());
}

TEST(PrimitiveWork, ALeakyReluMultipliesToo) {
  const auto work = WorkOf(fakes::Made("eltwise", "forward_training", "data:f32::blocked:ab::f0",
                                       "alg:eltwise_relu alpha:0.1 beta:0", "4x5"));
  EXPECT_EQ(*work.elementwise, 40);
}

TEST(PrimitiveWork, BinarySumAndPrelu) {
  fakes::Draw draw;
  for (int i = 0; i < fakes::kProblems; ++i) {
    const auto n = draw.UpTo(5), c = draw.UpTo(5), h = draw.UpTo(5);
    const bool wide = draw.Coin();
    fakes::ExpectWork(
        fakes::Made("binary", "undef",
                    "src:f32::blocked:abc::f0 src:f32::blocked:abc::f0 dst:f32::blocked:abc::f0",
                    "alg:binary_add", fmt::format("{}x{}x{}:{}x{}x1", n, wide ? c : 1, h, n, c)),
        0, fakes::Operations([&] {
          fakes::Times(n * c * h, [] { (void)(fakes::Tally() + fakes::Tally()); });
        }));
    std::string sources;
    const auto count = draw.UpTo(4);
    fakes::Times(count, [&] { sources += "src:f32::blocked:abc::f0 "; });
    const fakes::Values values(static_cast<std::size_t>(count));
    fakes::ExpectWork(fakes::Made("sum", "undef", sources + "dst:f32::blocked:abc::f0", "",
                                  fmt::format("{}x{}x{}", n, c, h)),
                      0, fakes::Operations([&] {
                        fakes::Times(n * c * h, [&] { (void)fakes::SumOf(values); });
                      }));
    fakes::ExpectWork(fakes::Made("prelu", "forward_training",
                                  "data:f32::blocked:abc::f0 wei:f32::blocked:abc::f0", "",
                                  fmt::format("{}x{}x{}:1x{}x1", n, c, h, c)),
                      0, fakes::Operations([&] {
                        fakes::Times(n * c * h, [] {
                          (void)fakes::IsAbove(fakes::Tally(), fakes::Tally()),
                              (void)(fakes::Tally() * fakes::Tally());
                        });
                      }));
  }
}

TEST(PrimitiveWork, Reductions) {
  fakes::Draw draw;
  const char* algorithms[] = {"sum", "max", "mean", "norm_lp_sum", "norm_lp_power_p_max"};
  for (int i = 0; i < fakes::kProblems; ++i) {
    const auto n = draw.UpTo(5), c = draw.UpTo(5), h = draw.UpTo(5);
    const std::string algorithm = algorithms[i % 5];
    const bool norm = algorithm.starts_with("norm");
    const auto operations = fakes::Operations([&] {
      fakes::Times(n * h, [&] {
        fakes::Values values;
        fakes::Times(
            c, [&] { values.push_back(norm ? fakes::Function(fakes::Tally()) : fakes::Tally()); });
        fakes::Tally all = algorithm == "max" ? fakes::MaxOf(values) : fakes::SumOf(values);
        if (algorithm == "mean") all = all / fakes::Tally();
        if (norm) all = fakes::Max(all, fakes::Tally());
        if (algorithm == "norm_lp_sum") all = fakes::Function(all);
      });
    });
    fakes::ExpectWork(fakes::Made("reduction", "undef", fakes::kInOut,
                                  fmt::format("alg:reduction_{} p:2 eps:1", algorithm),
                                  fmt::format("{}x{}x{}:{}x1x{}", n, c, h, n, h)),
                      0, operations);
  }
}

TEST(PrimitiveWork, Pooling) {
  fakes::Draw draw;
  for (int i = 0; i < fakes::kProblems; ++i) {
    const auto f = fakes::RandomFilter(draw);
    const bool maximum = draw.Coin(), backward = draw.Coin();
    const fakes::Values taps(static_cast<std::size_t>(f.kh * f.kw));
    const auto operations = fakes::Operations([&] {
      fakes::Times(f.mb * f.ic * f.oh * f.ow, [&] {
        if (backward) {
          if (!maximum) (void)(fakes::Tally() / fakes::Tally());
          fakes::Times(maximum ? 1 : f.kh * f.kw, [] { (void)(fakes::Tally() + fakes::Tally()); });
        } else if (maximum) {
          (void)fakes::MaxOf(taps);
        } else {
          (void)(fakes::SumOf(taps) / fakes::Tally());
        }
      });
    });
    fakes::ExpectWork(
        fakes::Made("pooling", backward ? "backward_data" : "forward_training", fakes::kInOut,
                    maximum ? "alg:pooling_max" : "alg:pooling_avg_exclude_padding",
                    fmt::format("mb{}ic{}_ih{}oh{}kh{}sh2dh0ph0_iw{}ow{}kw{}sw2dw0pw0", f.mb, f.ic,
                                f.ih, f.oh, f.kh, f.iw, f.ow, f.kw)),
        0, operations);
  }
}

TEST(PrimitiveWork, LinearResamplingMixesNeighboursPairwise) {
  fakes::Draw draw;
  for (int i = 0; i < fakes::kProblems; ++i) {
    const auto mb = draw.UpTo(4), ic = draw.UpTo(4), ih = draw.UpTo(4), oh = draw.UpTo(6);
    const auto mix = [](fakes::Tally v, fakes::Tally w) {
      return fakes::Tally() * v + fakes::Tally() * w;
    };
    const fakes::Tally x;
    fakes::ExpectWork(
        fakes::Made("resampling", "forward_inference", fakes::kInOut, "alg:resampling_linear",
                    fmt::format("mb{}ic{}_ih{}oh{}_iw3ow5", mb, ic, ih, oh)),
        0, fakes::Operations([&] {
          fakes::Times(mb * ic * oh * 5, [&] { (void)mix(mix(x, x), mix(x, x)); });
        }));
  }
}

}  // namespace
}  // namespace dlroof::logs
