// The same convolution made small: for the time that a kernel takes where no tensor is far.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/conv2d/case.h"

namespace dlroof {

// A problem with the filter, strides, padding and dilation of `conv`, with its width and fewer
// rows, channels, filters, groups and images, whose tensors together have at most `bytes`. Rows
// are halved down to 3 of the result, channels and filters of a group down to 64, or 32 where that
// is not enough, whichever leaves fewer bytes; then as many images follow as fit, of those that
// there are. Absent where nothing so small is left. A problem that fits is its own.
std::optional<Conv2dProblem> NearProblem(const Conv2dCase& conv, double bytes);

// [1] Multiply-adds whose source is no padding.
double InsideMultiplyAdds(const Conv2dProblem& problem);

}  // namespace dlroof
