// A model of the loops of oneDNN's LSTM kernels, for the bytes at each cache level.
#pragma once

#include <string_view>

#include "bench/lstm/case.h"
#include "counters/caches/level_model.h"

namespace dlroof::lstm {

// Returns a model of a call's loops. `implementation` is the library's name of its implementation.
// Covers "brgemm" in the forward directions. Other calls get a reason instead of loops.
//
// The model assumes of oneDNN 3.2: each time step reads all weights of a layer once, in blocks of
// one gate and two vectors of hidden units, and multiplies its input and its state by each block.
// The weights of a block are read once per group of samples whose sums fit the registers. If input
// and state have the same width, their weights form one panel, otherwise two. With one sample the
// input product is computed for all steps at once. If output and states have the same type, the
// output is the next step's state. Layers and passes run one after another.
caches::LevelModel LstmLevels(const LstmProblem& problem, LstmDirection direction,
                              const LstmElementBytes& bytes, std::string_view implementation,
                              std::string_view isa);

}  // namespace dlroof::lstm
