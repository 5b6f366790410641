// Compares the output of a call with a reference, for every operator: which elements are compared,
// and the verdict. An operator says how far an element is from its reference, in units of the error
// that it allows, without any library, so that tests can insert errors.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/workload/workload.h"

namespace dlroof::workload {

// The reference of an output that consists of `units` of `size` elements each, such as single
// elements (size 1) or rows. The reference of a unit is computed at once.
struct OutputReference {
  int64_t units = 0;  // [1]
  int64_t size = 1;   // [1] elements of a unit
  double flops = 0;   // [flop] of the reference of all units
  // [flop] of the reference of one unit, if units are not alike; absent: flops / units
  std::optional<double> unit_flops{};
  // Returns the largest error of a unit's elements, each divided by its allowed error. `output` has
  // the unit's elements. NaN and infinity count as errors.
  std::function<double(int64_t unit, std::span<const double> output)> error;
  // Returns at most `count` distinct units in ascending order. Absent: the first, the last, and
  // others by the seed.
  std::function<std::vector<int64_t>(int64_t count, uint64_t seed)> sample{};
};

// Compares `output` with the reference: all elements if the reference costs up to 50 MFLOP,
// otherwise a sample of 64 to 512 units (fewer than 512 if they are expensive, so that the sample
// takes about 0.1 s). Every element must be finite. The tolerance is 1. Throws std::logic_error if
// the number of elements is wrong.
template <class Number>  // float or double
Verification CheckOutput(const OutputReference& reference, const std::vector<Number>& output,
                         uint64_t seed);

// Returns |output - value| / allowed, and the largest double for NaN, infinity, and any error where
// none is allowed.
double ErrorInUnits(double output, double value, double allowed);

// How numbers of a floating-point type are rounded.
struct TypeRounding {
  double sum = 0;     // [1] a unit of rounding error within sums, as a share of their magnitude
  double result = 0;  // [1] relative error of rounding a result to the type
  double least = 0;   // [1] absolute rounding error of the type's smallest numbers
};
// Returns the rounding of "f64 f32 bf16 f16 e4m3", or nothing for another type. Narrow types are
// summed as f32.
std::optional<TypeRounding> RoundingOf(std::string_view type);

}  // namespace dlroof::workload
