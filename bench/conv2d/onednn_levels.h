// The loops of a convolution as oneDNN's implementations run them, for the bytes at each cache
// level, and the vector lanes that they leave idle.
#pragma once

#include <optional>
#include <string_view>

#include "bench/conv2d/case.h"
#include "bench/library_rules/brgemm_blocking.h"
#include "counters/caches/level_model.h"

namespace dlroof::conv2d {

// Caches and threads for which the library chooses its blocks.
struct CoreBlocking {
  library_rules::BlockingCaches caches;
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
caches::LevelModel Conv2dLevels(const Conv2dCase& conv, std::string_view implementation,
                        std::string_view isa, const CoreBlocking& core = {});

// Returns multiply-adds that the kernel executes over those asked for, [1] >= 1: vector lanes that
// the shape leaves idle. `implementation`: the library's name for what it chose
// ("brgconv:avx512_core"); `isa`: what it may use. Absent for implementations that are not jit,
// brgconv or their relatives.
//
// Assumed, of oneDNN 3.2: a vector holds channels of the result (of the destination; of the source
// for bwd_data), whose last vector runs with all lanes; depthwise kernels' vectors hold groups. jit
// kernels also sum over whole vectors of the channels that they read, unless there are fewer than
// one vector of them.
std::optional<double> ExecutedOverUseful(const Conv2dCase& conv, std::string_view implementation,
                                         std::string_view isa);

}  // namespace dlroof::conv2d
