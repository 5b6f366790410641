#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "ceilings/gpu_known/families.h"
#include "counters/base/small_floats.h"

namespace dlroof::gpu_kernels {
namespace {

// Values repeat after a prime: making 128 Mi of them takes no time, and no two rows are alike.
constexpr std::uint64_t kPeriod = 4099;
constexpr int kCompared = 256;

std::uint64_t Offset(bool b) { return b ? kPeriod : 0; }

double ValueOf(const GpuRow& row, GpuOperandKind kind, bool b, std::int64_t index) {
  return OperandValue(row.element, kind, Offset(b) + static_cast<std::uint64_t>(index) % kPeriod);
}

struct Place {
  std::int64_t row, column;
};

// The corners, then places all over.
std::vector<Place> ComparedPlaces(int n) {
  std::vector<Place> places = {{0, 0}, {0, n - 1}, {n - 1, 0}, {n - 1, n - 1}};
  for (std::uint64_t i = 0; places.size() < kCompared; ++i)
    places.push_back({RandomBits(2 * i) % static_cast<std::uint32_t>(n),
                      RandomBits(2 * i + 1) % static_cast<std::uint32_t>(n)});
  return places;
}

// A whole number below 2^24, rounded once to the type of the result.
double Expected(const GpuRow& row, int n, Place place) {
  double sum = 0;
  for (std::int64_t k = 0; k < n; ++k)
    sum += ValueOf(row, GpuOperandKind::kKnown, false, place.row * n + k) *
           ValueOf(row, GpuOperandKind::kKnown, true, place.column * n + k);
  const auto element = GemmResultElement(row.element);
  if (element == GpuElement::kFp16) return RoundTo(sum, kFp16Format);
  return element == GpuElement::kBf16 ? RoundTo(sum, kBf16Format) : sum;
}

int ResultBytes(const GpuRow& row) {
  return row.element == GpuElement::kInt8 ? SumBytes(row.element)
                                          : ElementBytes(GemmResultElement(row.element));
}

std::size_t At(const GpuRow& row, int n, Place place) {
  return static_cast<std::size_t>((place.column * n + place.row) * ResultBytes(row));
}

double Read(const GpuRow& row, const std::byte* from) {
  return row.element == GpuElement::kInt8 ? ReadSum(row.element, from)
                                          : ReadElement(GemmResultElement(row.element), from);
}

}  // namespace

GpuElement GemmResultElement(GpuElement element) {
  return element == GpuElement::kFp8 ? GpuElement::kBf16 : element;
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
  GpuBytes results(static_cast<std::size_t>(shape.n) * shape.n * ResultBytes(row));
  for (const Place place : ComparedPlaces(shape.n)) {
    auto* to = results.data() + At(row, shape.n, place);
    const double expected = Expected(row, shape.n, place);
    if (row.element == GpuElement::kInt8)
      WriteSum(row.element, expected, to);
    else
      WriteElement(GemmResultElement(row.element), expected, to);
  }
  return results;
}

std::string GemmDifference(const GpuRow& row, const GpuShape& shape, const GpuBytes& results) {
  for (const Place place : ComparedPlaces(shape.n)) {
    const double got = Read(row, results.data() + At(row, shape.n, place));
    const double expected = Expected(row, shape.n, place);
    if (got != expected)
      return fmt::format("element ({}, {}) of the product is {}, a plain loop says {}", place.row,
                         place.column, got, expected);
  }
  return {};
}

}  // namespace dlroof::gpu_kernels
