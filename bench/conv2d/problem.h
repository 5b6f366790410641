// The conv2d problem: its shape, its text, and what it takes by closed form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "counters/delta/conv_shape.h"
#include "counters/direction.h"

namespace dlroof::conv2d {

using Conv2dProblem = delta::ConvShape;

// [1] elements of each tensor, without padding.
int64_t SourceCount(const Conv2dProblem& problem);
int64_t WeightsCount(const Conv2dProblem& problem);
int64_t DestinationCount(const Conv2dProblem& problem);

// "n16c64h112w112k64r3s3_s2p0:1x0:1"; what has its default is left out (design.md section 3).
std::string ToText(const Conv2dProblem& problem);

// The inverse of ToText; one problem has one text. Throws BadInput with the column (from 1, plus
// `column_offset`) of the first bad character for anything else, and with the reason, at the
// problem's first column, for a shape that cannot be: a filter larger than the padded image,
// channels or filters that the groups do not divide, counts, bytes or FLOPs beyond 64 bits.
Conv2dProblem ParseConv2d(std::string_view text, int column_offset = 0);

// [flop] 2 N K P Q (C/groups) R S in every direction: taps on the padding count.
int64_t DenseFlops(const Conv2dProblem& problem);

// [1] products that one element of a direction's result sums at most.
int64_t TapsPerOutput(const Conv2dProblem& problem, ProductDirection direction);

}  // namespace dlroof::conv2d
