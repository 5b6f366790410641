#include "ceilings/gpu_known/known.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "ceilings/gpu_known/families.h"

namespace dlroof::gpu_kernels {
namespace {

bool IsSum(const GpuRow& row) { return row.unit == GpuUnit::kLoad || row.unit == GpuUnit::kShared; }

std::int64_t OneBlockBytes(const GpuRow& row, const GpuShape& shape) {
  if (row.unit == GpuUnit::kChain)
    return static_cast<std::int64_t>(row.instruction.chains) * shape.threads *
           ChainRegisterBytes(row.element);
  if (row.unit == GpuUnit::kMma) return MmaResultBytes(row, shape);
  return static_cast<std::int64_t>(row.instruction.m) * row.instruction.n *
         (shape.threads / row.instruction.threads) * SumBytes(row.element);
}

// The first byte of `results` that is not `expected`, which repeats; its size where there is none.
std::size_t FirstDifference(const GpuBytes& expected, const GpuBytes& results) {
  for (std::size_t at = 0; at < results.size(); at += expected.size()) {
    const auto begin = results.begin() + static_cast<std::ptrdiff_t>(at);
    const auto [here, there] = std::mismatch(expected.begin(), expected.end(), begin);
    if (here != expected.end()) return static_cast<std::size_t>(there - results.begin());
  }
  return results.size();
}

}  // namespace

GpuBytes OneBlock(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  if (row.unit == GpuUnit::kChain) return ChainResults(row, shape, iterations);
  if (row.unit == GpuUnit::kMma) return MmaResults(row, shape, iterations);
  return WgmmaResults(row, shape, iterations);
}

std::int64_t GpuOperandBytes(const GpuRow& row, const GpuShape& shape) {
  if (IsMemory(row)) return MemoryOperandBytes(row, shape);
  if (row.unit == GpuUnit::kGemm)
    return 2 * static_cast<std::int64_t>(shape.n) * shape.n * ElementBytes(row.element);
  if (row.unit == GpuUnit::kMma) return MmaOperandBytes(row, shape);
  if (row.unit == GpuUnit::kWgmma)
    return static_cast<std::int64_t>(kWgmmaTiles) * (row.instruction.m + row.instruction.n) *
           kWgmmaTileBytes;
  return static_cast<std::int64_t>(2 + row.instruction.chains) * shape.threads *
         ChainRegisterBytes(row.element);
}

std::int64_t GpuResultBytes(const GpuRow& row, const GpuShape& shape) {
  if (IsMemory(row)) return MemoryResultBytes(row, shape);
  if (row.unit == GpuUnit::kGemm)
    return static_cast<std::int64_t>(shape.n) * shape.n *
           (row.element == GpuElement::kInt8 ? 4 : ElementBytes(GemmResultElement(row.element)));
  return OneBlockBytes(row, shape) * shape.blocks;
}

GpuBytes GpuOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind) {
  if (IsMemory(row)) {
    if (kind == GpuOperandKind::kRandom)
      throw std::invalid_argument("a memory set that is timed is filled by the device");
    return MemoryOperands(row, shape);
  }
  if (row.unit == GpuUnit::kGemm) return GemmOperands(row, shape, kind);
  if (row.unit == GpuUnit::kMma) return MmaOperands(row, shape, kind);
  if (row.unit == GpuUnit::kWgmma) return WgmmaOperands(row, kind);
  return ChainOperands(row, shape);
}

std::string GpuDifference(const GpuRow& row, const GpuShape& shape, std::int64_t iterations,
                          const GpuBytes& results) {
  if (static_cast<std::int64_t>(results.size()) != GpuResultBytes(row, shape))
    throw std::invalid_argument(fmt::format("{} result bytes of {}, expected {}", results.size(),
                                            row.key, GpuResultBytes(row, shape)));
  if (row.unit == GpuUnit::kGemm) return GemmDifference(row, shape, results);
  if (IsSum(row)) return SumDifference(row, shape, iterations, results);
  const auto expected =
      IsMemory(row) ? MemoryResults(row, shape, iterations) : OneBlock(row, shape, iterations);
  const auto at = FirstDifference(expected, results);
  if (at == results.size()) return {};
  return fmt::format("byte {} of {} differs from what a plain loop leaves after {} iteration{}", at,
                     results.size(), iterations, iterations == 1 ? "" : "s");
}

}  // namespace dlroof::gpu_kernels
