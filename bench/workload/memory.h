// Memory of this machine: what does not fit, and memory whose pages repeat.
//
// Seeded random inputs, exact in their type, so that the library and the reference read the same
// numbers.
//
// Element types: their sizes, numbers as a device stores them, and the orders in which a tensor of
// four dimensions can lie in memory. Pure: no device here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dlroof::workload {

// Refuses workloads that do not fit: Linux hands out more memory than there is and later kills the
// program that uses it, which would end the whole run. Throws Unsupported, naming both sizes, when
// `bytes` exceed what may be allocated without swapping or being killed (system and control groups;
// not checked where the system does not say). `what` names the workload.
void RequireHostMemory(double bytes, std::string_view what);

// Memory whose pages repeat: a kernel walks as many addresses as ever, but its data lie in a few
// bytes, which a near cache holds. The distance of its data cost as much as it then runs faster.
class FoldedMemory {
 public:
  // Maps `bytes` addresses, the first a multiple of 2 MiB, onto memory of `distinct` bytes, rounded
  // up to pages, again and again. All pages are there, and zero. Pages have the system's smallest
  // size. Throws std::system_error.
  FoldedMemory(std::size_t bytes, std::size_t distinct);
  FoldedMemory(FoldedMemory&& other) noexcept;
  FoldedMemory& operator=(FoldedMemory&&) = delete;
  ~FoldedMemory();

  void* begin() const { return begin_; }
  std::size_t distinct() const { return distinct_; }  // [byte]

 private:
  void Map(std::size_t bytes);

  void* reserved_ = nullptr;
  std::size_t reserved_bytes_ = 0;
  void* begin_ = nullptr;
  std::size_t distinct_ = 0;
};

// [byte] of each tensor's memory so that all together have at most `most`: small tensors have
// theirs whole, the others share the rest evenly. Sums may exceed `most` by less than a page each.
std::vector<std::size_t> DistinctBytes(const std::vector<std::size_t>& tensors, double most);

// `count` values, the same for the same seed on every machine. Floating types: uniform in [low,
// high], rounded to the nearest value of `type`
// ("f32", "bf16", "f16", "e4m3"); "u8", "s8": integers in [low, high]. Throws std::logic_error for
// another type, a negative count or low > high.
std::vector<float> SeededValues(int64_t count, uint64_t seed, std::string_view type, float low,
                                float high);

// `count` integers from 0 to below - 1, the same for the same seed on every machine.
std::vector<int64_t> SeededIndices(int64_t count, uint64_t seed, int64_t below);

// Rounds to the nearest bf16 (ties to even).
float RoundToBf16(float value);
// Rounds to the nearest f16 (ties to even); subnormal and infinite as IEEE 754 has it.
float RoundToF16(float value);
// Rounds to the nearest e4m3 (ties to even); beyond its range to the largest, 448.
float RoundToE4m3(float value);

// The bits of an f16 or bf16. Values are taken as the nearest of the type (ties to even).
uint16_t F16Bits(float value);
uint16_t Bf16Bits(float value);
float FromF16Bits(uint16_t bits);
float FromBf16Bits(uint16_t bits);
// The bits of an fp8 with 4 bits of exponent and 3 of fraction (OCP's e4m3: no infinity, one NaN).
// A value beyond its range becomes the largest, 448.
uint8_t E4m3Bits(float value);
float FromE4m3Bits(uint8_t bits);

// Returns the size of one element of a type ("f64 f32 f16 bf16 e4m3 s32 s8 u8") [byte]. Throws
// std::logic_error for another type.
int64_t ElementBytes(std::string_view type);

// The bytes of `values` as elements of `type` ("f32 f16 bf16 e4m3 s32 s8 u8"), one behind the
// other. Integers are taken as the nearest of the type. Throws std::logic_error for another type.
std::vector<std::byte> Encoded(const std::vector<float>& values, std::string_view type);
// The other way. Throws std::logic_error for another type or a size that is no multiple of it.
std::vector<float> Decoded(const std::vector<std::byte>& bytes, std::string_view type);

// From plain order (last dimension fastest) to memory of these dense strides, and back.
std::vector<float> ToStrides(const std::vector<float>& plain,
                             const std::array<int64_t, 4>& dimensions,
                             const std::array<int64_t, 4>& strides);
std::vector<float> FromStrides(const std::vector<float>& memory,
                               const std::array<int64_t, 4>& dimensions,
                               const std::array<int64_t, 4>& strides);

}  // namespace dlroof::workload
