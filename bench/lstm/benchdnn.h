// benchdnn's driver rnn: reads its problems ("l2t50mb32sic512dhc512"), maps them to benchmarks, and
// writes the command line of a benchmark.
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
  int64_t state = 0;   // sic, channels of the initial hidden state
  int64_t input = 0;   // slc, channels of a layer's input
  int64_t hidden = 0;  // dhc
  int64_t output = 0;  // dic, channels of the final hidden state
};

// Reads a problem. The defaults are 1 layer, 1 step and 2 samples; input and hidden default to
// state, and output to hidden. Throws BenchdnnRefusal for an unknown letter, a number above 2^31-1,
// or a missing size.
BenchdnnRnn ReadBenchdnnRnn(std::string_view text);

std::string ToText(const BenchdnnRnn& problem);

// Consecutive layers [first, first + layers) that one oneDNN primitive computes.
struct LstmStage {
  int64_t first, layers;

  bool operator==(const LstmStage&) const = default;
};
// Returns the primitives of a problem, which run one after the other. One oneDNN primitive needs
// the same input width in all its layers, and combines the two passes only after its last layer,
// unlike cuDNN and PyTorch. Other problems need several primitives.
std::vector<LstmStage> LstmStages(const LstmProblem& problem);

// Returns "--rnn --mode=P ... l1t16mb16sic64slc32dhc64dic64" in the syntax of oneDNN 3.2, with
// defaults only in the problem. `type` is one of LstmTypes(). The line has --trivial-strides=true,
// because benchdnn by default pads the rows of sources and states by one element. Returns nothing
// if benchdnn cannot express the call: several primitives, plain weights, bf16 with a projection.
std::optional<std::string> LstmBenchdnn(const LstmCase& lstm, std::string_view type);

}  // namespace dlroof::lstm
