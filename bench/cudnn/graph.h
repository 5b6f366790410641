// Calls of cuDNN's graph API through its header-only frontend (cudnn_frontend.h): graph, tensor
// memory and execution plan of operators that the frontend has as nodes. The frontend rejects calls
// that the cuDNN version does not support or computes wrongly.
#pragma once

// Omits the frontend's copy of nlohmann's JSON: its compilation takes twice as long as the rest.
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

struct DescribedTarget {  // a GPU that need not be present
  std::string json;       // device properties in cuDNN's JSON (since 9.8)
  int compute_capability = 0;
};

// A call is built in these steps: Input, nodes of `graph`, Output; then Propose, Allocate, Upload,
// and TakeNext, which chooses a plan. Sums and virtual tensors are f32.
class GraphCall {
 public:
  GraphCall();

  cudnn_frontend::graph::Graph graph;

  // Adds an input tensor; row-major if `strides` [elements] is empty. `type`: one of "f32 f16 bf16
  // e4m3 s32".
  GraphTensor Input(const std::string& name, const std::vector<int64_t>& sizes,
                    std::string_view type, std::vector<int64_t> strides = {});
  // Makes the result of a node an output tensor of the call.
  void Output(const std::string& name, const GraphTensor& result, const std::vector<int64_t>& sizes,
              std::string_view type, std::vector<int64_t> strides = {});

  // Validates the graph and gets plans for `target` (absent: the current GPU) from cuDNN. Returns
  // their number, at least 1. Throws Unsupported for none, std::runtime_error if CUDA fails.
  int64_t Propose(const std::optional<DescribedTarget>& target = std::nullopt);
  // Compiles a plan. Returns why cuDNN cannot compile it, or nullopt on success.
  std::optional<Reason> Compile(int64_t plan);

  // Allocates the tensors. Throws Unsupported if GPU memory is short. `what` names the call.
  void Allocate(std::string_view what);
  void Upload(const std::string& name, const std::vector<double>& values);
  std::vector<double> Download(const std::string& name) const;

  // Chooses the next plan that compiles and runs. Returns false if none is left.
  bool TakeNext();
  void Enqueue(void* stream) const { Execute(stream, pointers_); }
  void Run() const;
  // Returns a function that starts the call on copies of tensors (GpuCapabilities::on_copies).
  std::function<void(void*)> Moved(const std::map<const void*, void*>& copies) const;
  std::string Algorithm() const;
  std::vector<workload::MemoryRegion> Memory() const;

  // Returns a prepared call of the first plan that runs. upload(seed) sets its inputs, now and as
  // `new_inputs`. Its `verify` sets the results to NaN, runs the call, and returns compare(), which
  // reads them. Throws as workload::ThrowFirst does if no plan runs.
  static workload::PreparedCall Prepared(const std::shared_ptr<GraphCall>& call, Work modelled,
                                         unsigned seed, const std::function<void(unsigned)>& upload,
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
  using Pointers = std::unordered_map<int64_t, void*>;  // by tensor's id
  void Execute(void* stream, Pointers& pointers) const;

  std::map<std::string, Tensor> tensors_;
  int64_t plans_ = 0, next_ = 0;
  std::optional<int64_t> plan_;
  std::vector<workload::Failure> failures_;  // of unusable plans
  int64_t workspace_bytes_ = 0;
  std::optional<cuda::DeviceBuffer> workspace_;
  // Mutable, because the frontend adds pointers to its own constants and workspace.
  mutable Pointers pointers_;
  std::optional<cuda::CudaStream> stream_;
  StreamUse use_;  // must be destroyed before stream_
};

}  // namespace dlroof::cudnn
