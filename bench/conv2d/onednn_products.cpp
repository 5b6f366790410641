#include "bench/conv2d/onednn_products.h"

#include <algorithm>

namespace dlroof {
namespace {

constexpr int64_t kChannelBlock = 64;

// Places and taps of one dimension whose remainders by the stride agree.
struct Phase {
  int64_t places = 0, taps = 0;
};

std::vector<Phase> PhasesOf(int64_t size, int64_t pad, int64_t taps, int64_t stride,
                            int64_t dilation) {
  std::vector<Phase> phases(static_cast<std::size_t>(stride));
  for (int64_t i = 0; i < size; ++i) ++phases[static_cast<std::size_t>((i + pad) % stride)].places;
  for (int64_t i = 0; i < taps; ++i) ++phases[static_cast<std::size_t>(i * dilation % stride)].taps;
  return phases;
}

std::vector<Conv2dProduct> OfStridedDataGradient(const Conv2dProblem& p) {
  std::vector<Conv2dProduct> products;
  const int64_t channels = p.c / p.groups, filters = p.k / p.groups;
  const int64_t block = std::min(channels, kChannelBlock);
  const double blocks = static_cast<double>(p.groups * p.n * channels) / static_cast<double>(block);
  for (const auto& rows : PhasesOf(p.h, p.pad_top, p.r, p.stride_h, p.dilation_h))
    for (const auto& columns : PhasesOf(p.w, p.pad_left, p.s, p.stride_w, p.dilation_w)) {
      const int64_t taps = rows.taps * columns.taps;
      if (taps * rows.places * columns.places > 0)
        products.push_back(
            {columns.places, block, filters * taps, blocks * static_cast<double>(rows.places)});
    }
  return products;
}

// Taps beyond the border count in the problem's FLOPs, and are left out or in by a kernel.
void ScaleTo(double multiply_adds, std::vector<Conv2dProduct>& products) {
  double sum = 0;
  for (const auto& [m, n, k, count] : products) sum += static_cast<double>(m * n * k) * count;
  for (auto& product : products) product.count *= multiply_adds / sum;
}

}  // namespace

std::vector<Conv2dProduct> ProductsInside(const Conv2dCase& conv, std::string_view implementation) {
  const auto& p = conv.problem;
  std::vector<Conv2dProduct> products;
  if (conv.direction == ProductDirection::kBackwardData &&
      implementation.starts_with("brgconv_strided"))
    products = OfStridedDataGradient(p);
  if (conv.direction == ProductDirection::kBackwardWeights && implementation.starts_with("jit_1x1"))
    products = {{p.k / p.groups, p.c / p.groups, OutputRows(p) * OutputColumns(p),
                 static_cast<double>(p.n * p.groups)}};
  ScaleTo(static_cast<double>(DenseFlops(p)) / 2, products);
  return products;
}

}  // namespace dlroof
