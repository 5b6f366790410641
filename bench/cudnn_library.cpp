#include <cudnn_graph.h>

#include "bench/cuda_libraries.h"
#include "bench/cudnn_version.h"

namespace dlroof {

std::string CudnnVersion() { return cudnn::VersionText(cudnnGetVersion()); }

std::string WhyNoCudnn() { return cudnn::WhyNotThisVersion(cudnnGetVersion(), CUDNN_MAJOR); }

}  // namespace dlroof
