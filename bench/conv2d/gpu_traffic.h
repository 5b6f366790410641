// The DeLTA-style model of the bytes that a convolution moves on a GPU.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/conv2d/case.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/work.h"
#include "counters/delta/model.h"

namespace dlroof::conv2d {

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
