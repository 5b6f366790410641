// Element types: their sizes, numbers as a device stores them, and the orders in which a tensor of
// four dimensions can lie in memory. Pure: no device here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dlroof::workload {

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
