#include "bench/workload/device_elements.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "bench/workload/seeded_values.h"
#include "counters/base/small_floats.h"

namespace dlroof::workload {
namespace {

constexpr uint32_t kF16Sign = 0x8000U, kF16Infinity = 0x7c00U, kF16Nan = 0x7e00U;

template <class Element, class Convert>
std::vector<std::byte> Bytes(const std::vector<float>& values, Convert convert) {
  std::vector<std::byte> bytes(values.size() * sizeof(Element));
  for (size_t i = 0; i < values.size(); ++i) {
    const Element element = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(Element), &element, sizeof(Element));
  }
  return bytes;
}

template <class Element, class Convert>
std::vector<float> Values(const std::vector<std::byte>& bytes, Convert convert) {
  if (bytes.size() % sizeof(Element) != 0)
    throw std::logic_error(
        fmt::format("{} bytes are no elements of {}", bytes.size(), sizeof(Element)));
  std::vector<float> values(bytes.size() / sizeof(Element));
  for (size_t i = 0; i < values.size(); ++i) {
    Element element{};
    std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));
    values[i] = convert(element);
  }
  return values;
}

template <class Integer>
Integer Nearest(float value) {
  return static_cast<Integer>(std::nearbyint(value));
}

template <class Number>
float Widened(Number value) {
  return static_cast<float>(value);
}

float Same(float value) { return value; }

// Null functions: no device of ours stores the type.
struct ElementRow {
  std::string_view type;
  int64_t bytes;
  std::vector<std::byte> (*encode)(const std::vector<float>& values) = nullptr;
  std::vector<float> (*decode)(const std::vector<std::byte>& bytes) = nullptr;
};

template <class Element, auto kNarrow, auto kWiden>
constexpr ElementRow Stored(std::string_view type) {
  return {type, sizeof(Element),
          [](const std::vector<float>& values) { return Bytes<Element>(values, kNarrow); },
          [](const std::vector<std::byte>& bytes) { return Values<Element>(bytes, kWiden); }};
}

constexpr std::array<ElementRow, 8> kElements = {
    {{"f64", 8},
     Stored<float, Same, Same>("f32"),
     Stored<uint16_t, F16Bits, FromF16Bits>("f16"),
     Stored<uint16_t, Bf16Bits, FromBf16Bits>("bf16"),
     Stored<uint8_t, E4m3Bits, FromE4m3Bits>("e4m3"),
     Stored<int32_t, Nearest<int32_t>, Widened<int32_t>>("s32"),
     Stored<int8_t, Nearest<int8_t>, Widened<int8_t>>("s8"),
     Stored<uint8_t, Nearest<uint8_t>, Widened<uint8_t>>("u8")}};

const ElementRow& RowOf(std::string_view type) {
  for (const ElementRow& row : kElements)
    if (row.type == type) return row;
  throw std::logic_error(fmt::format("no element type {}", type));
}

// visit(position in plain order, position in memory) of every element.
template <class Visit>
void ForEachElement(const std::array<int64_t, 4>& d, const std::array<int64_t, 4>& strides,
                    Visit visit) {
  size_t plain = 0;
  for (int64_t a = 0; a < d[0]; ++a)
    for (int64_t b = 0; b < d[1]; ++b)
      for (int64_t c = 0; c < d[2]; ++c) {
        const int64_t row = a * strides[0] + b * strides[1] + c * strides[2];
        for (int64_t e = 0; e < d[3]; ++e)
          visit(plain++, static_cast<size_t>(row + e * strides[3]));
      }
}

void RequireCount(size_t count, const std::array<int64_t, 4>& d) {
  if (count != static_cast<size_t>(d[0] * d[1] * d[2] * d[3]))
    throw std::logic_error(
        fmt::format("{} values for {} x {} x {} x {}", count, d[0], d[1], d[2], d[3]));
}

}  // namespace

uint16_t F16Bits(float value) {
  const uint32_t sign = std::signbit(value) ? kF16Sign : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | kF16Nan);
  // 65520 is half-way between the largest f16, 65504, and the next step: ties go to infinity.
  if (std::fabs(value) >= 65520.0F) return static_cast<uint16_t>(sign | kF16Infinity);
  return static_cast<uint16_t>(EncodeFloat(value, kFp16Format));
}

uint16_t Bf16Bits(float value) {
  const uint32_t quiet = std::isnan(value) ? 0x40U : 0;  // one with its payload below would be lost
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(RoundToBf16(value)) >> 16U | quiet);
}

float FromBf16Bits(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16U); }

float FromF16Bits(uint16_t bits) {
  if ((bits & kF16Infinity) != kF16Infinity)
    return static_cast<float>(DecodeFloat(bits, kFp16Format));
  if ((bits & ~(kF16Sign | kF16Infinity)) != 0) return std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  return (bits & kF16Sign) != 0 ? -infinity : infinity;
}

uint8_t E4m3Bits(float value) {
  return static_cast<uint8_t>(EncodeFloat(RoundToE4m3(value), kE4m3Format));
}

float FromE4m3Bits(uint8_t bits) {
  constexpr uint8_t kNan = 0x7f;  // the format's one
  if ((bits & kNan) == kNan) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(DecodeFloat(bits, kE4m3Format));
}

int64_t ElementBytes(std::string_view type) { return RowOf(type).bytes; }

std::vector<std::byte> Encoded(const std::vector<float>& values, std::string_view type) {
  const auto encode = RowOf(type).encode;
  if (encode == nullptr) throw std::logic_error(fmt::format("a device stores no type {}", type));
  return encode(values);
}

std::vector<float> Decoded(const std::vector<std::byte>& bytes, std::string_view type) {
  const auto decode = RowOf(type).decode;
  if (decode == nullptr) throw std::logic_error(fmt::format("a device stores no type {}", type));
  return decode(bytes);
}

std::vector<float> ToStrides(const std::vector<float>& plain, const std::array<int64_t, 4>& d,
                             const std::array<int64_t, 4>& strides) {
  RequireCount(plain.size(), d);
  std::vector<float> memory(plain.size());
  ForEachElement(d, strides, [&](size_t from, size_t to) { memory[to] = plain[from]; });
  return memory;
}

std::vector<float> FromStrides(const std::vector<float>& memory, const std::array<int64_t, 4>& d,
                               const std::array<int64_t, 4>& strides) {
  RequireCount(memory.size(), d);
  std::vector<float> plain(memory.size());
  ForEachElement(d, strides, [&](size_t to, size_t from) { plain[to] = memory[from]; });
  return plain;
}

}  // namespace dlroof::workload
