// Closed forms of normalizations and softmax against loops that count: 300 random problems each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/fakes/primitives/problems.h"

namespace dlroof::logs {
namespace {

// Mean and variance of a group.
void Statistics(const fakes::Values& x) {
  const fakes::Tally mean = fakes::SumOf(x) / fakes::Tally();
  fakes::Values squares;
  for (const auto& value : x) {
    const fakes::Tally off = value - mean;
    squares.push_back(off * off);
  }
  (void)(fakes::SumOf(squares) / fakes::Tally());
}

fakes::Tally InverseDeviation() {
  return fakes::Tally() / fakes::Function(fakes::Tally() + fakes::Tally());
}

struct Flags {
  bool global, scale, shift, relu;
  std::string Text() const {
    return fmt::format("flags:{}{}{}{}", global ? "G" : "", scale ? "C" : "", shift ? "H" : "",
                       relu ? "R" : "");
  }
};

void NormalizeForward(const fakes::Values& x, const Flags& flags) {
  if (!flags.global) Statistics(x);
  const fakes::Tally inverse = InverseDeviation();
  for (const auto& value : x) {
    fakes::Tally y = (value - fakes::Tally()) * inverse;
    if (flags.scale) y = y * fakes::Tally();
    if (flags.shift) y = y + fakes::Tally();
    if (flags.relu) y = fakes::Max(y, fakes::Tally());
  }
}

fakes::Values Normalized(const fakes::Values& x, fakes::Tally inverse) {
  fakes::Values normalized;
  for (const auto& value : x) normalized.push_back((value - fakes::Tally()) * inverse);
  return normalized;
}

// The gradients of scale and shift are the sums that the data's gradient needs.
void BatchBackward(const fakes::Values& x, const Flags& flags, bool makes_scales) {
  const fakes::Tally inverse = InverseDeviation();
  if (flags.relu)
    for (const auto& value : x) (void)fakes::IsAbove(value, fakes::Tally());
  fakes::Tally of_scale, of_shift;
  fakes::Values normalized;
  if (!flags.global || (makes_scales && (flags.scale || flags.shift))) {
    normalized = Normalized(x, inverse);
    of_scale = fakes::SumOf(fakes::ProductsOf(x, normalized));
    of_shift = fakes::SumOf(x);
  }
  const fakes::Tally factor = flags.scale ? inverse * fakes::Tally() : inverse;
  if (!flags.global) {
    of_scale = of_scale / fakes::Tally();
    of_shift = of_shift / fakes::Tally();
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    (void)(flags.global ? factor * x[i] : factor * (x[i] - of_shift - normalized[i] * of_scale));
}

TEST(PrimitiveWork, BatchNormalization) {
  fakes::Draw draw;
  const char* props[] = {"forward_training", "forward_inference", "backward", "backward_data"};
  for (int i = 0; i < fakes::kProblems; ++i) {
    const auto mb = draw.UpTo(4), ic = draw.UpTo(4), ih = draw.UpTo(4), iw = draw.UpTo(4);
    const std::string prop = props[i % 4];
    const Flags flags{draw.Coin(), draw.Coin(), draw.Coin(), draw.Coin()};
    const fakes::Values x(static_cast<std::size_t>(mb * ih * iw));
    fakes::ExpectWork(fakes::Made("batch_normalization", prop, fakes::kInOut, flags.Text(),
                                  fmt::format("mb{}ic{}_ih{}_iw{}", mb, ic, ih, iw)),
                      0, fakes::Operations([&] {
                        fakes::Times(ic, [&] {
                          prop.starts_with("backward") ? BatchBackward(x, flags, prop == "backward")
                                                       : NormalizeForward(x, flags);
                        });
                      }));
  }
}

void LayerBackward(const fakes::Values& x, const Flags& flags) {
  const fakes::Tally inverse = InverseDeviation();
  const auto normalized = Normalized(x, inverse);
  fakes::Values gradient = x;
  if (flags.scale) gradient = fakes::ProductsOf(x, x);
  if (flags.global) {
    for (const auto& value : gradient) (void)(inverse * value);
    return;
  }
  const fakes::Tally mean = fakes::SumOf(gradient) / fakes::Tally();
  const fakes::Tally along = fakes::SumOf(fakes::ProductsOf(gradient, normalized)) / fakes::Tally();
  for (std::size_t i = 0; i < x.size(); ++i)
    (void)(inverse * (gradient[i] - mean - normalized[i] * along));
}

TEST(PrimitiveWork, LayerNormalization) {
  fakes::Draw draw;
  const char* props[] = {"forward_training", "forward_inference", "backward", "backward_data"};
  for (int i = 0; i < fakes::kProblems; ++i) {
    const auto rows = draw.UpTo(6), n = draw.UpTo(8);
    const std::string prop = props[i % 4];
    const Flags flags{draw.Coin(), draw.Coin(), draw.Coin(), false};
    const fakes::Values x(static_cast<std::size_t>(n)), column(static_cast<std::size_t>(rows));
    const auto operations = fakes::Operations([&] {
      fakes::Times(rows, [&] {
        prop.starts_with("backward") ? LayerBackward(x, flags) : NormalizeForward(x, flags);
      });
      if (prop != "backward") return;
      fakes::Times(n, [&] {
        if (flags.scale) (void)fakes::SumOf(fakes::ProductsOf(column, column));
        if (flags.shift) (void)fakes::SumOf(column);
      });
    });
    fakes::ExpectWork(fakes::Made("layer_normalization", prop, fakes::kInOut, flags.Text(),
                                  fmt::format("{}x{}", rows, n)),
                      0, operations);
  }
}

constexpr const char* kInOutGradient =
    "src:f32::blocked:abcd::f0 dst:f32::blocked:abcd::f0 diff_src:f32::blocked:abcd::f0";

// Rows are the groups of a sample; scale and shift belong to channels.
TEST(PrimitiveWork, GroupNormalization) {
  fakes::Draw draw;
  const char* props[] = {"forward_training", "forward_inference", "backward", "backward_data"};
  for (int i = 0; i < fakes::kProblems; ++i) {
    const auto mb = draw.UpTo(3), g = draw.UpTo(3), ic = g * draw.UpTo(3), ih = draw.UpTo(3);
    const std::string prop = props[i % 4];
    const bool backward = prop.starts_with("backward");
    const Flags flags{draw.Coin(), draw.Coin(), draw.Coin(), !backward && draw.Coin()};
    const fakes::Values x(static_cast<std::size_t>(ic / g * ih * 2)),
        channel(static_cast<std::size_t>(mb * ih * 2));
    const auto operations = fakes::Operations([&] {
      fakes::Times(mb * g,
                   [&] { backward ? LayerBackward(x, flags) : NormalizeForward(x, flags); });
      if (prop != "backward") return;
      fakes::Times(ic, [&] {
        if (flags.scale) (void)fakes::SumOf(fakes::ProductsOf(channel, channel));
        if (flags.shift) (void)fakes::SumOf(channel);
      });
    });
    const auto made =
        fakes::Made("group_normalization", prop, backward ? kInOutGradient : fakes::kInOut,
                    flags.Text(), fmt::format("g{}mb{}ic{}ih{}iw2", g, mb, ic, ih));
    fakes::ExpectWork(made, 0, operations);
    // 4 byte of each tensor's elements, of two statistics of a group, of scale and shift once or
    // with their gradients
    const int64_t elements = mb * ic * ih * 2 * (backward ? 3 : 2);
    const int64_t statistics = flags.global || prop != "forward_inference" ? 2 * mb * g : 0;
    const int64_t scales = ic * (flags.scale + flags.shift) * (prop == "backward" ? 2 : 1);
    EXPECT_EQ(*WorkOf(made).bytes, static_cast<double>(4 * (elements + statistics + scales)));
  }
}

// The window's squares and their mean, plus k.
fakes::Tally LocalNorm(std::size_t window) {
  const fakes::Values x(window);
  return fakes::Tally() + fakes::Tally() * fakes::SumOf(fakes::ProductsOf(x, x));
}

TEST(PrimitiveWork, LocalResponseNormalization) {
  fakes::Draw draw;
  for (int i = 0; i < fakes::kProblems; ++i) {
    const auto mb = draw.UpTo(3), ic = draw.UpTo(4), ih = draw.UpTo(3), ls = draw.UpTo(5);
    const bool across = draw.Coin(), backward = draw.Coin();
    const auto window = static_cast<std::size_t>(across ? ls : ls * ls);
    const auto operations = fakes::Operations([&] {
      fakes::Times(mb * ic * ih * 2, [&] {
        const fakes::Tally x, gradient, constant, norm = LocalNorm(window),
                                                  power = fakes::Function(norm);
        if (!backward) return (void)(x * power);
        const fakes::Tally direct = gradient * power;
        const fakes::Tally part = direct * x / norm;
        (void)part;
        (void)(direct - constant * x * fakes::SumOf(fakes::Values(window)));
      });
    });
    const auto made =
        fakes::Made("lrn", backward ? "backward_data" : "forward_training",
                    backward ? "data:f32::blocked:abcd::f0 diff:f32::blocked:abcd::f0"
                             : "data:f32::blocked:abcd::f0",
                    fmt::format("alg:lrn_{}", across ? "across_channels" : "within_channel"),
                    fmt::format("mb{}ic{}ih{}iw2ls{}beta0.75", mb, ic, ih, ls));
    fakes::ExpectWork(made, 0, operations);
    EXPECT_EQ(*WorkOf(made).bytes, static_cast<double>(4 * mb * ic * ih * 2 * (backward ? 3 : 2)));
  }
}

TEST(PrimitiveWork, Softmax) {
  fakes::Draw draw;
  for (int i = 0; i < fakes::kProblems; ++i) {
    const auto a = draw.UpTo(5), b = draw.UpTo(5), c = draw.UpTo(5);
    const int64_t dims[] = {a, b, c};
    const auto axis = draw.UpTo(3) - 1;
    const bool logarithm = draw.Coin(), backward = draw.Coin();
    const int64_t n = dims[axis];
    const fakes::Values x(static_cast<std::size_t>(n));
    const auto operations = fakes::Operations([&] {
      fakes::Times(a * b * c / n, [&] {
        if (backward) {
          // d * (g - sum of d * g), or g - exp(d) * sum of g
          fakes::Values products = x;
          if (!logarithm) products = fakes::ProductsOf(x, x);
          const fakes::Tally sum = fakes::SumOf(products);
          for (const auto& d : x) (void)(logarithm ? d - fakes::Function(d) * sum : d * (d - sum));
          return;
        }
        const fakes::Tally greatest = fakes::MaxOf(x);
        fakes::Values exps;
        for (const auto& value : x) exps.push_back(fakes::Function(value - greatest));
        fakes::Tally sum = fakes::SumOf(exps);
        if (logarithm) sum = fakes::Function(sum);
        for (const auto& value : exps) (void)(logarithm ? value - sum : value / sum);
      });
    });
    fakes::ExpectWork(
        fakes::Made("softmax", backward ? "backward_data" : "forward_inference", fakes::kInOut,
                    fmt::format("alg:softmax_{} axis:{}", logarithm ? "log" : "accurate", axis),
                    fmt::format("{}x{}x{}", a, b, c)),
        0, operations);
  }
}

}  // namespace
}  // namespace dlroof::logs
