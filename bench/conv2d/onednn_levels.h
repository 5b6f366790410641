// The loops of a convolution as oneDNN's implementations run them, for the bytes at each cache
// level.
#pragma once

#include <string_view>

#include "bench/conv2d/case.h"
#include "bench/library_rules/brgemm_blocking.h"
#include "counters/caches/level_model.h"

namespace dlroof {

// Caches and threads for which the library chooses its blocks.
struct CoreBlocking {
  BlockingCaches caches;
  int threads = 1;
};
CoreBlocking BlockingHere(int threads);  // with the caches that CPUID describes

// `implementation`: the library's name for what it chose ("brgconv:avx512_core"). `isa`: what it
// may use. Modelled: fwd by brgconv, brgconv_1x1, jit and depthwise kernels, bwd_data at stride 1
// by brgconv and jit_1x1, bwd_weights by jit but for jit_1x1. Any other gives no nests and the
// reason.
//
// Assumed, of oneDNN 3.2: brgconv cuts as BlockingOf says; the loop over blocks of filters is
// innermost where an image plane has more elements than the weights of one input channel, else
// outermost, within one image. A kernel makes its positions by blocks of as many as registers hold,
// sums over taps and its channels, and reads the block's weights once per block of positions. jit
// kernels take one block of input channels after the other and visit the result each time. A data
// gradient runs as a forward convolution with turned filters, of which a stride leaves each
// position some taps. A weight gradient takes images, pairs of channel blocks, rows of the
// gradient, taps.
LevelModel Conv2dLevels(const Conv2dCase& conv, std::string_view implementation,
                        std::string_view isa, const CoreBlocking& core = {});

}  // namespace dlroof
