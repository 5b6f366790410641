// Gradients of the normalizations (Ba et al., arXiv 1607.06450; Zhang and Sennrich, arXiv
// 1910.07467). With a normalized row h = (x - mean) / sqrt(variance + epsilon) and g = dy * scale:
// dx = (g - mean(g) - h * mean(g h)) / sqrt(variance + epsilon), without mean(g) for RmsNorm;
// dscale and dshift are the sums of dy h and of dy over all rows.
#include <algorithm>
#include <cmath>

#include "bench/rows/rows.h"

namespace dlroof::rows {
namespace {

// A row of the inputs.
template <class Number>
struct Row {
  Row(const RowsCase& norm, const Tensors<Number>& in, int64_t row)
      : n(static_cast<size_t>(norm.rows.n)),
        x(in.source.data() + row * norm.rows.n),
        dy(in.parameters[kGradient].data() + row * norm.rows.n),
        scales(in.parameters[kScale].empty() ? nullptr : in.parameters[kScale].data()),
        mean(norm.op == &kRmsNorm ? 0 : in.parameters[kMean][static_cast<size_t>(row)]),
        factor(1 / std::sqrt(double{in.parameters[kVariance][static_cast<size_t>(row)]} +
                             double{kLayerNormEpsilon})),
        centred(norm.op != &kRmsNorm) {}

  double Normalized(size_t i) const { return (double{x[i]} - mean) * factor; }
  double Gradient(size_t i) const { return dy[i] * (scales == nullptr ? 1.0 : double{scales[i]}); }
  // The same with absolute values, which scale the rounding errors.
  double NormalizedSize(size_t i) const {
    return (std::fabs(double{x[i]}) + std::fabs(mean)) * factor;
  }

  size_t n;
  const Number *x, *dy, *scales;
  double mean, factor;
  bool centred;
};

// The two means of a row's gradient.
struct Means {
  double of_gradient = 0, with_normalized = 0;
};
template <class Number>
Means MeansOf(const Row<Number>& row) {
  Means means;
  for (size_t i = 0; i < row.n; ++i) {
    if (row.centred) means.of_gradient += row.Gradient(i) / static_cast<double>(row.n);
    means.with_normalized += row.Gradient(i) * row.Normalized(i) / static_cast<double>(row.n);
  }
  return means;
}

}  // namespace

size_t ResultSize(const RowsCase& request) {
  const auto elements = static_cast<size_t>(request.rows.m * request.rows.n);
  return elements + (request.backward   ? 2 * static_cast<size_t>(request.rows.n)
                     : request.residual ? elements
                                        : 0);
}

void AddGradientInputs(const RowsCase& norm, uint64_t seed, Tensors<float>& in) {
  in.parameters.push_back(SeededRows(norm, seed, -1, 1));
  std::vector<float> means, variances;
  const auto n = static_cast<double>(norm.rows.n);
  for (int64_t row = 0; row < norm.rows.m; ++row) {
    const float* const x = in.source.data() + row * norm.rows.n;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < norm.rows.n && norm.op != &kRmsNorm; ++i) mean += double{x[i]} / n;
    for (int64_t i = 0; i < norm.rows.n; ++i) variance += (x[i] - mean) * (x[i] - mean) / n;
    means.push_back(static_cast<float>(mean));
    variances.push_back(static_cast<float>(variance));
  }
  in.parameters.push_back(std::move(means));
  in.parameters.push_back(std::move(variances));
}

void RunNormBackward(const RowsCase& norm, const Tensors<double>& in,
                     std::vector<double>& destination) {
  const auto n = static_cast<size_t>(norm.rows.n);
  double* const scale = destination.data() + norm.rows.m * norm.rows.n;
  std::fill_n(scale, 2 * n, 0.0);
  for (int64_t m = 0; m < norm.rows.m; ++m) {
    const Row row(norm, in, m);
    const auto means = MeansOf(row);
    for (size_t i = 0; i < n; ++i) {
      destination[static_cast<size_t>(m) * n + i] =
          (row.Gradient(i) - means.of_gradient - row.Normalized(i) * means.with_normalized) *
          row.factor;
      scale[i] += row.dy[i] * row.Normalized(i);
      scale[n + i] += row.dy[i];
    }
  }
}

// The allowed error is that of a normalization (layernorm.cpp), of the sums of absolute values.
double NormRowError(const RowsCase& norm, const Tensors<float>& in, std::span<const float> x,
                    std::span<const double> dx, const workload::TypeRounding& rounding) {
  const Row row(norm, in, (x.data() - in.source.data()) / norm.rows.n);
  const auto means = MeansOf(row);
  Means sizes;
  for (size_t i = 0; i < row.n; ++i) {
    const double gradient = std::fabs(row.Gradient(i)) / static_cast<double>(row.n);
    if (row.centred) sizes.of_gradient += gradient;
    sizes.with_normalized += gradient * row.NormalizedSize(i);
  }
  double error = 0;
  for (size_t i = 0; i < row.n; ++i) {
    const double right =
        (row.Gradient(i) - means.of_gradient - row.Normalized(i) * means.with_normalized) *
        row.factor;
    const double size = (std::fabs(row.Gradient(i)) + sizes.of_gradient +
                         row.NormalizedSize(i) * sizes.with_normalized) *
                        row.factor;
    const double allowed = rounding.sum * (64 + std::sqrt(static_cast<double>(row.n))) * size +
                           rounding.result * std::fabs(right) + rounding.least;
    error = std::max(error, workload::ErrorInUnits(dx[i], right, allowed));
  }
  return error;
}

double NormColumnError(const RowsCase& norm, const Tensors<float>& in, int64_t column, double found,
                       const workload::TypeRounding& rounding) {
  const bool is_shift = column >= norm.rows.n;
  const auto i = static_cast<size_t>(column % norm.rows.n);
  double right = 0, size = 0;
  for (int64_t m = 0; m < norm.rows.m; ++m) {
    const Row row(norm, in, m);
    right += row.dy[i] * (is_shift ? 1 : row.Normalized(i));
    size += std::fabs(double{row.dy[i]}) * (is_shift ? 1 : row.NormalizedSize(i));
  }
  const double units = 64 + std::sqrt(static_cast<double>(norm.rows.m));
  return workload::ErrorInUnits(found, right, rounding.sum * units * size + rounding.least);
}

}  // namespace dlroof::rows
