// The shape of a convolution of images.
#pragma once

#include <cstdint>

namespace dlroof::delta {

// Cross-correlation of n images (c x h x w) with k filters (c/groups x r x s). Tensors are, in
// plain order, source n c h w; weights k c/groups r s; destination n k P Q. All sizes in elements.
struct ConvShape {
  int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  int64_t dilation_h = 1, dilation_w = 1;  // 1 = dense
  int64_t groups = 1;

  bool operator==(const ConvShape&) const = default;
};
int64_t OutputRows(const ConvShape& shape);     // P
int64_t OutputColumns(const ConvShape& shape);  // Q

}  // namespace dlroof::delta
