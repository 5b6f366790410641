// The reference loops of attention, also as a benchmark, and the check of a result.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "bench/attention/attention.h"
#include "bench/workload/memory.h"
#include "bench/workload/operator_parts.h"

namespace dlroof::attention {
namespace {

struct Row {
  int64_t first = 0;            // index in k and v of the first visible element
  std::vector<double> weights;  // softmax weights of the visible keys
  double log_sum = 0;           // log(sum of exp(scores)): a score is log(weight) + log_sum
};
Row RowOf(const AttentionProblem& p, const Tensors& in, int64_t index) {
  const int64_t head = index / p.q % p.h, sequence = index / (p.q * p.h);
  const auto keys = KeysOf(p, sequence, index % p.q);
  const int64_t of_head = (sequence * p.kv + head / (p.h / p.kv)) * p.k;
  Row row{(of_head + keys.begin) * p.d, std::vector<double>(static_cast<size_t>(keys.size()))};
  const double* const query = in.q.data() + index * p.d;
  const double* key = in.k.data() + row.first;
  for (double& weight : row.weights) {
    weight = std::inner_product(query, query + p.d, key, 0.0) / std::sqrt(static_cast<double>(p.d));
    key += p.d;
  }
  const double greatest = std::ranges::max(row.weights);
  double sum = 0;
  for (double& weight : row.weights) sum += weight = std::exp(weight - greatest);
  for (double& weight : row.weights) weight /= sum;
  row.log_sum = greatest + std::log(sum);
  return row;
}

// Returns how much rounded scores may change element i of a row, whose value is `o`, for RowError.
double RoundingOfScores(const AttentionProblem& p, const Tensors& in, const Row& row, int64_t i,
                        double o) {
  double changes = 0, squares = 0;
  const double* value = in.v.data() + row.first + i;
  for (const double weight : row.weights) {
    // Weights that are 0 in double have no score, and change nothing.
    const double score = weight > 0 ? std::log(weight) + row.log_sum : 0;
    const double change = std::fabs(weight * score * (*value - o));
    changes += change;
    squares += change * change;
    value += p.d;
  }
  return std::min(2 * changes, 4 * std::sqrt(squares));
}

// Returns the largest error of a row of o, divided by the allowed error of each element. With the
// weights w of the n visible values v, the allowed error is the sum of:
// - 2^-53 (f64) or 2^-24 x (64 + sqrt(n) + 8 d) x sum of w |v|. 64 + sqrt(n) are the errors of a
//   softmax (bench/rows/softmax.cpp) and of a sum. 8 d are the errors of the scores, sums of d
//   products, in the exponents of each weight and of the sum of weights.
// - bf16, f16: each weight is rounded twice, an error of at most 2 x 2^-8 or 2 x 2^-11 of the sum
//   of w |v|. These roundings are independent: 4 x sqrt(sum of (w v)^2), some eight standard
//   deviations, is allowed if that is less, so that one wrong key among thousands is found. Also o
//   is rounded, and weights below the smallest number of f16 or fp8.
// - rounded scores: each score s is rounded twice, which changes o by w |s| |v - o|
double RowError(const AttentionProblem& p, const Tensors& in, int64_t index,
                std::span<const double> output, const workload::TypeRounding& rounding,
                Scores scores) {
  const auto row = RowOf(p, in, index);
  const double units =
      64 + std::sqrt(static_cast<double>(row.weights.size())) + 8 * static_cast<double>(p.d);
  double error = 0;
  for (int64_t i = 0; i < p.d; ++i) {
    double right = 0, magnitude = 0, squares = 0, values = 0;
    const double* value = in.v.data() + row.first + i;
    for (const double weight : row.weights) {
      right += weight * *value;
      magnitude += std::fabs(weight * *value);
      squares += weight * *value * weight * *value;
      values += std::fabs(*value);
      value += p.d;
    }
    double rounded = std::min(2 * magnitude, 4 * std::sqrt(squares)) + std::fabs(right);
    if (scores == Scores::kRounded) rounded += RoundingOfScores(p, in, row, i, right);
    const double allowed = rounding.sum * units * magnitude + rounding.result * rounded +
                           rounding.least * (1 + values);
    error = std::max(error, workload::ErrorInUnits(output[static_cast<size_t>(i)], right, allowed));
  }
  return error;
}

workload::PreparedCall PrepareLoops(const workload::BenchmarkName& name,
                                    const workload::RunSettings& settings) {
  const auto p = Read(name);
  RequireMemory(p, name.type);
  const auto in = std::make_shared<const Tensors>(SeededInputs(p, name.type, settings.seed));
  const auto o = std::make_shared<std::vector<double>>(in->q.size());
  auto call = workload::PreparedLoops(
      [=] { RunLoops(p, *in, *o); },
      WorkOf(p, name.type, {"fp64.vector", "fp64.vector", "fp64.vector"}, 1),
      {&in->q, &in->k, &in->v, o.get()});
  call.verify = [=, type = name.type, seed = settings.seed] {
    RunLoops(p, *in, *o);
    return Check(p, type, *in, *o, seed);
  };
  return call;
}

[[maybe_unused]] const bool reference_registered = workload::RegisterBackend(
    {"Attention", "cpu", "reference", workload::CheckedWorkload<Read>, std::nullopt, PrepareLoops});

}  // namespace

Tensors SeededInputs(const AttentionProblem& p, std::string_view type, uint64_t seed) {
  const auto seeded = [&](int64_t rows, uint64_t offset, float most) {
    const auto values = workload::SeededValues(rows * p.d, seed + offset,
                                               type == "f64" ? "f32" : type, -most, most);
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
                             const std::vector<double>& output, uint64_t seed, Scores scores) {
  auto rounding = workload::RoundingOf(type).value();
  if (type == "e4m3") rounding.least /= kFp8Scale;
  const auto error = [&](int64_t row, std::span<const double> o) {
    return RowError(p, in, row, o, rounding, scores);
  };
  return workload::CheckOutput({.units = p.b * p.h * p.q,
                                .size = p.d,
                                .flops = 4 * static_cast<double>(p.d * Pairs(p)),
                                .error = error},
                               output, seed);
}

}  // namespace dlroof::attention
