// Creates cuDNN's graph, its engine proposals and plans from a GraphSpec. They may be for a GPU
// that this machine does not have. Part of the CUDA module.
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
  static Target Here();  // the GPU of cudnn::Handle(); throws what that throws
  // A GPU with these properties in cuDNN's JSON (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, since
  // cuDNN 9.8). Needs neither GPU nor driver. But without libcuda.so.1 cuDNN does not propose
  // engines that compile at run time, and all engines for fp8 do.
  static Target Described(const std::string& json);

  // Set an attribute of a descriptor: Here()'s handle, or Described()'s properties; else no-ops.
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

// Returns the proposals of heuristic mode A, then (if `all`) of mode B, then of the fallback,
// without repeated kernels. `broken` gets the failures of broken modes. If no mode proposes
// anything, throws the first failure: std::runtime_error if broken, else Unsupported.
std::vector<Proposal> Propose(const Graph& graph, const Target& target, bool all,
                              std::vector<workload::Failure>* broken = nullptr);

struct Plan {
  cudnn::Descriptor descriptor;
  int64_t workspace_bytes = 0;
};
// Returns the proposal's plan, or sets `failure` and returns nullopt if cuDNN cannot create it.
std::optional<Plan> MakePlan(const Proposal& proposal, const Target& target,
                             workload::Failure& failure);

// Adds the convolution and tensors "source", "weights", "destination", "bias", channels innermost.
void Describe(const Conv3dCase& conv, cudnn::GraphCall& call);

}  // namespace dlroof::conv2d
