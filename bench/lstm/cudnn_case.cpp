#include "bench/lstm/cudnn_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "bench/workload/library_rules.h"
#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"

namespace dlroof::lstm {
namespace {

struct TypeRow {
  std::string_view type, storage, pipe;
  RnnMath math;
  int least_capability;
  std::size_t least_version;  // oldest cuDNN with LSTMs of this type; 0: every version
  double tolerance;
};
constexpr std::array<TypeRow, 4> kTypes = {
    {{"f32", "f32", "fp32.vector", RnnMath::kFma, 0, 0, 3e-5},
     {"tf32", "f32", "tf32.matrix", RnnMath::kDefault, 80, 0, 5e-3},
     {"f16", "f16", "fp16.matrix", RnnMath::kTensorCores, 70, 0, 0.02},
     // bf16 since 9.13: github.com/pytorch/pytorch/pull/164411
     {"bf16", "bf16", "bf16.matrix", RnnMath::kTensorCores, 80, 91300, 0.05}}};

const TypeRow& RowOf(std::string_view type) {
  for (const auto& row : kTypes)
    if (row.type == type) return row;
  throw std::logic_error(fmt::format("an LSTM on cuDNN has no type {}", type));
}

constexpr KeyRow<RnnAlgorithm> kAlgorithms[] = {{RnnAlgorithm::kStandard, "standard"},
                                                {RnnAlgorithm::kPersistStatic, "persist-static"},
                                                {RnnAlgorithm::kPersistDynamic, "persist-dynamic"},
                                                {RnnAlgorithm::kPersistSmallH, "persist-small-h"}};

constexpr int kProjection = 8;

std::vector<float> LstmLayerWeights<float>::*TensorOf(const RnnPart& part) {
  if (part.IsProjection()) return &LstmLayerWeights<float>::projection;
  return part.linear < kLstmGates ? &LstmLayerWeights<float>::input
                                  : &LstmLayerWeights<float>::state;
}

// Returns the index in dlroof's tensor: [pass][column][gate][row], a projection's without gate.
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
    throw std::logic_error(fmt::format("got {} values, expected {}", count, expected));
}

}  // namespace

std::string_view Key(RnnAlgorithm algorithm) { return KeyIn(kAlgorithms, algorithm); }

CudnnLstmCase ReadCudnnLstmCase(const workload::BenchmarkName& name) {
  const auto types = VectorOf<std::string>(kTypes, [](const auto& row) { return row.type; });
  CudnnLstmCase lstm{
      ReadLstmCase(name, types, {{"persist-static", "persist-small-h", "persist-dynamic"}})};
  for (const auto algorithm :
       {RnnAlgorithm::kPersistStatic, RnnAlgorithm::kPersistDynamic, RnnAlgorithm::kPersistSmallH})
    if (workload::HasOption(name, Key(algorithm))) lstm.algorithm = algorithm;
  return lstm;
}

std::string_view StorageType(std::string_view type) { return RowOf(type).storage; }

RnnMath MathOf(std::string_view type) { return RowOf(type).math; }

void RequireRnnProblem(const LstmProblem& p) {
  if (p.passes == LstmPasses::kSummed)
    throw Unsupported("cuDNN concatenates the two passes of a bidirectional LSTM; it has no sum");
  if (p.p >= p.h)
    throw Unsupported(
        "a projection of {} values to {}: cuDNN needs a projection narrower than the cell (p below "
        "h)",
        p.h, p.p);
}

void RequireRnnUnit(std::string_view type, int compute_capability) {
  const int least = RowOf(type).least_capability;
  if (compute_capability < least)
    throw Unsupported("{} needs compute capability {}.{}, this GPU has {}.{}", type, least / 10,
                      least % 10, compute_capability / 10, compute_capability % 10);
}

void RequireRnnType(std::string_view type, std::size_t cudnn_version) {
  const auto least = RowOf(type).least_version;
  if (cudnn_version < least)
    throw Unsupported("LSTMs in {} need cuDNN {} or newer, this is {}", type,
                      workload::VersionText(least), workload::VersionText(cudnn_version));
}

std::string RnnPipe(std::string_view type) { return std::string(RowOf(type).pipe); }

double GpuLstmTolerance(const CudnnLstmCase& lstm) {
  const auto terms = static_cast<double>(lstm.problem.t * lstm.problem.n);
  return RowOf(lstm.type).tolerance * std::sqrt(std::max(1.0, terms / 2048));
}

std::string DescribeRnn(const CudnnLstmCase& lstm, int64_t workspace_bytes, int64_t reserve_bytes) {
  std::string text(Key(lstm.algorithm));
  text += MathOf(lstm.type) == RnnMath::kFma
              ? ", no tensor cores"
              : ", tensor cores allowed and expected where FLOPs are not counted";
  text += fmt::format(", workspace {} B", workspace_bytes);
  if (reserve_bytes > 0) text += fmt::format(", reserve {} B", reserve_bytes);
  return text;
}

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

namespace {
[[maybe_unused]] const bool cudnn_case_registered = workload::RegisterBackend(
    {"LSTM", "gpu", "cudnn", workload::CheckedWorkload(ReadCudnnLstmCase), "the CUDA module"});
}  // namespace
}  // namespace dlroof::lstm
