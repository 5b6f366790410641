// An LSTM call by cuDNN's RNN interface, with its tensors. Part of the CUDA module.
#pragma once

#include <cudnn.h>

#include <map>
#include <memory>

#include "bench/lstm/case.h"
#include "bench/lstm/cudnn_case.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

// Sets the RNN descriptor; needs no GPU. Throws Unsupported with cuDNN's message.
void SetRnn(const CudnnLstmCase& lstm, cudnnDropoutDescriptor_t dropout, cudnnRNNDescriptor_t rnn);

class LstmGpuCall {
 public:
  // Creates cuDNN's descriptors, fills GPU memory, and runs the call once. For `bwd` first runs a
  // forward training call; only `bwd` reads `d_output`. Throws Unsupported with cuDNN's message.
  LstmGpuCall(const CudnnLstmCase& lstm, const LstmInput<float>& input,
              const LstmOutput<float>& d_output);
  ~LstmGpuCall();
  LstmGpuCall(const LstmGpuCall&) = delete;
  LstmGpuCall& operator=(const LstmGpuCall&) = delete;

  // Starts one call on a cudaStream_t and returns without waiting. A forward call uses the copies
  // (values) instead of its tensors (keys: their addresses); `bwd` ignores `copies`.
  void Enqueue(void* stream, const std::map<const void*, void*>& copies = {}) const;
  void Run() const;
  // Restores what `bwd` changes of its inputs: the reserve space of the forward call, which cuDNN
  // overwrites, and the weight gradients, to which it adds. No effect for other directions.
  void Restore() const;
  // Sets results to NaN and weight gradients to zero. For `bwd` it also runs the forward call, and
  // saves the reserve space that this fills for Restore.
  void Renew() const;

  LstmOutput<float> Outputs() const;
  LstmInput<float> Gradients() const;  // `bwd` only

  std::string Algorithm() const;
  std::vector<workload::MemoryRegion> Memory() const;
  const CudnnLstmCase& lstm() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dlroof::lstm
