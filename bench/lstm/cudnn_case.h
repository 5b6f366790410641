// LSTM/gpu/cudnn without CUDA, so that names parse in the same way in every build: the parsed name,
// the arguments of cuDNN's RNN interface as plain numbers, and the arrangement of its weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/lstm/case.h"
#include "bench/workload/benchmark_name.h"

namespace dlroof::lstm {

// cuDNN's RNN algorithms, with its values (cudnnRNNAlgo_t). The persistent ones hold the weights of
// the hidden states in registers and on-chip memory.
enum class RnnAlgorithm { kStandard, kPersistStatic, kPersistDynamic, kPersistSmallH };
std::string_view Key(RnnAlgorithm algorithm);  // "standard", "persist-static", ...

// The units that may multiply (cudnnMathType_t).
enum class RnnMath {
  kFma,         // f32 without tensor cores
  kDefault,     // f32 with TF32 on GPUs that have tensor cores for it
  kTensorCores  // f16, bf16
};

struct CudnnLstmCase {
  LstmDirection direction = LstmDirection::kForwardInference;
  LstmProblem problem;
  std::string type = "f32";
  RnnAlgorithm algorithm = RnnAlgorithm::kStandard;

  bool operator==(const CudnnLstmCase&) const = default;
};

// Types: f32 (without tensor cores), tf32, f16, bf16. All tensors have one type, sums are in f32.
// Options: persist-static, persist-small-h or persist-dynamic. Throws BadInput with the column in
// the whole name.
CudnnLstmCase ReadCudnnLstmCase(const workload::BenchmarkName& name);

// Returns the type in which tensors are stored: "f32" for tf32, otherwise the type itself.
std::string_view StorageType(std::string_view type);
// All tensors, including gradients, are stored in that type.
LstmElementBytes GpuElementBytes(std::string_view type);

// The arguments of cudnnSetRNNDescriptor_v8.
struct RnnSpec {
  RnnAlgorithm algorithm = RnnAlgorithm::kStandard;
  RnnMath math = RnnMath::kFma;
  std::string data_type;  // sums are f32
  bool bidirectional = false;
  int input = 1, hidden = 1;
  int projection = 1;  // width of the hidden state, equal to `hidden` without a projection
  int layers = 1;

  bool operator==(const RnnSpec&) const = default;
};
// Throws Unsupported for what no version of cuDNN supports: two passes that are added, and a
// projection that is not narrower than the cell.
RnnSpec RnnSpecOf(const CudnnLstmCase& lstm);

// Throws Unsupported if a GPU of this compute capability (90 for 9.0) has no unit for the type;
// cuDNN would silently compute in another type. tf32 and bf16 need 8.0, f16 needs 7.0.
void RequireRnnUnit(std::string_view type, int compute_capability);

// Throws Unsupported if this version of cuDNN (91300 for 9.13.0) has no LSTMs in the type. bf16
// needs 9.13.
void RequireRnnType(std::string_view type, std::size_t cudnn_version);

// Returns the expected pipe of the matrix part. cuDNN does not report what its RNN kernels use.
std::string RnnPipe(std::string_view type);

// Returns the allowed error, relative to the largest value of its tensor [1].
//   f32        2^-24 per operation, with some tens of operations in a row through a gate, and
//              exponentials that lose a few more units; less than one rounding to tf32 (2^-11)
//   tf32       both factors of each product are truncated to 2^-10
//   f16, bf16  each stored hidden state, which the next step and layer read, loses 2^-11 or 2^-8 of
//              its size, and so do gates and gradients
// A wrong gate, weight or step causes an error of tenths. Weight gradients are sums over t*n, so
// their rounding errors grow like its square root.
double GpuLstmTolerance(const CudnnLstmCase& lstm);

// Returns "standard, no tensor cores, workspace 0 B", or "persist-static, tensor cores allowed and
// expected where FLOPs are not counted, workspace 4096 B, reserve 65536 B".
std::string DescribeRnn(const RnnSpec& spec, int64_t workspace_bytes, int64_t reserve_bytes);

// How cuDNN's RNN interface arranges our weight tensors (it reports the offsets itself).
//
// cuDNN numbers the matrices of a "pseudo-layer" (layer x passes + pass): 0 to 3 read the layer's
// input, 4 to 7 the hidden state, each four in the order of our gates (input, forget, candidate,
// output), and 8 is the projection. A matrix has a row per result and a column per channel that it
// reads; ours are transposed. Each of the first eight has its own bias, and a gate gets the sum of
// two, so each holds half of our bias, and each has the gradient of our bias.

// One matrix and its bias.
struct RnnPart {
  int64_t layer = 0, pass = 0;
  int64_t pseudo_layer = 0;
  int linear = 0;                 // cuDNN's number, 0 to 8
  int64_t rows = 0, columns = 0;  // results; channels read

  bool IsProjection() const { return linear == 8; }
  bool HasBias() const { return linear < 8; }
  bool operator==(const RnnPart&) const = default;
};

// Returns the parts in the order of pseudo-layers and numbers.
std::vector<RnnPart> RnnParts(const LstmProblem& problem);

// Return a part's matrix [row][column], and its bias, which is half of ours.
std::vector<float> MatrixOf(const RnnPart& part, const LstmInput<float>& input);
std::vector<float> HalfBiasOf(const RnnPart& part, const LstmInput<float>& input);

// Returns zero gradients of weights and biases in our shapes. Other tensors have no elements.
LstmInput<float> ZeroWeights(const LstmProblem& problem);
// Copy a part's gradient to its place in ours. Each of the two biases of a gate contributes half,
// so that an error in either is detected.
void PutMatrix(const RnnPart& part, const std::vector<float>& matrix, LstmInput<float>& gradients);
void AddHalfBias(const RnnPart& part, const std::vector<float>& bias, LstmInput<float>& gradients);

}  // namespace dlroof::lstm
