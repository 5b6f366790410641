// Multiply-adds that a convolution's kernel executes in vector lanes which the shape leaves idle.
#pragma once

#include <optional>
#include <string_view>

#include "bench/conv2d/case.h"

namespace dlroof {

// [1] >= 1: executed over asked for. `implementation`: the library's name for what it chose
// ("brgconv:avx512_core"); `isa`: what it may use. Absent for implementations that are not jit,
// brgconv or their relatives.
//
// Assumed, of oneDNN 3.2: a vector holds channels of the result (of the destination; of the source
// for bwd_data), whose last vector runs with all lanes; depthwise kernels' vectors hold groups. jit
// kernels also sum over whole vectors of the channels that they read, unless there are fewer than
// one vector of them.
std::optional<double> ExecutedOverUseful(const Conv2dCase& conv, std::string_view implementation,
                                         std::string_view isa);

}  // namespace dlroof
