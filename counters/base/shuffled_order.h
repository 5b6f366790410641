// A random order that is the same on every system.
#pragma once

#include <cstdint>
#include <vector>

namespace dlroof {

// Returns 0 to count - 1, shuffled by `seed` (Fisher and Yates).
std::vector<std::size_t> ShuffledOrder(std::size_t count, std::uint64_t seed);

}  // namespace dlroof
