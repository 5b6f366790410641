// benchdnn's driver rnn: its problems ("l2t50mb32sic512dhc512"), the benchmarks that they are, and
// the command line of a benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchdnn/options.h"
#include "bench/lstm/case.h"

namespace dlroof::lstm {

extern const benchdnn::BenchdnnDriver kRnnDriver;

struct BenchdnnRnn {
  int64_t layers = 1, steps = 1, samples = 2;
  int64_t state = 0;   // sic: channels of the hidden state that goes in
  int64_t input = 0;   // slc: channels of a layer's input
  int64_t hidden = 0;  // dhc
  int64_t output = 0;  // dic: channels of the hidden state that comes out
};

// Reads a problem. Left out means: 1 layer, 1 step, 2 samples; input and hidden as state, output as
// hidden. Throws BenchdnnRefusal: a letter that is none, a number above 2^31-1, a size that is
// missing.
BenchdnnRnn ReadBenchdnnRnn(std::string_view text);

std::string ToText(const BenchdnnRnn& problem);

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
std::string LstmBenchdnn(const LstmCase& lstm, std::string_view type);

}  // namespace dlroof::lstm
