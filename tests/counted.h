// A number that counts the multiplications and additions made with it.
#pragma once

#include <cstdint>

namespace dlroof {

struct Counted {
  double value = 0;

  static inline int64_t operations = 0;  // [flop] since it was last set to zero

  Counted operator*(Counted other) const {
    ++operations;
    return {value * other.value};
  }
  Counted& operator+=(Counted other) {
    ++operations;
    value += other.value;
    return *this;
  }
};

// A comparison with zero.
inline Counted Relu(Counted value) {
  ++Counted::operations;
  return value;
}

}  // namespace dlroof
