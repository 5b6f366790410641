#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "ceilings/gpu_ceilings/bench.h"
#include "counters/base/numbers.h"

namespace dlroof::gpu_ceilings {
namespace {

bool IsSum(const GpuRow& row) { return row.unit == GpuUnit::kLoad || row.unit == GpuUnit::kShared; }

// Returns the first index where `results` differs from repetitions of `expected`, or its size.
std::size_t FirstDifference(const GpuBytes& expected, const GpuBytes& results) {
  for (std::size_t at = 0; at < results.size(); at += expected.size()) {
    const auto begin = results.begin() + static_cast<std::ptrdiff_t>(at);
    const auto [here, there] = std::mismatch(expected.begin(), expected.end(), begin);
    if (here != expected.end()) return static_cast<std::size_t>(there - results.begin());
  }
  return results.size();
}

// Returns the offset [byte] of a thread's value in a slot (bench.h) with `bytes` per value.
std::size_t SlotOffset(int slot, int thread, const GpuShape& shape, int bytes) {
  return (static_cast<std::size_t>(slot) * shape.threads + thread) * bytes;
}

// Returns the offset [byte] of a thread's accumulator in a slot.
std::size_t SumOffset(const GpuRow& row, int slot, int thread, const GpuShape& shape) {
  return SlotOffset(slot, thread, shape, ElementBytes(SumElement(row.element)));
}

// ---- chains ----

int ChainRegisterBytes(GpuElement element) { return element == GpuElement::kFp64 ? 8 : 4; }

constexpr int kFactor = 0, kAddend = 1, kFirstChain = 2;  // slots of a chain's operands

// v = v * v + b with b in (-1.95, -1.8) is chaotic: a missing step changes all later values, and
// the operands keep changing. |v| stays below |b|. The chain would diverge only for |v| above 0.5 +
// sqrt(0.25 - b), which exceeds |b| + 0.03; rounding errors (0.004 in bf16) are smaller.
double ChainOperand(GpuElement element, int slot, std::uint64_t index) {
  const double random = OperandValue(element, GpuOperandKind::kRandom, index);
  if (element == GpuElement::kInt8) return random;
  return slot == kAddend ? -1.8 - 0.15 * std::abs(random) : 1.4 * random;
}

// Returns v * v + b with one rounding.
double Step(GpuElement element, double v, double b) {
  if (element == GpuElement::kFp64) return std::fma(v, v, b);
  if (element == GpuElement::kFp32)
    return std::fma(static_cast<float>(v), static_cast<float>(v), static_cast<float>(b));
  // A double contains the sum exactly, or so close to b that it rounds to b.
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
  const int bytes = ChainRegisterBytes(row.element);
  const auto at = [&](int slot, int thread) {
    return operands.data() + SlotOffset(slot, thread, shape, bytes);
  };
  GpuBytes results(SlotOffset(row.instruction.chains, 0, shape, bytes));
  const auto steps = iterations * row.instruction.unroll;
  for (int chain = 0; chain < row.instruction.chains; ++chain)
    for (int thread = 0; thread < shape.threads; ++thread) {
      auto* to = results.data() + SlotOffset(chain, thread, shape, bytes);
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

// ---- mma ----

constexpr int kWarp = 32;
constexpr std::uint64_t kB = 1ULL << 32, kC = 2ULL << 32;  // first OperandValue index of B, C

// Layout of a thread's registers (PTX ISA 9.0, "Matrix Fragments for mma"): a register contains
// `elements` consecutive elements along k. group = lane / 4 (PTX's groupID) selects the row of A
// and C and the column of B, lane % 4 the position in it.
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

// Element values of the matrices A (one matrix per warp), B and C (one per chain of a warp).
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

// Writes value(reg, element) to all elements of `registers` registers of a thread, from `first` on.
template <class Value>
void WriteRegisters(const Values& values, int first, int registers, int thread,
                    const GpuShape& shape, const Value& value, GpuBytes& operands) {
  const auto& of = values.of;
  for (int reg = 0; reg < registers; ++reg) {
    auto* to = operands.data() + SlotOffset(first + reg, thread, shape, of.register_bytes);
    for (int e = 0; e < of.elements; ++e, to += ElementBytes(values.element))
      WriteElement(values.element, value(reg, e), to);
  }
}

std::size_t MmaResultBytes(const GpuRow& row, const GpuShape& shape) {
  return SumOffset(row, Fragments(row).c * row.instruction.chains, 0, shape);
}

std::size_t MmaOperandBytes(const GpuRow& row, const GpuShape& shape) {
  const Fragments of(row);
  return SlotOffset(of.a + row.instruction.chains * of.b, 0, shape, of.register_bytes) +
         MmaResultBytes(row, shape);
}

GpuBytes MmaOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind) {
  const Fragments of(row);
  const Values values{row.element, kind, of, row.instruction.chains};
  GpuBytes operands(MmaOperandBytes(row, shape));
  auto* sums = operands.data() + operands.size() - MmaResultBytes(row, shape);
  for (int thread = 0; thread < shape.threads; ++thread) {
    const int lane = thread % kWarp, warp = thread / kWarp;
    const auto a = [&](int reg, int e) {
      return values.A(warp, of.RowOfA(reg, lane), of.KOfA(reg, lane) + e);
    };
    WriteRegisters(values, 0, of.a, thread, shape, a, operands);
    for (int chain = 0; chain < values.chains; ++chain) {
      const auto b = [&](int reg, int e) {
        return values.B(warp, chain, of.KOfB(reg, lane) + e, Fragments::ColumnOfB(lane));
      };
      WriteRegisters(values, of.a + chain * of.b, of.b, thread, shape, b, operands);
      for (int reg = 0; reg < of.c; ++reg)
        WriteElement(
            SumElement(row.element),
            values.C(warp, chain, Fragments::RowOfC(reg, lane), Fragments::ColumnOfC(reg, lane)),
            sums + SumOffset(row, chain * of.c + reg, thread, shape));
    }
  }
  return operands;
}

GpuBytes MmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  const Fragments of(row);
  const Values values{row.element, GpuOperandKind::kKnown, of, row.instruction.chains};
  GpuBytes results(MmaResultBytes(row, shape));
  const double times = static_cast<double>(iterations * row.instruction.unroll);
  for (int thread = 0; thread < shape.threads; ++thread)
    for (int chain = 0; chain < values.chains; ++chain)
      for (int reg = 0; reg < of.c; ++reg) {
        const int lane = thread % kWarp, warp = thread / kWarp;
        const int i = Fragments::RowOfC(reg, lane), j = Fragments::ColumnOfC(reg, lane);
        double product = 0;
        for (int k = 0; k < of.k; ++k)
          product += values.A(warp, i, k) * values.B(warp, chain, k, j);
        WriteElement(SumElement(row.element), values.C(warp, chain, i, j) + times * product,
                     results.data() + SumOffset(row, chain * of.c + reg, thread, shape));
      }
  return results;
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

// Returns the offset [byte] in a tile of byte `byte` of row `line`. A tile has the two core
// matrices (along k) of its first 8 rows, then those of the next 8 rows.
std::size_t PlaceOf(int line, int byte) {
  const int core = line / kCoreRows * (kWgmmaTileBytes / kCoreBytes) + byte / kCoreBytes;
  return (static_cast<std::size_t>(core) * kCoreRows + line % kCoreRows) * kCoreBytes +
         byte % kCoreBytes;
}

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
  const auto rounds = iterations * each.unroll / kWgmmaTiles;  // a round uses each tile once
  const auto times = static_cast<double>(rounds);
  GpuBytes results(SumOffset(row, kRegisters, 0, shape));
  for (int reg = 0; reg < kRegisters; ++reg)
    for (int thread = 0; thread < shape.threads; ++thread) {
      const int warp = thread % 128 / 32, lane = thread % 32;
      const int i = 16 * warp + lane / 4 + 8 * (reg / 2 % 2);
      const int j = reg / 4 * 8 + lane % 4 * 2 + reg % 2;
      WriteElement(SumElement(row.element), times * products[i * each.n + j],
                   results.data() + SumOffset(row, reg, thread, shape));
    }
  return results;
}

// ---- GEMM ----

// Operands repeat after this prime, so that copying fills 128 Mi values fast and all rows differ.
constexpr std::uint64_t kPeriod = 4099;
constexpr int kCompared = 256;

double ValueOf(const GpuRow& row, GpuOperandKind kind, bool b, std::int64_t index) {
  return OperandValue(row.element, kind,
                      (b ? kPeriod : 0) + static_cast<std::uint64_t>(index) % kPeriod);
}

GpuElement ResultElement(const GpuRow& row) {
  if (row.element == GpuElement::kInt8) return GpuElement::kInt32;
  return row.element == GpuElement::kFp8 ? GpuElement::kBf16 : row.element;
}

struct Place {
  std::int64_t row, column;
};

std::vector<Place> ComparedPlaces(int n) {
  std::vector<Place> places = {{0, 0}, {0, n - 1}, {n - 1, 0}, {n - 1, n - 1}};
  for (std::uint64_t i = 0; places.size() < kCompared; ++i)
    places.push_back({RandomBits(2 * i) % static_cast<std::uint32_t>(n),
                      RandomBits(2 * i + 1) % static_cast<std::uint32_t>(n)});
  return places;
}

// Returns the expected element: a whole number below 2^24, rounded once to the result's type.
double Expected(const GpuRow& row, int n, Place place) {
  double sum = 0;
  for (std::int64_t k = 0; k < n; ++k)
    sum += ValueOf(row, GpuOperandKind::kKnown, false, place.row * n + k) *
           ValueOf(row, GpuOperandKind::kKnown, true, place.column * n + k);
  const auto element = ResultElement(row);
  if (element == GpuElement::kFp16) return RoundTo(sum, kFp16Format);
  return element == GpuElement::kBf16 ? RoundTo(sum, kBf16Format) : sum;
}

std::size_t At(const GpuRow& row, int n, Place place) {
  return static_cast<std::size_t>((place.column * n + place.row) *
                                  ElementBytes(ResultElement(row)));
}

GpuBytes GemmOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind) {
  const auto bytes = static_cast<std::size_t>(ElementBytes(row.element));
  const std::size_t matrix = static_cast<std::size_t>(shape.n) * shape.n * bytes;
  GpuBytes operands(2 * matrix);
  for (const bool b : {false, true}) {
    auto* base = operands.data() + (b ? matrix : 0);
    std::size_t filled = std::min<std::size_t>(matrix, kPeriod * bytes);
    for (std::size_t i = 0; i < filled / bytes; ++i)
      WriteElement(row.element, ValueOf(row, kind, b, static_cast<std::int64_t>(i)),
                   base + i * bytes);
    for (; filled < matrix; filled += std::min(filled, matrix - filled))
      std::memcpy(base + filled, base, std::min(filled, matrix - filled));
  }
  return operands;
}

GpuBytes GemmResults(const GpuRow& row, const GpuShape& shape) {
  GpuBytes results(static_cast<std::size_t>(shape.n) * shape.n * ElementBytes(ResultElement(row)));
  for (const Place place : ComparedPlaces(shape.n))
    WriteElement(ResultElement(row), Expected(row, shape.n, place),
                 results.data() + At(row, shape.n, place));
  return results;
}

std::optional<Reason> GemmDifference(const GpuRow& row, const GpuShape& shape,
                                     const GpuBytes& results) {
  for (const Place place : ComparedPlaces(shape.n)) {
    const double got = ReadElement(ResultElement(row), results.data() + At(row, shape.n, place));
    const double expected = Expected(row, shape.n, place);
    if (got != expected)
      return Reason{fmt::format("element ({}, {}) of the product is {}, a plain loop gives {}",
                                place.row, place.column, got, expected)};
  }
  return std::nullopt;
}

// ---- memory ----

constexpr int kWord = 4;

float TriadOperand(std::uint32_t bits) { return static_cast<float>(bits >> 8) / 16777216.0F; }

std::uint32_t WordSum(const GpuBytes& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += kWord)
    sum += Load<std::uint32_t>(bytes.data() + i);
  return sum;
}

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

