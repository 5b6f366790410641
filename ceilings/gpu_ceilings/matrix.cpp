// Operands and expected results of mma.sync (matrix instructions of a warp) and wgmma.
#include <vector>

#include "ceilings/gpu_ceilings/known.h"

namespace dlroof::gpu_ceilings {
namespace {

constexpr int kWarp = 32;
constexpr std::uint64_t kB = 1ULL << 32, kC = 2ULL << 32;  // first OperandValue index of B, C

// Layout of a thread's registers (PTX ISA 9.0, "Matrix Fragments for mma"): a register contains
// `elements` consecutive elements along k; lane = 4 * group + thread in group.
struct Fragments {
  explicit Fragments(const GpuRow& row)
      : m(row.instruction.m),
        n(row.instruction.n),
        k(row.instruction.k),
        register_bytes(row.element == GpuElement::kFp64 ? 8 : 4),
        elements(register_bytes / ElementBytes(row.element)),
        b(k / (4 * elements)),
        a(b * m / 8),
        c(m / 8 * 2) {}

  int m, n, k, register_bytes, elements;
  int b, a, c;  // a thread's registers for B, A and C

  int RowOfA(int reg, int lane) const { return lane / 4 + 8 * (reg % (m / 8)); }
  int KOfA(int reg, int lane) const { return KOfB(reg / (m / 8), lane); }
  int KOfB(int reg, int lane) const { return reg * 4 * elements + lane % 4 * elements; }
  static int ColumnOfB(int lane) { return lane / 4; }
  static int RowOfC(int reg, int lane) { return lane / 4 + 8 * (reg / 2); }
  static int ColumnOfC(int reg, int lane) { return lane % 4 * 2 + reg % 2; }
};

// The element values of A (one per warp) and of B and C (one per chain of a warp).
struct Values {
  GpuElement element;
  GpuOperandKind kind;
  const Fragments& of;
  int chains;

  double A(int warp, int row, int k) const {
    return OperandValue(element, kind, (static_cast<std::uint64_t>(warp) * of.m + row) * of.k + k);
  }
  double B(int warp, int chain, int k, int column) const {
    return OperandValue(element, kind, kB + (Tile(warp, chain) * of.n + column) * of.k + k);
  }
  double C(int warp, int chain, int row, int column) const {
    return OperandValue(element, kind, kC + (Tile(warp, chain) * of.m + row) * of.n + column);
  }
  std::uint64_t Tile(int warp, int chain) const {
    return static_cast<std::uint64_t>(warp) * chains + chain;
  }
};

// Writes value(reg, element) to all elements of a thread's registers `first` to `first` +
// `registers` - 1.
template <class Value>
void WriteRegisters(const Values& values, int first, int registers, int thread, int threads,
                    const Value& value, GpuBytes& operands) {
  const auto& of = values.of;
  for (int reg = 0; reg < registers; ++reg) {
    auto* to = operands.data() +
               (static_cast<std::size_t>(first + reg) * threads + thread) * of.register_bytes;
    for (int e = 0; e < of.elements; ++e, to += ElementBytes(values.element))
      WriteElement(values.element, value(reg, e), to);
  }
}

// ---- wgmma ----

constexpr int kCoreRows = 8, kCoreBytes = 16;
constexpr int kRegisters = 128;  // accumulators of a thread: 64 x 256 over 128 threads
constexpr std::uint64_t kBeginOfB = 1ULL << 32;

double ValueOf(const GpuRow& row, GpuOperandKind kind, bool b, int tile, int line, int k) {
  const auto rows = b ? row.instruction.n : row.instruction.m;
  const auto index = (static_cast<std::uint64_t>(tile) * rows + line) * row.instruction.k + k;
  return OperandValue(row.element, kind, (b ? kBeginOfB : 0) + index);
}

// Returns the offset [byte] of byte `byte` of row `line` of a tile: first both core matrices along
// k of 8 rows, then those of the next 8 rows.
std::size_t PlaceOf(int line, int byte) {
  const int core = line / kCoreRows * (kWgmmaTileBytes / kCoreBytes) + byte / kCoreBytes;
  return (static_cast<std::size_t>(core) * kCoreRows + line % kCoreRows) * kCoreBytes +
         byte % kCoreBytes;
}

// Adds the product of the A and B tiles `tile` to the m x n sums.
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

std::int64_t MmaResultBytes(const GpuRow& row, const GpuShape& shape) {
  return static_cast<std::int64_t>(Fragments(row).c) * row.instruction.chains * shape.threads *
         SumBytes(row.element);
}

std::int64_t MmaOperandBytes(const GpuRow& row, const GpuShape& shape) {
  const Fragments of(row);
  return static_cast<std::int64_t>(of.a + row.instruction.chains * of.b) * shape.threads *
             of.register_bytes +
         MmaResultBytes(row, shape);
}

GpuBytes MmaOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind) {
  const Fragments of(row);
  const Values values{row.element, kind, of, row.instruction.chains};
  GpuBytes operands(static_cast<std::size_t>(MmaOperandBytes(row, shape)));
  auto* sums = operands.data() + operands.size() - MmaResultBytes(row, shape);
  for (int thread = 0; thread < shape.threads; ++thread) {
    const int lane = thread % kWarp, warp = thread / kWarp;
    const auto a = [&](int reg, int e) {
      return values.A(warp, of.RowOfA(reg, lane), of.KOfA(reg, lane) + e);
    };
    WriteRegisters(values, 0, of.a, thread, shape.threads, a, operands);
    for (int chain = 0; chain < values.chains; ++chain) {
      const auto b = [&](int reg, int e) {
        return values.B(warp, chain, of.KOfB(reg, lane) + e, Fragments::ColumnOfB(lane));
      };
      WriteRegisters(values, of.a + chain * of.b, of.b, thread, shape.threads, b, operands);
      for (int reg = 0; reg < of.c; ++reg)
        WriteSum(
            row.element,
            values.C(warp, chain, Fragments::RowOfC(reg, lane), Fragments::ColumnOfC(reg, lane)),
            sums + (static_cast<std::size_t>(chain * of.c + reg) * shape.threads + thread) *
                       SumBytes(row.element));
    }
  }
  return operands;
}

GpuBytes MmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  const Fragments of(row);
  const Values values{row.element, GpuOperandKind::kKnown, of, row.instruction.chains};
  GpuBytes results(static_cast<std::size_t>(MmaResultBytes(row, shape)));
  const double times = static_cast<double>(iterations * row.instruction.unroll);
  for (int thread = 0; thread < shape.threads; ++thread)
    for (int chain = 0; chain < values.chains; ++chain)
      for (int reg = 0; reg < of.c; ++reg) {
        const int lane = thread % kWarp, warp = thread / kWarp;
        const int i = Fragments::RowOfC(reg, lane), j = Fragments::ColumnOfC(reg, lane);
        double product = 0;
        for (int k = 0; k < of.k; ++k)
          product += values.A(warp, i, k) * values.B(warp, chain, k, j);
        const auto slot = static_cast<std::size_t>(chain) * of.c + reg;
        WriteSum(row.element, values.C(warp, chain, i, j) + times * product,
                 results.data() + (slot * shape.threads + thread) * SumBytes(row.element));
      }
  return results;
}

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
  const auto rounds = iterations * each.unroll / kWgmmaTiles;  // each multiplies every tile once
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

}  // namespace dlroof::gpu_ceilings
