// Matrix products of the sizes that a convolution's kernel makes, for the part of its time that
// products so small cannot do without.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/conv2d/case.h"

namespace dlroof {

// `count` products of an m x k by a k x n matrix.
struct Conv2dProduct {
  int64_t m = 0, n = 0, k = 0;
  double count = 0;

  bool operator==(const Conv2dProduct&) const = default;
};

// Their multiply-adds are DenseFlops / 2. Empty for implementations whose products nobody knows.
//
// Assumed, of oneDNN 3.2: brgconv_strided makes a data gradient apart for each remainder of row and
// column by the stride; a product makes one row's columns of one remainder for 64 channels and sums
// over the filters and the taps that meet it. jit_1x1 makes a weight gradient as one product an
// image, over its positions.
std::vector<Conv2dProduct> ProductsInside(const Conv2dCase& conv, std::string_view implementation);

}  // namespace dlroof
