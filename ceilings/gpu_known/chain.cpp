#include <cmath>

#include "ceilings/gpu_known/families.h"
#include "counters/base/small_floats.h"

namespace dlroof::gpu_kernels {
namespace {

constexpr int kFactor = 0, kAddend = 1, kFirstChain = 2;  // slots

// v * v + b with b in (-1.95, -1.8) is chaotic: a missing step shows however long ago it was, and
// operands keep switching. |v| never exceeds |b|; it would have to exceed (1 + sqrt(1 - 4 b)) / 2,
// 0.03 and more above, to leave for infinity: rounding, in bf16 by 0.004, cannot carry it there.
double ChainOperand(GpuElement element, int slot, std::uint64_t index) {
  const double random = OperandValue(element, GpuOperandKind::kRandom, index);
  if (element == GpuElement::kInt8) return random;
  return slot == kAddend ? -1.8 - 0.15 * std::abs(random) : 1.4 * random;
}

// v * v + b with one rounding.
double Step(GpuElement element, double v, double b) {
  if (element == GpuElement::kFp64) return std::fma(v, v, b);
  if (element == GpuElement::kFp32)
    return std::fma(static_cast<float>(v), static_cast<float>(v), static_cast<float>(b));
  // The sum is exact in a double, or so close to b that it rounds to b.
  return RoundTo(v * v + b, element == GpuElement::kFp16 ? kFp16Format : kBf16Format);
}

std::uint32_t DotStep(std::uint32_t v, std::uint32_t a, std::uint32_t b) {
  for (int byte = 0; byte < 32; byte += 8)
    v += static_cast<std::uint32_t>(static_cast<std::int8_t>(a >> byte) *
                                    static_cast<std::int8_t>(b >> byte));
  return v;
}

void AdvanceLanes(const GpuRow& row, std::int64_t steps, const std::byte* b, const std::byte* start,
                  std::byte* to) {
  const int bytes = ElementBytes(row.element);
  for (int lane = 0; lane < row.instruction.n; ++lane) {
    const auto at = lane * bytes;
    double v = ReadElement(row.element, start + at);
    const double addend = ReadElement(row.element, b + at);
    for (std::int64_t i = 0; i < steps; ++i) v = Step(row.element, v, addend);
    WriteElement(row.element, v, to + at);
  }
}

}  // namespace

int ChainRegisterBytes(GpuElement element) { return element == GpuElement::kFp64 ? 8 : 4; }

GpuBytes ChainOperands(const GpuRow& row, const GpuShape& shape) {
  const int bytes = ElementBytes(row.element);
  const int lanes = ChainRegisterBytes(row.element) / bytes;
  const int slots = kFirstChain + row.instruction.chains;
  GpuBytes operands(static_cast<std::size_t>(slots) * shape.threads * lanes * bytes);
  std::size_t index = 0;
  for (int slot = 0; slot < slots; ++slot)
    for (int i = 0; i < shape.threads * lanes; ++i, ++index) {
      const double value = ChainOperand(row.element, slot, index);
      WriteElement(row.element, value, operands.data() + index * bytes);
    }
  return operands;
}

GpuBytes ChainResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  const auto operands = ChainOperands(row, shape);
  const std::size_t bytes = ChainRegisterBytes(row.element);
  const auto at = [&](int slot, int thread) {
    return operands.data() + (static_cast<std::size_t>(slot) * shape.threads + thread) * bytes;
  };
  GpuBytes results(bytes * row.instruction.chains * shape.threads);
  const auto steps = iterations * row.instruction.unroll;
  for (int chain = 0; chain < row.instruction.chains; ++chain)
    for (int thread = 0; thread < shape.threads; ++thread) {
      auto* to =
          results.data() + (static_cast<std::size_t>(chain) * shape.threads + thread) * bytes;
      const auto *a = at(kFactor, thread), *b = at(kAddend, thread);
      const auto* start = at(kFirstChain + chain, thread);
      if (row.element != GpuElement::kInt8) {
        AdvanceLanes(row, steps, b, start, to);
        continue;
      }
      auto v = Load<std::uint32_t>(start);
      for (std::int64_t i = 0; i < steps; ++i)
        v = DotStep(v, Load<std::uint32_t>(a), Load<std::uint32_t>(b));
      Store(v, to);
    }
  return results;
}

}  // namespace dlroof::gpu_kernels
