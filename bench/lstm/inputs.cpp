#include "bench/lstm/inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/lstm/case.h"
#include "bench/workload/seeded_values.h"

namespace dlroof::lstm {
namespace {

void Convert(const std::vector<float>& from, std::vector<double>& to) {
  to.assign(from.begin(), from.end());
}

// Independent values for each tensor of one call.
class ValueSource {
 public:
  explicit ValueSource(uint64_t seed) : seed_(seed << 20U) {}

  std::vector<float> Next(int64_t count, std::string_view type, double limit) {
    const auto high = static_cast<float>(limit);
    return workload::SeededValues(count, seed_++, type, -high, high);
  }

 private:
  uint64_t seed_;
};

void RoundToMultiples(double scale, std::vector<float>& values) {
  for (float& value : values) value = static_cast<float>(std::round(value * scale) / scale);
}

void Quantize(const LstmProblem& problem, LstmInput<float>& input) {
  const double weight_scale = double{kInt8WeightSteps / Int8WeightLimit(problem)};
  const double activation_scale = Int8ActivationScale(problem);
  RoundToMultiples(activation_scale, input.source);
  RoundToMultiples(activation_scale, input.initial_hidden);
  for (auto& layer : input.layers)
    for (auto* weights : {&layer.input, &layer.state, &layer.projection})
      RoundToMultiples(weight_scale, *weights);
}

void Add(const std::vector<float>& got, const std::vector<double>& expected,
         LstmDifference& difference) {
  constexpr double kNotComparable = std::numeric_limits<double>::max();
  difference.count += static_cast<int64_t>(expected.size());
  if (got.size() != expected.size()) {
    difference.max_error = kNotComparable;
    return;
  }
  double scale = 0;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  if (scale == 0) scale = 1;
  for (size_t k = 0; k < got.size(); ++k) {
    const double error = std::abs(double{got[k]} - expected[k]) / scale;
    difference.max_error =
        std::max(difference.max_error, std::isfinite(error) ? error : kNotComparable);
  }
}

}  // namespace

LstmInput<double> ToDouble(const LstmInput<float>& input) {
  LstmInput<double> result;
  result.layers.resize(input.layers.size());
  ForEachInput(Convert, input, result);
  return result;
}

LstmOutput<double> ToDouble(const LstmOutput<float>& output) {
  LstmOutput<double> result;
  ForEachOutput(Convert, output, result);
  return result;
}

float Int8ActivationScale(const LstmProblem& problem) {
  return problem.passes == LstmPasses::kSummed ? 63 : 127;
}

float Int8WeightLimit(const LstmProblem& problem) {
  int64_t fewest = std::min(problem.i, StateWidth(problem));
  if (problem.p != 0) fewest = std::min(fewest, problem.h);
  return 1 / std::sqrt(static_cast<float>(fewest));
}

LstmInput<float> SeededLstmInput(const LstmProblem& problem, uint64_t seed,
                                 std::string_view type_name) {
  const LstmType& type = LstmTypeOf(type_name);
  const LstmElements elements = Elements(problem);
  const int64_t gates = 4 * problem.h, state = StateWidth(problem), passes = Passes(problem);
  const bool quantized = IsQuantized(type);
  // Quantized numbers are drawn as real ones and rounded to the nearest that are stored.
  const auto drawn_as = [&](std::string_view stored) { return quantized ? "f32" : stored; };
  ValueSource values(seed);
  const auto weights = [&](int64_t rows, int64_t columns) {
    return values.Next(passes * rows * columns, drawn_as(type.weight),
                       1 / std::sqrt(static_cast<double>(rows)));
  };
  LstmInput<float> input;
  input.source = values.Next(elements.source, drawn_as(type.source), 1);
  input.initial_hidden = values.Next(elements.hidden, drawn_as(type.hidden), 1);
  input.initial_cell = values.Next(elements.cell, type.cell, 1);
  input.layers.resize(problem.l);
  for (int64_t layer = 0; layer < problem.l; ++layer) {
    auto& tensors = input.layers[layer];
    tensors.input = weights(InputWidth(problem, layer), gates);
    tensors.state = weights(state, gates);
    if (problem.p != 0) tensors.projection = weights(problem.h, problem.p);
    tensors.bias = values.Next(passes * gates, type.bias, 1);
    if (problem.peephole) tensors.peephole = values.Next(passes * 3 * problem.h, "f32", 1);
  }
  if (quantized) Quantize(problem, input);
  return input;
}

LstmOutput<float> SeededLstmGradient(const LstmProblem& problem, uint64_t seed) {
  const LstmElements elements = Elements(problem);
  ValueSource values(seed ^ 0x67726164ULL);
  LstmOutput<float> gradient;
  gradient.output = values.Next(elements.output, "f32", 1);
  gradient.final_hidden = values.Next(elements.hidden, "f32", 1);
  gradient.final_cell = values.Next(elements.cell, "f32", 1);
  return gradient;
}

LstmDifference Difference(const LstmOutput<float>& got, const LstmOutput<double>& expected) {
  LstmDifference difference;
  ForEachOutput([&](const auto& a, const auto& b) { Add(a, b, difference); }, got, expected);
  return difference;
}

LstmDifference Difference(const LstmInput<float>& got, const LstmInput<double>& expected) {
  LstmDifference difference;
  if (got.layers.size() != expected.layers.size()) {
    difference.max_error = std::numeric_limits<double>::max();
    return difference;
  }
  ForEachInput([&](const auto& a, const auto& b) { Add(a, b, difference); }, got, expected);
  return difference;
}

}  // namespace dlroof::lstm
