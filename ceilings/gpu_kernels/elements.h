// Elements of GPU operands and results as bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ceilings/gpu_kernels/rows.h"

namespace dlroof::gpu_kernels {

using GpuBytes = std::vector<std::byte>;

// kKnown operands give results that are exact in every order of additions. kRandom operands, for
// timed runs, switch all bits of the type: zeros would take less power and allow a higher clock.
enum class GpuOperandKind { kKnown, kRandom };

int ElementBytes(GpuElement element);
// Writes the value, rounded to the type, as ElementBytes(element) bytes. tf32 is stored as fp32.
void WriteElement(GpuElement element, double value, std::byte* to);
double ReadElement(GpuElement element, const std::byte* from);

// The same for accumulators: int32 for int8, fp64 for fp64, fp32 for all other elements.
int SumBytes(GpuElement element);
void WriteSum(GpuElement element, double value, std::byte* to);
double ReadSum(GpuElement element, const std::byte* from);

// Returns operand `index`: a known one is a whole number from -2 to 2, a random one any value of
// int8 or of [-1, 1) in a floating-point type.
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
