// The order of benchmarks and the time left. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlroof::supervise {

// Draws the first side of each of `count` pairs; true: BASE. Each block has its own `stream`.
std::vector<bool> DrawnSides(std::size_t count, std::uint64_t seed, std::uint64_t stream);

// Returns the time left, if each of `left` takes the mean of `seconds`: "3 s", "2 min 10 s", "1 h 5
// min"; empty if `seconds` is.
std::string LeftText(const std::vector<double>& seconds, double left);

}  // namespace dlroof::supervise
