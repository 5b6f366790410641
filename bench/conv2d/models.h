// Models of a convolution: the loops of oneDNN's implementations, for the bytes at each cache
// level; the vector lanes that these implementations leave idle; and the DeLTA-style model of a
// GPU's bytes at L1, L2 and DRAM.
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

// The caches and the number of threads for which the library chooses its blocks.
struct CoreBlocking {
  library_rules::BlockingCaches caches;
  int threads = 1;
};
CoreBlocking BlockingHere(int threads);  // with the caches that CPUID reports

// Returns a model of a call's loops. `implementation` is the library's name of its implementation
// ("brgconv:avx512_core"), `isa` the ISA that the library may use. Covers fwd by brgconv,
// brgconv_1x1, jit and depthwise kernels, bwd_data with stride 1 by brgconv and jit_1x1, and
// bwd_weights by jit except jit_1x1. Other calls, and all on AMX tiles, get a reason instead of
// loops.
//
// The model assumes of oneDNN 3.2: brgconv has the blocks that BlockingOf computes. Within an
// image, the loop over filter blocks is the inner loop if an image plane has more elements than the
// weights of one input channel, otherwise the outer loop. A kernel computes as many positions at a
// time as its registers can store, sums over taps and its channels, and reads the block's weights
// once per block of positions. jit kernels process input channels block by block, and read and
// write the result for each block. A data gradient runs as a forward convolution with rotated
// filters; with a stride each position uses only some taps. A weight gradient loops over images,
// pairs of channel blocks, rows of the gradient, and taps.
caches::LevelModel Conv2dLevels(const Conv2dCase& conv, std::string_view implementation,
                                std::string_view isa, const CoreBlocking& core = {});

// Returns the multiply-adds that the kernel executes, including idle vector lanes, divided by the
// multiply-adds of the problem ([1], at least 1). Parameters as for Conv2dLevels. Returns nothing
// for implementations other than jit, brgconv and their relatives, and for AMX tiles.
//
// The model assumes of oneDNN 3.2: a vector contains channels of the result (the destination, or
// the source for bwd_data), and the last vector computes all its lanes. In depthwise kernels a
// vector contains groups. jit kernels also sum over whole vectors of the channels that they read,
// unless there are fewer channels than lanes.
std::optional<double> ExecutedOverUseful(const Conv2dCase& conv, std::string_view implementation,
                                         std::string_view isa);

// Returns the tensor layout of a benchmark on a GPU: for cuDNN NHWC unless there is the option
// "nchw", for other libraries NCHW unless there is the option "nhwc".
delta::TensorLayout GpuLayout(const std::string& library, const std::vector<std::string>& options);

// Returns which built-in GPU the driver calls `name`: "h200" for "NVIDIA H200 NVL". Returns nothing
// if there is no such GPU.
std::optional<std::string> BuiltInGpuOf(const std::string& name);

// Returns a model for Op::gpu_traffic: the bytes of a convolution at L2 and DRAM, and in `how` a
// description. L1 is left out, because a record's L1 has the bytes of shared memory too.
// `algorithm` names the engine with its knobs; append the names of the call's kernels where they
// are known
// ("engine 45 (...), ..., sm80_xmma_..."). The tile follows from a kernel's name or from the knobs
// of a known engine. If neither says it, or if the model does not cover the convolution, the model
// returns no bytes and stores the reason in `how`; L2 is absent alone where it is not known how the
// kernel's loads reach it. DeltaModel returns an empty function if the GPU's parameters are not
// known.
std::function<Work(std::string& how)> DeltaModel(const workload::BenchmarkName& name,
                                                 const std::string& algorithm,
                                                 const std::string& gpu);

}  // namespace dlroof::conv2d
