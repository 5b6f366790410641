// Elements of GPU operands as bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ceilings/gpu_kernels/rows.h"

namespace dlroof::gpu_kernels {

using GpuBytes = std::vector<std::byte>;

// kKnown: results are exact in every order of additions. kRandom: operands of timed runs, with as
// much switching as the type has. Zeros would take less power and clock higher.
enum class GpuOperandKind { kKnown, kRandom };

int ElementBytes(GpuElement element);
// Writes ElementBytes(element) at `to`, rounded to the type. tf32 is stored as fp32.
void WriteElement(GpuElement element, double value, std::byte* to);
double ReadElement(GpuElement element, const std::byte* from);

// The element's accumulators: int32 for int8, fp64 for fp64, else fp32.
int SumBytes(GpuElement element);
void WriteSum(GpuElement element, double value, std::byte* to);
double ReadSum(GpuElement element, const std::byte* from);

// The `index`-th operand: a whole number of -2 to 2, or random over the type's range ([-1, 1) where
// it is a floating-point type).
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

}  // namespace dlroof::gpu_kernels
