// Closed forms of normalizations and softmax against loops that count: 300 random problems each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/fakes/primitives/problems.h"

namespace dlroof::logs {
namespace {

using fakes::Draw, fakes::ExpectWork, fakes::Function, fakes::IsAbove, fakes::Made, fakes::Max,
    fakes::MaxOf, fakes::Operations, fakes::ProductsOf, fakes::SumOf, fakes::Tally, fakes::Times,
    fakes::Values, fakes::kInOut, fakes::kProblems;

constexpr const char* kProps[] = {"forward_training", "forward_inference", "backward",
                                  "backward_data"};

// Mean and variance of a group.
void Statistics(const Values& x) {
  const Tally mean = SumOf(x) / Tally();
  Values squares;
  for (const auto& value : x) {
    const Tally off = value - mean;
    squares.push_back(off * off);
  }
  (void)(SumOf(squares) / Tally());
}

Tally InverseDeviation() { return Tally() / Function(Tally() + Tally()); }

struct Flags {
  bool global, scale, shift, relu;
  std::string Text() const {
    return fmt::format("flags:{}{}{}{}", global ? "G" : "", scale ? "C" : "", shift ? "H" : "",
                       relu ? "R" : "");
  }
};

void NormalizeForward(const Values& x, const Flags& flags) {
  if (!flags.global) Statistics(x);
  const Tally inverse = InverseDeviation();
  for (const auto& value : x) {
    Tally y = (value - Tally()) * inverse;
    if (flags.scale) y = y * Tally();
    if (flags.shift) y = y + Tally();
    if (flags.relu) y = Max(y, Tally());
  }
}

Values Normalized(const Values& x, Tally inverse) {
  Values normalized;
  for (const auto& value : x) normalized.push_back((value - Tally()) * inverse);
  return normalized;
}

// The gradients of scale and shift are the sums that the data's gradient needs.
void BatchBackward(const Values& x, const Flags& flags, bool makes_scales) {
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
    const Flags flags{draw.Coin(), draw.Coin(), draw.Coin(), draw.Coin()};
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

void LayerBackward(const Values& x, const Flags& flags) {
  const Tally inverse = InverseDeviation();
  const auto normalized = Normalized(x, inverse);
  Values gradient = x;
  if (flags.scale) gradient = ProductsOf(x, x);
  if (flags.global) {
    for (const auto& value : gradient) (void)(inverse * value);
    return;
  }
  const Tally mean = SumOf(gradient) / Tally();
  const Tally along = SumOf(ProductsOf(gradient, normalized)) / Tally();
  for (std::size_t i = 0; i < x.size(); ++i)
    (void)(inverse * (gradient[i] - mean - normalized[i] * along));
}

TEST(PrimitiveWork, LayerNormalization) {
  Draw draw;
  for (int i = 0; i < kProblems; ++i) {
    const auto rows = draw.UpTo(6), n = draw.UpTo(8);
    const std::string prop = kProps[i % 4];
    const Flags flags{draw.Coin(), draw.Coin(), draw.Coin(), false};
    const Values x(static_cast<std::size_t>(n)), column(static_cast<std::size_t>(rows));
    const auto operations = Operations([&] {
      Times(rows, [&] {
        prop.starts_with("backward") ? LayerBackward(x, flags) : NormalizeForward(x, flags);
      });
      if (prop != "backward") return;
      Times(n, [&] {
        if (flags.scale) (void)SumOf(ProductsOf(column, column));
        if (flags.shift) (void)SumOf(column);
      });
    });
    ExpectWork(
        Made("layer_normalization", prop, kInOut, flags.Text(), fmt::format("{}x{}", rows, n)), 0,
        operations);
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
    const Flags flags{draw.Coin(), draw.Coin(), draw.Coin(), !backward && draw.Coin()};
    const Values x(static_cast<std::size_t>(ic / g * ih * 2)),
        channel(static_cast<std::size_t>(mb * ih * 2));
    const auto operations = Operations([&] {
      Times(mb * g, [&] { backward ? LayerBackward(x, flags) : NormalizeForward(x, flags); });
      if (prop != "backward") return;
      Times(ic, [&] {
        if (flags.scale) (void)SumOf(ProductsOf(channel, channel));
        if (flags.shift) (void)SumOf(channel);
      });
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
        const Tally greatest = MaxOf(x);
        Values exps;
        for (const auto& value : x) exps.push_back(Function(value - greatest));
        Tally sum = SumOf(exps);
        if (logarithm) sum = Function(sum);
        for (const auto& value : exps) (void)(logarithm ? value - sum : value / sum);
      });
    });
    ExpectWork(Made("softmax", backward ? "backward_data" : "forward_inference", kInOut,
                    fmt::format("alg:softmax_{} axis:{}", logarithm ? "log" : "accurate", axis),
                    fmt::format("{}x{}x{}", a, b, c)),
               0, operations);
  }
}

}  // namespace
}  // namespace dlroof::logs
