// Tensors in host memory: a check that they fit, memory whose pages repeat, seeded random values
// that are exact in their type (so that the library and the reference read the same numbers),
// element types as devices store them, and the memory layouts of four-dimensional tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dlroof::workload {

// Refuses workloads that do not fit: Linux overcommits memory and later kills the process that uses
// it, which would end the whole run. Throws Unsupported with both sizes if `bytes` exceed what the
// system and the control groups let this process allocate without swapping or being killed. Does
// nothing on systems that do not report a limit. `what` names the workload.
void RequireHostMemory(double bytes, std::string_view what);

// Memory whose pages repeat: a kernel walks the usual range of addresses, but its data occupy a few
// bytes, which fit a cache near the core. The time that the kernel gains this way is what the
// distance of its data costs.
class FoldedMemory {
 public:
  // Maps a range of `bytes` addresses, which begins at a multiple of 2 MiB, repeatedly onto memory
  // of `distinct` bytes, rounded up to pages. All pages are resident and zeroed, and have the
  // system's smallest size. Throws std::system_error.
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

// Distributes `most` bytes of distinct memory over tensors of these sizes: small tensors get their
// full size, the others share the rest evenly. Returns the bytes of each tensor. Rounding up to
// pages may add less than a page per tensor.
std::vector<std::size_t> DistinctBytes(const std::vector<std::size_t>& tensors, double most);

// Returns `count` values, which are the same for the same seed on every machine. For "f32", "bf16",
// "f16" and "e4m3" they are uniform in [low, high] and rounded to the nearest value of `type`; for
// "u8" and "s8" they are integers in [low, high]. Throws std::logic_error for another type, a
// negative count or low > high.
std::vector<float> SeededValues(int64_t count, uint64_t seed, std::string_view type, float low,
                                float high);

// Returns `count` integers from 0 to below - 1, which are the same for the same seed everywhere.
std::vector<int64_t> SeededIndices(int64_t count, uint64_t seed, int64_t below);

// These round to the nearest value of the type, ties to even. f16 has subnormals and infinities as
// in IEEE 754; e4m3 saturates at its largest value, 448.
float RoundToBf16(float value);
float RoundToF16(float value);
float RoundToE4m3(float value);

// Conversions from and to the bits of a type, rounded as above. e4m3 is OCP's fp8 with 4 bits of
// exponent and 3 of fraction; it has no infinity and one NaN.
uint16_t F16Bits(float value);
uint16_t Bf16Bits(float value);
float FromF16Bits(uint16_t bits);
float FromBf16Bits(uint16_t bits);
uint8_t E4m3Bits(float value);
float FromE4m3Bits(uint8_t bits);

// Returns the size of one element of a type ("f64 f32 f16 bf16 e4m3 s32 s8 u8") [byte]. Throws
// std::logic_error for another type.
int64_t ElementBytes(std::string_view type);

// Returns `values` as consecutive elements of `type` ("f32 f16 bf16 e4m3 s32 s8 u8"). Values of an
// integer type are rounded to the nearest integer. Throws std::logic_error for another type.
std::vector<std::byte> Encoded(const std::vector<float>& values, std::string_view type);
// The inverse of Encoded. Throws std::logic_error for another type or if the number of bytes is not
// a multiple of the element's size.
std::vector<float> Decoded(const std::vector<std::byte>& bytes, std::string_view type);

// Convert between plain order (last dimension fastest) and a layout with these dense strides.
std::vector<float> ToStrides(const std::vector<float>& plain,
                             const std::array<int64_t, 4>& dimensions,
                             const std::array<int64_t, 4>& strides);
std::vector<float> FromStrides(const std::vector<float>& memory,
                               const std::array<int64_t, 4>& dimensions,
                               const std::array<int64_t, 4>& strides);

}  // namespace dlroof::workload
