// Choices for the placement of records on their roofs.
#pragma once

#include <vector>

#include "counters/work.h"
#include "reporters/roofline/op_words.h"

namespace dlroof {

struct PlaceView {
  std::vector<Level> levels;    // whose bytes count; empty: all that are known
  bool tensor_balance = false;  // judge all FLOPs by the best matrix ceiling, as the time-based
                                // roofline paper's code does, whatever pipe executed them
  OpVocabulary words;           // of the file's ops; empty: those of this program
};

}  // namespace dlroof