std::uint32_t ExpectedSum(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  const auto times = iterations * (row.level == Level::kL1 ? kL1VectorsPerThread : 1);
  return static_cast<std::uint32_t>(times) * WordSum(MemoryOperands(row, shape));
}

GpuBytes MemoryResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  GpuBytes results(static_cast<std::size_t>(MemoryResultBytes(row, shape)));
  if (IsSum(row)) {
    Store(ExpectedSum(row, shape, iterations), results.data());  // only the total is compared
    return results;
  }
  if (row.unit == GpuUnit::kCopy) return MemoryOperands(row, shape);
  const auto operands = MemoryOperands(row, shape);
  for (std::size_t at = 0; at < results.size(); at += kWord) {
    if (row.unit == GpuUnit::kStore)  // each pass writes a different value
      Store(kStoredFactor * static_cast<std::uint32_t>(iterations), results.data() + at);
    else  // the product is exact
      Store(Load<float>(operands.data() + at) +
                kTriadFactor * Load<float>(operands.data() + results.size() + at),
            results.data() + at);
  }
  return results;
}

std::optional<Reason> SumDifference(const GpuRow& row, const GpuShape& shape,
                                    std::int64_t iterations, const GpuBytes& results) {
  const auto got = WordSum(results), expected = ExpectedSum(row, shape, iterations);
  if (got == expected) return std::nullopt;
  return Reason{fmt::format(
      "the sum of the bytes read is {:#010x}, a plain loop gives {:#010x}: some byte was not read, "
      "or more than once",
      got, expected)};
}

