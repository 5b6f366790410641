// The reference loops of Conv2D, also the benchmark Conv2D/cpu/reference.
#pragma once

#include <cstdint>

#include "bench/conv2d/case.h"
#include "bench/workload/products.h"

namespace dlroof::conv2d {

// Returns row-major arrays with the inputs in them. The source (or its gradient) includes its
// padding (n c h+top+bottom w+left+right), so that the loops execute DenseFlops(p) operations.
workload::ProductArrays<double> FilledArrays(const Conv2dCase& conv,
                                             const workload::ProductInputs& inputs);

// Calls visit(index without padding, index with padding) for each source element.
template <class Visit>
void ForEachSource(const Conv2dProblem& p, Visit visit) {
  const int64_t height = p.h + p.pad_top + p.pad_bottom;
  const int64_t width = p.w + p.pad_left + p.pad_right;
  int64_t plain = 0;
  for (int64_t image = 0; image < p.n * p.c; ++image)
    for (int64_t y = 0; y < p.h; ++y)
      for (int64_t x = 0; x < p.w; ++x)
        visit(plain++, (image * height + y + p.pad_top) * width + x + p.pad_left);
}

// Computes the array that the direction writes (bwd_data: the padded source) from the others.
void RunConv2dReference(const Conv2dProblem& p, ProductDirection direction,
                        workload::ProductArrays<double>& arrays);

// Returns the correct results for workload::CheckOutput (ResultOf of the equal volume).
inline workload::ProductResult ResultOf(const Conv2dCase& conv,
                                        const workload::ProductInputs& inputs) {
  return ResultOf(VolumeOf(conv.problem), conv.direction, inputs, 2);
}

}  // namespace dlroof::conv2d
