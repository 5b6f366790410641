// A number that counts the multiplications and additions made with it.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "bench/workload/operator_parts.h"

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

// ReLU, a comparison with zero; other functions are not counted.
inline CountedNumber Apply(workload::Eltwise function, CountedNumber value) {
  if (function != workload::Eltwise::kRelu) throw std::logic_error("only relu can be counted");
  ++CountedNumber::operations;
  return value;
}

}  // namespace dlroof::fakes
