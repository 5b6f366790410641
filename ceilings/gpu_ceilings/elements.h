// Conversion between numbers and the bytes of GPU operands and results. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ceilings/gpu_ceilings/rows.h"

namespace dlroof::gpu_ceilings {

using GpuBytes = std::vector<std::byte>;

// kKnown operands give results that are exact in every order of additions. kRandom operands, for
// timed runs, vary in all bits of the type: zeros would use less power and allow a higher clock.
enum class GpuOperandKind { kKnown, kRandom };

int ElementBytes(GpuElement element);
// Rounds the value to the type and writes ElementBytes(element) bytes. tf32 is stored as fp32.
void WriteElement(GpuElement element, double value, std::byte* to);
double ReadElement(GpuElement element, const std::byte* from);

// As above, for accumulators of operands of this type: int32 for int8, fp64 for fp64, else fp32.
int SumBytes(GpuElement element);
void WriteSum(GpuElement element, double value, std::byte* to);
double ReadSum(GpuElement element, const std::byte* from);

// Returns the value of operand `index`: if known, a whole number from -2 to 2; if random, any int8
// value or, in a floating-point type, a value in [-1, 1).
double OperandValue(GpuElement element, GpuOperandKind kind, std::uint64_t index);

template <class T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void Store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace dlroof::gpu_ceilings
