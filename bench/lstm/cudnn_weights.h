// Where cuDNN's RNN interface keeps what our weight tensors hold. Pure: offsets are asked for
// elsewhere.
//
// cuDNN numbers the matrices of a "pseudo-layer" (layer x passes + pass): 0 to 3 read the layer's
// input, 4 to 7 the hidden state, each four in the order of our gates (input, forget, candidate,
// output); 8 is the projection. A matrix has a row per result and a column per channel that it
// reads, where ours has it the other way round. Each of the first eight has a bias of its own, of
// which a gate sees the sum: each holds half of ours, and each has the gradient of ours.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/lstm/inputs.h"

namespace dlroof::cudnn {

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

}  // namespace dlroof::cudnn