std::size_t OneBlockBytes(const GpuRow& row, const GpuShape& shape) {
  if (row.unit == GpuUnit::kMma) return MmaResultBytes(row, shape);
  return row.unit == GpuUnit::kChain
             ? SlotOffset(row.instruction.chains, 0, shape, ChainRegisterBytes(row.element))
             : SumOffset(row, kRegisters, 0, shape);
}

GpuBytes OneBlock(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  if (row.unit == GpuUnit::kChain) return ChainResults(row, shape, iterations);
  if (row.unit == GpuUnit::kMma) return MmaResults(row, shape, iterations);
  return WgmmaResults(row, shape, iterations);
}

}  // namespace

std::int64_t GpuOperandBytes(const GpuRow& row, const GpuShape& shape) {
  if (IsMemory(row)) return MemoryOperandBytes(row, shape);
  if (row.unit == GpuUnit::kGemm)
    return 2 * static_cast<std::int64_t>(shape.n) * shape.n * ElementBytes(row.element);
  if (row.unit == GpuUnit::kMma) return static_cast<std::int64_t>(MmaOperandBytes(row, shape));
  if (row.unit == GpuUnit::kWgmma)
    return static_cast<std::int64_t>(kWgmmaTiles) * (row.instruction.m + row.instruction.n) *
           kWgmmaTileBytes;
  return static_cast<std::int64_t>(
      SlotOffset(kFirstChain + row.instruction.chains, 0, shape, ChainRegisterBytes(row.element)));
}

