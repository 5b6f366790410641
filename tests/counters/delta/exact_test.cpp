#include "counters/delta/exact.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>

#include "counters/base/error.h"
#include "tests/fakes/delta_layers.h"

namespace dlroof::delta {
namespace {

constexpr int64_t kSector = 32;

// Addresses written down from the definition of a convolution, tensor by tensor.
struct Brute {
  ConvLayer layer;
  int64_t group = 0;

  const ConvShape& s() const { return layer.shape; }
  bool nhwc() const { return layer.layout == TensorLayout::kNhwc; }
  int64_t At(int64_t n, int64_t c, int64_t y, int64_t x, int64_t channels, int64_t h,
             int64_t w) const {
    return layer.element_bytes *
           (nhwc() ? ((n * h + y) * w + x) * channels + c : ((n * channels + c) * h + y) * w + x);
  }
  int64_t Cg() const { return s().c / s().groups; }
  int64_t Kg() const { return s().k / s().groups; }
  int64_t Weight(int64_t k, int64_t c, int64_t fy, int64_t fx) const {
    const int64_t row = group * Kg() + k;
    return layer.element_bytes * (nhwc() ? ((row * s().r + fy) * s().s + fx) * Cg() + c
                                         : ((row * Cg() + c) * s().r + fy) * s().s + fx);
  }
  struct Tap {
    int64_t channel, fy, fx;
  };
  Tap TapOf(int64_t k, int64_t channels) const {
    if (nhwc()) return {k % channels, k / channels / s().s, k / channels % s().s};
    return {k / (s().r * s().s), k / s().s % s().r, k % s().s};
  }
  // Input element of an output pixel and a tap.
  std::optional<int64_t> Input(int64_t pixel, int64_t tap) const {
    const int64_t q = OutputColumns(s()), p = OutputRows(s());
    const Tap t = TapOf(tap, Cg());
    const int64_t y = pixel / q % p * s().stride_h - s().pad_top + t.fy * s().dilation_h;
    const int64_t x = pixel % q * s().stride_w - s().pad_left + t.fx * s().dilation_w;
    if (y < 0 || y >= s().h || x < 0 || x >= s().w) return std::nullopt;
    return At(pixel / (p * q), group * Cg() + t.channel, y, x, s().c, s().h, s().w);
  }
  std::optional<int64_t> Output(int64_t pixel, int64_t k) const {
    const int64_t q = OutputColumns(s()), p = OutputRows(s());
    return At(pixel / (p * q), group * Kg() + k, pixel / q % p, pixel % q, s().k, p, q);
  }
  // dOutput element that input pixel and tap (of filters) meet.
  std::optional<int64_t> Gradient(int64_t pixel, int64_t tap) const {
    const Tap t = TapOf(tap, Kg());
    const int64_t y = pixel / s().w % s().h + s().pad_top - t.fy * s().dilation_h;
    const int64_t x = pixel % s().w + s().pad_left - t.fx * s().dilation_w;
    if (y < 0 || x < 0 || y % s().stride_h != 0 || x % s().stride_w != 0) return std::nullopt;
    const int64_t oy = y / s().stride_h, ox = x / s().stride_w;
    if (oy >= OutputRows(s()) || ox >= OutputColumns(s())) return std::nullopt;
    return At(pixel / (s().h * s().w), group * Kg() + t.channel, oy, ox, s().k, OutputRows(s()),
              OutputColumns(s()));
  }
  std::optional<int64_t> A(int64_t m, int64_t k) const {
    if (layer.direction == ProductDirection::kForward) return Input(m, k);
    if (layer.direction == ProductDirection::kBackwardData) return Gradient(m, k);
    return Output(k, m);
  }
  std::optional<int64_t> B(int64_t n, int64_t k) const {
    if (layer.direction == ProductDirection::kBackwardWeights) return Input(k, n);
    const Tap t = TapOf(k, layer.direction == ProductDirection::kForward ? Cg() : Kg());
    if (layer.direction == ProductDirection::kForward) return Weight(n, t.channel, t.fy, t.fx);
    return Weight(t.channel, n, t.fy, t.fx);
  }
  std::optional<int64_t> C(int64_t m, int64_t n) const {
    if (layer.direction == ProductDirection::kForward) return Output(m, n);
    if (layer.direction == ProductDirection::kBackwardWeights) {
      const Tap t = TapOf(n, Cg());
      return Weight(m, t.channel, t.fy, t.fx);
    }
    return At(m / (s().h * s().w), group * Cg() + n, m / s().w % s().h, m % s().w, s().c, s().h,
              s().w);
  }
};

using Element = std::function<std::optional<int64_t>(int64_t, int64_t)>;

OperandSectors BruteOperand(const Element& element, int64_t rows, int64_t columns, int64_t tile,
                            int64_t step, int64_t slice, bool along_columns) {
  OperandSectors sum;
  const int64_t width = std::min<int64_t>(32, along_columns ? step : tile), depth = 32 / width;
  for (int64_t i0 = 0; i0 < rows; i0 += tile) {
    std::map<int64_t, std::set<int64_t>> slices;
    for (int64_t k0 = 0; k0 < columns; k0 += step) {
      std::map<std::pair<int64_t, int64_t>, std::set<int64_t>> warps;
      std::set<int64_t> block;
      for (int64_t i = i0; i < std::min(rows, i0 + tile); ++i)
        for (int64_t k = k0; k < std::min(columns, k0 + step); ++k) {
          const auto at = element(i, k);
          if (!at) continue;
          const int64_t along = along_columns ? k - k0 : i - i0;
          const int64_t across = along_columns ? i - i0 : k - k0;
          warps[{along / width, across / depth}].insert(*at / kSector);
          block.insert(*at / kSector);
          slices[k / slice].insert(*at / kSector);
        }
      for (const auto& [warp, sectors] : warps) sum.warp += static_cast<double>(sectors.size());
      sum.step += static_cast<double>(block.size());
    }
    for (const auto& [number, sectors] : slices) sum.tile += static_cast<double>(sectors.size());
  }
  return sum;
}

ConvLayer RandomLayer(std::mt19937_64& random) {
  ConvLayer layer;
  auto& s = layer.shape;
  s.groups = fakes::Pick(random, {1, 1, 2, 3});
  s.n = fakes::Pick(random, {1, 2, 9});
  s.c = s.groups * fakes::Pick(random, {1, 3, 8, 70});
  s.k = s.groups * fakes::Pick(random, {1, 5, 8, 66});
  s.h = fakes::Pick(random, {1, 4, 7, 9});
  s.w = fakes::Pick(random, {1, 5, 8, 11});
  s.r = fakes::Pick(random, {1, 2, 3});
  s.s = fakes::Pick(random, {1, 3, 4});
  s.stride_h = fakes::Pick(random, {1, 2});
  s.stride_w = fakes::Pick(random, {1, 3});
  s.pad_top = fakes::Pick(random, {0, 2});
  s.pad_bottom = s.pad_right = fakes::Pick(random, {1, 3});
  s.pad_left = fakes::Pick(random, {0, 1});
  s.dilation_h = fakes::Pick(random, {1, 2});
  s.dilation_w = fakes::Pick(random, {1, 1, 3});
  layer.element_bytes = fakes::Pick(random, {1, 2, 3, 4, 8});
  layer.direction = static_cast<ProductDirection>(random() % 3);
  layer.layout = static_cast<TensorLayout>(random() % 2);
  return layer;
}

void ExpectSame(const OperandSectors& got, const OperandSectors& brute, const char* what) {
  EXPECT_EQ(got.warp, brute.warp) << what;
  EXPECT_EQ(got.step, brute.step) << what;
  EXPECT_EQ(got.tile, brute.tile) << what;
}

TEST(EnumerateSectors, IsBruteForceForEveryDirectionLayoutAndShape) {
  std::mt19937_64 random(11);
  int layers = 0;
  while (layers < 150) {
    const auto layer = RandomLayer(random);
    if (OutputRows(layer.shape) < 1 || OutputColumns(layer.shape) < 1) continue;
    const CtaTile tile = {fakes::Pick(random, {8, 32, 64}), fakes::Pick(random, {8, 16, 64}),
                          fakes::Pick(random, {4, 8, 32}), fakes::Pick(random, {1, 1, 3})};
    const auto gemm = GemmOf(layer);
    if (gemm.m * gemm.k > 400000 || gemm.n * gemm.k > 400000) continue;
    ++layers;
    const auto got = EnumerateSectors(gemm, tile, kSector);
    OperandSectors a, b;
    double store = 0;
    const int64_t slice = got.steps * tile.k;
    for (int64_t group = 0; group < gemm.groups; ++group) {
      const Brute brute{layer, group};
      a.Add(BruteOperand([&](int64_t i, int64_t k) { return brute.A(i, k); }, gemm.m, gemm.k,
                         tile.m, tile.k, slice, gemm.a.lanes_along_columns),
            1);
      b.Add(BruteOperand([&](int64_t i, int64_t k) { return brute.B(i, k); }, gemm.n, gemm.k,
                         tile.n, tile.k, slice, gemm.b.lanes_along_columns),
            1);
      store += BruteOperand([&](int64_t i, int64_t k) { return brute.C(i, k); }, gemm.m, gemm.n,
                            tile.m, tile.n, tile.n, gemm.c.lanes_along_columns)
                   .warp;
    }
    SCOPED_TRACE(testing::Message()
                 << "direction " << static_cast<int>(layer.direction) << " layout "
                 << static_cast<int>(layer.layout) << " m " << gemm.m << " n " << gemm.n << " k "
                 << gemm.k << " groups " << gemm.groups << " e " << layer.element_bytes);
    ExpectSame(got.a, a, "A");
    ExpectSame(got.b, b, "B");
    const int64_t slices = (gemm.k + slice - 1) / slice;
    EXPECT_EQ(got.store, store * static_cast<double>(slices));
  }
}

// Long axes are cut into stretches of which one is counted; visiting all of them says the same.
TEST(TouchedSectors, CutIntoStretchesCountsTheSameAsVisiting) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 60; ++i) {
    auto layer = fakes::Layer(fakes::Pick(random, {1, 13}), fakes::Pick(random, {3, 65, 96}),
                              fakes::Pick(random, {3, 7}), fakes::Pick(random, {5, 8}),
                              fakes::Pick(random, {7, 64}), fakes::Pick(random, {1, 3}), 1, 1);
    layer.direction = static_cast<ProductDirection>(random() % 3);
    layer.layout = static_cast<TensorLayout>(random() % 2);
    layer.element_bytes = fakes::Pick(random, {1, 4, 8});
    const auto gemm = GemmOf(layer);
    for (const Operand* matrix : {&gemm.a, &gemm.b, &gemm.c}) {
      const IndexRange rows{Size(matrix->rows) / 5, Size(matrix->rows)};
      const IndexRange columns{Size(matrix->columns) / 7, Size(matrix->columns)};
      std::set<int64_t> all;
      for (int64_t r = rows.first; r < rows.second; ++r)
        for (int64_t c = columns.first; c < columns.second; ++c)
          if (const auto at = Address(*matrix, At(matrix->rows, r), At(matrix->columns, c));
              at != kNowhere)
            all.insert((at + 12) / kSector);
      EXPECT_EQ(TouchedSectors(*matrix, {rows}, {columns}, kSector, 12),
                static_cast<int64_t>(all.size()));
    }
  }
}

