// The loops of an LSTM as oneDNN's matrix kernels run them, for the bytes at each cache level.
#pragma once

#include <string_view>

#include "bench/lstm/case.h"
#include "counters/caches/level_model.h"

namespace dlroof::lstm {

// `implementation` is the library's name for what it chose; modelled is "brgemm", forward: any
// other gives no nests and the reason.
//
// Assumed, of oneDNN 3.2: each time step reads all weights of a layer once, by blocks of two
// vectors of hidden units and by gates, with its input and its state against each block; the
// weights of one block and gate are read once per block of samples that registers hold. Where input
// and state are equally wide their weights are one panel, else two; with one sample the input's
// product is made for all steps at once. An output of the states' type is the next step's state.
// Layers, and passes, run one after another.
caches::LevelModel LstmLevels(const LstmProblem& problem, LstmDirection direction,
                              const LstmElementBytes& bytes, std::string_view implementation,
                              std::string_view isa);

}  // namespace dlroof::lstm
