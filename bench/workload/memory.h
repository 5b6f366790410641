// Tensors in host memory: a check that they fit, memory whose pages repeat, seeded random values
// that are exact in their element type (so that the library and the reference read the same
// numbers), conversions between element types, and layouts of four-dimensional tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace dlroof::workload {

// Throws Unsupported with both sizes if `bytes` exceed what the system and the control groups allow
// this process to allocate without swapping or being killed. (Linux overcommits memory and would
// kill the whole run later.) Does nothing without a known limit. `what` names the workload.
void RequireHostMemory(double bytes, std::string_view what);

// Memory whose addresses repeatedly map to a few physical pages. A kernel reads the usual range of
// addresses, but all data fit a cache near the core. The time that the kernel saves on such tensors
// is the cost of reading its data from farther away.
class FoldedMemory {
 public:
  // Maps `bytes` of addresses, from a multiple of 2 MiB on, to `distinct` bytes, rounded up to
  // pages. All pages are resident, zeroed and of the smallest size. Throws std::system_error.
  FoldedMemory(std::size_t bytes, std::size_t distinct);

  void* begin() const { return begin_; }
  std::size_t distinct() const { return distinct_; }  // [byte]

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(void* reserved) const;
  };
  std::unique_ptr<void, Unmap> reserved_;
  void* begin_ = nullptr;
  std::size_t distinct_ = 0;
};

// Divides `most` bytes of distinct memory among tensors of these sizes [byte]: small tensors get
// their full size, the others equal shares of the rest. Returns the bytes of each tensor.
// FoldedMemory may round them up by less than a page each.
std::vector<std::size_t> DistinctBytes(const std::vector<std::size_t>& tensors, double most);

// Returns `count` values, equal for a seed on every machine. For "f32", "bf16", "f16", "e4m3" and
// "e2m1" they are uniform in [low, high] and rounded to `type` ("f64": to f32); for "u8 s8 u4 s4"
// they are integers in [low, high]. Throws std::logic_error for another type, a negative count or
// low > high.
std::vector<float> SeededValues(int64_t count, uint64_t seed, std::string_view type, float low,
                                float high);

// Returns `count` integers from 0 to `below` - 1, the same for the same seed on every machine.
std::vector<int64_t> SeededIndices(int64_t count, uint64_t seed, int64_t below);

// Convert to and from the bits of a type, rounding to the nearest value, ties to even. f16 has
// subnormals and infinities as in IEEE 754. e4m3 is OCP's fp8 with 4 bits of exponent and 3 of
// fraction; it has no infinity and one NaN, and saturates at its largest values, +-448.
uint16_t F16Bits(float value);
uint16_t Bf16Bits(float value);
uint8_t E4m3Bits(float value);
float FromF16Bits(uint16_t bits);
float FromBf16Bits(uint16_t bits);
float FromE4m3Bits(uint8_t bits);
inline float RoundToF16(float value) { return FromF16Bits(F16Bits(value)); }
inline float RoundToBf16(float value) { return FromBf16Bits(Bf16Bits(value)); }

// Returns the size [byte] of an element of a type with whole bytes; else throws std::logic_error.
int64_t ElementBytes(std::string_view type);
// Returns the size [byte] of `count` elements of any type; two e2m1, s4 or u4 share a byte.
int64_t StoredBytes(int64_t count, std::string_view type);

// Returns `values` as consecutive elements of `type` ("f32 f16 bf16 e4m3 e2m1 s32 s8 u8 s4 u4"); of
// two elements in a byte the first has the low bits. Values of an integer type are rounded to the
// nearest integer. Throws std::logic_error for another type.
std::vector<std::byte> Encoded(const std::vector<float>& values, std::string_view type);
// As Encoded, but the integers of s32 are exact also above 2^24, where those of floats are not.
std::vector<std::byte> EncodedDoubles(const std::vector<double>& values, std::string_view type);
// The inverse of Encoded. Throws std::logic_error for other types or incomplete elements.
std::vector<float> Decoded(const std::vector<std::byte>& bytes, std::string_view type);

// Convert a tensor from row-major order (`plain`) to a layout with these dense strides, and back.
std::vector<float> ToStrides(const std::vector<float>& plain,
                             const std::array<int64_t, 4>& dimensions,
                             const std::array<int64_t, 4>& strides);
std::vector<float> FromStrides(const std::vector<float>& memory,
                               const std::array<int64_t, 4>& dimensions,
                               const std::array<int64_t, 4>& strides);

}  // namespace dlroof::workload