TEST(EnumerateSectors, ASampleStatesAnErrorThatHolds) {
  // 61 x 61 outputs: 128-row tiles begin at 3721 different places of an image.
  const auto gemm = GemmOf(fakes::Layer(64, 4, 61, 61, 32, 3, 1, 1));
  const CtaTile tile = {128, 32, 8};
  const auto exact = EnumerateSectors(gemm, tile, kSector);
  ASSERT_EQ(exact.relative_error95, 0);
  const auto sampled = EnumerateSectors(gemm, tile, kSector, 1e6);
  EXPECT_GT(sampled.relative_error95, 0);
  EXPECT_LT(sampled.relative_error95, 0.05);
  EXPECT_NEAR(sampled.a.warp / exact.a.warp, 1, 2 * sampled.relative_error95);
  EXPECT_NEAR(sampled.a.tile / exact.a.tile, 1, 0.03);
}

TEST(EnumerateSectors, ALineOf128BytesIsAnotherGranule) {
  // One row of 64 floats, 1x1: each warp's 32 lanes are 128 byte: one line, four sectors.
  const auto gemm = GemmOf(fakes::Layer(1, 1, 1, 64, 1, 1, 1, 0));
  EXPECT_EQ(EnumerateSectors(gemm, {64, 8, 1}, 128).a.warp, 2);
  EXPECT_EQ(EnumerateSectors(gemm, {64, 8, 1}, 32).a.warp, 8);
}

TEST(GemmOf, RefusesWhatCannotBe) {
  EXPECT_THROW(GemmOf(fakes::Layer(1, 1, 2, 2, 1, 3, 1, 0)), BadInput);
  EXPECT_THROW(GemmOf(fakes::Layer(0, 1, 2, 2, 1, 1, 1, 0)), BadInput);
  auto layer = fakes::Layer(1, 3, 2, 2, 4, 1, 1, 0);
  layer.shape.groups = 2;
  EXPECT_THROW(GemmOf(layer), BadInput);
  layer.shape.groups = 1;
  layer.element_bytes = 9;
  EXPECT_THROW(GemmOf(layer), BadInput);
  EXPECT_THROW(EnumerateSectors(GemmOf(fakes::Layer(1, 1, 2, 2, 1, 1, 1, 0)), {0, 8, 8}, 32),
               BadInput);
}

}  // namespace
}  // namespace dlroof::delta
