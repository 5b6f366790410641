// The loops of a convolution as oneDNN's implementations run them, for the bytes at each cache
// level, and the vector lanes that they leave idle.
//
// The DeLTA-style model as a source of a GPU convolution's bytes at L1, L2 and DRAM.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "bench/conv2d/case.h"
#include "bench/library_rules/onednn_blocking.h"
#include "bench/workload/benchmark_name.h"
#include "counters/caches/level_model.h"
#include "counters/delta/model.h"
#include "counters/work.h"

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

// The layout of the tensors of a record of a GPU's library: cuDNN's benchmarks are NHWC without the
// option "nchw", those of others NCHW without "nhwc".
delta::TensorLayout GpuLayout(const std::string& library, const std::vector<std::string>& options);

// The built-in parameter file of a GPU that its driver calls `name` ("NVIDIA H200 NVL" -> "h200");
// empty: there is none.
std::string BuiltInGpuOf(const std::string& name);

// Returns Op::gpu_traffic's model of a convolution: bytes at L1, L2 (tile form) and DRAM, and how
// they were modelled. The tile is read from a kernel's name in `algorithm`, else chosen by rule. A
// refusal of the model leaves no bytes and a reason in `how`. Empty where the GPU's parameters are
// not known.
std::function<Work(std::string& how)> DeltaModel(const workload::BenchmarkName& name,
                                                 const std::string& algorithm,
                                                 const std::string& gpu);

}  // namespace dlroof::conv2d
