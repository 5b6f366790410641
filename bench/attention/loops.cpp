// The plain loops of attention, as a benchmark too, and the check of a result.
#include <algorithm>
#include <cmath>
#include <memory>

#include "bench/attention/attention.h"
#include "bench/workload/memory.h"
#include "bench/workload/operator_parts.h"

namespace dlroof::attention {
namespace {

// A row of q, what it sees, and the weight of each key and value that it sees.
template <class Number>
struct Row {
  const Number* query;
  int64_t first;  // index in k and v of the first element that it sees
  std::vector<double> weights;
};
template <class Number>
Row<Number> RowOf(const AttentionProblem& p, const Tensors<Number>& in, int64_t index) {
  const int64_t head = index / p.q % p.h, sequence = index / (p.q * p.h);
  const auto keys = KeysOf(p, sequence, index % p.q);
  const int64_t of_head = (sequence * p.kv + head / (p.h / p.kv)) * p.k;
  Row<Number> row{in.q.data() + index * p.d, (of_head + keys.begin) * p.d, {}};
  for (int64_t j = 0; j < keys.size(); ++j) {
    double score = 0;
    for (int64_t i = 0; i < p.d; ++i)
      score += double{row.query[i]} * double{in.k[static_cast<size_t>(row.first + j * p.d + i)]};
    row.weights.push_back(score / std::sqrt(static_cast<double>(p.d)));
  }
  const double greatest = std::ranges::max(row.weights);
  double sum = 0;
  for (double& weight : row.weights) sum += weight = std::exp(weight - greatest);
  for (double& weight : row.weights) weight /= sum;
  return row;
}

// Returns the largest error of a row of o, in units of the allowed error of each element, which is,
// with the weights w of the n values v that the row sees, the sum of
//   2^-53 or 2^-24 x (64 + sqrt(n) + 128 S) x sum of w |v|: as a softmax's (rows/softmax.cpp) and a
//       sum's error; a score is off by 64 units of S, the largest |q| |k| d / sqrt(d), and so are
//       the exponents of a weight and of the sum
//   bf16, f16   what rounding each weight twice makes, as in a softmax: at most 2 x 2^-8 or 2^-11
//   of
//       the sum of w |v|. These roundings are independent, so 4 x the root of the sum of (w v)^2,
//       some eight standard deviations, is allowed if that is less: a wrong key among thousands is
//       found. Then the rounding of o, and of weights below the least of f16
double RowError(const AttentionProblem& p, const Tensors<float>& in, int64_t index,
                std::span<const double> output, const workload::TypeRounding& rounding) {
  const auto row = RowOf(p, in, index);
  const double units =
      64 + std::sqrt(static_cast<double>(row.weights.size())) + 8 * static_cast<double>(p.d);
  double error = 0;
  for (int64_t i = 0; i < p.d; ++i) {
    double right = 0, magnitude = 0, squares = 0, values = 0;
    for (size_t j = 0; j < row.weights.size(); ++j) {
      const double value = in.v[static_cast<size_t>(row.first + i) + j * static_cast<size_t>(p.d)];
      const double term = row.weights[j] * value;
      right += term;
      magnitude += std::fabs(term);
      squares += term * term;
      values += std::fabs(value);
    }
    const double rounded = std::min(2 * magnitude, 4 * std::sqrt(squares)) + std::fabs(right);
    const double allowed = rounding.sum * units * magnitude + rounding.result * rounded +
                           rounding.least * (1 + values);
    error = std::max(error, workload::ErrorInUnits(output[static_cast<size_t>(i)], right, allowed));
  }
  return error;
}

workload::PreparedCall PrepareLoops(const workload::BenchmarkName& name,
                                    const workload::RunSettings& settings) {
  struct Call {
    Tensors<float> seeded;
    Tensors<double> in;
    std::vector<double> o;
  };
  const auto p = Read(name);
  RequireMemory(p, name.type);
  const auto made = std::make_shared<Call>();
  made->seeded = SeededInputs(p, name.type, settings.seed);
  const auto& [q, k, v] = made->seeded;
  made->in = {{q.begin(), q.end()}, {k.begin(), k.end()}, {v.begin(), v.end()}};
  made->o.resize(q.size());
  auto call = workload::PreparedLoops([made, p] { RunLoops(p, made->in, made->o); },
                                      WorkOf(p, name.type, "fp64.vector", 1),
                                      {&made->in.q, &made->in.k, &made->in.v, &made->o});
  call.verify = [made, p, seed = settings.seed, run = call.run] {
    run();
    return Check(p, "f64", made->seeded, made->o, seed);
  };
  return call;
}

[[maybe_unused]] const bool reference_registered = workload::RegisterBackend(
    {"Attention", "cpu", "reference", workload::CheckedWorkload<Read>, std::nullopt, PrepareLoops});

}  // namespace

Tensors<float> SeededInputs(const AttentionProblem& p, std::string_view type, uint64_t seed) {
  if (type == "f64") type = "f32";
  const int64_t keys = p.b * p.kv * p.k * p.d;
  return {workload::SeededValues(p.b * p.h * p.q * p.d, seed, type, -4, 4),
          workload::SeededValues(keys, seed + 1, type, -1, 1),
          workload::SeededValues(keys, seed + 2, type, -1, 1)};
}

void RunLoops(const AttentionProblem& p, const Tensors<double>& in, std::vector<double>& o) {
  std::ranges::fill(o, 0.0);
  for (int64_t index = 0; index < p.b * p.h * p.q; ++index) {
    const auto row = RowOf(p, in, index);
    const double* value = in.v.data() + row.first;
    for (const double weight : row.weights)
      for (int64_t i = 0; i < p.d; ++i)
        o[static_cast<size_t>(index * p.d + i)] += weight * *value++;
  }
}

workload::Verification Check(const AttentionProblem& p, std::string_view type,
                             const Tensors<float>& in, const std::vector<double>& output,
                             uint64_t seed) {
  return workload::CheckOutput<double>(
      {.units = p.b * p.h * p.q,
       .size = p.d,
       .flops = 4 * static_cast<double>(p.d) * static_cast<double>(Pairs(p)),
       .error = [&, rounding = workload::RoundingOf(type).value()](
                    int64_t row,
                    std::span<const double> o) { return RowError(p, in, row, o, rounding); }},
      output, seed);
}

}  // namespace dlroof::attention
