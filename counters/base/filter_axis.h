// Which products of a convolution are useful work: one definition for benchmarks, logs, traces and
// models. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace dlroof {

// One dimension of a convolution [elements]. Output o multiplies tap t by the source's element
// o * stride + t * dilation - pad_begin, where an element outside the source is padding.
//
// A backward pass has the same pairs of an output and a tap. A deconvolution has them with the
// roles exchanged: `source` is the size of its result, `outputs` that of its source.
struct FilterAxis {
  int64_t source = 1;
  int64_t outputs = 1;
  int64_t taps = 1;
  int64_t stride = 1, dilation = 1;  // at least 1; a dilation of 1 is dense
  int64_t pad_begin = 0;             // before the first element; negative: the source is cut there
};

// [1] Returns the number of pairs of an output and a tap whose element is inside the source, in
// logarithmic time. (outputs - 1) * stride, (taps - 1) * dilation and outputs * taps must be below
// 2^62.
int64_t PairsInside(const FilterAxis& axis);

// [1] Returns the number of pairs of an output and a tap that are useful work: those inside the
// source in every dimension, as oneDNN's benchdnn counts (prb_t::count_ops). With n images, k
// filters and c channels in g groups, a convolution has n * k * c / g times as many useful
// multiply-adds, in every direction, whatever its strides, padding and dilation.
double UsefulPairs(std::span<const FilterAxis> axes);

}  // namespace dlroof
