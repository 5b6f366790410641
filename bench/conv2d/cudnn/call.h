// One convolution on cuDNN's graph API, from seeded tensors to the result. Part of the CUDA module
// only.
#pragma once

#include <memory>
#include <optional>

#include "bench/conv2d/cudnn_engines.h"
#include "bench/conv2d/cudnn_graph.h"
#include "bench/conv2d/loops.h"
#include "bench/workload/workload.h"

namespace dlroof::cudnn {

class ConvCall {
 public:
  // Asks cuDNN, fills the GPU's memory, chooses an engine: the first that may be used and that
  // runs, or the fastest of all whose result is right (EngineChoice::kBest). Throws cuDNN's own
  // words, Unsupported where it refuses.
  ConvCall(const CudnnConv2dCase& request, unsigned seed);
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
  // [1] Of EngineChoice::kBest alone, and absent where the heuristic's choice failed.
  std::optional<double> heuristic_over_best() const;
  std::vector<MemoryRegion> Memory() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dlroof::cudnn
