// Division of whole numbers that rounds as said, for any `a` and for b > 0.
#pragma once

#include <cstdint>

namespace dlroof {

constexpr std::int64_t FloorDiv(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }
constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return -FloorDiv(-a, b); }

}  // namespace dlroof
