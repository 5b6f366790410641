#include "bench/workload/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/cpu/cpu.h"

namespace dlroof::workload {
namespace {

constexpr std::size_t kAlignment = std::size_t{2} << 20;

std::size_t RoundedUp(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::size_t PageBytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

[[noreturn]] void ThrowSystemError(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

void RequireHostMemory(double bytes, std::string_view what) {
  const auto available = cpu::AvailableMemoryBytes();
  if (available && bytes > *available)
    throw Unsupported("{} needs {:.3g} GB of memory, but only {:.3g} GB can be allocated here",
                      what, bytes / 1e9, *available / 1e9);
}

FoldedMemory::FoldedMemory(std::size_t bytes, std::size_t distinct)
    : distinct_(RoundedUp(std::clamp<std::size_t>(distinct, 1, std::max<std::size_t>(bytes, 1)),
                          PageBytes())) {
  bytes = RoundedUp(std::max<std::size_t>(bytes, 1), PageBytes());
  const std::size_t reserved_bytes = bytes + kAlignment;
  void* const reserved =
      mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) ThrowSystemError("reserving addresses for a tensor");
  reserved_ = {reserved, Unmap{reserved_bytes}};
  begin_ =
      reinterpret_cast<void*>(RoundedUp(reinterpret_cast<std::uintptr_t>(reserved), kAlignment));
  const Descriptor file(memfd_create("dlroof tensor", MFD_CLOEXEC));
  if (file.get() < 0) ThrowSystemError("allocating memory for a tensor");
  bool mapped = ftruncate(file.get(), static_cast<off_t>(distinct_)) == 0;
  for (std::size_t at = 0; mapped && at < bytes; at += distinct_)
    mapped = mmap(static_cast<std::byte*>(begin_) + at, std::min(distinct_, bytes - at),
                  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file.get(),
                  0) != MAP_FAILED;
  if (!mapped) ThrowSystemError("mapping a tensor's pages");
}

void FoldedMemory::Unmap::operator()(void* reserved) const { munmap(reserved, bytes); }

std::vector<std::size_t> DistinctBytes(const std::vector<std::size_t>& tensors, double most) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return tensors[i]; });
  std::vector<std::size_t> distinct(tensors.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto whole = static_cast<double>(tensors[order[rank]]);
    const double taken = std::min(whole, most / static_cast<double>(order.size() - rank));
    distinct[order[rank]] = static_cast<std::size_t>(taken);
    most -= taken;
  }
  return distinct;
}

