// A random order that is the same on every system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace dlroof {

// Returns 0 to count - 1, shuffled by `seed` (Fisher and Yates).
inline std::vector<std::size_t> ShuffledOrder(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // The engine's numbers are the standard's; its distributions are each library's own.
  std::mt19937_64 engine(seed);
  for (std::size_t left = count; left > 1; --left)
    std::swap(order[left - 1], order[engine() % left]);
  return order;
}

}  // namespace dlroof
