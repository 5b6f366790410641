// The loops of oneDNN's matrix kernels for an LSTM, for the bytes at each cache level.
#pragma once

#include <string_view>

#include "bench/lstm/case.h"
#include "counters/caches/level_model.h"

namespace dlroof::lstm {

// Returns the loops of a call. `implementation` is the library's name for its choice. The model
// covers "brgemm" in the forward directions. For anything else it has no nests, but a reason.
//
// The model assumes of oneDNN 3.2: each time step reads all weights of a layer once, in blocks of
// two vectors of hidden units and by gates, and multiplies its input and its state with each block.
// The weights of one block and gate are read once per block of samples that registers hold. If
// input and state are equally wide, their weights form one panel, otherwise two. With one sample,
// the product of the input is computed for all steps at once. An output of the states' type is the
// next step's state. Layers and passes run one after another.
caches::LevelModel LstmLevels(const LstmProblem& problem, LstmDirection direction,
                              const LstmElementBytes& bytes, std::string_view implementation,
                              std::string_view isa);

}  // namespace dlroof::lstm
