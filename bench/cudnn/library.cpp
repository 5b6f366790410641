#include "bench/cudnn/library.h"

#include <cudnn_graph.h>

#include "bench/workload/library_rules.h"

namespace dlroof::cudnn {

std::optional<std::string> CudnnVersion() { return workload::VersionText(cudnnGetVersion()); }

std::optional<Reason> UnavailableReason() {
  return workload::CudnnMismatch(cudnnGetVersion(), CUDNN_MAJOR);
}

}  // namespace dlroof::cudnn