namespace {

// splitmix64 (Steele, Lea, Flood 2014), indexed: value i does not depend on the values before it.
uint64_t Mix(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Computes in double, where 24 random bits times a difference of floats are exact. So the result is
// rounded only once, and a fused multiply-add returns the same number.
float Uniform(uint64_t bits, double low, double span) {
  return static_cast<float>(low + static_cast<double>(bits >> 40) * 0x1p-24 * span);
}

template <class Round>
std::vector<float> Reals(int64_t count, uint64_t seed, float low, float high, Round round) {
  std::vector<float> values(static_cast<size_t>(count));
  const double span = static_cast<double>(high) - static_cast<double>(low);
  for (size_t i = 0; i < values.size(); ++i) values[i] = round(Uniform(Mix(seed, i), low, span));
  return values;
}

std::vector<float> Integers(int64_t count, uint64_t seed, float low, float high) {
  std::vector<float> values(static_cast<size_t>(count));
  const auto least = static_cast<int64_t>(std::ceil(low));
  const auto span = static_cast<uint64_t>(static_cast<int64_t>(std::floor(high)) - least + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto step = static_cast<int64_t>(((Mix(seed, i) >> 32) * span) >> 32);
    values[i] = static_cast<float>(least + step);
  }
  return values;
}

}  // namespace

std::vector<int64_t> SeededIndices(int64_t count, uint64_t seed, int64_t below) {
  if (count < 0 || below < 1)
    throw std::logic_error(fmt::format("SeededIndices({} below {})", count, below));
  std::vector<int64_t> indices(static_cast<size_t>(count));
  // The remainder favours small numbers by `below` / 2^64, which is negligible.
  for (size_t i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<int64_t>(Mix(seed, i) % static_cast<uint64_t>(below));
  return indices;
}

float RoundToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return value;
  const uint32_t nearest_even = 0x7fffU + ((bits >> 16) & 1U);
  return std::bit_cast<float>((bits + nearest_even) & 0xffff0000U);
}

float RoundToF16(float value) {
  if (std::isnan(value)) return value;
  // 65520 is half-way between 65504, the largest f16, and the next step. Ties round to infinity.
  if (std::fabs(value) >= 65520.0F)
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  return static_cast<float>(RoundTo(value, kFp16Format));
}

float RoundToE4m3(float value) {
  constexpr float kMax = 448;
  if (std::isnan(value)) return value;
  return static_cast<float>(RoundTo(std::clamp(value, -kMax, kMax), kE4m3Format));
}

float RoundToE2m1(float value) {
  constexpr float kMax = 6;
  return static_cast<float>(RoundTo(std::clamp(value, -kMax, kMax), kE2m1Format));
}

std::vector<float> SeededValues(int64_t count, uint64_t seed, std::string_view type, float low,
                                float high) {
  if (count < 0 || !(low <= high))
    throw std::logic_error(fmt::format("SeededValues({} values in [{}, {}])", count, low, high));
  if (type == "f32") return Reals(count, seed, low, high, [](float value) { return value; });
  if (type == "bf16") return Reals(count, seed, low, high, RoundToBf16);
  if (type == "f16") return Reals(count, seed, low, high, RoundToF16);
  if (type == "e4m3") return Reals(count, seed, low, high, RoundToE4m3);
  if (type == "e2m1") return Reals(count, seed, low, high, RoundToE2m1);
  if (type == "u8" || type == "s8" || type == "u4" || type == "s4")
    return Integers(count, seed, low, high);
  throw std::logic_error(fmt::format("SeededValues of type {}", type));
}

namespace {

constexpr uint32_t kF16Sign = 0x8000U, kF16Infinity = 0x7c00U, kF16Nan = 0x7e00U;

template <class Element, class Number, class Convert>
std::vector<std::byte> Bytes(const std::vector<Number>& values, Convert convert) {
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
        fmt::format("{} bytes are not a multiple of {}", bytes.size(), sizeof(Element)));
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

// A type without `encode` and `decode` (f64) is never stored on a device.
struct ElementRow {
  std::string_view type;
  int64_t bits;  // of an element
  std::vector<std::byte> (*encode)(const std::vector<float>& values) = nullptr;
  std::vector<float> (*decode)(const std::vector<std::byte>& bytes) = nullptr;
};

template <class Element, auto kNarrow, auto kWiden>
constexpr ElementRow Stored(std::string_view type) {
  return {type, 8 * sizeof(Element),
          [](const std::vector<float>& values) { return Bytes<Element>(values, kNarrow); },
          [](const std::vector<std::byte>& bytes) { return Values<Element>(bytes, kWiden); }};
}

// Elements of 4 bits. `kBits(value)` returns the bits of a value, `kValue(bits)` their value.
template <auto kBits, auto kValue>
constexpr ElementRow StoredInPairs(std::string_view type) {
  return {type, 4,
          [](const std::vector<float>& values) {
            std::vector<std::byte> bytes((values.size() + 1) / 2);
            for (size_t i = 0; i < values.size(); ++i)
              bytes[i / 2] |= static_cast<std::byte>((kBits(values[i]) & 0xfU) << (i % 2 * 4));
            return bytes;
          },
          [](const std::vector<std::byte>& bytes) {
            std::vector<float> values;
            for (const std::byte pair : bytes)
              for (const int shift : {0, 4})
                values.push_back(kValue(std::to_integer<uint32_t>(pair >> shift & std::byte{0xf})));
            return values;
          }};
}

uint32_t E2m1Bits(float value) { return EncodeFloat(RoundToE2m1(value), kE2m1Format); }
float FromE2m1Bits(uint32_t bits) { return static_cast<float>(DecodeFloat(bits, kE2m1Format)); }
uint32_t NearestBits(float value) { return static_cast<uint32_t>(Nearest<int32_t>(value)); }
float FromS4Bits(uint32_t bits) { return static_cast<float>(static_cast<int>(bits ^ 8U) - 8); }

constexpr std::array<ElementRow, 11> kElements = {
    {{"f64", 64},
     Stored<float, Same, Same>("f32"),
     Stored<uint16_t, F16Bits, FromF16Bits>("f16"),
     Stored<uint16_t, Bf16Bits, FromBf16Bits>("bf16"),
     Stored<uint8_t, E4m3Bits, FromE4m3Bits>("e4m3"),
     Stored<int32_t, Nearest<int32_t>, Widened<int32_t>>("s32"),
     Stored<int8_t, Nearest<int8_t>, Widened<int8_t>>("s8"),
     Stored<uint8_t, Nearest<uint8_t>, Widened<uint8_t>>("u8"),
     StoredInPairs<E2m1Bits, FromE2m1Bits>("e2m1"),
     StoredInPairs<NearestBits, FromS4Bits>("s4"),
     StoredInPairs<NearestBits, Widened<uint32_t>>("u4")}};

const ElementRow& RowOf(std::string_view type) {
  for (const ElementRow& row : kElements)
    if (row.type == type) return row;
  throw std::logic_error(fmt::format("no element type {}", type));
}

// Calls visit(index in row-major order, index in memory) for every element.
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
  if (std::fabs(value) >= 65520.0F) return static_cast<uint16_t>(sign | kF16Infinity);
  return static_cast<uint16_t>(EncodeFloat(value, kFp16Format));
}

uint16_t Bf16Bits(float value) {
  // Sets the quiet bit of a NaN, because a NaN with only low payload bits would become infinity.
  const uint32_t quiet = std::isnan(value) ? 0x40U : 0;
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
  constexpr uint8_t kNan = 0x7f;
  if ((bits & kNan) == kNan) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(DecodeFloat(bits, kE4m3Format));
}

int64_t ElementBytes(std::string_view type) {
  const int64_t bits = RowOf(type).bits;
  if (bits % 8 != 0) throw std::logic_error(fmt::format("{} has {} bits", type, bits));
  return bits / 8;
}

int64_t StoredBytes(int64_t count, std::string_view type) {
  return (count * RowOf(type).bits + 7) / 8;
}

std::vector<std::byte> Encoded(const std::vector<float>& values, std::string_view type) {
  const auto encode = RowOf(type).encode;
  if (encode == nullptr) throw std::logic_error(fmt::format("type {} cannot be encoded", type));
  return encode(values);
}

std::vector<std::byte> EncodedDoubles(const std::vector<double>& values, std::string_view type) {
  if (type != "s32") return Encoded({values.begin(), values.end()}, type);
  return Bytes<int32_t>(values, [](double value) { return static_cast<int32_t>(value); });
}

std::vector<float> Decoded(const std::vector<std::byte>& bytes, std::string_view type) {
  const auto decode = RowOf(type).decode;
  if (decode == nullptr) throw std::logic_error(fmt::format("type {} cannot be decoded", type));
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
