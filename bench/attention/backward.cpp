// Checks of the statistics and of the gradients of q, k and v.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "bench/attention/attention.h"
#include "bench/workload/memory.h"
#include "bench/workload/operator_parts.h"

namespace dlroof::attention {
namespace {

double Dot(const double* a, const double* b, int64_t d) {
  return std::inner_product(a, a + d, b, 0.0);
}
double AbsoluteDot(const double* a, const double* b, int64_t d) {
  double sum = 0;
  for (int64_t i = 0; i < d; ++i) sum += std::fabs(a[i] * b[i]);
  return sum;
}

// A query and a visible key: their softmax weight p, and the gradient of their score, ds = p (do v
// - do o). Weights are not rounded, so those of a query add up to 1.
struct Pair {
  double weight = 0, gradient = 0;
  double magnitude = 0;  // the same with absolute values, for the rounding error
};
Pair PairOf(const AttentionProblem& p, const Tensors& in, const BackwardInputs& backward,
            int64_t query, int64_t key) {
  const double* const d_o = backward.d_o.data() + query * p.d;
  const double* const o = backward.o.data() + query * p.d;
  const double* const v = in.v.data() + key * p.d;
  const double score = Dot(in.q.data() + query * p.d, in.k.data() + key * p.d, p.d) /
                       std::sqrt(static_cast<double>(p.d));
  const double weight = std::exp(score - backward.statistics[static_cast<size_t>(query)]);
  return {weight, weight * (Dot(d_o, v, p.d) - Dot(d_o, o, p.d)),
          weight * (AbsoluteDot(d_o, v, p.d) + AbsoluteDot(d_o, o, p.d))};
}

// One term of a gradient's row: `factor` times an input's row. The library rounds the factor to the
// call's type before the product.
struct Term {
  double factor = 0, magnitude = 0;
  const double* row = nullptr;
};

// Returns the largest error of a gradient's row, divided by the allowed error of each element:
// - 2^-24 x (64 + sqrt(n) + 8 d) x the sum of the n terms' magnitudes, as for o (loops.cpp)
// - f16, bf16: also the rounding of each factor (twice) and of the gradient, as for o
double GradientError(const std::vector<Term>& terms, std::span<const double> output,
                     const workload::TypeRounding& rounding) {
  const double units =
      64 + std::sqrt(static_cast<double>(terms.size())) + 8 * static_cast<double>(output.size());
  double error = 0;
  for (size_t i = 0; i < output.size(); ++i) {
    double right = 0, magnitude = 0, rounded = 0, squares = 0, values = 0;
    for (const auto& term : terms) {
      const double product = term.factor * term.row[i];
      right += product;
      rounded += std::fabs(product);
      squares += product * product;
      magnitude += term.magnitude * std::fabs(term.row[i]);
      values += std::fabs(term.row[i]);
    }
    const double allowed =
        rounding.sum * units * magnitude +
        rounding.result * (std::min(2 * rounded, 4 * std::sqrt(squares)) + std::fabs(right)) +
        rounding.least * (1 + values);
    error = std::max(error, workload::ErrorInUnits(output[i], right, allowed));
  }
  return error;
}

// Returns the index, in k and v, of the first row of the head that this query uses.
int64_t FirstKey(const AttentionProblem& p, int64_t query) {
  const int64_t head = query / p.q % p.h, sequence = query / (p.q * p.h);
  return (sequence * p.kv + head / (p.h / p.kv)) * p.k;
}

// Returns the terms of a row of dq: ds k / sqrt(d) for each visible key.
std::vector<Term> TermsOfQuery(const AttentionProblem& p, const Tensors& in,
                               const BackwardInputs& backward, int64_t query) {
  const auto keys = KeysOf(p, query / (p.q * p.h), query % p.q);
  const double scale = 1 / std::sqrt(static_cast<double>(p.d));
  std::vector<Term> terms;
  for (int64_t key = keys.begin; key < keys.end; ++key) {
    const int64_t row = FirstKey(p, query) + key;
    const auto pair = PairOf(p, in, backward, query, row);
    terms.push_back({scale * pair.gradient, scale * pair.magnitude, in.k.data() + row * p.d});
  }
  return terms;
}

// Returns the terms of a row of dk (ds q / sqrt(d)) or, with `values`, of dv (p do), for each query
// that sees the key, in all heads that share the key.
std::vector<Term> TermsOfKey(const AttentionProblem& p, const Tensors& in,
                             const BackwardInputs& backward, int64_t row, bool values) {
  const int64_t key = row % p.k, sequence = row / (p.k * p.kv), shared = p.h / p.kv;
  const int64_t first_head = sequence * p.h + row / p.k % p.kv * shared;
  const double scale = 1 / std::sqrt(static_cast<double>(p.d));
  std::vector<Term> terms;
  for (int64_t query = first_head * p.q; query < (first_head + shared) * p.q; ++query) {
    const auto keys = KeysOf(p, sequence, query % p.q);
    if (key < keys.begin || key >= keys.end) continue;
    const auto pair = PairOf(p, in, backward, query, row);
    if (values)
      terms.push_back({pair.weight, pair.weight, backward.d_o.data() + query * p.d});
    else
      terms.push_back({scale * pair.gradient, scale * pair.magnitude, in.q.data() + query * p.d});
  }
  return terms;
}

}  // namespace

std::vector<double> SeededGradient(const AttentionProblem& p, std::string_view type,
                                   uint64_t seed) {
  const auto values = workload::SeededValues(p.b * p.h * p.q * p.d, seed + 3, type, -1, 1);
  return {values.begin(), values.end()};
}

// Allows an error of 64 roundings of the largest possible score, max |q| |k| d / sqrt(d).
workload::Verification CheckStatistics(const AttentionProblem& p, const Tensors& in,
                                       const std::vector<double>& statistics, uint64_t seed) {
  const auto error = [&](int64_t query, std::span<const double> found) {
    const auto keys = KeysOf(p, query / (p.q * p.h), query % p.q);
    const double root = std::sqrt(static_cast<double>(p.d));
    double sum = 0, size = 1;
    for (int64_t key = keys.begin; key < keys.end; ++key) {
      const double* const k = in.k.data() + (FirstKey(p, query) + key) * p.d;
      sum += std::exp(Dot(in.q.data() + query * p.d, k, p.d) / root);
      size = std::max(size, AbsoluteDot(in.q.data() + query * p.d, k, p.d) / root);
    }
    const double allowed = 64 * workload::RoundingOf("f32")->sum * (size + std::log(sum) + 1);
    return workload::ErrorInUnits(found[0], std::log(sum), std::fabs(allowed));
  };
  return workload::CheckOutput<double>({.units = p.b * p.h * p.q,
                                        .size = 1,
                                        .flops = 4 * static_cast<double>(p.d * Pairs(p)),
                                        .error = error},
                                       statistics, seed);
}

workload::Verification CheckGradients(const AttentionProblem& p, std::string_view type,
                                      const Tensors& in, const BackwardInputs& backward,
                                      Tensors gradients, uint64_t seed) {
  const auto rounding = workload::RoundingOf(type).value();
  for (int64_t row = 0; row < p.b * p.kv * p.k && !p.lengths.empty(); ++row)
    if (row % p.k >= p.lengths[static_cast<size_t>(row / (p.k * p.kv))])
      for (auto* const gradient : {&gradients.k, &gradients.v})
        std::fill_n(gradient->begin() + row * p.d, p.d, 0.0);
  const auto found = [&](const std::vector<double>& gradient,
                         const std::function<std::vector<Term>(int64_t row)>& terms) {
    return workload::CheckOutput<double>({.units = static_cast<int64_t>(gradient.size()) / p.d,
                                          .size = p.d,
                                          .flops = 10 * static_cast<double>(p.d * Pairs(p)),
                                          .error =
                                              [&](int64_t row, std::span<const double> y) {
                                                return GradientError(terms(row), y, rounding);
                                              }},
                                         gradient, seed);
  };
  const auto of_keys = [&](bool values) {
    return [&, values](int64_t row) { return TermsOfKey(p, in, backward, row, values); };
  };
  auto worst = found(gradients.q, [&](int64_t row) { return TermsOfQuery(p, in, backward, row); });
  for (const auto& other : {found(gradients.k, of_keys(false)), found(gradients.v, of_keys(true))})
    if (!other.ok || other.max_error > worst.max_error) worst = other;
  return worst;
}

}  // namespace dlroof::attention
