// An LSTM benchmark as benchdnn's arguments: the other program that times the same call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/lstm/problem.h"

namespace dlroof {

// Consecutive layers [first, first + layers) that one oneDNN primitive computes.
struct LstmStage {
  int64_t first, layers;

  bool operator==(const LstmStage&) const = default;
};
// oneDNN's stacks need the same input width in every layer, and their two passes meet only after
// the last layer, unlike in cuDNN and PyTorch: what it cannot do in one primitive becomes several,
// one after the other.
std::vector<LstmStage> LstmStages(const LstmProblem& problem);

// "--rnn --mode=P ... l1t16mb16sic64slc32dhc64dic64" in the grammar of oneDNN 3.2, defaults left
// out but for the descriptor; `type` is one of LstmTypes(). benchdnn by default spaces the rows of
// sources and states by one element, so the line asks for none of that. Empty where benchdnn cannot
// express the call: several primitives, plain weights, bf16 with a projection.
std::string LstmBenchdnn(const LstmRequest& request, std::string_view type);

}  // namespace dlroof
