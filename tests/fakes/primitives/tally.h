// A number that counts the operations made with it: each addition, subtraction, multiplication,
// division, comparison and function is one.
#pragma once

#include <cstdint>
#include <vector>

namespace dlroof {

struct Tally {
  static inline int64_t operations = 0;  // [1] since it was last set to zero

  friend Tally operator+(Tally, Tally) { return Count(); }
  friend Tally operator-(Tally, Tally) { return Count(); }
  friend Tally operator*(Tally, Tally) { return Count(); }
  friend Tally operator/(Tally, Tally) { return Count(); }
  static Tally Count() {
    ++operations;
    return {};
  }
};

inline Tally Max(Tally, Tally) { return Tally::Count(); }
inline Tally Min(Tally, Tally) { return Tally::Count(); }
inline Tally IsAbove(Tally, Tally) { return Tally::Count(); }
// exp, log, tanh, sigmoid, erf, sqrt, power, rounding, absolute value
inline Tally Function(Tally) { return Tally::Count(); }

// n - 1 additions of n numbers, or comparisons.
inline Tally SumOf(const std::vector<Tally>& values) {
  Tally sum = values.at(0);
  for (std::size_t i = 1; i < values.size(); ++i) sum = sum + values[i];
  return sum;
}
inline Tally MaxOf(const std::vector<Tally>& values) {
  Tally greatest = values.at(0);
  for (std::size_t i = 1; i < values.size(); ++i) greatest = Max(greatest, values[i]);
  return greatest;
}

}  // namespace dlroof
