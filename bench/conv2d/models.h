// Models of a convolution: the loops of oneDNN's implementations, for the bytes at each cache
// level; the vector lanes that these leave idle; and the DeLTA-style model of a GPU's bytes at L1,
// L2 and DRAM.
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

// The caches and threads for which the library chooses its blocks.
struct CoreBlocking {
  library_rules::BlockingCaches caches;
  int threads = 1;
};
CoreBlocking BlockingHere(int threads);  // with the caches that CPUID describes

// Returns the loops of a call. `implementation` is the library's name for its choice
// ("brgconv:avx512_core"), `isa` what the library may use. The model covers fwd by brgconv,
// brgconv_1x1, jit and depthwise kernels, bwd_data with stride 1 by brgconv and jit_1x1, and
// bwd_weights by jit except jit_1x1. For anything else it has no nests, but a reason.
//
// The model assumes of oneDNN 3.2: brgconv blocks as BlockingOf computes. Within an image, the loop
// over blocks of filters is innermost if an image plane has more elements than the weights of one
// input channel, otherwise outermost. A kernel computes blocks of as many positions as its
// registers hold, sums over taps and its channels, and reads the block's weights once per block of
// positions. jit kernels process one block of input channels after the other and visit the result
// each time. A data gradient runs as a forward convolution with rotated filters; with a stride each
// position uses only some taps. A weight gradient loops over images, pairs of channel blocks, rows
// of the gradient, and taps.
caches::LevelModel Conv2dLevels(const Conv2dCase& conv, std::string_view implementation,
                                std::string_view isa, const CoreBlocking& core = {});

// Returns the multiply-adds that the kernel executes over those that the problem needs ([1], at
// least 1), which counts the vector lanes that the shape leaves idle. Parameters as of
// Conv2dLevels. Returns nothing for implementations other than jit, brgconv and their relatives.
//
// The model assumes of oneDNN 3.2: a vector holds channels of the result (the destination, or the
// source for bwd_data), and the last vector runs with all lanes. Vectors of depthwise kernels hold
// groups. jit kernels also sum over whole vectors of the channels that they read, unless these are
// fewer than one vector.
std::optional<double> ExecutedOverUseful(const Conv2dCase& conv, std::string_view implementation,
                                         std::string_view isa);

// Returns the tensor layout of a benchmark on a GPU: NHWC without the option "nchw" for cuDNN, NCHW
// without the option "nhwc" for other libraries.
delta::TensorLayout GpuLayout(const std::string& library, const std::vector<std::string>& options);

// Returns the name of the built-in parameters of a GPU that its driver calls `name`, if there are
// any: "h200" for "NVIDIA H200 NVL".
std::optional<std::string> BuiltInGpuOf(const std::string& name);

// Returns Op::gpu_traffic's model of a convolution: bytes at L1, L2 (tile form) and DRAM, and how
// they were modelled. The tile comes from a kernel's name in `algorithm`, or else from a rule. If
// the model refuses the convolution, it returns no bytes and stores the reason in `how`. Returns an
// empty function if the GPU's parameters are not known.
std::function<Work(std::string& how)> DeltaModel(const workload::BenchmarkName& name,
                                                 const std::string& algorithm,
                                                 const std::string& gpu);

}  // namespace dlroof::conv2d
