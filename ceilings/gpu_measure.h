// Measures what a GPU can do.
#pragma once

#include <functional>
#include <string>

namespace dlroof {

struct GpuMeasureOptions {
  int device = 0;         // CUDA's number
  bool quick = false;     // fewer repetitions, one pass
  bool thorough = false;  // more of them, and every pipe for 10 s on end
  std::function<void(const std::string& row)> progress;  // may be empty
};

}  // namespace dlroof
