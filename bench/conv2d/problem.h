// The conv2d problem: its shape, its text, and what it takes by closed form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlroof {

// Cross-correlation of n images (c x h x w) with k filters (c/groups x r x s). Tensors are, in
// plain order, source n c h w; weights k c/groups r s; destination n k P Q. All sizes in elements.
struct Conv2dProblem {
  int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  int64_t dilation_h = 1, dilation_w = 1;  // 1 = dense
  int64_t groups = 1;

  bool operator==(const Conv2dProblem&) const = default;
};

int64_t OutputHeight(const Conv2dProblem& problem);  // P
int64_t OutputWidth(const Conv2dProblem& problem);   // Q

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

enum class Conv2dDirection { kForward, kBackwardData, kBackwardWeights };
std::string_view Key(Conv2dDirection direction);  // "fwd", "bwd_data", "bwd_weights"
std::optional<Conv2dDirection> Conv2dDirectionFromKey(std::string_view key);

// [flop] 2 N K P Q (C/groups) R S in every direction: taps on the padding count.
int64_t DenseFlops(const Conv2dProblem& problem);

// [1] products that one element of a direction's result sums at most.
int64_t TapsPerOutput(const Conv2dProblem& problem, Conv2dDirection direction);

}  // namespace dlroof
