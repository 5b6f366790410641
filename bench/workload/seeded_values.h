// Seeded random inputs, exact in their type, so that the library and the reference read the same
// numbers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dlroof::workload {

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

}  // namespace dlroof::workload
