#include "ceilings/gpu_known/families.h"

namespace dlroof {
namespace {

constexpr int kWarp = 32;
constexpr std::uint64_t kB = 1ULL << 32, kC = 2ULL << 32;  // where B's and C's values begin

// Registers of fragments, PTX ISA 9.0, "Matrix Fragments for mma": a register holds `elements` that
// follow each other along k; lane = 4 * group + thread in group.
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
  int b, a, c;  // registers of a thread

  int RowOfA(int reg, int lane) const { return lane / 4 + 8 * (reg % (m / 8)); }
  int KOfA(int reg, int lane) const { return KOfB(reg / (m / 8), lane); }
  int KOfB(int reg, int lane) const { return reg * 4 * elements + lane % 4 * elements; }
  static int ColumnOfB(int lane) { return lane / 4; }
  static int RowOfC(int reg, int lane) { return lane / 4 + 8 * (reg / 2); }
  static int ColumnOfC(int reg, int lane) { return lane % 4 * 2 + reg % 2; }
};

// Where an element's value is drawn: each warp has its own A, each chain its own B and C.
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

void WriteRegistersOfA(const Values& values, int thread, int threads, GpuBytes& operands) {
  const auto& of = values.of;
  const int lane = thread % kWarp, bytes = ElementBytes(values.element);
  for (int reg = 0; reg < of.a; ++reg)
    for (int e = 0; e < of.elements; ++e)
      WriteElement(
          values.element, values.A(thread / kWarp, of.RowOfA(reg, lane), of.KOfA(reg, lane) + e),
          operands.data() + (static_cast<std::size_t>(reg) * threads + thread) * of.register_bytes +
              static_cast<std::size_t>(e) * bytes);
}

void WriteRegistersOfB(const Values& values, int chain, int thread, int threads,
                       GpuBytes& operands) {
  const auto& of = values.of;
  const int lane = thread % kWarp, bytes = ElementBytes(values.element);
  for (int reg = 0; reg < of.b; ++reg)
    for (int e = 0; e < of.elements; ++e)
      WriteElement(
          values.element,
          values.B(thread / kWarp, chain, of.KOfB(reg, lane) + e, Fragments::ColumnOfB(lane)),
          operands.data() +
              (static_cast<std::size_t>(of.a + chain * of.b + reg) * threads + thread) *
                  of.register_bytes +
              static_cast<std::size_t>(e) * bytes);
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
    WriteRegistersOfA(values, thread, shape.threads, operands);
    for (int chain = 0; chain < values.chains; ++chain) {
      WriteRegistersOfB(values, chain, thread, shape.threads, operands);
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

}  // namespace dlroof
