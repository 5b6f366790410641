// The reference loops of attention, also as a benchmark, and the checks of results.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
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

// Returns the index, in k and v, of the first row of the key-value head of this query.
int64_t FirstKey(const AttentionProblem& p, int64_t query) {
  const int64_t head = query / p.q % p.h, sequence = query / (p.q * p.h);
  return (sequence * p.kv + head / (p.h / p.kv)) * p.k;
}

struct Row {
  int64_t first = 0;            // index in k and v of the first visible element
  std::vector<double> weights;  // softmax weights of the visible keys
};
Row RowOf(const AttentionProblem& p, const Tensors& in, int64_t query) {
  const auto keys = KeysOf(p, query / (p.q * p.h), query % p.q);
  Row row{(FirstKey(p, query) + keys.begin) * p.d,
          std::vector<double>(static_cast<size_t>(keys.size()))};
  const double* key = in.k.data() + row.first;
  for (double& weight : row.weights) {
    weight = Dot(in.q.data() + query * p.d, key, p.d) / std::sqrt(static_cast<double>(p.d));
    key += p.d;
  }
  const double greatest = std::ranges::max(row.weights);
  double sum = 0;
  for (double& weight : row.weights) sum += weight = std::exp(weight - greatest);
  for (double& weight : row.weights) weight /= sum;
  return row;
}

// A term of a result's row: `factor` x `row`. The library rounds `factor` to the call's type.
struct Term {
  double factor = 0, magnitude = 0;  // `magnitude` scales the rounding error of `factor`
  const double* row = nullptr;
};

// Returns the largest error of a row of o or of a gradient, divided by the allowed error of each
// element. That is the sum of:
// - 2^-53 (f64) or 2^-24 x (64 + sqrt(n) + 8 d) x the sum of the n terms' magnitudes: of o, w |v|
//   with the weights w of the n visible values v. 64 + sqrt(n) are the errors of a softmax
//   (bench/rows/softmax.cpp) and of a sum. 8 d are the errors of the scores, sums of d products, in
//   the exponents of each weight and of the sum of weights.
// - bf16, f16: each factor is rounded twice, an error of at most 2 x 2^-8 or 2 x 2^-11 of the sum
//   of w |v|. These roundings are independent: 4 x sqrt(sum of (w v)^2), some eight standard
//   deviations, is allowed if that is less, so that one wrong key among thousands is found. Also
//   the result is rounded, and factors below the smallest number of f16 or fp8.
double RowError(const std::vector<Term>& terms, std::span<const double> output,
                const workload::TypeRounding& rounding) {
  const double units =
      64 + std::sqrt(static_cast<double>(terms.size())) + 8 * static_cast<double>(output.size());
  double error = 0;
  for (size_t i = 0; i < output.size(); ++i) {
    double right = 0, magnitude = 0, products = 0, squares = 0, values = 0;
    for (const auto& term : terms) {
      const double product = term.factor * term.row[i];
      right += product;
      products += std::fabs(product);
      squares += product * product;
      magnitude += term.magnitude * std::fabs(term.row[i]);
      values += std::fabs(term.row[i]);
    }
    const double rounded = std::min(2 * products, 4 * std::sqrt(squares)) + std::fabs(right);
    const double allowed = rounding.sum * units * magnitude + rounding.result * rounded +
                           rounding.least * (1 + values);
    error = std::max(error, workload::ErrorInUnits(output[i], right, allowed));
  }
  return error;
}

// Returns the terms of a row of o: the weight of each visible key times its value.
std::vector<Term> TermsOfOutput(const AttentionProblem& p, const Tensors& in, int64_t query) {
  const auto row = RowOf(p, in, query);
  std::vector<Term> terms;
  const double* value = in.v.data() + row.first;
  for (const double weight : row.weights) {
    terms.push_back({weight, weight, value});
    value += p.d;
  }
  return terms;
}

// The softmax weight p of a query and a visible key, and their score's gradient, ds = p (do v -
// do o). Weights are not rounded: those of a query add up to 1.
struct Pair {
  double weight = 0, gradient = 0;
  double magnitude = 0;  // `gradient` with absolute values: scales its rounding error
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

workload::PreparedCall PrepareLoops(const workload::BenchmarkName& name,
                                    const workload::RunSettings& settings) {
  const auto p = Read(name);
  RequireMemory(p, name.type);
  const auto in = std::make_shared<const Tensors>(SeededInputs(p, name.type, settings.seed));
  const auto o = std::make_shared<std::vector<double>>(in->q.size());
  return workload::PreparedLoops(
      [=] { RunLoops(p, *in, *o); },
      [=, type = name.type, seed = settings.seed] { return Check(p, type, *in, *o, seed); },
      WorkOf(p, name.type, {"fp64.vector", "fp64.vector", "fp64.vector"}, 1),
      {&in->q, &in->k, &in->v, o.get()});
}

[[maybe_unused]] const bool reference_registered = workload::RegisterBackend(
    {"Attention", "cpu", "reference", workload::CheckedWorkload(Read), std::nullopt, PrepareLoops});

}  // namespace

