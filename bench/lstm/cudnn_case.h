// The parts of LSTM/gpu/cudnn that need no CUDA, so that names parse alike in every build: parsed
// names, arguments of cuDNN's RNN interface, and the order of its weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/lstm/case.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

// cuDNN's RNN algorithms, with the values of cudnnRNNAlgo_t. The persistent ones keep the recurrent
// weights in registers and on-chip memory.
enum class RnnAlgorithm { kStandard, kPersistStatic, kPersistDynamic, kPersistSmallH };
std::string_view Key(RnnAlgorithm algorithm);  // "standard", "persist-static", ...

// Math modes for multiplications (cudnnMathType_t).
enum class RnnMath {
  kFma,         // f32 without tensor cores
  kDefault,     // f32, with TF32 on GPUs whose tensor cores support it
  kTensorCores  // f16, bf16
};

struct CudnnLstmCase : LstmCase {
  RnnAlgorithm algorithm = RnnAlgorithm::kStandard;

  bool operator==(const CudnnLstmCase&) const = default;
};

// Parses a name. Types: f32 (without tensor cores), tf32, f16, bf16; all tensors have one type,
// sums are in f32. Options: persist-static, persist-small-h or persist-dynamic. Throws BadInput
// with the column, counted from the start of the full benchmark name.
CudnnLstmCase ReadCudnnLstmCase(const workload::BenchmarkName& name);

// Returns the type in which tensors are stored: "f32" for tf32, otherwise the type itself.
std::string_view StorageType(std::string_view type);

RnnMath MathOf(std::string_view type);

// Throws Unsupported for LSTMs that no version of cuDNN has: "bisum", and projections that are not
// narrower than the cell.
void RequireRnnProblem(const LstmProblem& problem);

// Throws Unsupported if a GPU of this compute capability (90 means 9.0) has no units for the type:
// cuDNN would silently compute in another type. tf32 and bf16 need 8.0, f16 needs 7.0.
void RequireRnnUnit(std::string_view type, int compute_capability);

// Throws Unsupported if this cuDNN (91300: 9.13.0) has no LSTM of the type. bf16 needs 9.13.
void RequireRnnType(std::string_view type, std::size_t cudnn_version);

// Returns the pipe that the matrix part is expected to use; cuDNN does not report it for RNNs.
std::string RnnPipe(std::string_view type);

// Returns the allowed error, divided by the tensor's largest value [1]:
// - f32: 3e-5. Each of some tens of consecutive operations has an error of 2^-24, exponentials a
//   few times more. The sum is less than one rounding to tf32 (2^-11).
// - tf32: 5e-3. Both factors of each product are truncated to 2^-10.
// - f16, bf16: 0.02, 0.05. Gates, gradients and each stored hidden state, which the next step and
//   layer read, are rounded by 2^-11 (f16) or 2^-8 (bf16) of their size.
// These grow like sqrt(t*n) from t*n = 2048 on, because weight gradients are sums of t*n terms. A
// wrong gate, weight or step causes an error of some tenths.
double GpuLstmTolerance(const CudnnLstmCase& lstm);

// Returns e.g. "standard, no tensor cores, workspace 0 B" or "persist-static, tensor cores allowed
// and expected where FLOPs are not counted, workspace 4096 B, reserve 65536 B", for run files.
std::string DescribeRnn(const CudnnLstmCase& lstm, int64_t workspace_bytes, int64_t reserve_bytes);

// How cuDNN's RNN interface arranges the weights (cuDNN itself reports the offsets).
//
// cuDNN numbers the matrices of a "pseudo-layer" (layer x passes + pass): 0 to 3 read the layer's
// input, 4 to 7 the hidden state, each in dlroof's order of gates (input, forget, candidate,
// output); 8 is the projection. A matrix has a row per result and a column per channel: the
// transpose of dlroof's. Matrices 0 to 7 have a bias each. A gate adds two biases, so each is half
// of dlroof's bias, and the gradient of each equals that of dlroof's bias.

// One matrix of cuDNN's weight space and its bias.
struct RnnPart {
  int64_t layer = 0, pass = 0;
  int64_t pseudo_layer = 0;
  int linear = 0;                 // cuDNN's matrix number, 0 to 8
  int64_t rows = 0, columns = 0;  // number of results; number of channels read

  bool IsProjection() const { return linear == 8; }
  bool HasBias() const { return linear < 8; }
  bool operator==(const RnnPart&) const = default;
};

// Returns the matrices, ordered by pseudo-layer and number.
std::vector<RnnPart> RnnParts(const LstmProblem& problem);

// Return cuDNN's matrix [row][column] of a part, and its bias: half of dlroof's bias.
std::vector<float> MatrixOf(const RnnPart& part, const LstmInput<float>& input);
std::vector<float> HalfBiasOf(const RnnPart& part, const LstmInput<float>& input);

// Returns zero gradients of weights and biases in dlroof's shapes; the other tensors are empty.
LstmInput<float> ZeroWeights(const LstmProblem& problem);
// PutMatrix copies the gradient of a part's matrix into `gradients`. AddHalfBias adds half of its
// bias gradient: the result is the mean of a gate's two biases, so that an error of either shows.
void PutMatrix(const RnnPart& part, const std::vector<float>& matrix, LstmInput<float>& gradients);
void AddHalfBias(const RnnPart& part, const std::vector<float>& bias, LstmInput<float>& gradients);

}  // namespace dlroof::lstm
