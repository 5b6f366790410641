// One LSTM call on cuDNN's RNN interface, with its tensors. Part of the CUDA module only.
#pragma once

#include <cudnn.h>

#include <memory>

#include "bench/lstm/case.h"
#include "bench/lstm/cudnn_case.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

// Fills the descriptor. Needs no GPU. Throws Unsupported with cuDNN's message.
void SetRnn(const RnnSpec& spec, cudnnDropoutDescriptor_t dropout, cudnnRNNDescriptor_t rnn);

class LstmGpuCall {
 public:
  // Describes the call to cuDNN, fills the GPU's memory, and runs the call once, for `bwd` after a
  // forward training call. Only `bwd` reads `d_output`. Throws Unsupported with cuDNN's message.
  LstmGpuCall(const CudnnLstmCase& lstm, const LstmInput<float>& input,
              const LstmOutput<float>& d_output);
  ~LstmGpuCall();
  LstmGpuCall(const LstmGpuCall&) = delete;
  LstmGpuCall& operator=(const LstmGpuCall&) = delete;

  // Starts one call on a cudaStream_t.
  void Enqueue(void* stream) const;
  // Makes one call, which has finished when it returns.
  void Run() const;
  // Restores what `bwd` consumes: cuDNN overwrites the reserve space of the forward call, and adds
  // to the weight gradients. Does nothing for other directions.
  void Restore() const;
  // Resets everything: results are NaN, weight gradients are zero, and for `bwd` the forward
  // training call has just run.
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
