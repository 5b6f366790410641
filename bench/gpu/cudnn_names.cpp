// The names of cuDNN's benchmarks, which every build reads alike; the cells themselves are in the
// CUDA module.
#include "bench/conv2d/cudnn_case.h"
#include "bench/lstm/cudnn_case.h"
#include "bench/workload/workload.h"

namespace dlroof::cudnn {
namespace {

[[maybe_unused]] const bool convolutions = RegisterNameReader(
    {"Conv2D", "gpu", "cudnn", [](const BenchmarkName& name) { ReadConvRequest(name); }});
[[maybe_unused]] const bool lstms = RegisterNameReader(
    {"LSTM", "gpu", "cudnn", [](const BenchmarkName& name) { ReadLstmGpuRequest(name); }});

}  // namespace
}  // namespace dlroof::cudnn
