// The DeLTA-style model as a source of a GPU convolution's bytes at L1, L2 and DRAM.
#pragma once

#include <functional>
#include <string>

#include "bench/conv2d/problem.h"
#include "bench/workload/benchmark_name.h"
#include "counters/delta/model.h"
#include "counters/work.h"

namespace dlroof::conv2d {

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
