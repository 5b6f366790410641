// Pairs of fp16 and bf16 on the CPU, and their multiply-add with one rounding.
#pragma once

#include <cuda_runtime_api.h>

#include "counters/base/numbers.h"

template <int kExponent, int kFraction>
struct Pair {
  std::uint16_t lanes[2];
};

template <int kExponent, int kFraction>
Pair<kExponent, kFraction> __hfma2(Pair<kExponent, kFraction> a, Pair<kExponent, kFraction> b,
                                   Pair<kExponent, kFraction> c) {
  constexpr dlroof::FloatFormat kFormat = {kExponent, kFraction};
  for (int i = 0; i < 2; ++i)
    a.lanes[i] = static_cast<std::uint16_t>(dlroof::EncodeFloat(
        std::fma(dlroof::DecodeFloat(a.lanes[i], kFormat), dlroof::DecodeFloat(b.lanes[i], kFormat),
                 dlroof::DecodeFloat(c.lanes[i], kFormat)),
        kFormat));
  return a;
}

using __half2 = Pair<5, 10>;
using __nv_bfloat162 = Pair<8, 7>;
