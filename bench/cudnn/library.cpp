#include "bench/cudnn/library.h"

#include <cudnn_graph.h>

#include "bench/library_rules/library_rules.h"

namespace dlroof::cudnn {

std::string CudnnVersion() { return library_rules::VersionText(cudnnGetVersion()); }

std::string WhyNoCudnn() {
  return library_rules::WhyNotThisVersion(cudnnGetVersion(), CUDNN_MAJOR);
}

}  // namespace dlroof::cudnn
