#include "bench/workload/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
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

namespace {

constexpr uint32_t kF16Sign = 0x8000U, kF16Infinity = 0x7c00U, kF16Nan = 0x7e00U;

constexpr uint8_t kE4m3Nan = 0x7f;

// A type of elements. One without `encode` and `decode` (f64) is never stored on a device.
struct ElementRow {
  std::string_view type;
  int64_t bits;  // of an element
  uint32_t (*encode)(float value) = nullptr;
  float (*decode)(uint32_t element) = nullptr;
};

// `kNarrow` converts a value to the bits of an element, or to an integer; `kWiden` converts back.
template <class Bits, Bits (*kNarrow)(float), float (*kWiden)(Bits)>
constexpr ElementRow Stored(std::string_view type, int64_t bits = 8 * sizeof(Bits)) {
  return {type, bits, [](float value) { return static_cast<uint32_t>(kNarrow(value)); },
          [](uint32_t element) { return kWiden(static_cast<Bits>(element)); }};
}

template <class Integer>
Integer Nearest(float value) {
  return static_cast<Integer>(std::nearbyint(value));
}

template <class Integer>
float Widened(Integer value) {
  return static_cast<float>(value);
}

uint32_t F32Bits(float value) { return std::bit_cast<uint32_t>(value); }
float FromF32Bits(uint32_t bits) { return std::bit_cast<float>(bits); }
uint8_t E2m1Bits(float value) {
  constexpr float kMax = 6;
  return static_cast<uint8_t>(EncodeFloat(std::clamp(value, -kMax, kMax), kE2m1Format));
}
float FromE2m1Bits(uint8_t bits) { return static_cast<float>(DecodeFloat(bits, kE2m1Format)); }
float FromS4Bits(int8_t bits) { return static_cast<float>((bits ^ 8) - 8); }

constexpr std::array<ElementRow, 11> kElements = {
    {{"f64", 64},
     Stored<uint32_t, F32Bits, FromF32Bits>("f32"),
     Stored<uint16_t, F16Bits, FromF16Bits>("f16"),
     Stored<uint16_t, Bf16Bits, FromBf16Bits>("bf16"),
     Stored<uint8_t, E4m3Bits, FromE4m3Bits>("e4m3"),
     Stored<int32_t, Nearest<int32_t>, Widened<int32_t>>("s32"),
     Stored<int8_t, Nearest<int8_t>, Widened<int8_t>>("s8"),
     Stored<uint8_t, Nearest<uint8_t>, Widened<uint8_t>>("u8"),
     Stored<uint8_t, E2m1Bits, FromE2m1Bits>("e2m1", 4),
     Stored<int8_t, Nearest<int8_t>, FromS4Bits>("s4", 4),
     Stored<uint8_t, Nearest<uint8_t>, Widened<uint8_t>>("u4", 4)}};

const ElementRow& RowOf(std::string_view type) {
  for (const ElementRow& row : kElements)
    if (row.type == type) return row;
  throw std::logic_error(fmt::format("no element type {}", type));
}

// As RowOf, of a type that is stored on devices.
const ElementRow& StoredRow(std::string_view type) {
  const ElementRow& row = RowOf(type);
  if (row.encode == nullptr) throw std::logic_error(fmt::format("type {} is not stored", type));
  return row;
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
  // 65520 is half-way between 65504, the largest f16, and the next step. Ties round to infinity.
  if (std::fabs(value) >= 65520.0F) return static_cast<uint16_t>(sign | kF16Infinity);
  return static_cast<uint16_t>(EncodeFloat(value, kFp16Format));
}

uint16_t Bf16Bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  // Sets the quiet bit of a NaN, because a NaN with only low payload bits would become infinity.
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16U | 0x40U);
  const uint32_t nearest_even = 0x7fffU + ((bits >> 16U) & 1U);
  return static_cast<uint16_t>((bits + nearest_even) >> 16U);
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
  constexpr float kMax = 448;
  if (std::isnan(value)) return kE4m3Nan;
  return static_cast<uint8_t>(EncodeFloat(std::clamp(value, -kMax, kMax), kE4m3Format));
}

float FromE4m3Bits(uint8_t bits) {
  if ((bits & kE4m3Nan) == kE4m3Nan) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(DecodeFloat(bits, kE4m3Format));
}

std::vector<float> SeededValues(int64_t count, uint64_t seed, std::string_view type, float low,
                                float high) {
  if (count < 0 || !(low <= high))
    throw std::logic_error(fmt::format("SeededValues({} values in [{}, {}])", count, low, high));
  if (type == "f32" || type == "f64") return Reals(count, seed, low, high, std::identity());
  if (type == "u8" || type == "s8" || type == "u4" || type == "s4")
    return Integers(count, seed, low, high);
  const auto& row = StoredRow(type);
  return Reals(count, seed, low, high, [&](float value) { return row.decode(row.encode(value)); });
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
  const auto& row = StoredRow(type);
  std::vector<std::byte> bytes(static_cast<size_t>(StoredBytes(std::ssize(values), type)));
  const auto size = static_cast<size_t>(row.bits / 8);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t element = row.encode(values[i]);
    if (size == 0)
      bytes[i / 2] |= static_cast<std::byte>((element & 0xfU) << (i % 2 * 4));
    else
      std::memcpy(&bytes[i * size], &element, size);
  }
  return bytes;
}

std::vector<std::byte> EncodedDoubles(const std::vector<double>& values, std::string_view type) {
  if (type != "s32") return Encoded({values.begin(), values.end()}, type);
  const std::vector<int32_t> integers(values.begin(), values.end());
  const auto bytes = std::as_bytes(std::span(integers));
  return {bytes.begin(), bytes.end()};
}

std::vector<float> Decoded(const std::vector<std::byte>& bytes, std::string_view type) {
  const auto& row = StoredRow(type);
  const auto size = static_cast<size_t>(row.bits / 8);
  if (size > 0 && bytes.size() % size != 0)
    throw std::logic_error(fmt::format("{} bytes are not a multiple of {}", bytes.size(), size));
  std::vector<float> values(size == 0 ? 2 * bytes.size() : bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t element = 0;
    if (size == 0)
      element = std::to_integer<uint32_t>(bytes[i / 2] >> (i % 2 * 4) & std::byte{0xf});
    else
      std::memcpy(&element, &bytes[i * size], size);
    values[i] = row.decode(element);
  }
  return values;
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
