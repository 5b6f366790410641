// In which order benchmarks are run, and how long that will take. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlroof {

// 0 to count - 1 in an order that `seed` decides, the same everywhere (Fisher and Yates).
std::vector<std::size_t> ShuffledOrder(std::size_t count, std::uint64_t seed);

// Which side goes first in each of `count` pairs: true, BASE. Of `seed` and `stream`, so that each
// block has its own.
std::vector<bool> DrawnSides(std::size_t count, std::uint64_t seed, std::uint64_t stream);

// "3 s", "2 min 10 s", "1 h 5 min": what is left when each takes the mean of what was seen; empty
// when nothing was.
std::string LeftText(const std::vector<double>& seconds, double left);

// "3 s", "2 min 10 s", "1 h 5 min".
std::string DurationText(double seconds);

}  // namespace dlroof
