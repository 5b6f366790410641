// A convolution of images as the GEMM that an implicit-GEMM kernel on a GPU computes, and the
// address of each element of its three matrices, for the model (model.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "counters/base/work.h"

namespace dlroof::delta {

// Cross-correlation of n images (c x h x w) with k filters (c/groups x r x s), sizes in elements.
// Dimensions: source n c h w; weights k c/groups r s; destination n k P Q.
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
// Return multiply-adds [1], the same in every direction. MultiplyAdds counts useful work only, taps
// inside the image (filter_axis.h). DenseMultiplyAdds, n k P Q (c/groups) r s, also counts products
// with padding, which implicit-GEMM kernels compute; the published DeLTA model starts from it. The
// models of this module count a kernel's tiles instead.
int64_t MultiplyAdds(const ConvShape& shape);
int64_t DenseMultiplyAdds(const ConvShape& shape);

// Integer division rounded down (Floor) or up (Ceil), for any `a` and for b > 0.
constexpr int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0); }
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return -FloorDiv(-a, b); }

enum class TensorLayout { kNchw, kNhwc };  // the weights are KCRS or KRSC

struct ConvLayer {
  ConvShape shape;
  ProductDirection direction = ProductDirection::kForward;
  TensorLayout layout = TensorLayout::kNchw;
  int64_t element_bytes = 4;                 // [byte] 1 to 8, of the tensors that the GEMM reads
  std::optional<int64_t> result_bytes = {};  // [byte] 1 to 8, of the written tensor if different
};
// Returns the size [byte] of a written element.
int64_t ResultBytes(const ConvLayer& layer);

// One digit of a matrix index in mixed radix. The digit has `count` values; each step adds (dy, dx)
// to the position in the image plane and `bytes` to the address.
struct Digit {
  int64_t count = 1, dy = 0, dx = 0, bytes = 0;
};

// Rows or columns of a matrix: index = (d0 * count1 + d1) * count2 + d2 for the digits' values d.
struct Axis {
  std::array<Digit, 3> digits;
  int64_t y = 0, x = 0;  // position of index 0
};
int64_t Size(const Axis& axis);

// The addresses of an axis repeat after `indices` indices with an offset of `bytes` [byte].
struct Period {
  int64_t indices = 1, bytes = 0;
};
std::optional<Period> PeriodOf(const Axis& axis);  // nullopt if they do not repeat

// A matrix in memory. Element (i, j) has the image position (y, x) = rows(i) + columns(j). It is
// padding if y or x is negative, not a multiple of the step, or at or above the limit after the
// division by the step.
struct Operand {
  Axis rows, columns;
  int64_t step_h = 1, step_w = 1;           // divisors of y and x
  int64_t limit_h = 1, limit_w = 1;         // exclusive limits of y and x after the division
  int64_t line_bytes = 0, pixel_bytes = 0;  // [byte] address offset per y and per x
  int64_t group_bytes = 0;                  // [byte] between the matrices of two groups
  bool lanes_along_columns = false;         // the lanes of a warp read along a row of the matrix
  bool gathered = false;         // the position of an element is a pixel plus a filter tap
  bool taps_along_rows = false;  // if `gathered`: rows are taps, columns are pixels
};

// C (m x n) = A (m x k) * B (n x k) transposed, `groups` times. The mappings are CUTLASS's:
//   forward           m = n P Q   n = K/g       k = C/g R S   A input (gathered)  B weights
//   backward data     m = n H W   n = C/g       k = K/g R S   A dOutput (gathered) B weights
//   backward weights  m = K/g     n = C/g R S   k = n P Q     A dOutput   B input (gathered)
// In NHWC the channel is the fastest digit of k and n, in NCHW the filter tap is. Strided backward
// data visits all R S taps; taps without an output are predicated off like padding.
struct ConvGemm {
  int64_t m = 1, n = 1, k = 1, groups = 1;
  Operand a, b;
  Operand c;  // rows m, columns n
};
// Returns the GEMM of a layer. Throws BadInput for sizes that are not positive, groups that do not
// divide the channels, a filter larger than the padded image, or element sizes outside 1 to 8.
ConvGemm GemmOf(const ConvLayer& layer);

}  // namespace dlroof::delta
