// A parsed name of LSTM/gpu/cudnn, the call that cuDNN's RNN interface makes of it, in plain
// numbers, and the places of its weights. No CUDA here: names parse the same way in every build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/lstm/case.h"
#include "bench/workload/benchmark_name.h"

namespace dlroof::lstm {

// cuDNN's ways through the time steps, with its values (cudnnRNNAlgo_t). The persistent ones keep
// the weights of the states in registers and on chip.
enum class RnnAlgorithm { kStandard, kPersistStatic, kPersistDynamic, kPersistSmallH };
std::string_view Key(RnnAlgorithm algorithm);  // "standard", "persist-static", ...

// Units that may multiply (cudnnMathType_t).
enum class RnnMath {
  kFma,         // f32: no tensor cores
  kDefault,     // f32: TF32 where there are tensor cores for it
  kTensorCores  // f16, bf16
};

struct CudnnLstmCase {
  LstmDirection direction = LstmDirection::kForwardInference;
  LstmProblem problem;
  std::string type = "f32";
  RnnAlgorithm algorithm = RnnAlgorithm::kStandard;

  bool operator==(const CudnnLstmCase&) const = default;
};

// Types f32 (no tensor cores), tf32, f16, bf16, all tensors in one; sums in f32. Options:
// persist-static, persist-small-h or persist-dynamic. Throws BadInput with the column within the
// whole name.
CudnnLstmCase ReadCudnnLstmCase(const workload::BenchmarkName& name);

// Returns the type in which tensors are stored: "f32" for tf32, else the type itself.
std::string_view StorageType(std::string_view type);
// Every tensor, gradients too, in that type.
LstmElementBytes GpuElementBytes(std::string_view type);

// cudnnSetRNNDescriptor_v8's arguments.
struct RnnSpec {
  RnnAlgorithm algorithm = RnnAlgorithm::kStandard;
  RnnMath math = RnnMath::kFma;
  std::string data_type;  // sums are f32
  bool bidirectional = false;
  int input = 1, hidden = 1;
  int projection = 1;  // width of the hidden state: `hidden` where there is none
  int layers = 1;

  bool operator==(const RnnSpec&) const = default;
};
// Throws Unsupported for what no cuDNN has: two passes that are added, a projection that is not
// narrower than the cell.
RnnSpec RnnSpecOf(const CudnnLstmCase& lstm);

// Throws Unsupported when a GPU of this compute capability (90 for 9.0) has no unit for the type;
// cuDNN would compute in another one without saying so. tf32 and bf16: 8.0; f16: 7.0.
void RequireRnnUnit(std::string_view type, int compute_capability);

// Throws Unsupported when this version of cuDNN (91300 for 9.13.0) has no LSTMs in the type. bf16:
// 9.13.
void RequireRnnType(std::string_view type, std::size_t cudnn_version);

// The pipe that the matrix part is expected on; cuDNN does not say what its RNN kernels use.
std::string RnnPipe(std::string_view type);

// [1] What an error relative to the largest value of its tensor may be.
//   f32        2^-24 per operation, some tens of them in a row through a gate, and exponentials
//              that lose a few units more; below what one rounding to tf32 (2^-11) leaves
//   tf32       both factors of each product cut off to 2^-10
//   f16, bf16  each hidden state is stored with 2^-11 or 2^-8 of its size lost and read by the next
//              step and layer, gates and gradients likewise
// A wrong gate, weight or step is off by tenths. Weight gradients are sums over t*n: their rounding
// errors grow like its square root.
double GpuLstmTolerance(const CudnnLstmCase& lstm);

// "standard, no tensor cores, workspace 0 B", "persist-static, tensor cores allowed and expected
// where FLOPs are not counted, workspace 4096 B, reserve 65536 B".
std::string DescribeRnn(const RnnSpec& spec, int64_t workspace_bytes, int64_t reserve_bytes);

// Where cuDNN's RNN interface keeps what our weight tensors hold; offsets are asked for elsewhere.
//
// cuDNN numbers the matrices of a "pseudo-layer" (layer x passes + pass): 0 to 3 read the layer's
// input, 4 to 7 the hidden state, each four in the order of our gates (input, forget, candidate,
// output); 8 is the projection. A matrix has a row per result and a column per channel that it
// reads, where ours has it the other way round. Each of the first eight has a bias of its own, of
// which a gate sees the sum: each holds half of ours, and each has the gradient of ours.

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

// In order of pseudo-layer and number.
std::vector<RnnPart> RnnParts(const LstmProblem& problem);

// [row][column] of a part's matrix; its bias, half of ours.
std::vector<float> MatrixOf(const RnnPart& part, const LstmInput<float>& input);
std::vector<float> HalfBiasOf(const RnnPart& part, const LstmInput<float>& input);

// Zero gradients of weights and biases, in our shapes; other tensors stay empty.
LstmInput<float> ZeroWeights(const LstmProblem& problem);
// Puts a part's gradient where ours has it. Each of the two biases of a gate gives half, so that an
// error in either shows.
void PutMatrix(const RnnPart& part, const std::vector<float>& matrix, LstmInput<float>& gradients);
void AddHalfBias(const RnnPart& part, const std::vector<float>& bias, LstmInput<float>& gradients);

}  // namespace dlroof::lstm
