// Whether a conv2d result is right: compared element by element with sums in double of the same
// inputs. No library here, so that a planted error can be tested.
#pragma once

#include <string_view>
#include <vector>

#include "bench/conv2d_reference.h"
#include "bench/workload.h"

namespace dlroof {

// Seeded inputs of a direction, exact in the type ("f64" is given f32 values). Zero mean, except
// int8: u8 from 0 to 127 and s8 from -63 to 63, narrowed from below so that most outputs are
// positive; products of two neighbours fit 16 bits, where implementations without VNNI add them.
Conv2dInputs SeededConv2dInputs(const Conv2dProblem& problem, Conv2dDirection direction,
                                std::string_view type, uint64_t seed);

// The int8 destination is round(sum / scale), saturated to u8. A power of two, so that dividing
// rounds nothing, near a fifth of the sums' spread, so that few outputs saturate.
float Int8DestinationScale(const Conv2dProblem& problem);

// Compares `output` (plain order, as f32 or wider) with reference sums of `inputs`. All elements of
// a problem up to 50 MFLOP; else a seeded sample of 64 to 512 (fewer where one sum is long) with
// every corner and a share of border elements. Besides, every element must be finite.
// An element's allowed error (the unit of max_error; tolerance is 1) is by type:
//   f64        2^-53 x 64 x the sum of absolute products
//   f32        2^-24 x 64 x the sum of absolute products
//   bf16, f16  as f32, plus the rounding of the result: 2^-8, 2^-11 of it
//   int8       one unit of the destination
Verification CheckConv2d(const Conv2dProblem& problem, Conv2dDirection direction,
                         std::string_view type, const Conv2dInputs& inputs,
                         const std::vector<float>& output, uint64_t seed);
Verification CheckConv2d(const Conv2dProblem& problem, Conv2dDirection direction,
                         std::string_view type, const Conv2dInputs& inputs,
                         const std::vector<double>& output, uint64_t seed);

}  // namespace dlroof