std::int64_t GpuResultBytes(const GpuRow& row, const GpuShape& shape) {
  if (IsMemory(row)) return MemoryResultBytes(row, shape);
  if (row.unit == GpuUnit::kGemm)
    return static_cast<std::int64_t>(shape.n) * shape.n * ElementBytes(ResultElement(row));
  return static_cast<std::int64_t>(OneBlockBytes(row, shape)) * shape.blocks;
}

GpuBytes GpuOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind) {
  if (IsMemory(row)) {
    if (kind == GpuOperandKind::kRandom)
      throw std::invalid_argument(
          "GpuOperands: the device writes the random operands of memory rows");
    return MemoryOperands(row, shape);
  }
  if (row.unit == GpuUnit::kGemm) return GemmOperands(row, shape, kind);
  if (row.unit == GpuUnit::kMma) return MmaOperands(row, shape, kind);
  if (row.unit == GpuUnit::kWgmma) return WgmmaOperands(row, kind);
  return ChainOperands(row, shape);
}

std::optional<Reason> GpuDifference(const GpuRow& row, const GpuShape& shape,
                                    std::int64_t iterations, const GpuBytes& results) {
  if (static_cast<std::int64_t>(results.size()) != GpuResultBytes(row, shape))
    throw std::invalid_argument(fmt::format("{} result bytes of {}, expected {}", results.size(),
                                            row.key, GpuResultBytes(row, shape)));
  if (row.unit == GpuUnit::kGemm) return GemmDifference(row, shape, results);
  if (IsSum(row)) return SumDifference(row, shape, iterations, results);
  const auto expected = ExpectedResults(row, shape, iterations);
  const auto at = FirstDifference(expected, results);
  if (at == results.size()) return std::nullopt;
  return Reason{fmt::format("byte {} of {} differs from a plain loop after {} iteration{}", at,
                            results.size(), iterations, iterations == 1 ? "" : "s")};
}

GpuBytes ExpectedResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations) {
  if (IsMemory(row)) return MemoryResults(row, shape, iterations);
  return row.unit == GpuUnit::kGemm ? GemmResults(row, shape) : OneBlock(row, shape, iterations);
}

}  // namespace dlroof::gpu_ceilings
