// From the plain description of a convolution to what cuDNN proposes for it and to plans that can
// be executed; also for a GPU that is not there. Part of the CUDA module only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/conv2d/cudnn_case.h"
#include "bench/cudnn/support.h"

namespace dlroof::conv2d {

// The GPU that cuDNN plans for: the GPU of its handle, or one that is only described.
class Target {
 public:
  static Target Here();  // the handle's; throws as Handle()
  // A GPU by its properties as cuDNN writes them in JSON
  // (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, cuDNN 9.8). Needs neither GPU nor driver; without
  // libcuda.so.1 engines that are compiled at run time are not proposed, among them all of fp8.
  static Target Described(const std::string& json);

  // Only one of the two does something.
  void SetOn(cudnn::Descriptor& descriptor, cudnnBackendAttributeName_t handle) const;
  void SetPropertiesOn(cudnn::Descriptor& descriptor, cudnnBackendAttributeName_t properties) const;

 private:
  cudnnHandle_t handle_ = nullptr;
  std::optional<cudnn::Descriptor> properties_;
};

// The finalized graph, and all that it refers to.
class Graph {
 public:
  // Throws Unsupported with cuDNN's words for a shape or type that it cannot have.
  Graph(const GraphSpec& spec, const Target& target);

  const cudnn::Descriptor& descriptor() const { return graph_; }

 private:
  std::vector<cudnn::Descriptor> parts_;
  cudnn::Descriptor graph_;
};

// A proposal, plain and as cuDNN's own descriptor.
struct Proposal {
  EngineConfig config;
  cudnn::Descriptor descriptor;
};

// Returns the heuristics' proposals, in their order: mode A, then (`all`) mode B, then what it
// falls back to; each kernel once. A mode that fails proposes nothing; where all do, throws cuDNN's
// words: Unsupported, or std::runtime_error where one did not refuse but broke. May be empty. Modes
// that broke are appended to `broken`.
std::vector<Proposal> Propose(const Graph& graph, const Target& target, bool all,
                              std::vector<library_rules::WhyNot>* broken = nullptr);

// An executable plan.
struct Plan {
  cudnn::Descriptor descriptor;
  int64_t workspace_bytes = 0;
};
// Absent where cuDNN makes none; `why` then says why.
std::optional<Plan> MakePlan(const Proposal& proposal, const Target& target,
                             library_rules::WhyNot& why);

}  // namespace dlroof::conv2d
