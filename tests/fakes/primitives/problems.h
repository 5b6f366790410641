// Random problems of primitives, and what loops over them count.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "reporters/logs/primitive.h"

namespace dlroof::fakes {

// A number that counts the operations made with it: each addition, subtraction, multiplication,
// division, comparison and function is one.
struct Tally {
  static inline int64_t operations = 0;  // [1] since it was last set to zero

  friend Tally operator+(Tally, Tally) { return Count(); }
  friend Tally operator-(Tally, Tally) { return Count(); }
  friend Tally operator*(Tally, Tally) { return Count(); }
  friend Tally operator/(Tally, Tally) { return Count(); }
  static Tally Count() {
    ++operations;
    return {};
  }
};

inline Tally Max(Tally, Tally) { return Tally::Count(); }
inline Tally Min(Tally, Tally) { return Tally::Count(); }
inline Tally IsAbove(Tally, Tally) { return Tally::Count(); }
// exp, log, tanh, sigmoid, erf, sqrt, power, rounding, absolute value
inline Tally Function(Tally) { return Tally::Count(); }

// n - 1 additions of n numbers, or comparisons.
inline Tally SumOf(const std::vector<Tally>& values) {
  Tally sum = values.at(0);
  for (std::size_t i = 1; i < values.size(); ++i) sum = sum + values[i];
  return sum;
}
inline Tally MaxOf(const std::vector<Tally>& values) {
  Tally greatest = values.at(0);
  for (std::size_t i = 1; i < values.size(); ++i) greatest = Max(greatest, values[i]);
  return greatest;
}

inline constexpr int kProblems = 300;

class Draw {
 public:
  int64_t UpTo(int64_t most) { return 1 + static_cast<int64_t>(random_() % most); }
  bool Coin() { return random_() % 2 == 0; }

