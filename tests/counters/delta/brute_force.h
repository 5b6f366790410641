// Counts the sectors that a convolution's tiles touch, from the definition of a convolution alone:
// the exact reference of the model.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "counters/delta/model.h"

namespace dlroof::delta {

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

// [byte] Returns the address of element (i, k) of a matrix, or nothing for padding.
using Element = std::function<std::optional<int64_t>(int64_t i, int64_t k)>;
// Different sectors, ascending.
using Sectors = std::vector<int64_t>;

inline Sectors Different(Sectors sectors) {
  std::ranges::sort(sectors);
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
  return sectors;
}

inline Sectors Union(const Sectors& left, const Sectors& right) {
  Sectors both;
  std::ranges::set_union(left, right, std::back_inserter(both));
  return both;
}

inline Sectors Touched(const Element& element, IndexRange rows, IndexRange columns,
                       int64_t sector) {
  Sectors touched;
  for (int64_t i = rows.first; i < rows.second; ++i)
    for (int64_t k = columns.first; k < columns.second; ++k)
      if (const auto at = element(i, k)) touched.push_back(*at / sector);
  return Different(touched);
}

// [sector] Different sectors that each warp's load, each step along k and each slice of k touches,
// summed. Each tile of rows counts once, however many blocks load it.
struct BruteSectors {
  double warp = 0, step = 0, tile = 0;
};

// Warps read 32 elements, as many along memory as the tile has, the rest across.
inline BruteSectors BruteOperand(const Element& element, int64_t rows, int64_t columns,
                                 int64_t tile, int64_t step, int64_t slice, bool along_columns,
                                 int64_t sector) {
  const auto count = [&](int64_t i, int64_t height, int64_t k, int64_t width) {
    const IndexRange across{i, std::min(rows, i + height)};
    return static_cast<double>(
        Touched(element, across, {k, std::min(columns, k + width)}, sector).size());
  };
  const int64_t along = std::min<int64_t>(32, along_columns ? step : tile);
  const int64_t height = along_columns ? std::min(32 / along, tile) : along;
  const int64_t width = along_columns ? along : std::min(32 / along, step);
  BruteSectors sum;
  for (int64_t i0 = 0; i0 < rows; i0 += tile) {
    for (int64_t k0 = 0; k0 < columns; k0 += slice) sum.tile += count(i0, tile, k0, slice);
    for (int64_t k0 = 0; k0 < columns; k0 += step) {
      sum.step += count(i0, tile, k0, step);
      for (int64_t i = i0; i < std::min(rows, i0 + tile); i += height)
        for (int64_t k = k0; k < std::min(columns, k0 + step); k += width)
          sum.warp += count(i, std::min(height, i0 + tile - i), k, std::min(width, k0 + step - k));
    }
  }
  return sum;
}

// [sector] DRAM reads of one group and slice of K, wave by wave: a wave finds the newest earlier
// waves that fit together, and the filter tiles of the last one where they take half of L2 at most.
inline double BruteReads(const Brute& brute, const ConvGemm& gemm, const CtaTile& tile,
                         IndexRange slice, const CacheShape& caches) {
  const int64_t nm = CeilDiv(gemm.m, tile.m), nn = CeilDiv(gemm.n, tile.n);
  const int64_t sector = caches.dram_sector_bytes;
  const auto wave = static_cast<int64_t>(caches.l2.ctas_per_wave);
  const double most = caches.l2.bytes / static_cast<double>(sector);
  std::vector<Sectors> rows, columns;  // of each tile
  for (int64_t i = 0; i < nm; ++i)
    rows.push_back(Touched([&](int64_t m, int64_t k) { return brute.A(m, k); },
                           {i * tile.m, std::min(gemm.m, (i + 1) * tile.m)}, slice, sector));
  for (int64_t i = 0; i < nn; ++i)
    columns.push_back(Touched([&](int64_t n, int64_t k) { return brute.B(n, k); },
                              {i * tile.n, std::min(gemm.n, (i + 1) * tile.n)}, slice, sector));
  struct Wave {
    Sectors a, b;
  };
  std::deque<Wave> earlier;  // newest first
  double reads = 0;
  const auto missing = [](const Sectors& now, const Sectors& there) {
    return static_cast<double>(Union(now, there).size() - there.size());
  };
  for (int64_t id = 0; id < nm * nn; id += wave) {
    Wave now;
    for (int64_t cta = id; cta < std::min(nm * nn, id + wave); ++cta) {
      now.a = Union(now.a, rows[static_cast<size_t>(cta % nm)]);
      now.b = Union(now.b, columns[static_cast<size_t>(cta / nm)]);
    }
    Wave kept;
    for (const auto& before : earlier) {
      const Wave more{Union(kept.a, before.a), Union(kept.b, before.b)};
      if (static_cast<double>(more.a.size() + more.b.size()) > most) break;
      kept = more;
    }
    const Sectors last = earlier.empty() ? Sectors() : earlier.front().b;
    if (static_cast<double>(Union(now.b, last).size()) <= most / 2) kept.b = Union(kept.b, last);
    reads += missing(now.a, kept.a) + missing(now.b, kept.b);
    earlier.push_front(now);
  }
  return reads;
}

// The exact traffic of a layer, for L2 with one partition and tiles without clusters.
inline TrafficBytes BruteTraffic(const ConvLayer& layer, const CtaTile& tile,
                                 const CacheShape& caches) {
  const auto gemm = GemmOf(layer);
  const int64_t slice = CeilDiv(CeilDiv(gemm.k, tile.k), tile.slices) * tile.k;
  const int64_t slices = CeilDiv(gemm.k, slice), sector = caches.sector_bytes;
  const auto g = static_cast<double>(sector), d = static_cast<double>(caches.dram_sector_bytes);
  const double a_times = g * static_cast<double>(CeilDiv(gemm.n, tile.n));
  const double b_times = g * static_cast<double>(CeilDiv(gemm.m, tile.m));
  TrafficBytes bytes;
  for (int64_t group = 0; group < gemm.groups; ++group) {
    const Brute brute{layer, group};
    const auto a = BruteOperand([&](int64_t m, int64_t k) { return brute.A(m, k); }, gemm.m, gemm.k,
                                tile.m, tile.k, slice, gemm.a.lanes_along_columns, sector);
    const auto b = BruteOperand([&](int64_t n, int64_t k) { return brute.B(n, k); }, gemm.n, gemm.k,
                                tile.n, tile.k, slice, gemm.b.lanes_along_columns, sector);
    const auto c = BruteOperand([&](int64_t m, int64_t n) { return brute.C(m, n); }, gemm.m, gemm.n,
                                tile.m, tile.n, tile.n, gemm.c.lanes_along_columns, sector);
    bytes.l1_loads += a_times * a.warp + b_times * b.warp;
    bytes.l2_step_loads += a_times * a.step + b_times * b.step;
    bytes.l2_tile_loads += a_times * a.tile + b_times * b.tile;
    bytes.stores += g * c.warp;
    for (int64_t k = 0; k < gemm.k; k += slice)
      bytes.dram.a +=
          d * BruteReads(brute, gemm, tile, {k, std::min(gemm.k, k + slice)}, caches);  // and B
  }
  const auto results = static_cast<double>(gemm.groups * gemm.m * gemm.n);
  if (slices > 1) bytes.stores += 2 * 4 * results * static_cast<double>(slices);
  bytes.dram.c = results * static_cast<double>(slices > 1 ? 4 * slices : ResultBytes(layer));
  return bytes;
}

// Square filter, stride, padding.
inline ConvLayer Layer(int64_t n, int64_t c, int64_t h, int64_t w, int64_t k, int64_t rs,
                       int64_t stride, int64_t pad) {
  return ConvLayer{.shape = {n, c, h, w, k, rs, rs, stride, stride, pad, pad, pad, pad, 1, 1, 1}};
}

// One of `choices`, by a generator that is the same everywhere.
template <class Random>
int64_t Pick(Random& random, std::initializer_list<int64_t> choices) {
  return *(choices.begin() + static_cast<std::ptrdiff_t>(random() % choices.size()));
}

}  // namespace dlroof::delta
