#include "bench/workload/seeded_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "counters/base/small_floats.h"

namespace dlroof::workload {
namespace {

// splitmix64 (Steele, Lea, Flood 2014) by position: value i needs no value before it.
uint64_t Mix(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// In double: 24 random bits times a difference of floats is exact, so that one rounding remains and
// a fused multiply-add changes nothing.
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
  // The remainder's bias towards small numbers is below / 2^64.
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
  // 65520 is half-way between the largest f16, 65504, and the next step: ties go to infinity.
  if (std::fabs(value) >= 65520.0F)
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  return static_cast<float>(RoundTo(value, kFp16Format));
}

float RoundToE4m3(float value) {
  constexpr float kMost = 448;
  if (std::isnan(value)) return value;
  return static_cast<float>(RoundTo(std::clamp(value, -kMost, kMost), kE4m3Format));
}

std::vector<float> SeededValues(int64_t count, uint64_t seed, std::string_view type, float low,
                                float high) {
  if (count < 0 || !(low <= high))
    throw std::logic_error(fmt::format("SeededValues({} values in [{}, {}])", count, low, high));
  if (type == "f32") return Reals(count, seed, low, high, [](float value) { return value; });
  if (type == "bf16") return Reals(count, seed, low, high, RoundToBf16);
  if (type == "f16") return Reals(count, seed, low, high, RoundToF16);
  if (type == "e4m3") return Reals(count, seed, low, high, RoundToE4m3);
  if (type == "u8" || type == "s8") return Integers(count, seed, low, high);
  throw std::logic_error(fmt::format("SeededValues of type {}", type));
}

}  // namespace dlroof::workload
