// benchdnn's driver rnn: parses its problems ("l2t50mb32sic512dhc512"), maps them to benchmarks,
// and writes the command line of a benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchdnn/options.h"
#include "bench/lstm/case.h"

namespace dlroof::lstm {

extern const benchdnn::BenchdnnDriver kRnnDriver;

struct BenchdnnRnn {
  int64_t layers = 1, steps = 1, samples = 2;
  int64_t state = 0;   // sic: channels of the initial hidden state
  int64_t input = 0;   // slc: channels of a layer's input
  int64_t hidden = 0;  // dhc: hidden units
  int64_t output = 0;  // dic: channels of the final hidden state
};

// Parses a problem. The defaults are 1 layer, 1 step and 2 samples; input and hidden default to
// state, and output to hidden. Throws BenchdnnRefusal for an unknown key, a number above 2^31-1, or
// a missing size.
BenchdnnRnn ReadBenchdnnRnn(std::string_view text);

// The consecutive layers [first, first + layers) that one oneDNN primitive computes.
struct LstmStage {
  int64_t first, layers;

  bool operator==(const LstmStage&) const = default;
};
// Returns the layers of each oneDNN primitive that a problem needs. In one primitive all layers
// have the same input width, and the two passes are combined only after the last layer, unlike in
// cuDNN and PyTorch. So other problems need several primitives, one after the other.
std::vector<LstmStage> LstmStages(const LstmProblem& problem);

// Returns "--rnn --mode=P ... l1t16mb16sic64slc32dhc64dic64" in the syntax of oneDNN 3.2; only the
// problem contains default values. `type` is one of LstmTypes(). The line has
// --trivial-strides=true, because by default benchdnn pads rows of sources and states by one
// element. Returns nothing for calls that benchdnn lacks: several primitives, plain weights, bf16
// with a projection.
std::optional<std::string> LstmBenchdnn(const LstmCase& lstm, std::string_view type);

}  // namespace dlroof::lstm
