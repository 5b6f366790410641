#include "bench/lstm/cudnn_weights.h"

#include <fmt/format.h>

#include <stdexcept>

namespace dlroof::cudnn {
namespace {

constexpr int kProjection = 8;

std::vector<float> LstmLayerWeights<float>::*TensorOf(const RnnPart& part) {
  if (part.IsProjection()) return &LstmLayerWeights<float>::projection;
  return part.linear < kLstmGates ? &LstmLayerWeights<float>::input
                                  : &LstmLayerWeights<float>::state;
}

// Our position of a matrix element: [pass][column][gate][row], the projection [pass][column][row].
size_t At(const RnnPart& part, int64_t row, int64_t column) {
  const int64_t channel = part.pass * part.columns + column;
  if (part.IsProjection()) return static_cast<size_t>(channel * part.rows + row);
  const int64_t gate = part.linear % kLstmGates;
  return static_cast<size_t>((channel * kLstmGates + gate) * part.rows + row);
}

size_t BiasAt(const RnnPart& part, int64_t row) {
  return static_cast<size_t>((part.pass * kLstmGates + part.linear % kLstmGates) * part.rows + row);
}

void RequireCount(size_t count, int64_t expected) {
  if (count != static_cast<size_t>(expected))
    throw std::logic_error(fmt::format("{} values where cuDNN has {}", expected, count));
}

}  // namespace

std::vector<RnnPart> RnnParts(const LstmProblem& problem) {
  std::vector<RnnPart> parts;
  for (int64_t layer = 0; layer < problem.l; ++layer)
    for (int64_t pass = 0; pass < Passes(problem); ++pass) {
      const int64_t pseudo = layer * Passes(problem) + pass;
      for (int linear = 0; linear < kProjection; ++linear)
        parts.push_back({layer, pass, pseudo, linear, problem.h,
                         linear < kLstmGates ? InputWidth(problem, layer) : StateWidth(problem)});
      if (problem.p != 0) parts.push_back({layer, pass, pseudo, kProjection, problem.p, problem.h});
    }
  return parts;
}

std::vector<float> MatrixOf(const RnnPart& part, const LstmInput<float>& input) {
  const auto& ours = input.layers.at(static_cast<size_t>(part.layer)).*TensorOf(part);
  std::vector<float> matrix;
  matrix.reserve(static_cast<size_t>(part.rows * part.columns));
  for (int64_t row = 0; row < part.rows; ++row)
    for (int64_t column = 0; column < part.columns; ++column)
      matrix.push_back(ours.at(At(part, row, column)));
  return matrix;
}

std::vector<float> HalfBiasOf(const RnnPart& part, const LstmInput<float>& input) {
  const auto& ours = input.layers.at(static_cast<size_t>(part.layer)).bias;
  std::vector<float> bias;
  for (int64_t row = 0; row < part.rows; ++row) bias.push_back(ours.at(BiasAt(part, row)) / 2);
  return bias;
}

LstmInput<float> ZeroWeights(const LstmProblem& problem) {
  LstmInput<float> gradients;
  gradients.layers.resize(static_cast<size_t>(problem.l));
  for (const auto& part : RnnParts(problem)) {
    auto& layer = gradients.layers[static_cast<size_t>(part.layer)];
    const int64_t gates = part.IsProjection() ? 1 : kLstmGates;
    (layer.*TensorOf(part))
        .assign(static_cast<size_t>(Passes(problem) * part.columns * gates * part.rows), 0);
    layer.bias.assign(static_cast<size_t>(Passes(problem) * kLstmGates * problem.h), 0);
  }
  return gradients;
}

void PutMatrix(const RnnPart& part, const std::vector<float>& matrix, LstmInput<float>& gradients) {
  RequireCount(matrix.size(), part.rows * part.columns);
  auto& ours = gradients.layers.at(static_cast<size_t>(part.layer)).*TensorOf(part);
  for (int64_t row = 0; row < part.rows; ++row)
    for (int64_t column = 0; column < part.columns; ++column)
      ours.at(At(part, row, column)) = matrix[static_cast<size_t>(row * part.columns + column)];
}

void AddHalfBias(const RnnPart& part, const std::vector<float>& bias, LstmInput<float>& gradients) {
  RequireCount(bias.size(), part.rows);
  auto& ours = gradients.layers.at(static_cast<size_t>(part.layer)).bias;
  for (int64_t row = 0; row < part.rows; ++row)
    ours.at(BiasAt(part, row)) += bias[static_cast<size_t>(row)] / 2;
}

}  // namespace dlroof::cudnn