 private:
  std::mt19937_64 random_{20261123};
};

inline logs::Primitive Made(const std::string& kind, const std::string& prop,
                            const std::string& tensors, const std::string& auxiliary,
                            const std::string& problem, const std::string& attributes = "") {
  return logs::ReadPrimitive({.kind = kind,
                              .prop = prop,
                              .tensors = tensors,
                              .attributes = attributes,
                              .auxiliary = auxiliary,
                              .problem = problem});
}

inline constexpr const char* kFiltered =
    "src:f32::blocked:abcd::f0 wei:f32::blocked:abcd::f0 bia:{}::blocked:a::f0 "
    "dst:f32::blocked:abcd::f0";
inline constexpr const char* kInOut = "src:f32::blocked:abcd::f0 dst:f32::blocked:abcd::f0";

inline int64_t Operations(const std::function<void()>& loops) {
  Tally::operations = 0;
  loops();
  return Tally::operations;
}

inline void Times(int64_t count, const std::function<void()>& body) {
  for (int64_t i = 0; i < count; ++i) body();
}

inline void MultiplyAdd(int64_t count) {
  Tally sum;
  for (int64_t i = 0; i < count; ++i) sum = sum + Tally() * Tally();
}

inline void ExpectWork(const logs::Primitive& primitive, int64_t matrix, int64_t elementwise) {
  const auto work = logs::WorkOf(primitive);
  ASSERT_TRUE(work.matrix) << work.reason.value_or(Reason{}).text << ": " << primitive.text.problem;
  EXPECT_EQ(*work.matrix, static_cast<double>(matrix)) << primitive.text.problem;
  EXPECT_EQ(*work.elementwise, static_cast<double>(elementwise))
      << primitive.text.problem << ' ' << primitive.text.auxiliary;
}

struct Filter {
  int64_t g, mb, ic, oc, ih, iw, oh, ow, kh, kw;
  int64_t sh = 1, sw = 1, dh = 0, dw = 0, ph = 1, pw = 1;  // as oneDNN prints them: dh0 is dense
  std::string Text() const {
    return fmt::format("{}mb{}_ic{}oc{}_ih{}oh{}kh{}sh{}dh{}ph{}_iw{}ow{}kw{}sw{}dw{}pw{}",
                       g > 1 ? fmt::format("g{}", g) : "", mb, ic, oc, ih, oh, kh, sh, dh, ph, iw,
                       ow, kw, sw, dw, pw);
  }
};

// Any strides, dilations and paddings; the sizes of the images need not fit each other.
inline Filter RandomFilter(Draw& draw) {
  const int64_t g = draw.UpTo(3);
  Filter f{g,
           draw.UpTo(3),
           g * draw.UpTo(3),
           g * draw.UpTo(3),
           draw.UpTo(9),
           draw.UpTo(9),
           draw.UpTo(9),
           draw.UpTo(9),
           draw.UpTo(4),
           draw.UpTo(4)};
  f.sh = draw.UpTo(3), f.sw = draw.UpTo(3);
  f.dh = draw.UpTo(4) - 1, f.dw = draw.UpTo(4) - 1;
  f.ph = draw.UpTo(8) - 1, f.pw = draw.UpTo(8) - 1;
  return f;
}

using Values = std::vector<Tally>;

inline Values ProductsOf(const Values& a, const Values& b) {
  Values products;
  for (std::size_t i = 0; i < a.size(); ++i) products.push_back(a[i] * b[i]);
  return products;
}

using Formula = std::function<void()>;

// Forward formulas of eltwise, by name; a, b, c and e are constants.
inline std::map<std::string, Formula> ForwardFormulas() {
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

// Loops over a row, with its statistics.
struct NormFlags {
  bool global, scale, shift, relu;
  bool rms = false;  // the mean is zero
  std::string Text() const {
    return fmt::format("flags:{}{}{}{}", global ? "G" : "", scale ? "C" : "", shift ? "H" : "",
                       relu ? "R" : "");
  }
};

inline Tally Mean(const Values& x) { return SumOf(x) / Tally(); }

// Mean and variance of a group.
inline void Statistics(const Values& x, bool rms) {
  if (rms) return (void)Mean(ProductsOf(x, x));
  const Tally mean = Mean(x);
  Values squares;
  for (const auto& value : x) {
    const Tally off = value - mean;
    squares.push_back(off * off);
  }
  Mean(squares);
}

inline Tally InverseDeviation() { return Tally() / Function(Tally() + Tally()); }

inline Values Normalized(const Values& x, Tally inverse, bool rms = false) {
  Values normalized;
  for (const auto& value : x) normalized.push_back((rms ? value : value - Tally()) * inverse);
  return normalized;
}

inline void NormalizeForward(const Values& x, const NormFlags& flags) {
  if (!flags.global) Statistics(x, flags.rms);
  for (Tally y : Normalized(x, InverseDeviation(), flags.rms)) {
    if (flags.scale) y = y * Tally();
    if (flags.shift) y = y + Tally();
    if (flags.relu) y = Max(y, Tally());
  }
}

inline void LayerBackward(const Values& x, const NormFlags& flags) {
  const Tally inverse = InverseDeviation();
  const auto normalized = Normalized(x, inverse, flags.rms);
  Values gradient = x;
  if (flags.scale) gradient = ProductsOf(x, x);
  if (flags.global) {
    for (const auto& value : gradient) (void)(inverse * value);
    return;
  }
  if (!flags.rms) {
    const Tally mean = Mean(gradient);
    for (auto& value : gradient) value = value - mean;
  }
  const Tally along = Mean(ProductsOf(gradient, normalized));
  for (std::size_t i = 0; i < x.size(); ++i)
    (void)(inverse * (gradient[i] - normalized[i] * along));
}

// The gradients of scale and shift of a column.
inline void ColumnBackward(const Values& column, const NormFlags& flags) {
  if (flags.scale) (void)SumOf(ProductsOf(column, column));
  if (flags.shift) (void)SumOf(column);
}

inline void Softmax(const Values& x, bool logarithm) {
  const Tally greatest = MaxOf(x);
  Values exps;
  for (const auto& value : x) exps.push_back(Function(value - greatest));
  Tally sum = SumOf(exps);
  if (logarithm) sum = Function(sum);
  for (const auto& value : exps) (void)(logarithm ? value - sum : value / sum);
}

}  // namespace dlroof::fakes
