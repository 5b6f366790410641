// A number that counts the multiplications and additions made with it.
#pragma once

#include <cstdint>

namespace dlroof::fakes {

struct CountedNumber {
  double value = 0;

  static inline int64_t operations = 0;  // [flop] since it was last set to zero

  CountedNumber operator*(CountedNumber other) const {
    ++operations;
    return {value * other.value};
  }
  CountedNumber& operator+=(CountedNumber other) {
    ++operations;
    value += other.value;
    return *this;
  }
};

// A comparison with zero.
inline CountedNumber Relu(CountedNumber value) {
  ++CountedNumber::operations;
  return value;
}

}  // namespace dlroof::fakes
