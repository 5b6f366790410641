#include "bench/cudnn/library.h"

#include <cudnn_graph.h>

#include "bench/library_rules/cudnn_rules.h"

namespace dlroof {

std::string CudnnVersion() { return cudnn::VersionText(cudnnGetVersion()); }

std::string WhyNoCudnn() { return cudnn::WhyNotThisVersion(cudnnGetVersion(), CUDNN_MAJOR); }

}  // namespace dlroof
