// Creates cuDNN's graph, proposals and executable plans from a ConvolutionSpec; possible without
// the GPU that they are for. Part of the CUDA module.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/conv2d/conv3d.h"
#include "bench/conv2d/cudnn_case.h"
#include "bench/cudnn/graph.h"
#include "bench/cudnn/support.h"

namespace dlroof::conv2d {

// The GPU for which cuDNN plans.
class Target {
 public:
  static Target Here();  // the GPU of cuDNN's handle; throws as Handle()
  // A GPU given by its properties in cuDNN's JSON (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, cuDNN
  // 9.8). Needs neither GPU nor driver, but without libcuda.so.1 cuDNN does not propose engines
  // that compile at run time, which include all engines for fp8.
  static Target Described(const std::string& json);

  // SetOn sets the handle, SetPropertiesOn a described GPU's properties, each only if there is one.
  void SetOn(cudnn::Descriptor& descriptor, cudnnBackendAttributeName_t handle) const;
  void SetPropertiesOn(cudnn::Descriptor& descriptor, cudnnBackendAttributeName_t properties) const;

 private:
  cudnnHandle_t handle_ = nullptr;
  std::optional<cudnn::Descriptor> properties_;
};

// A finalized graph; owns all descriptors that it refers to.
class Graph {
 public:
  // Throws Unsupported with cuDNN's message for a shape or type that cuDNN does not support.
  Graph(const GraphSpec& spec, const Target& target);

  const cudnn::Descriptor& descriptor() const { return graph_; }

 private:
  std::vector<cudnn::Descriptor> parts_;
  cudnn::Descriptor graph_;
};

// A proposal of a heuristic, as plain numbers and as cuDNN's descriptor.
struct Proposal {
  EngineConfig config;
  cudnn::Descriptor descriptor;
};

// Returns the heuristics' proposals, without repeated kernels: of mode A, then (if `all`) of mode
// B, then of the fallback. Failing modes propose nothing. If all fail, throws cuDNN's message:
// std::runtime_error if one is broken, else Unsupported. `broken`: failures of broken modes.
std::vector<Proposal> Propose(const Graph& graph, const Target& target, bool all,
                              std::vector<workload::Failure>* broken = nullptr);

struct Plan {
  cudnn::Descriptor descriptor;
  int64_t workspace_bytes = 0;
};
// Returns a plan, or sets `failure` and returns nullopt if cuDNN cannot create one.
std::optional<Plan> MakePlan(const Proposal& proposal, const Target& target,
                             workload::Failure& failure);

// Adds the convolution and its tensors "source", "weights", "destination" (channels innermost).
void Describe(const Conv3dCase& conv, cudnn::GraphCall& call);

}  // namespace dlroof::conv2d
