#include <vector>

#include "ceilings/gpu_known/families.h"

namespace dlroof {
namespace {

constexpr int kCoreRows = 8, kCoreBytes = 16;
constexpr int kRegisters = 128;  // accumulators of a thread: 64 x 256 over 128 threads
constexpr std::uint64_t kBeginOfB = 1ULL << 32;

double ValueOf(const GpuRow& row, GpuOperandKind kind, bool b, int tile, int line, int k) {
  const auto rows = b ? row.instruction.n : row.instruction.m;
  const auto index = (static_cast<std::uint64_t>(tile) * rows + line) * row.instruction.k + k;
  return OperandValue(row.element, kind, (b ? kBeginOfB : 0) + index);
}

// Core matrices along k first: of 8 rows both, then of the next 8 rows.
std::size_t PlaceOf(int line, int byte) {
  const int core = line / kCoreRows * (kWgmmaTileBytes / kCoreBytes) + byte / kCoreBytes;
  return (static_cast<std::size_t>(core) * kCoreRows + line % kCoreRows) * kCoreBytes +
         byte % kCoreBytes;
}

// Adds a tile's products to each of m x n sums.
void AddProducts(const GpuRow& row, int tile, std::vector<double>& products) {
  const auto& each = row.instruction;
  std::vector<double> a, b;
  for (int i = 0; i < each.m * each.k; ++i)
    a.push_back(ValueOf(row, GpuOperandKind::kKnown, false, tile, i / each.k, i % each.k));
  for (int i = 0; i < each.n * each.k; ++i)
    b.push_back(ValueOf(row, GpuOperandKind::kKnown, true, tile, i / each.k, i % each.k));
  for (int i = 0; i < each.m; ++i)
    for (int j = 0; j < each.n; ++j)
      for (int k = 0; k < each.k; ++k)
        products[i * each.n + j] += a[i * each.k + k] * b[j * each.k + k];
}

}  // namespace

GpuBytes WgmmaOperands(const GpuRow& row, GpuOperandKind kind) {
  const auto& each = row.instruction;
  const int bytes = ElementBytes(row.element);
  const auto tile_bytes = static_cast<std::size_t>(each.m + each.n) * kWgmmaTileBytes;
  GpuBytes operands(kWgmmaTiles * tile_bytes);
  for (int tile = 0; tile < kWgmmaTiles; ++tile)
    for (const bool b : {false, true}) {
      auto* base = operands.data() + tile * tile_bytes + (b ? each.m * kWgmmaTileBytes : 0);
      for (int line = 0; line < (b ? each.n : each.m); ++line)
        for (int k = 0; k < each.k; ++k)
          WriteElement(row.element, ValueOf(row, kind, b, tile, line, k),
                       base + PlaceOf(line, k * bytes));
    }
  return operands;
}

GpuBytes WgmmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  const auto& each = row.instruction;
  std::vector<double> products(static_cast<std::size_t>(each.m * each.n));
  for (int tile = 0; tile < kWgmmaTiles; ++tile) AddProducts(row, tile, products);
  const auto rounds = iterations * each.unroll / kWgmmaTiles;  // over all tiles, whole ones
  const auto times = static_cast<double>(rounds);
  GpuBytes results(static_cast<std::size_t>(kRegisters) * shape.threads * SumBytes(row.element));
  for (int reg = 0; reg < kRegisters; ++reg)
    for (int thread = 0; thread < shape.threads; ++thread) {
      const int warp = thread % 128 / 32, lane = thread % 32;
      const int i = 16 * warp + lane / 4 + 8 * (reg / 2 % 2);
      const int j = reg / 4 * 8 + lane % 4 * 2 + reg % 2;
      WriteSum(row.element, times * products[i * each.n + j],
               results.data() + (static_cast<std::size_t>(reg) * shape.threads + thread) *
                                    SumBytes(row.element));
    }
  return results;
}

}  // namespace dlroof
