// Layers for the tests of the DeLTA-style model.
#pragma once

namespace dlroof::fakes {

// Square filter, stride, padding.
inline delta::ConvLayer Layer(int64_t n, int64_t c, int64_t h, int64_t w, int64_t k, int64_t rs,
                              int64_t stride, int64_t pad) {
  return delta::ConvLayer{
      .shape = {n, c, h, w, k, rs, rs, stride, stride, pad, pad, pad, pad, 1, 1, 1}};
}

// One of `choices`, by a generator that is the same everywhere.
template <class Random>
int64_t Pick(Random& random, std::initializer_list<int64_t> choices) {
  return *(choices.begin() + static_cast<std::ptrdiff_t>(random() % choices.size()));
}

}  // namespace dlroof::fakes