Tensors SeededInputs(const AttentionProblem& p, std::string_view type, uint64_t seed) {
  const auto seeded = [&](int64_t rows, uint64_t offset, float most) {
    const auto values = workload::SeededValues(rows * p.d, seed + offset, type, -most, most);
    return std::vector<double>(values.begin(), values.end());
  };
  return {seeded(p.b * p.h * p.q, 0, 4), seeded(p.b * p.kv * p.k, 1, 1),
          seeded(p.b * p.kv * p.k, 2, 1)};
}

std::vector<double> InPages(const CudnnAttentionCase& request, const std::vector<double>& rows,
                            const std::vector<int64_t>& table) {
  const auto& p = request.problem;
  const int64_t page = request.page.value(), pages = (p.k + page - 1) / page;
  std::vector<double> paged(static_cast<size_t>(p.b * pages * p.kv * page * p.d));
  for (int64_t b = 0; b < p.b; ++b)
    for (int64_t head = 0; head < p.kv; ++head)
      for (int64_t key = 0; key < p.k; ++key) {
        const int64_t at = table[static_cast<size_t>(b * pages + key / page)];
        std::copy_n(rows.begin() + ((b * p.kv + head) * p.k + key) * p.d, p.d,
                    paged.begin() + ((at * p.kv + head) * page + key % page) * p.d);
      }
  return paged;
}

void RunLoops(const AttentionProblem& p, const Tensors& in, std::vector<double>& o) {
  std::ranges::fill(o, 0.0);
  for (int64_t index = 0; index < p.b * p.h * p.q; ++index) {
    const auto row = RowOf(p, in, index);
    const double* value = in.v.data() + row.first;
    for (const double weight : row.weights)
      for (int64_t i = 0; i < p.d; ++i)
        o[static_cast<size_t>(index * p.d + i)] += weight * *value++;
  }
}

workload::Verification Check(const AttentionProblem& p, std::string_view type, const Tensors& in,
                             const std::vector<double>& output, uint64_t seed) {
  auto rounding = workload::RoundingOf(type).value();
  if (type == "e4m3") rounding.least /= kFp8Scale;
  const auto error = [&](int64_t row, std::span<const double> o) {
    return RowError(TermsOfOutput(p, in, row), o, rounding);
  };
  return workload::CheckOutput({.units = p.b * p.h * p.q,
                                .size = p.d,
                                .flops = 4 * static_cast<double>(p.d * Pairs(p)),
                                .error = error},
                               output, seed);
}

std::vector<double> SeededGradient(const AttentionProblem& p, std::string_view type,
                                   uint64_t seed) {
  const auto values = workload::SeededValues(p.b * p.h * p.q * p.d, seed + 3, type, -1, 1);
  return {values.begin(), values.end()};
}

std::vector<double> StatisticsOf(const AttentionProblem& p, const std::vector<float>& scores) {
  std::vector<double> statistics;
  for (int64_t query = 0; query < p.b * p.h * p.q; ++query) {
    const auto keys = KeysOf(p, query / (p.q * p.h), query % p.q);
    const float* const score = scores.data() + query * p.k;
    const double greatest = *std::max_element(score + keys.begin, score + keys.end);
    double sum = 0;
    for (int64_t key = keys.begin; key < keys.end; ++key) sum += std::exp(score[key] - greatest);
    statistics.push_back(static_cast<float>(greatest + std::log(sum)));
  }
  return statistics;
}

// Allowed error: 64 x 2^-24 x (1 + max(1, largest sum |q k| / sqrt(d) of a key) + log(sum)).
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
    return workload::CheckOutput<double>(
        {.units = static_cast<int64_t>(gradient.size()) / p.d,
         .size = p.d,
         .flops = 10 * static_cast<double>(p.d * Pairs(p)),
         .error = [&](int64_t row,
                      std::span<const double> y) { return RowError(terms(row), y, rounding); }},
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
