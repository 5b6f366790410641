// Random problems of primitives, and what loops over them count.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
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

}  // namespace dlroof::fakes
