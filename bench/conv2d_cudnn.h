// One convolution on cuDNN's graph API, from seeded tensors to the result. Part of the CUDA module
// only.
#pragma once

#include <memory>

#include "bench/conv2d_check.h"
#include "bench/cudnn_engines.h"
#include "bench/cudnn_graph.h"
#include "bench/workload.h"

namespace dlroof::cudnn {

class ConvCall {
 public:
  // Asks cuDNN, chooses an engine (EngineChoice::kBest times all that may be used), fills the GPU's
  // memory. Throws Unsupported with cuDNN's own words.
  ConvCall(const ConvRequest& request, unsigned seed);
  ~ConvCall();
  ConvCall(const ConvCall&) = delete;
  ConvCall& operator=(const ConvCall&) = delete;

  // Starts one call on a cudaStream_t.
  void Enqueue(void* stream) const;
  // One call, finished when it returns.
  void Run() const;
  // Makes the result not-a-number, runs once, compares with the reference.
  Verification Verify() const;

  const PlanChoice& choice() const;
  double heuristic_over_best() const;  // [1] 1 where nothing was timed
  std::vector<MemoryRegion> Memory() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The workload of a name of Conv2D/gpu/cudnn.
Workload MakeConv2dCudnn(const BenchmarkName& name);

}  // namespace dlroof::cudnn
