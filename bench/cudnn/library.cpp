#include "bench/cudnn/library.h"

#include <cudnn_graph.h>

#include "bench/library_rules/library_rules.h"

namespace dlroof::cudnn {

std::optional<std::string> CudnnVersion() { return library_rules::VersionText(cudnnGetVersion()); }

std::optional<Reason> UnavailableReason() {
  return library_rules::CudnnMismatch(cudnnGetVersion(), CUDNN_MAJOR);
}

}  // namespace dlroof::cudnn
