// Calls of cuDNN's graph API through its header-only frontend (cudnn_frontend.h), for operators
// that are nodes of the frontend: the graph, the memory of its tensors and the plan that runs. The
// frontend refuses what a version of cuDNN does not support or computes wrongly.
#pragma once

// Without its copy of nlohmann's JSON, whose compilation takes twice the time of the rest.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/cudnn/support.h"
#include "bench/workload/workload.h"
#include "counters/cuda/device.h"

namespace dlroof::cudnn {

using GraphTensor = std::shared_ptr<cudnn_frontend::graph::Tensor_attributes>;

struct DescribedTarget {  // a GPU that is not present
  std::string json;       // its properties, as cuDNN 9.8 takes them
  int compute_capability = 0;
};

// Describe the call with Input, the nodes of `graph` and Output; then Propose, Allocate, Upload,
// and TakeNext, which chooses a plan. Sums and virtual tensors are f32.
class GraphCall {
 public:
  GraphCall();

  cudnn_frontend::graph::Graph graph;

  // Adds a tensor that the call reads, in row-major order unless `strides` [element] are stated.
  // `type` is one of "f32 f16 bf16 e4m3 s32".
  GraphTensor Input(const std::string& name, const std::vector<int64_t>& sizes,
                    std::string_view type, std::vector<int64_t> strides = {});
  // Makes a node's result a tensor that the call writes.
  void Output(const std::string& name, const GraphTensor& result, const std::vector<int64_t>& sizes,
              std::string_view type, std::vector<int64_t> strides = {});

  // Validates the graph, asks cuDNN's heuristics for plans, and returns their number, at least 1.
  // Throws Unsupported, or std::runtime_error if CUDA fails, with the message.
  int64_t Propose(const std::optional<DescribedTarget>& target = std::nullopt);
  // Compiles a plan. Returns why cuDNN cannot, or nothing.
  std::optional<Reason> Compile(int64_t plan);

  // Throws Unsupported if the GPU lacks the memory.
  void Allocate(std::string_view what);
  void Upload(const std::string& name, const std::vector<double>& values);
  std::vector<double> Download(const std::string& name) const;

  // Chooses the next of cuDNN's plans that compiles and runs. Returns false if none is left.
  bool TakeNext();
  void Enqueue(void* stream) const;
  void Run() const;

  // Returns the call with all members but `verify`'s comparison, `compare`, which reads the
  // results. Before the comparison the results are filled with NaN, and the call runs. Chooses the
  // first plan; if there is none, throws as workload::ThrowFirst.
  static workload::PreparedCall Prepared(const std::shared_ptr<GraphCall>& call, Work modelled,
                                         std::function<workload::Verification()> compare);

 private:
  struct Tensor {
    std::string type;
    std::vector<int64_t> sizes;
    bool is_result = false;
    int64_t id = 0;
    std::optional<cuda::DeviceBuffer> buffer{};

    size_t Bytes() const;
  };

  void Describe(const std::string& name, const GraphTensor& tensor, Tensor made,
                std::vector<int64_t> strides);
  std::string Algorithm() const;

  std::map<std::string, Tensor> tensors_;
  int64_t plans_ = 0, next_ = 0;
  std::optional<int64_t> plan_;
  std::vector<workload::Failure> failures_;  // of plans that cannot be used
  int64_t workspace_bytes_ = 0;
  std::optional<cuda::DeviceBuffer> workspace_;
  // The frontend adds to it the pointers of its own constants and workspace.
  mutable std::unordered_map<int64_t, void*> pointers_;
  std::optional<cuda::CudaStream> stream_;
  StreamUse use_;  // must be destroyed before stream_
};

}  // namespace dlroof::cudnn
