#include <fmt/format.h>

#include "ceilings/gpu_known/families.h"
#include "ceilings/gpu_known/known.h"
#include "counters/base/small_floats.h"

namespace dlroof::gpu_kernels {
namespace {

constexpr int kWord = 4;

float TriadOperand(std::uint32_t bits) { return static_cast<float>(bits >> 8) / 16777216.0F; }

std::uint32_t WordSum(const GpuBytes& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += kWord)
    sum += Load<std::uint32_t>(bytes.data() + i);
  return sum;
}

std::uint32_t ExpectedSum(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  const auto times = iterations * (row.level == Level::kL1 ? kL1VectorsPerThread : 1);
  return static_cast<std::uint32_t>(times) * WordSum(MemoryOperands(row, shape));
}

}  // namespace

std::int64_t MemoryOperandBytes(const GpuRow& row, const GpuShape& shape) {
  if (row.unit == GpuUnit::kStore) return 0;
  if (row.unit == GpuUnit::kCopy) return shape.set_bytes / 2;
  return row.unit == GpuUnit::kTriad ? shape.set_bytes / 3 * 2 : shape.set_bytes;
}

std::int64_t MemoryResultBytes(const GpuRow& row, const GpuShape& shape) {
  if (row.unit == GpuUnit::kStore) return shape.set_bytes;
  if (row.unit == GpuUnit::kCopy) return shape.set_bytes / 2;
  if (row.unit == GpuUnit::kTriad) return shape.set_bytes / 3;
  return static_cast<std::int64_t>(shape.blocks) * shape.threads * kWord;
}

GpuBytes MemoryOperands(const GpuRow& row, const GpuShape& shape) {
  GpuBytes operands(static_cast<std::size_t>(MemoryOperandBytes(row, shape)));
  for (std::size_t word = 0; word < operands.size() / kWord; ++word) {
    const std::uint32_t bits = RandomBits(word);
    auto* to = operands.data() + word * kWord;
    if (row.unit == GpuUnit::kTriad)
      Store(TriadOperand(bits), to);
    else
      Store(bits, to);
  }
  return operands;
}

GpuBytes MemoryResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  GpuBytes results(static_cast<std::size_t>(MemoryResultBytes(row, shape)));
  if (row.unit == GpuUnit::kLoad || row.unit == GpuUnit::kShared) {
    Store(ExpectedSum(row, shape, iterations), results.data());  // one thread's; the others' are 0
    return results;
  }
  if (row.unit == GpuUnit::kCopy) return MemoryOperands(row, shape);
  const auto operands = MemoryOperands(row, shape);
  for (std::size_t at = 0; at < results.size(); at += kWord) {
    if (row.unit == GpuUnit::kStore)  // each pass writes another value
      Store(kStoredFactor * static_cast<std::uint32_t>(iterations), results.data() + at);
    else  // the product is exact
      Store(Load<float>(operands.data() + at) +
                kTriadFactor * Load<float>(operands.data() + results.size() + at),
            results.data() + at);
  }
  return results;
}

std::string SumDifference(const GpuRow& row, const GpuShape& shape, std::int64_t iterations,
                          const GpuBytes& results) {
  const auto got = WordSum(results), expected = ExpectedSum(row, shape, iterations);
  if (got == expected) return {};
  return fmt::format(
      "the sum of what was read is {:#010x}, a plain loop says {:#010x}: not every byte was read, "
      "or one more than once",
      got, expected);
}

}  // namespace dlroof::gpu_kernels
