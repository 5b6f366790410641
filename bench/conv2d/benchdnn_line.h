// benchdnn's command line for a convolution of ours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/conv2d/problem.h"

namespace dlroof {

// benchdnn's arguments that time the same call, without what is its default: "--conv --mode=P
// --dir=FWD_I mb16ic64ih56iw56oc64oh56ow56kh3kw3ph1pw1". Empty where benchdnn has no such call:
// bias without training forward (its FWD_I has no bias), any type or option that it does not know
// (f64 on the CPU, a cache state), a fused ReLU or scales backward, scales of other than 8-bit
// types.
std::string ConvBenchdnn(const Conv2dProblem& problem, Conv2dDirection direction,
                         std::string_view type, const std::vector<std::string>& options);

}  // namespace dlroof
